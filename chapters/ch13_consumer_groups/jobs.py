"""The jobs of chapter 13: groups of our own consumers, whose events go to the dashboard.

    kagura        four members read a topic with two partitions
    kagura-again  the same group once more, without new records
    no-group      four consumers without a group read the same topic
    joins         a third member joins two, eager (range)
    cooperative   the same with cooperative-sticky
    leaves        a member closes its consumer
    crashes       a member is killed
    slow          a member stops polling
    stopped       a member is paused, and a new one joins
    dynamic       a member restarts
    static        a static member restarts
    grows         the topic gets one more partition
    outlives      two members go on, while their coordinator is killed

A job measures what happens from a stable group to the next stable one. Then its members go on, so
that the screens show them, until the next job begins.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.topic_calls import NewPartitions
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.events.client import GroupRead, RebalanceMeasured
from kafka_edu.trace.tracer import Tracer

from ..chapter import JobPlace
from ..demo_parts.own_reader import read_from, reader
from .crew import Crew, LocalMember
from .sharing import COOPERATIVE

JOBS: Final[Mapping[str, str]] = {
    "kagura": "let four members read two partitions",
    "kagura-again": "let the same group read them once more",
    "no-group": "let four consumers without a group read them",
    "joins": "let a third member join, with range",
    "cooperative": "the same with cooperative-sticky",
    "leaves": "let a member close its consumer",
    "crashes": "kill a member",
    "slow": "let a member work too long on its records",
    "stopped": "stop a member with SIGSTOP, while a new one joins",
    "dynamic": "restart a member",
    "static": "restart a static member",
    "grows": "add a partition to the topic",
    "outlives": "let two members continue",
}
#: Extra packages that the jobs need: none.
NEEDS: Final[tuple[str, ...]] = ()

TOPIC: Final = "ch13"
BOOK_TOPIC: Final = "mea"
BOOK_GROUP: Final = "kagura"
"""The book's topic with two partitions, and its group."""
GROWING: Final = "grows"
RECORDS: Final = 20
BOOK_MEMBERS: Final = 4
RANGE: Final = "range"
SESSION_MS: Final = 6_000
"""The shortest session that brokers allow by default (group.min.session.timeout.ms)."""
POLL_INTERVAL_MS: Final = 3_000
REBALANCE_MS: Final = 5_000
LONG_SESSION_MS: Final = 60_000
HOLD_S: Final = 0.1
"""How often an idle job checks whether the next job begins."""


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Yield the function that runs a job by its name."""
    jobs = GroupJobs(place)
    yield place.runner(lambda name: partial(jobs.run, name))


class GroupJobs:
    """The jobs of chapter 13 on one cluster."""

    def __init__(self, place: JobPlace) -> None:
        self._place = place

    async def run(self, name: str, trace: Tracer) -> None:
        """Run the job with this name, and let its members go on until the next job begins."""
        if name == "no-group":
            await self._read_without_group()
            return
        book = name.startswith(BOOK_GROUP)
        topic = BOOK_TOPIC if book else GROWING if name == "grows" else TOPIC
        group = BOOK_GROUP if book else name
        partitions = len(await self._end_offsets(topic))
        servers = self._place.bootstrap_servers
        async with Crew(servers, group, topic, partitions, trace) as crew:
            jobs: Mapping[str, Callable[[Crew], Awaitable[None]]] = {
                "kagura": self._read_new_records,
                "kagura-again": self._read_again,
                "joins": lambda crew: self._join(crew, "joins", RANGE),
                "cooperative": lambda crew: self._join(crew, "cooperative", COOPERATIVE),
                "leaves": self._leave,
                "crashes": self._crash,
                "slow": self._be_slow,
                "stopped": self._stand_still,
                "dynamic": lambda crew: self._restart(crew, static=False),
                "static": lambda crew: self._restart(crew, static=True),
                "grows": self._grow,
                "outlives": self._go_on,
            }
            await jobs[name](crew)
            while not self._place.another_waits():
                await asyncio.sleep(HOLD_S)

    async def _end_offsets(self, topic: str) -> dict[TopicPartition, int]:
        async with reader(self._place.bootstrap_servers) as consumer:
            return await consumer.end_offsets(await consumer.partitions_for(topic))

    async def _send(self, topic: str, records: int, partitions: int) -> None:
        """Send records to the partitions in turn, and wait for all acknowledgements."""
        settings = {
            "bootstrap.servers": self._place.bootstrap_servers,
            "client.id": "writer",
            "acks": "all",
        }
        async with Producer(settings) as producer:
            futures = [
                await producer.send(topic, b"line %d" % number, partition=number % partitions)
                for number in range(records)
            ]
            for future in futures:
                await future

    async def _book_group(self, crew: Crew) -> None:
        for number in range(1, BOOK_MEMBERS + 1):
            crew.join(f"consumer-{number}", {})
        await crew.stable()

    def _emit_read(self, client: str, crew: Crew, sent: int, group: str = BOOK_GROUP) -> None:
        members = crew.members
        self._place.emit(
            GroupRead(
                client=client,
                group=group,
                members=len(members),
                idle=sum(not member.partitions for member in members),
                sent=sent,
                read=sum(member.read for member in members),
            )
        )

    async def _read_new_records(self, crew: Crew) -> None:
        """Run the book's program: four members read twenty records from two partitions."""
        await self._book_group(crew)
        await self._send(BOOK_TOPIC, RECORDS, crew.partitions)
        await crew.read(RECORDS)
        self._emit_read("kagura", crew, RECORDS)

    async def _read_again(self, crew: Crew) -> None:
        """Run the book's program again. The group continues at the ends of the partitions."""
        ends = await self._end_offsets(BOOK_TOPIC)
        await self._book_group(crew)
        for member in crew.members:
            assert isinstance(member, LocalMember)
            for number in member.partitions:
                tp = TopicPartition(BOOK_TOPIC, number)
                await crew.read_to(member, tp, ends[tp])
        self._emit_read("kagura-again", crew, sum(ends.values()))

    async def _read_without_group(self) -> None:
        """Let each consumer take all partitions itself, and read them to their ends."""
        ends = await self._end_offsets(BOOK_TOPIC)
        start = dict.fromkeys(ends, 0)
        read = 0
        for _ in range(BOOK_MEMBERS):
            read += len(await read_from(self._place.bootstrap_servers, start))
        self._place.emit(
            GroupRead(
                client="no-group",
                group="",
                members=BOOK_MEMBERS,
                idle=0,
                sent=sum(ends.values()),
                read=read,
            )
        )

    async def _measure(
        self, crew: Crew, client: str, assignor: str, change: Callable[[], Awaitable[None]]
    ) -> None:
        """Change the members of a stable group, wait until it is stable again, and emit the costs.

        Only members that stay count in the numbers of given-up and moved partitions.
        """
        generation = await crew.stable()
        had = {member: (member.partitions, member.given_up) for member in crew.members}
        loop = asyncio.get_running_loop()
        began = loop.time()
        await change()
        rebalances = await crew.stable() - generation
        stay = [member for member in had if member in crew.members]
        self._place.emit(
            RebalanceMeasured(
                client=client,
                group=client,
                assignor=assignor,
                rebalances=rebalances,
                given_up=sum(member.given_up - had[member][1] for member in stay),
                moved=sum(len(had[member][0] - member.partitions) for member in stay),
                took_ms=round((loop.time() - began) * 1_000) if rebalances else 0,
            )
        )

    async def _join(self, crew: Crew, client: str, assignor: str) -> None:
        settings = {"partition.assignment.strategy": assignor}
        for name in "ab":
            crew.join(f"{client}-{name}", settings)

        async def change() -> None:
            crew.join(f"{client}-c", settings)

        await self._measure(crew, client, assignor, change)

    async def _leave(self, crew: Crew) -> None:
        *_, last = [crew.join(f"leaves-{name}", {}) for name in "abc"]
        await self._measure(crew, "leaves", RANGE, lambda: crew.leave(last))

    async def _crash(self, crew: Crew) -> None:
        settings = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": SESSION_MS // 3}
        for name in "ab":
            crew.join(f"crashes-{name}", settings)
        victim = await crew.join_as_process("crashes-c", settings)

        async def change() -> None:
            victim.kill()
            crew.lose(victim)

        await self._measure(crew, "crashes", RANGE, change)

    async def _be_slow(self, crew: Crew) -> None:
        for name in "ab":
            crew.join(f"slow-{name}", {})
        slow = crew.join("slow-c", {"max.poll.interval.ms": POLL_INTERVAL_MS})

        async def change() -> None:
            slow.polls.clear()
            crew.lose(slow)

        await self._measure(crew, "slow", RANGE, change)

    async def _stand_still(self, crew: Crew) -> None:
        settings = {
            "session.timeout.ms": LONG_SESSION_MS,
            "max.poll.interval.ms": REBALANCE_MS,
        }
        for name in "ab":
            crew.join(f"stopped-{name}", settings)
        victim = await crew.join_as_process("stopped-c", settings)

        async def change() -> None:
            victim.stop()
            crew.lose(victim)
            crew.join("stopped-d", settings)

        await self._measure(crew, "stopped", RANGE, change)

    async def _restart(self, crew: Crew, *, static: bool) -> None:
        client = "static" if static else "dynamic"

        def settings(name: str) -> dict[str, object]:
            return {"group.instance.id": f"{client}-{name}"} if static else {}

        *_, second = [crew.join(f"{client}-{name}", settings(name)) for name in "ab"]

        async def change() -> None:
            await crew.leave(second)
            if not static:
                await crew.stable()
            crew.join(f"{client}-b", settings("b"))

        await self._measure(crew, client, RANGE, change)

    async def _grow(self, crew: Crew) -> None:
        for name in "ab":
            crew.join(f"grows-{name}", {"metadata.max.age.ms": 1_000})

        async def change() -> None:
            crew.partitions += 1
            async with Admin({"bootstrap.servers": self._place.bootstrap_servers}) as admin:
                made = await admin.create_partitions({GROWING: NewPartitions(crew.partitions)})
            assert not made.errors, made.errors

        await self._measure(crew, "grows", RANGE, change)

    async def _go_on(self, crew: Crew) -> None:
        """Start two members, and emit an event when the group is stable. No records come."""
        for name in "ab":
            crew.join(f"outlives-{name}", {})
        await crew.stable()
        self._emit_read("outlives", crew, 0, "outlives")
