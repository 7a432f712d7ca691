"""A bound on the memory of requests that are being read or are waiting (Kafka:
SimpleMemoryPool.java; queued.max.request.bytes; KIP-72).

A request takes its size from the pool once its size prefix has arrived. It gives the memory back
when its handler has finished. As in Kafka, the pool is not strict. While any memory is left, a
request of any size gets all that it needs. So the sum can exceed the bound by one request, at most
by socket.request.max.bytes.

When nothing is left, no connection begins another request. A connection in the middle of a request
goes on, because only complete requests free their memory.
"""

from collections import deque
from typing import Protocol


class WaitsForMemory(Protocol):
    """A connection that waits for memory to begin its next request."""

    def more_memory(self) -> None:
        """Try again, because there is memory now."""
        ...


class MemoryPool:
    """The memory for requests. The SocketServer owns it, and all connections share it.

    The connection that has waited longest is served first.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.available = size
        self._waiting: deque[WaitsForMemory] = deque()
        self._giving = False

    def try_allocate(self, size: int) -> bool:
        """Take `size` bytes and return True. Return False if nothing is left. O(1)."""
        if self.available <= 0:
            return False
        self.available -= size
        return True

    def release(self, size: int) -> None:
        """Give back `size` bytes. Waiting connections go on while any memory is left."""
        self.available += size
        if self._giving:
            return  # called by a connection that goes on, so the loop below is running
        self._giving = True
        try:
            while self._waiting and self.available > 0:
                self._waiting.popleft().more_memory()
        finally:
            self._giving = False

    def wait(self, connection: WaitsForMemory) -> None:
        """Call the connection's `more_memory` when there is memory again."""
        self._waiting.append(connection)

    @property
    def waiting(self) -> int:
        """The number of waiting connections."""
        return len(self._waiting)
