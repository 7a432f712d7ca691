"""A bound on the memory of requests that are being read or are waiting (Kafka:
SimpleMemoryPool.java; queued.max.request.bytes; KIP-72).

A request takes its size from the pool once its size prefix has arrived. It gives the memory back
when its handler has finished. As in Kafka, the pool is not strict. While any memory is left, a
request of any size gets all that it needs. So the sum can exceed the bound by one request, at most
by socket.request.max.bytes.

When nothing is left, no connection begins another request. A connection in the middle of a request
goes on, because only complete requests free their memory.

Unlike in Kafka, one huge request does not hold up everybody else. A request below
`SMALL_REQUEST_BYTES` waits only while the small requests alone have used up the bound. So the sum
is at most twice the bound and one request.
"""

from collections import deque
from typing import Final, Protocol

SMALL_REQUEST_BYTES: Final = 1 << 20
"""A request below this size never waits behind larger ones."""


class WaitsForMemory(Protocol):
    """A connection that waits for memory to begin its next request."""

    def more_memory(self) -> None:
        """Try again, because there is memory now."""
        ...


class MemoryPool:
    """The memory for requests, in bytes. The SocketServer owns it, and all connections share it.

    The connection that has waited longest is served first: of those with a small request, and of
    those with a large one.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.available = size
        """What all requests together leave of the bound. Negative while one exceeds it."""
        self.available_to_small = size
        """What the small requests alone leave of the bound."""
        self._waiting: deque[WaitsForMemory] = deque()
        self._small_waiting: deque[WaitsForMemory] = deque()
        self._giving = False

    def try_allocate(self, size: int) -> bool:
        """Take `size` bytes and return True. Return False if nothing is left. O(1)."""
        if size < SMALL_REQUEST_BYTES:
            if self.available_to_small <= 0:
                return False
            self.available_to_small -= size
        elif self.available <= 0:
            return False
        self.available -= size
        return True

    def release(self, size: int) -> None:
        """Give back the `size` bytes of one request. Waiting connections go on while any memory is
        left.
        """
        self.available += size
        if size < SMALL_REQUEST_BYTES:
            self.available_to_small += size
        if self._giving or not (self._waiting or self._small_waiting):
            return  # when called by a connection that goes on, the loop below is running
        self._giving = True
        try:
            while self._small_waiting and self.available_to_small > 0:
                self._small_waiting.popleft().more_memory()
            while self._waiting and self.available > 0:
                self._waiting.popleft().more_memory()
        finally:
            self._giving = False

    def wait(self, connection: WaitsForMemory, size: int) -> None:
        """Call the connection's `more_memory` when there is memory again for `size` bytes."""
        queue = self._small_waiting if size < SMALL_REQUEST_BYTES else self._waiting
        queue.append(connection)

    @property
    def waiting(self) -> int:
        """The number of waiting connections."""
        return len(self._waiting) + len(self._small_waiting)
