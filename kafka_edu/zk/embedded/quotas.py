"""Quotas: how many znodes and bytes there are below a path that has one (ZooKeeper: Quotas.java,
DataTree.updateCountBytes).

A client sets a quota for /a by creating /zookeeper/quota/a/zookeeper_limits (`count=10,bytes=-1`)
and …/zookeeper_stats, as ZooKeeper's shell does. From then on the server writes into
zookeeper_stats what there is: `count=3,bytes=120`, the node itself counted. That is no transaction:
it changes neither version nor zxid, every server of an ensemble comes to it by itself. A limit that
is passed would only be told in the log (3.6), and so here nothing comes of it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

ROOT: Final = "/zookeeper/quota"
LIMITS: Final = "/zookeeper_limits"
STATS: Final = "/zookeeper_stats"
_STATS_DATA: Final = re.compile(rb"count=(-?\d+),bytes=(-?\d+)")


class Node(Protocol):
    """Of a znode, what is counted."""

    data: bytes | None
    children: dict[str, None] | None


class Quotas:
    """Which paths have a quota; keeps their zookeeper_stats right. Told of every change by the
    DataTree, when it is made. O(1) while there is no quota.

    `write` is the DataTree's door for such data.
    """

    def __init__(self, nodes: Mapping[str, Node], write: Callable[[str, bytes], None]) -> None:
        self._nodes = nodes
        self._write_data = write
        self._paths: set[str] = set()

    def created(self, path: str, size: int) -> None:
        """A node of `size` bytes is there. The node of the stats is filled with what is below its
        path; all else O(depth).
        """
        if path.startswith(ROOT):
            self.loaded(path)
            if path.endswith(STATS):
                of = path[len(ROOT) : -len(STATS)]
                self._write(path, *self._counted(of))
        self._add(path, 1, size)

    def loaded(self, path: str) -> None:
        """A node came from a snapshot; the stats came with it."""
        if path.startswith(ROOT) and path.endswith(LIMITS):
            self._paths.add(path[len(ROOT) : -len(LIMITS)])

    def changed(self, path: str, growth: int) -> None:
        """The data of a node grew by so many bytes."""
        self._add(path, 0, growth)

    def deleted(self, path: str, size: int) -> None:
        """A node of `size` bytes is gone."""
        if path.startswith(ROOT) and path.endswith(LIMITS):
            self._paths.discard(path[len(ROOT) : -len(LIMITS)])
        self._add(path, -1, -size)

    def _add(self, path: str, count: int, size: int) -> None:
        """To the nearest quota above, if there is one; those above that do not count it."""
        if not self._paths:
            return
        while path and path not in self._paths:
            path = path[: path.rindex("/")]
        stats = ROOT + path + STATS
        if path and stats in self._nodes:
            now = _STATS_DATA.fullmatch(self._nodes[stats].data or b"")
            if now is None:  # somebody has written something else there
                self._write(stats, *self._counted(path))
            else:
                self._write(stats, int(now[1]) + count, int(now[2]) + size)

    def _counted(self, path: str) -> tuple[int, int]:
        """Nodes and bytes of a subtree. O(nodes)."""
        node = self._nodes.get(path)
        if node is None:
            return 0, 0
        below = [self._counted(f"{path}/{name}") for name in node.children or ()]
        return 1 + sum(count for count, _ in below), len(node.data or b"") + sum(
            size for _, size in below
        )

    def _write(self, stats: str, count: int, size: int) -> None:
        self._write_data(stats, f"count={count},bytes={size}".encode())
