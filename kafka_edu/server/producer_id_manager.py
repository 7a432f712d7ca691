"""Generate producer ids. In a cluster, each id is generated only once (Kafka:
ProducerIdManager.scala; KIP-98).

A broker takes ids from ZooKeeper in blocks of 1000, by compare-and-set on
/latest_producer_id_block. It assigns the ids of a block one by one. When the broker stops, the rest
of its block is lost. This does not matter, because there are 2⁶³ ids.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kafka_edu.trace.events.server import ProducerIdBlockAllocated
from kafka_edu.trace.tracer import Tracer

AllocateBlock = Callable[[], Awaitable[tuple[int, int]]]
"""A function that reserves a new block of ids in ZooKeeper. It returns the block's first and last
id.
"""


class ProducerIdManager:
    """Generates producer ids. Only the broker's event loop may use it. Each id costs O(1), and each
    block one write to ZooKeeper.
    """

    def __init__(self, allocate_block: AllocateBlock, trace: Tracer | None) -> None:
        self._allocate_block = allocate_block
        self._trace = trace
        self._next = 0
        self._last = -1
        self._allocating = asyncio.Lock()

    async def generate_producer_id(self) -> int:
        """Return a new id. Callers that wait at the same time share one new block. Raises
        ZkError.
        """
        async with self._allocating:
            if self._next > self._last:
                self._next, self._last = await self._allocate_block()
                if self._trace:
                    self._trace(ProducerIdBlockAllocated(first=self._next, last=self._last))
            self._next += 1
            return self._next - 1
