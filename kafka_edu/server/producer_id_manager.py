"""Generate producer ids, each one once in the life of the cluster (Kafka: ProducerIdManager.scala;
KIP-98).

A broker takes ids from ZooKeeper in blocks of 1000, by compare-and-set on
/latest_producer_id_block. It gives them out one by one. The rest of a block is lost when the broker
stops. With 2⁶³ ids that does not matter.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kafka_edu.trace.events.server import ProducerIdBlockAllocated
from kafka_edu.trace.tracer import Tracer

AllocateBlock = Callable[[], Awaitable[tuple[int, int]]]
"""Takes a new block from ZooKeeper. Returns its first and its last id."""


class ProducerIdManager:
    """Owned by the broker's loop. O(1), and one write to ZooKeeper for each block."""

    def __init__(self, allocate_block: AllocateBlock, trace: Tracer | None) -> None:
        self._allocate_block = allocate_block
        self._trace = trace
        self._next = 0
        self._last = -1
        self._allocating = asyncio.Lock()

    async def generate_producer_id(self) -> int:
        """Return a new id. Callers that wait for the same block share it. Raises ZkError."""
        async with self._allocating:
            if self._next > self._last:
                self._next, self._last = await self._allocate_block()
                if self._trace:
                    self._trace(ProducerIdBlockAllocated(first=self._next, last=self._last))
            self._next += 1
            return self._next - 1
