"""A program that works on records and commits offsets. It stops at a chosen point, to be
killed there.

    python -m chapters.ch14_offsets.worker PLAN

PLAN is a `Plan` as JSON. The work on a record is one line of output: `worked NUMBER`. So the work
is done when the line is printed, as if it were a mail or a payment. When the program reaches its
point, it prints `here` and does nothing more: no heartbeat, no commit. It ends by itself only if
its standard input is closed.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.common.topic_partition import TopicPartition

WORKED: Final = "worked"
HERE: Final = "here"
POLL_MS: Final = 200
SESSION_MS: Final = 6_000
"""The shortest session that brokers allow by default (group.min.session.timeout.ms)."""
BATCH: Final = 10
"""How many records a loop takes from one poll()."""
QUEUED: Final = 3 * BATCH
"""How many records a program with a queue has received when its consumer commits."""
THOUSAND: Final = 1_000
AFTER_COMMIT: Final = 30
"""How many records a consumer with auto-commit works on after its first commit."""
EVERY_S: Final = 0.1
"""The time that the work on a record takes, in the loops with auto-commit."""


class Loop(StrEnum):
    """The ways in which a program may work and commit."""

    COMMIT_FIRST = "commit-first"
    """At most once: poll, commit, work."""
    WORK_FIRST = "work-first"
    """At least once: poll, work, commit."""
    THOUSANDS = "thousands"
    """Work on each record, and commit after every thousand."""
    AUTO = "auto"
    """Work on each record. poll() commits."""
    AUTO_QUEUE = "auto-queue"
    """Put the records into a queue, and poll again. Another part of the program works on them."""


DEFAULT_MS: Final = 5_000
"""The default of auto.commit.interval.ms."""
#: The loops with auto-commit → auto.commit.interval.ms. The second loop has a short interval.
AUTO_COMMIT_MS: Final[Mapping[Loop, int]] = {Loop.AUTO: DEFAULT_MS, Loop.AUTO_QUEUE: 1_000}


class Point(StrEnum):
    """The points at which a program may be killed, in the loops COMMIT_FIRST and WORK_FIRST."""

    POLLED = "polled"
    COMMITTED = "committed"
    HALF = "half"
    WORKED = "worked"


#: The points of a round, in the order in which each of the two loops comes to them.
POINTS: Final[Mapping[Loop, Sequence[Point]]] = {
    Loop.COMMIT_FIRST: (Point.POLLED, Point.COMMITTED, Point.HALF, Point.WORKED),
    Loop.WORK_FIRST: (Point.POLLED, Point.HALF, Point.WORKED, Point.COMMITTED),
}


class Plan(NamedTuple):
    """The task of the program, and the point at which it stops."""

    servers: str
    topic: str
    group: str
    loop: Loop
    stop: str
    """A Point of the second round; with THOUSANDS an offset; else empty."""

    def to_json(self) -> str:
        return json.dumps(self._asdict())


class Committed:
    """An interceptor that stores the last committed offset."""

    def __init__(self) -> None:
        self.offset = 0

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.offset = max([self.offset, *(each.offset for each in offsets.values())])


class Worker:
    """One run of the program."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._committed = Committed()
        self._consumer = Consumer(
            {
                "bootstrap.servers": plan.servers,
                "client.id": f"{plan.group}-worker",
                "group.id": plan.group,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": SESSION_MS // 3,
                "enable.auto.commit": plan.loop in AUTO_COMMIT_MS,
                "auto.commit.interval.ms": AUTO_COMMIT_MS.get(plan.loop, DEFAULT_MS),
                "interceptor.classes": [self._committed],
            }
        )

    async def run(self) -> None:
        """Work until the point at which the program stops."""
        async with self._consumer as consumer:
            consumer.subscribe([self._plan.topic])
            match self._plan.loop:
                case Loop.COMMIT_FIRST | Loop.WORK_FIRST:
                    await self._rounds()
                case Loop.THOUSANDS:
                    await self._thousands(int(self._plan.stop))
                case Loop.AUTO:
                    await self._auto()
                case Loop.AUTO_QUEUE:
                    await self._auto_queue()

    async def _poll(self, most: int) -> list[ConsumerRecord]:
        """Return at least one record, and at most `most`."""
        records: list[ConsumerRecord] = []
        while not records:
            records = await self._consumer.poll(POLL_MS, max_records=most)
        return records

    async def _rounds(self) -> None:
        """Run two rounds that commit before or after the work. The point is in the second round."""
        for stop in ("", self._plan.stop):
            records: list[ConsumerRecord] = []
            while len(records) < BATCH:
                records += await self._poll(BATCH - len(records))
            _at(Point.POLLED, stop)
            if self._plan.loop is Loop.COMMIT_FIRST:
                await self._commit(stop)
                _work_with_point(records, stop)
            else:
                _work_with_point(records, stop)
                await self._commit(stop)

    async def _commit(self, stop: str) -> None:
        await self._consumer.commit()
        _at(Point.COMMITTED, stop)

    async def _thousands(self, last: int) -> None:
        """Commit after every thousand records, and stop after the record at `last`."""
        while True:
            for record in await self._poll(THOUSAND):
                _work(record)
                if record.offset == last:
                    _stand_still()
                if (record.offset + 1) % THOUSAND == 0:
                    tp = TopicPartition(record.topic, record.partition)
                    await self._consumer.commit({tp: OffsetAndMetadata(record.offset + 1)})

    async def _auto(self) -> None:
        """Work on AFTER_COMMIT records after the first commit, one every EVERY_S."""
        left = AFTER_COMMIT
        while left:
            [record] = await self._poll(1)
            _work(record)
            left -= self._committed.offset > 0
            await asyncio.sleep(EVERY_S)
        _stand_still()

    async def _auto_queue(self) -> None:
        """Put QUEUED records into a queue, and work on BATCH of them. Poll again, and stop when
        all are committed.
        """
        queue: list[ConsumerRecord] = []
        while len(queue) < QUEUED:
            queue += await self._poll(QUEUED - len(queue))
        for record in queue[:BATCH]:
            _work(record)
        while self._committed.offset < QUEUED:
            queue += await self._consumer.poll(POLL_MS)
        _stand_still()


def _work(record: ConsumerRecord) -> None:
    assert isinstance(record.value, bytes)
    print(WORKED, record.value.decode(), flush=True)


def _work_with_point(records: Sequence[ConsumerRecord], stop: str) -> None:
    half = len(records) // 2
    for record in records[:half]:
        _work(record)
    _at(Point.HALF, stop)
    for record in records[half:]:
        _work(record)
    _at(Point.WORKED, stop)


def _at(point: Point, stop: str) -> None:
    """Stop if this is the chosen point."""
    if point == stop:
        _stand_still()


def _stand_still() -> None:
    """Do nothing more, until a signal ends the process."""
    print(HERE, flush=True)
    while True:
        signal.pause()


def _end_with_parent() -> None:
    """End the process when its standard input is closed."""
    sys.stdin.read()
    os._exit(1)


def read_plan(text: str) -> Plan:
    """Return a plan from JSON."""
    fields = json.loads(text)
    return Plan(**(fields | {"loop": Loop(fields["loop"])}))


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(Worker(read_plan(sys.argv[1])).run())
