"""Quotas: the number of znodes and bytes below a path with a quota (ZooKeeper: Quotas.java,
DataTree.updateCountBytes).

A client sets a quota for /a as ZooKeeper's shell does. It creates
/zookeeper/quota/a/zookeeper_limits (`count=10,bytes=-1`) and …/zookeeper_stats. From then on the
server writes the present numbers into zookeeper_stats, for example `count=3,bytes=120`. The node
itself counts too.

Such a write is not a transaction. It changes neither version nor zxid, because every server of an
ensemble finds the numbers by itself. ZooKeeper 3.6 only logs a warning when a limit is exceeded.
Here nothing happens.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

ROOT: Final = "/zookeeper/quota"
LIMITS: Final = "/zookeeper_limits"
STATS: Final = "/zookeeper_stats"
_STATS_DATA: Final = re.compile(rb"count=(-?\d+),bytes=(-?\d+)")


class Node(Protocol):
    """The parts of a znode that quotas count."""

    data: bytes | None
    children: dict[str, None] | None


class Quotas:
    """The paths with a quota. Updates their zookeeper_stats.

    The DataTree calls it after every change. A call is O(1) while there is no quota. `write` is the
    DataTree's method that sets the data of zookeeper_stats.
    """

    def __init__(self, nodes: Mapping[str, Node], write: Callable[[str, bytes], None]) -> None:
        self._nodes = nodes
        self._write_data = write
        self._paths: set[str] = set()

    def created(self, path: str, size: int) -> None:
        """Count a new node of `size` bytes. O(depth).

        A new zookeeper_stats node gets the numbers of its path. That is O(nodes).
        """
        if path.startswith(ROOT):
            self.loaded(path)
            if path.endswith(STATS):
                of = path[len(ROOT) : -len(STATS)]
                self._write(path, *self._counted(of))
        self._add(path, 1, size)

    def loaded(self, path: str) -> None:
        """Note a node from a snapshot. The snapshot has the numbers too."""
        if path.startswith(ROOT) and path.endswith(LIMITS):
            self._paths.add(path[len(ROOT) : -len(LIMITS)])

    def changed(self, path: str, growth: int) -> None:
        """Count the growth of a node's data, in bytes."""
        self._add(path, 0, growth)

    def deleted(self, path: str, size: int) -> None:
        """Count a deleted node of `size` bytes."""
        if path.startswith(ROOT) and path.endswith(LIMITS):
            self._paths.discard(path[len(ROOT) : -len(LIMITS)])
        self._add(path, -1, -size)

    def _add(self, path: str, count: int, size: int) -> None:
        """Add to the nearest quota at or above `path`, if there is one. Quotas further above do not
        count it.
        """
        if not self._paths:
            return
        while path and path not in self._paths:
            path = path[: path.rindex("/")]
        stats = ROOT + path + STATS
        if path and stats in self._nodes:
            now = _STATS_DATA.fullmatch(self._nodes[stats].data or b"")
            if now is None:  # somebody has written other data there
                self._write(stats, *self._counted(path))
            else:
                self._write(stats, int(now[1]) + count, int(now[2]) + size)

    def _counted(self, path: str) -> tuple[int, int]:
        """Return the numbers of nodes and bytes in a subtree. O(nodes)."""
        node = self._nodes.get(path)
        if node is None:
            return 0, 0
        below = [self._counted(f"{path}/{name}") for name in node.children or ()]
        return 1 + sum(count for count, _ in below), len(node.data or b"") + sum(
            size for _, size in below
        )

    def _write(self, stats: str, count: int, size: int) -> None:
        self._write_data(stats, f"count={count},bytes={size}".encode())
