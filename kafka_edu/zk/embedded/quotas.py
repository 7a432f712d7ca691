"""Count the znodes and bytes below each path that has a quota (ZooKeeper: Quotas.java,
DataTree.updateCountBytes).

A client sets a quota for /a by creating two znodes, as ZooKeeper's shell does:
/zookeeper/quota/a/zookeeper_limits with the limits (`count=10,bytes=-1`), and
/zookeeper/quota/a/zookeeper_stats. From then on, the server writes the present numbers into
zookeeper_stats, for example `count=3,bytes=120`. The node /a itself is counted too.

Writing these numbers is not a transaction. It changes neither version nor zxid, because every
server of an ensemble computes the numbers by itself. If a limit is exceeded, ZooKeeper 3.6 only
logs a warning. This server does nothing.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

ROOT: Final = "/zookeeper/quota"
LIMITS: Final = "/zookeeper_limits"
STATS: Final = "/zookeeper_stats"
_STATS_DATA: Final = re.compile(rb"count=(-?\d+),bytes=(-?\d+)")


class Node(Protocol):
    """The fields of a znode that quotas read: its data and its children."""

    data: bytes | None
    children: dict[str, None] | None


class Quotas:
    """Keeps the paths that have a quota, and writes their numbers into zookeeper_stats.

    The DataTree calls it after every change. A call is O(1) if no path has a quota. `write` is the
    DataTree's method that sets the data of a zookeeper_stats node.
    """

    def __init__(self, nodes: Mapping[str, Node], write: Callable[[str, bytes], None]) -> None:
        self._nodes = nodes
        self._write_data = write
        self._paths: set[str] = set()

    def created(self, path: str, size: int) -> None:
        """Count a new node with `size` bytes of data. O(depth).

        If the new node is itself a zookeeper_stats node, the numbers of its path are written into
        it. That is O(nodes).
        """
        if path.startswith(ROOT):
            self.loaded(path)
            if path.endswith(STATS):
                of = path[len(ROOT) : -len(STATS)]
                self._write(path, *self._counted(of))
        self._add(path, 1, size)

    def loaded(self, path: str) -> None:
        """Register a node that was read from a snapshot. Nothing is counted, because the
        zookeeper_stats nodes in the snapshot already have the numbers.
        """
        if path.startswith(ROOT) and path.endswith(LIMITS):
            self._paths.add(path[len(ROOT) : -len(LIMITS)])

    def changed(self, path: str, growth: int) -> None:
        """Add `growth` bytes to the quota's count after a node's data has changed. `growth` may be
        negative.
        """
        self._add(path, 0, growth)

    def deleted(self, path: str, size: int) -> None:
        """Subtract a deleted node and its `size` bytes from the quota's count."""
        if path.startswith(ROOT) and path.endswith(LIMITS):
            self._paths.discard(path[len(ROOT) : -len(LIMITS)])
        self._add(path, -1, -size)

    def _add(self, path: str, count: int, size: int) -> None:
        """Add nodes and bytes to the nearest quota at or above `path`, if there is one. Quotas
        further up are not changed.
        """
        if not self._paths:
            return
        while path and path not in self._paths:
            path = path[: path.rindex("/")]
        stats = ROOT + path + STATS
        if path and stats in self._nodes:
            now = _STATS_DATA.fullmatch(self._nodes[stats].data or b"")
            if now is None:  # a client has written other data there
                self._write(stats, *self._counted(path))
            else:
                self._write(stats, int(now[1]) + count, int(now[2]) + size)

    def _counted(self, path: str) -> tuple[int, int]:
        """Return the number of nodes in a subtree and the number of bytes in them. O(nodes)."""
        node = self._nodes.get(path)
        if node is None:
            return 0, 0
        below = [self._counted(f"{path}/{name}") for name in node.children or ()]
        return 1 + sum(count for count, _ in below), len(node.data or b"") + sum(
            size for _, size in below
        )

    def _write(self, stats: str, count: int, size: int) -> None:
        self._write_data(stats, f"count={count},bytes={size}".encode())
