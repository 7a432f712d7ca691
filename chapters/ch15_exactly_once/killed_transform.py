"""A program that consumes, transforms and produces, and kills itself after a step of its loop.

    python -m chapters.ch15_exactly_once.killed_transform SERVERS ORDER GROUP MAIL STEP

It reads ten orders at a time and writes a bill for each of them. For each bill it also writes a
line into the file MAIL: this stands for an e-mail, which no broker can take back. ORDER says when
it commits its position.

The first round works on the orders that the previous process did not finish. In the second
round the program sends itself SIGKILL after STEP. Before that it prints the number of the first
order of its batch. With an empty STEP it continues to the end of the orders.

The partition is assigned by hand, without a membership in the group. So the next start need not
wait until the group has removed a dead member.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.topic_partition import TopicPartition

from ..demo_parts.own_reader import POLL_MS

ORDERS_TOPIC: Final = TopicPartition("orders", 0)
BILLS_TOPIC: Final = TopicPartition("bills", 0)
AT_ONCE: Final = 10
READ: Final = "read"
HALF: Final = "half of the bills"
BILLS: Final = "all bills"
OFFSETS: Final = "offsets"
COMMIT: Final = "commit"


class Order(NamedTuple):
    """An order of the steps of the loop."""

    words: str
    steps: tuple[str, ...]

    @property
    def transactional(self) -> bool:
        return COMMIT in self.steps


#: Each order, and the steps of its loop. The program can be killed after each of them.
ORDERS: Final = {
    "offsets-first": Order("commits, then writes", (READ, OFFSETS, HALF, BILLS)),
    "records-first": Order("writes, then commits", (READ, HALF, BILLS, OFFSETS)),
    "transaction": Order("in a transaction", (READ, HALF, BILLS, OFFSETS, COMMIT)),
}


class Transform:
    """The program's clients, and its current batch of orders."""

    def __init__(
        self, consumer: Consumer, producer: Producer, order: Order, group: str, mail: Path
    ) -> None:
        self._consumer = consumer
        self._producer = producer
        self._order = order
        self._group = group
        self._mail = mail
        self.orders: Sequence[ConsumerRecord] = ()

    async def run(self, end: int, die_after: str) -> None:
        """Work up to the offset `end` of the orders, or die in the second round."""
        await self.round(end, "")
        while await self.round(end, die_after):
            pass

    async def round(self, end: int, die_after: str) -> bool:
        """Do the steps of the loop once. Return whether there was an order to work on."""
        for step in self._order.steps:
            await self._take(step, end)
            if not self.orders:
                return False
            if step == die_after:
                print(number_of(self.orders[0]), flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
        return True

    async def _take(self, step: str, end: int) -> None:
        if step == READ:
            self.orders = await self._read(end)
            if self.orders and self._order.transactional:
                self._producer.begin_transaction()
        elif step == OFFSETS:
            position = {ORDERS_TOPIC: OffsetAndMetadata(self.orders[-1].offset + 1)}
            if self._order.transactional:
                await self._producer.send_offsets_to_transaction(position, self._group)
            else:
                await self._consumer.commit(position)
        elif step == HALF:
            await self._bill(self.orders[: AT_ONCE // 2])
        elif step == BILLS:
            await self._bill(self.orders[AT_ONCE // 2 :])
        elif step == COMMIT:
            await self._producer.commit_transaction()

    async def _read(self, end: int) -> list[ConsumerRecord]:
        """Return the next ten orders, or all that are left if there are fewer."""
        orders: list[ConsumerRecord] = []
        while len(orders) < AT_ONCE and await self._consumer.position(ORDERS_TOPIC) < end:
            orders += await self._consumer.poll(POLL_MS, max_records=AT_ONCE - len(orders))
        return orders

    async def _bill(self, orders: Sequence[ConsumerRecord]) -> None:
        with self._mail.open("a", encoding="ascii") as mail:
            for order in orders:
                number = number_of(order)
                mail.write(f"{number}\n")
                mail.flush()
                bill = b"bill %d" % number
                await self._producer.send(BILLS_TOPIC.topic, bill, partition=BILLS_TOPIC.partition)
        await self._producer.flush()


def number_of(record: ConsumerRecord) -> int:
    """Return the number of an order or a bill."""
    assert isinstance(record.value, bytes)
    return int(record.value.rpartition(b" ")[2])


@asynccontextmanager
async def transforming(
    servers: str, order: Order, group: str, mail: Path
) -> AsyncIterator[tuple[Transform, int]]:
    """Yield the program at its committed position, and the end of the orders.

    `init_transactions` is called first. It ends the open transaction of the previous process, so
    that the committed offsets do not change any more.
    """
    settings: dict[str, object] = {"bootstrap.servers": servers}
    own = {"transactional.id": group} if order.transactional else {}
    consuming = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    async with Producer({**settings, **own, "acks": "all"}) as producer:
        if order.transactional:
            await producer.init_transactions()
        async with Consumer({**settings, **consuming}) as consumer:
            consumer.assign([ORDERS_TOPIC])
            ends = await consumer.end_offsets([ORDERS_TOPIC])
            yield Transform(consumer, producer, order, group, mail), ends[ORDERS_TOPIC]


async def transform(servers: str, name: str, group: str, mail: str, die_after: str) -> None:
    """Run until the kill, or to the end of the orders."""
    async with transforming(servers, ORDERS[name], group, Path(mail)) as (program, end):
        await program.run(end, die_after)


if __name__ == "__main__":
    asyncio.run(transform(*sys.argv[1:]))
