"""The jobs of chapter 14. Real consumers commit, and their records are counted.

    place          reads five of ten records, and commits
    goes-on        reads on with the same group
    antique        commits as the consumers of the days of ZooKeeper did
    six-eight      commits 6 and 8 after ten records of each partition, and reads again
    wrong-commits  commits 20 and 5 after ten records, and reads on
    thousands      commits after every thousand records, and is killed after record 9988
    commit-first   commits before the work, and is killed at each of four points
    work-first     works before the commit, and is killed at each of four points
    auto           lets the consumer commit, and is killed three seconds after a commit
    auto-queue     the same, with a queue between the consumer and the work
    rebalance      a second member joins three seconds after an automatic commit; nobody dies
    new-partition  a partition is added, and gets records before the consumer knows it
    expire         a group's offset expires, and the group comes back
    lag            reads eight of ten records, and commits after six

Each job creates a topic of its own, `ch14-NAME`. So it may be repeated.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.topic_calls import NewPartitions, NewTopic
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.events.client import ClientListed, GroupOffsetSeen
from kafka_edu.trace.tracer import Tracer

from ..chapter import JobPlace
from ..demo_parts.counted import counted
from ..demo_parts.own_reader import ends_of
from . import raw_commit
from .killed_worker import work_and_be_killed
from .worker import AFTER_COMMIT, BATCH, EVERY_S, POINTS, QUEUED, THOUSAND, Committed, Loop, Plan

JOBS: Final[Mapping[str, str]] = {
    "place": "read five of ten records, and commit",
    "goes-on": "continue reading with the same group",
    "antique": "commit to ZooKeeper, as old consumers did",
    "six-eight": "commit 6 and 8 of ten records, and read again",
    "wrong-commits": "commit 20 and 5 after ten records, and continue reading",
    "thousands": "commit every thousand records, and be killed after record 9988",
    "commit-first": "commit, then work, and be killed at four points",
    "work-first": "work, then commit, and be killed at four points",
    "auto": "be killed three seconds after an automatic commit",
    "auto-queue": "be killed with records in a queue that are committed",
    "rebalance": "a member joins three seconds after an automatic commit",
    "new-partition": "add a partition, and write to it before the consumer knows it",
    "expire": "let an offset expire, and read again",
    "lag": "read eight of ten records, and commit six",
}
#: Extra packages that the jobs need: none.
NEEDS: Final[tuple[str, ...]] = ()

READERS: Final = "readers"
TEN: Final = 10
ROUNDS: Final = 3 * BATCH
"""The number of records for loops that are killed in their second round."""
LAST: Final = 9_988
"""The offset of the last record on which the loop with thousands works."""
FEW: Final = 5
"""How many records a new partition gets, before and after the consumer knows it."""
AUTO_RECORDS: Final = 150
POLL_MS: Final = 200
REPLICAS: Final = 3
SHORT_MS: Final = 1_000
"""The retention time that an old client sets for its offset."""
LOOK_S: Final = 0.2


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Yield the function that runs a job by its name."""
    yield place.runner(lambda name: lambda trace: OffsetJobs(place, trace).run(name))


class OffsetJobs:
    """The jobs of chapter 14 on one cluster."""

    def __init__(self, place: JobPlace, trace: Tracer) -> None:
        self._place = place
        self._trace = trace
        self._servers = place.bootstrap_servers

    async def run(self, name: str) -> None:
        """Run the job with this name to its end."""
        jobs = {
            "place": self._read_five,
            "goes-on": self._go_on,
            "antique": self._antique,
            "six-eight": self._six_eight,
            "wrong-commits": self._wrong_commits,
            "thousands": self._thousands,
            "commit-first": lambda: self._killed_at_each_point(Loop.COMMIT_FIRST),
            "work-first": lambda: self._killed_at_each_point(Loop.WORK_FIRST),
            "auto": lambda: self._killed(Loop.AUTO, "", AUTO_RECORDS),
            "auto-queue": lambda: self._killed(Loop.AUTO_QUEUE, "", QUEUED),
            "rebalance": self._rebalance,
            "new-partition": self._new_partition,
            "expire": self._expire,
            "lag": self._lag,
        }
        await jobs[name]()

    # Shared by all jobs.

    def _admin(self) -> Admin:
        return Admin({"bootstrap.servers": self._servers, "client.id": "ch14-admin"})

    def _consumer(self, client: str, group: str, **more: object) -> Consumer:
        """Build a consumer that begins at the start and commits by hand, unless `more` says
        otherwise. In `more`, `_` stands for a dot: `max_poll_records` is max.poll.records.
        """
        settings: dict[str, object] = {
            "bootstrap.servers": self._servers,
            "client.id": client,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        settings |= {key.replace("_", "."): value for key, value in more.items()}
        return Consumer(settings, trace=self._trace)

    async def _topic(self, name: str, partitions: int = 1) -> str:
        """Create a topic that is not there yet, and return its name."""
        async with self._admin() as admin:
            known = await admin.list_topics()
            topic, number = f"ch14-{name}", 1
            while topic in known:
                number += 1
                topic = f"ch14-{name}-{number}"
            made = await admin.create_topics([NewTopic(topic, partitions, REPLICAS)])
            for each in made:
                made[each]
        return topic

    async def _send(self, tp: TopicPartition, numbers: Iterable[int]) -> None:
        """Send numbers to a partition, and wait for all acknowledgements."""
        settings = {"bootstrap.servers": self._servers, "client.id": "ch14-sender", "acks": "all"}
        async with Producer(settings, trace=self._trace) as producer:
            for future in [
                await producer.send(tp.topic, f"{number}", partition=tp.partition)
                for number in numbers
            ]:
                await future

    async def _new_topic_with(self, name: str, records: int) -> TopicPartition:
        """Create a topic with one partition and these records."""
        tp = TopicPartition(await self._topic(name), 0)
        await self._send(tp, range(records))
        return tp

    async def _committed(self, group: str, tp: TopicPartition) -> int:
        """Return the group's committed offset in `__consumer_offsets`, or -1."""
        async with self._admin() as admin:
            found = (await admin.list_consumer_group_offsets(group, [tp]))[tp]
        return -1 if found is None else found.offset

    def _count(self, client: str, group: str, sent: Sequence[int], worked: Iterable[int]) -> None:
        """Emit how often the group worked on the records."""
        self._place.emit(counted(client, f"the work of group {group}", sent, worked))

    async def _see(
        self, client: str, group: str, tp: TopicPartition, *, position: int, committed: int
    ) -> None:
        self._place.emit(
            GroupOffsetSeen(
                client=client,
                group=group,
                topic=tp.topic,
                partition=tp.partition,
                position=position,
                committed=committed,
                end=(await ends_of(self._servers, [tp]))[tp],
            )
        )

    async def _see_reader(
        self, client: str, group: str, tp: TopicPartition, consumer: Consumer
    ) -> None:
        """Emit the consumer's position and the group's committed offset."""
        committed = await self._committed(group, tp)
        position = await consumer.position(tp)
        await self._see(client, group, tp, position=position, committed=committed)

    async def _rest(self, group: str, topic: str, **more: object) -> list[ConsumerRecord]:
        """Read as a new member, from the group's committed offset to the end."""
        async with self._consumer(f"{group}-next", group, **more) as consumer:
            consumer.subscribe([topic])
            partitions = await consumer.partitions_for(topic)
            found: list[ConsumerRecord] = []
            while len(consumer.assignment()) < len(partitions):
                found += await consumer.poll(POLL_MS)
            for tp, end in (await consumer.end_offsets(partitions)).items():
                while await consumer.position(tp) < end:
                    found += await consumer.poll(POLL_MS)
            return found

    # Where a place is kept.

    async def _read_five(self) -> None:
        """Read five of ten records, and commit. The commit is 5, the offset of the next record."""
        group = READERS
        tp = await self._new_topic_with("place", TEN)
        async with self._consumer("reader", group) as consumer:
            consumer.subscribe([tp.topic])
            await _read(consumer, TEN // 2)
            await consumer.commit()
            await self._see_reader("place", group, tp, consumer)

    async def _go_on(self) -> None:
        """Continue to read the topic of the last job `place`, as another consumer of its group."""
        async with self._admin() as admin:
            committed = await admin.list_consumer_group_offsets(READERS)
        topic = max(tp.topic for tp in committed)
        numbers = _numbers(await self._rest(READERS, topic))
        values = "-".join(map(str, numbers))
        self._place.emit(ClientListed(client="goes-on", records=len(numbers), values=values))

    async def _antique(self) -> None:
        """Commit with version 0, and look for the offset in ZooKeeper and in the topic."""
        group = "antique"
        tp = await self._new_topic_with("antique", TEN)
        server = self._servers.partition(",")[0]
        await raw_commit.commit(server, group, tp, 5, version=raw_commit.IN_ZOOKEEPER)
        old = await raw_commit.committed_in_zookeeper(server, group, tp)
        await self._see("in-zookeeper", group, tp, position=-1, committed=old)
        new = await self._committed(group, tp)
        await self._see("in-the-topic", group, tp, position=-1, committed=new)

    async def _lag(self) -> None:
        """Commit after six records, and read two more."""
        group = "laggards"
        tp = await self._new_topic_with("lag", TEN)
        async with self._consumer("laggard", group) as consumer:
            consumer.subscribe([tp.topic])
            await _read(consumer, 6)
            await consumer.commit()
            await _read(consumer, 2)
            await self._see_reader("lag", group, tp, consumer)

    # Commits that do not say how far the group is.

    async def _six_eight(self) -> None:
        """Commit 6 and 8 after ten records of each partition, and let two groups read."""
        topic = await self._topic("six-eight", 2)
        partitions = [TopicPartition(topic, number) for number in range(2)]
        for tp in partitions:
            await self._send(tp, range(TEN))
        async with self._consumer("hololive-first", "hololive") as consumer:
            consumer.subscribe([topic])
            await _read(consumer, 2 * TEN)
            commits = dict(zip(partitions, (6, 8), strict=True))
            await consumer.commit({tp: OffsetAndMetadata(at) for tp, at in commits.items()})
        for group in ("hololive", "another"):
            found = sorted((r.partition, r.offset) for r in await self._rest(group, topic))
            values = "-".join(f"{partition}:{offset}" for partition, offset in found)
            self._place.emit(ClientListed(client=group, records=len(found), values=values))

    async def _wrong_commits(self) -> None:
        """Commit 20 after ten records, in another topic 5. Then send fifteen more, and read on."""
        for name, offset in (("too-far", 2 * TEN), ("too-near", TEN // 2)):
            tp = await self._new_topic_with(name, TEN)
            async with self._consumer(f"{name}-first", name) as consumer:
                consumer.subscribe([tp.topic])
                worked = await _read(consumer, TEN)
                await consumer.commit({tp: OffsetAndMetadata(offset)})
            await self._send(tp, range(TEN, 25))
            worked += _numbers(await self._rest(name, tp.topic))
            self._count(name, name, range(25), worked)

    # Consumers that are killed.

    async def _killed(self, loop: Loop, stop: str, records: int) -> None:
        """Kill a program at the point `stop`, and let another member of its group continue."""
        group = f"{loop}-{stop}" if stop else str(loop)
        tp = await self._new_topic_with(group, records)
        worked = await work_and_be_killed(Plan(self._servers, tp.topic, group, loop, stop))
        worked += _numbers(await self._rest(group, tp.topic))
        self._count(group, group, range(records), worked)

    async def _killed_at_each_point(self, loop: Loop) -> None:
        """Kill four programs in their second round, each at a different point."""
        await asyncio.gather(*(self._killed(loop, str(point), ROUNDS) for point in POINTS[loop]))

    async def _thousands(self) -> None:
        """Kill a program after the record at LAST. Its last commit was 9000."""
        await self._killed(Loop.THOUSANDS, str(LAST), LAST + THOUSAND)

    async def _rebalance(self) -> None:
        """Let a second member join when the first one has worked for three seconds since its
        commit.
        """
        group = "all-live"
        tp = await self._new_topic_with(group, AUTO_RECORDS)
        committed = Committed()
        worked: list[int] = []
        auto = {"enable_auto_commit": True, "interceptor_classes": [committed]}
        # Range gives the only partition to the member that is first by name.
        async with self._consumer("z-first", group, **auto) as first:
            first.subscribe([tp.topic])
            left = AFTER_COMMIT
            while left:
                worked += _numbers(await first.poll(POLL_MS, max_records=1))
                left -= committed.offset > 0
                await asyncio.sleep(EVERY_S)
            async with self._consumer("a-second", group, enable_auto_commit=True) as second:
                second.subscribe([tp.topic])
                while len(set(worked)) < AUTO_RECORDS:
                    worked += _numbers(await first.poll(0, max_records=1))
                    worked += _numbers(await second.poll(POLL_MS, max_records=TEN))
        self._count(group, group, range(AUTO_RECORDS), worked)

    # Where a group without a commit begins.

    async def _new_partition(self) -> None:
        """Add a partition while a consumer runs: once with `latest`, and once with `earliest`."""
        for policy in ("latest", "earliest"):
            await self._add_partition(policy)

    async def _add_partition(self, policy: str) -> None:
        """Write FEW records before the consumer knows the partition, and FEW after it was assigned.

        The consumer asks for metadata every metadata.max.age.ms, five minutes by default. So that
        nobody has to wait, the consumer asks for another topic. The answer has the metadata of all
        topics of the consumer.
        """
        old = TopicPartition(await self._topic(f"grows-{policy}"), 0)
        new = TopicPartition(old.topic, 1)
        other = await self._topic(f"other-{policy}")
        settings = {"auto_offset_reset": policy}
        async with self._consumer(policy, f"new-{policy}", **settings) as consumer:
            consumer.subscribe([old.topic])
            while not consumer.assignment():
                await consumer.poll(POLL_MS)
            await consumer.position(old)
            async with self._admin() as admin:
                made = await admin.create_partitions({old.topic: NewPartitions(2)})
                for each in made:
                    made[each]
            early, late = range(FEW), range(FEW, 2 * FEW)
            await self._send(new, early)
            await consumer.partitions_for(other)
            found: list[int] = []
            while new not in consumer.assignment():
                found += _numbers(await consumer.poll(POLL_MS))
            await consumer.position(new)
            await self._send(new, late)
            while not set(late) <= set(found):
                found += _numbers(await consumer.poll(POLL_MS))
        self._count(policy, f"new-{policy}", early, found)

    async def _expire(self) -> None:
        """Commit 10 with a retention of one second, wait until the commit is removed, and read
        again.
        """
        group = "holiday"
        tp = await self._new_topic_with("expire", TEN)
        async with self._admin() as admin:
            described = await admin.describe_consumer_groups([group])
        node = described[group].coordinator
        await raw_commit.commit(
            f"{node.host}:{node.port}",
            group,
            tp,
            TEN,
            version=raw_commit.WITH_RETENTION,
            retention_ms=SHORT_MS,
        )
        await self._see(
            "before", group, tp, position=-1, committed=await self._committed(group, tp)
        )
        while await self._committed(group, tp) >= 0:
            await asyncio.sleep(LOOK_S)
        again = _numbers(await self._rest(group, tp.topic))
        self._count("holiday", group, range(TEN), [*range(TEN), *again])


def _numbers(records: Iterable[ConsumerRecord]) -> list[int]:
    return [int(record.value) for record in records if isinstance(record.value, bytes)]


async def _read(consumer: Consumer, count: int) -> list[int]:
    """Read exactly this many records, and return their numbers."""
    found: list[int] = []
    while len(found) < count:
        found += _numbers(await consumer.poll(POLL_MS, max_records=count - len(found)))
    return found
