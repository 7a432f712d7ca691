"""A bound on the memory of requests that are being read or are waiting.

(Kafka: SimpleMemoryPool.java; queued.max.request.bytes; KIP-72.) A request takes memory of its size
from the pool when its size prefix has arrived, and gives the memory back when its handler has
finished. As in Kafka, the pool is not strict. While any memory is left, a request of any size gets
all the memory that it needs. So the memory of all requests can exceed the bound by one request,
which is at most socket.request.max.bytes.

When no memory is left, no connection may begin another request. A connection in the middle of a
request continues, because only complete requests free their memory.

Unlike in Kafka, one huge request does not make all other requests wait. A request below
`SMALL_REQUEST_BYTES` waits only if the small requests alone have used up the bound. So the memory
of all requests is at most twice the bound, plus one request.
"""

from collections import deque
from typing import Final, Protocol

SMALL_REQUEST_BYTES: Final = 1 << 20
"""A request below this size in bytes never waits for larger requests."""


class WaitsForMemory(Protocol):
    """A connection that waits for memory before it begins its next request."""

    def more_memory(self) -> None:
        """Try to begin the request again, because there is memory now."""
        ...


class MemoryPool:
    """The memory for requests, in bytes. The SocketServer owns it, and all connections share it.

    Connections with small requests and connections with large requests wait in two queues. In each
    queue the connection that has waited longest is served first.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.available = size
        """The free bytes of the bound; negative while a request exceeds the bound."""
        self.available_to_small = size
        """The bytes of the bound that are free if only small requests are counted."""
        self._waiting: deque[WaitsForMemory] = deque()
        self._small_waiting: deque[WaitsForMemory] = deque()
        self._giving = False

    def try_allocate(self, size: int) -> bool:
        """Take `size` bytes and return True, or return False if nothing is left. O(1)."""
        if size < SMALL_REQUEST_BYTES:
            if self.available_to_small <= 0:
                return False
            self.available_to_small -= size
        elif self.available <= 0:
            return False
        self.available -= size
        return True

    def release(self, size: int) -> None:
        """Give back the `size` bytes of one request, and wake waiting connections.

        Connections are woken as long as any memory is left.
        """
        self.available += size
        if size < SMALL_REQUEST_BYTES:
            self.available_to_small += size
        if self._giving or not (self._waiting or self._small_waiting):
            return  # a resumed connection called this: the loop below is running already
        self._giving = True
        try:
            while self._small_waiting and self.available_to_small > 0:
                self._small_waiting.popleft().more_memory()
            while self._waiting and self.available > 0:
                self._waiting.popleft().more_memory()
        finally:
            self._giving = False

    def wait(self, connection: WaitsForMemory, size: int) -> None:
        """Call the connection's `more_memory` when there is memory for a request of `size`."""
        queue = self._small_waiting if size < SMALL_REQUEST_BYTES else self._waiting
        queue.append(connection)

    @property
    def waiting(self) -> int:
        """The number of connections that wait for memory."""
        return len(self._waiting) + len(self._small_waiting)
