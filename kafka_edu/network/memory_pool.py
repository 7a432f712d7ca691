"""A bound on the memory of requests that are read or wait (Kafka: SimpleMemoryPool.java;
queued.max.request.bytes; KIP-72).

A request takes its size from the pool when its size prefix has come, and gives it back when its
handler has done its part. The pool is not strict, as in Kafka: while anything is left, a request of
any size gets all of it, so the sum can pass the bound by one request (socket.request.max.bytes at
most). With nothing left, no connection begins another request; those in the middle of one go on, so
that what they hold becomes free.
"""

from collections import deque
from typing import Protocol


class WaitsForMemory(Protocol):
    """A connection that could not begin its next request."""

    def more_memory(self) -> None:
        """There is memory again: try once more."""
        ...


class MemoryPool:
    """Owned by the SocketServer; all connections share it. The longest waiting connection is served
    first.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.available = size
        self._waiting: deque[WaitsForMemory] = deque()
        self._giving = False

    def try_allocate(self, size: int) -> bool:
        """Take `size` bytes and return True; or return False when nothing is left. O(1)."""
        if self.available <= 0:
            return False
        self.available -= size
        return True

    def release(self, size: int) -> None:
        """Give back what was taken, and let connections that wait go on while something is left."""
        self.available += size
        if self._giving:
            return  # a connection that goes on has released something: the loop below sees it
        self._giving = True
        try:
            while self._waiting and self.available > 0:
                self._waiting.popleft().more_memory()
        finally:
            self._giving = False

    def wait(self, connection: WaitsForMemory) -> None:
        """Call the connection's `more_memory` when there is some."""
        self._waiting.append(connection)

    @property
    def waiting(self) -> int:
        """How many connections wait."""
        return len(self._waiting)
