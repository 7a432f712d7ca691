"""The tree of znodes on the ZooKeeper screen: open znodes, recent changes, and deleted znodes.

Only open rows are listed, and of many children only one page. So ten thousand znodes need the
memory of ten thousand small objects, but take no time when a frame is drawn.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

from .glow import Glow

ROOT: Final = "/"
PAGE: Final = 100
"""The number of children that are listed at first, and that each [enter] adds."""
GHOST_US: Final = 10_000_000
"""For how many µs a deleted znode is still drawn, struck through."""
MAX_GHOSTS: Final = 200
MAX_FOUND: Final = 200
"""The maximum number of znodes that a search lists."""
FOLDED: Final = "…"
"""The last part of a row's path, if the row stands for children that are not listed."""
_OPEN_AT_FIRST: Final = ("/", "/brokers", "/brokers/ids", "/brokers/topics", "/admin")
_PASSED_THROUGH: Final = "partitions"
"""The only child of a topic's znode. It is opened together with the topic."""


class Znode:
    """One znode of the tree."""

    __slots__ = (
        "changed_us",
        "children",
        "data",
        "data_length",
        "deleted_us",
        "how",
        "mzxid",
        "owner",
        "path",
        "version",
    )

    def __init__(self, path: str) -> None:
        self.path = path
        self.version = 0
        self.mzxid = 0
        self.owner = 0
        """The session that owns an ephemeral znode. 0 if the znode is persistent."""
        self.data = ""
        self.data_length = 0
        self.children: dict[str, Znode] = {}
        self.changed_us = 0
        self.how = ""
        """How the znode last changed while the dashboard watched: `created`, `set`, `deleted` or
        "".
        """
        self.deleted_us = 0

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or ROOT


class Row(NamedTuple):
    """One line of the tree."""

    node: Znode
    depth: int
    label: str
    """The znode's name. A descendant without siblings is shown in the same row: `0/state`."""
    is_open: bool
    hidden: int = 0
    """Above 0, this line stands for this many children that are not listed."""


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


def name_order(name: str) -> tuple[bool, int, str]:
    """Return a sort key: numbers by value, then words, then internal topics."""
    return name.startswith("__"), int(name) if name.isdecimal() else -1, name


class ZnodeTree:
    """All znodes, by path."""

    def __init__(self, glow: Glow) -> None:
        self.by_path: dict[str, Znode] = {}
        self.version = 0
        """A number that grows when the rows may have changed."""
        self.latest: Znode | None = None
        """The znode that changed last while the dashboard watched."""
        self._glow = glow
        self._open: dict[str, bool] = {}
        self._listed: dict[str, int] = {}
        self._ghosts: OrderedDict[str, Znode] = OrderedDict()
        self._sorted: dict[str, list[str]] = {}
        self._rows: list[Row] = []
        self._rows_of = -1
        self.clear()

    def __len__(self) -> int:
        """Return the number of znodes, without deleted ones."""
        return len(self.by_path) - len(self._ghosts)

    def clear(self) -> None:
        """Forget all znodes, but not which of them were open."""
        self.by_path = {ROOT: Znode(ROOT)}
        self.latest = None
        self._ghosts.clear()
        self._sorted.clear()
        self.version += 1

    def put(self, path: str) -> Znode:
        """Return the znode. If it does not exist, create it and its parents. O(depth)."""
        node = self.by_path.get(path)
        if node is None:
            node = self.by_path[path] = Znode(path)
            parent = self.put(parent_of(path))
            parent.children[node.name] = node
            self._sorted.pop(parent.path, None)
            self.version += 1
        elif node.deleted_us:
            self._ghosts.pop(path, None)
            node.deleted_us = 0
            self.version += 1
        return node

    def change(self, path: str, how: str) -> Znode:
        """Record that the znode was `created` or `set` now, and return it."""
        node = self.put(path)
        self._touch(node, how)
        return node

    def delete(self, path: str) -> None:
        """Mark a znode as deleted. It is drawn for another GHOST_US, and then forgotten."""
        node = self.by_path.get(path)
        if node is None or path == ROOT or node.deleted_us:
            return
        self._touch(node, "deleted")
        node.deleted_us = max(self._glow.now_us, 1)
        self._ghosts[path] = node
        self.version += 1
        while len(self._ghosts) > MAX_GHOSTS:
            self._bury(self._ghosts.popitem(last=False)[1])

    def advance(self) -> None:
        """Forget znodes that were deleted some time ago."""
        while self._ghosts:
            node = next(iter(self._ghosts.values()))
            if self._glow.now_us - node.deleted_us < GHOST_US:
                return
            self._ghosts.popitem(last=False)
            self._bury(node)

    def living_children(self, node: Znode) -> list[Znode]:
        """Return the children that are not deleted, in order.

        O(children), once after each change.
        """
        return [child for child in self._children(node) if not child.deleted_us]

    def toggle(self, row: Row) -> None:
        """Open or close the znode of a row, or list more children."""
        if row.hidden:
            path = row.node.path
            self._listed[path] = self._listed.get(path, PAGE) + PAGE
        else:
            self._open[row.node.path] = not row.is_open
        self.version += 1

    def set_open(self, row: Row, is_open: bool) -> None:
        """Open or close the znode of a row. Do nothing if it is already in this state."""
        if row.is_open != is_open or (row.hidden and is_open):
            self.toggle(row)

    def found(self, words: tuple[str, ...]) -> list[Row]:
        """Return the znodes whose path or data contain all these words, open or not.

        At most MAX_FOUND are returned. O(znodes).
        """
        rows = []
        for path in self.by_path:
            node = self.by_path[path]
            text = f"{path} {node.data}".lower()
            if all(word in text for word in words):
                rows.append(Row(node, 0, path, False))
                if len(rows) == MAX_FOUND:
                    break
        return rows

    def reveal(self, path: str) -> None:
        """Open all ancestors of a znode."""
        while path != ROOT:
            path = parent_of(path)
            self._open[path] = True
        self.version += 1

    def rows(self) -> list[Row]:
        """Return the open rows. O(rows), only after a change."""
        if self._rows_of != self.version:
            self._rows = list(self._walk(self.by_path[ROOT], 0))
            self._rows_of = self.version
        return self._rows

    def _walk(self, node: Znode, depth: int) -> Iterator[Row]:
        label = node.name
        while len(node.children) == 1 and not node.data_length and node.path != ROOT:
            (child,) = node.children.values()
            if child.deleted_us:
                break
            node, label = child, f"{label}/{child.name}"
        is_open = bool(node.children) and self._is_open(node)
        yield Row(node, depth, label, is_open)
        if not is_open:
            return
        children = self._children(node)
        listed = self._listed.get(node.path, PAGE)
        for child in children[:listed]:
            yield from self._walk(child, depth + 1)
        if len(children) > listed:
            yield Row(node, depth + 1, FOLDED, False, len(children) - listed)

    def _is_open(self, node: Znode) -> bool:
        return self._open.get(
            node.path,
            node.path in _OPEN_AT_FIRST
            or (
                node.name == _PASSED_THROUGH
                and parent_of(parent_of(node.path)) == "/brokers/topics"
            ),
        )

    def _children(self, node: Znode) -> list[Znode]:
        names = self._sorted.get(node.path)
        if names is None:
            names = self._sorted[node.path] = sorted(node.children, key=name_order)
        return [node.children[name] for name in names]

    def _touch(self, node: Znode, how: str) -> None:
        node.changed_us, node.how = self._glow.now_us, how
        self.latest = node
        self._glow.touch("znode", node.path)
        path = node.path
        while path != ROOT:
            path = parent_of(path)
            self._glow.touch("below", path)

    def _bury(self, node: Znode) -> None:
        if node.children:  # created again, or its children's deletion was not seen
            node.deleted_us = 0
        else:
            self.by_path.pop(node.path, None)
            parent = self.by_path.get(parent_of(node.path))
            if parent is not None:
                parent.children.pop(node.name, None)
                self._sorted.pop(parent.path, None)
        self._open.pop(node.path, None)
        self._listed.pop(node.path, None)
        self.version += 1
