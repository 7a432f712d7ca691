"""Which records a consumer group reads twice, and which records it never reads. The tests play the
cases of seed 001 and the joins of seeds 001 and 002 with our client, and count the records.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.topic_calls import NewPartitions
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.group_offsets import CommitFailedException
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.sim_cluster import FIRST_PORT
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.events.consumer import (
    ConsumerCommitted,
    ConsumerLedAssignment,
    MembershipChanged,
)
from kafka_edu.trace.events.group import RebalanceCompleted, RebalanceStarted
from tests.unit.sim.test_consumer import PARTITIONS, T0, T1, TPS, Bench, numbers, read

HEARTBEAT_MS = 3_000
SESSION_MS = 10_000
NEW = TopicPartition("t", PARTITIONS)
BY_HAND = {"enable.auto.commit": False}


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.cluster.close()


async def send_to(bench: Bench, tp: TopicPartition, values: range) -> None:
    """Send numbers to one partition."""
    async with bench.producer() as producer:
        for future in [
            await producer.send(tp.topic, f"{n}", partition=tp.partition) for n in values
        ]:
            await future


async def poll_until_assigned(*consumers: Consumer, sizes: list[int]) -> list[int]:
    """Poll all consumers in turn until they have `sizes` partitions, in any order. Return the
    numbers that they have read until then.
    """
    found: list[int] = []
    while sorted(len(each.assignment()) for each in consumers) != sizes:
        for each in consumers:
            found += numbers(await each.poll(100))
    return found


async def rest(*consumers: Consumer, quiet_polls: int = 20) -> list[int]:
    """Poll all consumers until several polls in a row have found no record. Return the numbers
    read.
    """
    found: list[int] = []
    quiet = 0
    while quiet < quiet_polls:
        records = [record for each in consumers for record in await each.poll(100)]
        found += numbers(records)
        quiet = 0 if records else quiet + 1
    return found


@pytest.mark.parametrize(("reset", "lost"), [("latest", 7), ("earliest", 0)])
def test_a_consumer_finds_a_new_partition_later_than_the_producer(
    bench: Bench, reset: str, lost: int
) -> None:
    """The producer has written 7 records before the consumer knows the partition. With
    auto.offset.reset=latest the consumer begins after these records.
    """

    async def body(consumer: Consumer) -> None:
        consumer.subscribe(["t"])
        await poll_until_assigned(consumer, sizes=[PARTITIONS])
        for tp in TPS:
            assert await consumer.position(tp) == 0
        async with Admin(
            {"bootstrap.servers": f"127.0.0.1:{FIRST_PORT + 1}"},
            transport=bench.cluster.network.transport(),
            time=bench.cluster.time,
        ) as admin:
            made = await admin.create_partitions({"t": NewPartitions(PARTITIONS + 1)})
            assert not made.errors
        await send_to(bench, NEW, range(7))
        await bench.send(range(10, 14))  # the partitions that it knows
        found = await rest(consumer)
        assert sorted(found) == [10, 11, 12, 13]
        while NEW not in consumer.assignment():
            found += numbers(await consumer.poll(100))
        await consumer.position(NEW)
        await send_to(bench, NEW, range(7, 10))
        found += await rest(consumer)
        assert sorted(found) == [*range(lost, 14)]

    bench.with_consumer(body, {"auto.offset.reset": reset, "metadata.max.age.ms": 60_000})


@pytest.mark.parametrize(
    ("commits", "reset", "more", "expected"),
    [
        ((6, 8), "earliest", 0, [*range(6, 10), *range(108, 110)]),
        ((5, 5), "earliest", 0, [*range(5, 10), *range(105, 110)]),  # smaller: read again
        ((20, 10), "earliest", 15, [*range(20, 25)]),  # larger: 10 to 19 are never read
        ((20, 10), "latest", 0, []),  # out of range: begins at the end
        ((20, 10), "earliest", 0, [*range(10)]),  # out of range: begins at the start
    ],
)
def test_a_commit_may_go_back_and_forth(
    bench: Bench, commits: tuple[int, int], reset: str, more: int, expected: list[int]
) -> None:
    """A group may commit any offset. The next consumer begins there, whether the records before
    were read or not.
    """
    settings = BY_HAND | {"auto.offset.reset": reset}

    async def body() -> None:
        await send_to(bench, T0, range(10))
        await send_to(bench, T1, range(100, 110))
        async with bench.consumer(BY_HAND) as first:
            first.subscribe(["t"])
            assert len(await read(first, 20)) == 20
            offsets = dict(zip((T0, T1), map(OffsetAndMetadata, commits), strict=True))
            await first.commit(dict.fromkeys((T0, T1), OffsetAndMetadata(10)))
            await first.commit(offsets)
        await send_to(bench, T0, range(10, 10 + more))
        async with bench.consumer(settings) as second:
            second.subscribe(["t"])
            found = await poll_until_assigned(second, sizes=[PARTITIONS])
            assert sorted(found + await rest(second)) == expected

    bench.run(body())


class EverySecond:
    """A consumer that gets one record of T0 each second, and processes it at once."""

    def __init__(self, bench: Bench, consumer: Consumer) -> None:
        self.bench = bench
        self.consumer = consumer
        self.seen: list[int] = []
        self.committed = asyncio.Event()
        """Is set when the consumer has just committed by itself, for the first time."""

    async def run(self) -> None:
        self.consumer.subscribe(["t"])
        while True:
            self.seen += numbers(await self.consumer.poll(1_000, max_records=1))
            if any(self.offsets()):
                self.committed.set()
            await asyncio.sleep(1)

    def offsets(self) -> list[int]:
        """Return the offsets of T0 that were committed, in order."""
        return [
            offset
            for each in self.bench.cluster.facts(ConsumerCommitted)
            if isinstance(each.event, ConsumerCommitted) and not each.event.error
            for partition, offset in each.event.offsets
            if partition == str(T0)
        ]


@pytest.mark.parametrize("killed", [False, True])
def test_a_rebalance_three_seconds_after_an_auto_commit(bench: Bench, killed: bool) -> None:
    """When a member is killed, the records of its last 3 s are not committed, so they are read
    twice.

    Seed 001 says this of every rebalance. But a living member commits before it joins again, so no
    record is read twice in a usual rebalance.
    """
    member = SimProcess("member")

    async def body() -> None:
        await send_to(bench, T0, range(60))
        first = EverySecond(bench, await bench.consumer({"client.id": "z"}).start())
        task = bench.cluster.loop.spawn(member, first.run())
        await first.committed.wait()
        await asyncio.sleep(3)
        if killed:
            bench.cluster.loop.kill(member)
            bench.cluster.network.process_died(member)
        last = first.offsets()[-1]
        not_committed = len(first.seen) - last
        assert 2 <= not_committed <= 4, (first.seen, last)
        # Range gives the first partitions to the member that is first by name.
        async with bench.consumer({"client.id": "b"}) as second:
            second.subscribe(["t"])
            found: list[int] = []
            while 59 not in found:
                found += numbers(await second.poll(1_000))
            assert T0 in second.assignment()
            assert (T0 in first.consumer.assignment()) is killed  # a dead member knows nothing
        task.cancel()
        count = Counter(first.seen + found)
        assert sorted(count) == [*range(60)]
        twice = sorted(n for n, times in count.items() if times > 1)
        assert twice == ([*range(last, last + not_committed)] if killed else [])

    bench.run(body())


def test_a_killed_member_that_commits_each_record_leaves_one_to_read_twice(
    bench: Bench,
) -> None:
    """The member commits by hand after each record. Only the record that it works on is read
    twice.
    """
    member = SimProcess("member")
    seen: list[int] = []
    ten = asyncio.Event()

    async def one_by_one(consumer: Consumer) -> None:
        consumer.subscribe(["t"])
        while True:
            for record in await consumer.poll(1_000, max_records=1):
                seen.append(int(bytes(record.value)))
                await consumer.commit({T0: OffsetAndMetadata(record.offset + 1)})
                if len(seen) == 10:
                    ten.set()

    async def body() -> None:
        await send_to(bench, T0, range(30))
        consumer = await bench.consumer(BY_HAND | {"client.id": "a"}).start()
        bench.cluster.loop.spawn(member, one_by_one(consumer))
        await ten.wait()
        bench.cluster.loop.kill(member)
        bench.cluster.network.process_died(member)
        async with bench.consumer({"client.id": "b"}) as second:
            second.subscribe(["t"])
            found = numbers(await read(second, 30 - len(seen)))
            found += await rest(second)
        twice = [n for n, times in Counter(seen + found).items() if times > 1]
        assert sorted({*seen, *found}) == [*range(30)]
        assert len(twice) <= 1

    bench.run(body())


def test_of_four_members_on_two_partitions_two_have_nothing_to_do(bench: Bench) -> None:
    """When a member with a partition leaves, a member without one takes over. No record is read
    twice.
    """

    async def body() -> None:
        assert await bench.client.create_topic("two", 2, 3) is Errors.NONE
        two = [TopicPartition("two", 0), TopicPartition("two", 1)]
        consumers = [await bench.consumer({"client.id": f"c{n}"}).start() for n in range(4)]
        for each in consumers:
            each.subscribe(["two"])
        await poll_until_assigned(*consumers, sizes=[0, 0, 1, 1])
        assert sorted(tp for each in consumers for tp in each.assignment()) == two
        for tp in two:
            await send_to(bench, tp, range(100 * tp.partition, 100 * tp.partition + 10))
        busy = [each for each in consumers if each.assignment()]
        idle = [each for each in consumers if not each.assignment()]
        found = await rest(*consumers)
        assert sorted(found) == [*range(10), *range(100, 110)]
        gone = busy.pop()
        taken = gone.assignment()
        await gone.close()
        rest_of_them = [*busy, *idle]
        await poll_until_assigned(*rest_of_them, sizes=[0, 1, 1])
        await send_to(bench, taken[0], range(200, 210))
        assert sorted(await rest(*rest_of_them)) == [*range(200, 210)]
        for each in rest_of_them:
            await each.close()

    bench.run(body())


def test_without_a_group_each_of_four_consumers_reads_everything(bench: Bench) -> None:
    async def body() -> None:
        await bench.send(range(20))
        for _ in range(4):
            async with bench.consumer({"group.id": ""}) as consumer:
                consumer.assign(TPS)
                assert sorted(numbers(await read(consumer, 20))) == [*range(20)]
        for number, expected in enumerate([[*range(20)], []]):
            async with bench.consumer({"client.id": f"again-{number}"}) as consumer:
                consumer.subscribe(["t"])
                found = await poll_until_assigned(consumer, sizes=[PARTITIONS])
                found += await rest(consumer)
                assert sorted(found) == expected  # a group reads each record once

    bench.run(body())


def test_a_member_that_is_too_slow_loses_its_partitions_and_its_records_are_read_twice(
    bench: Bench,
) -> None:
    """The member needs 40 s for 5 records, but max.poll.interval.ms is 30 s. Its commit is
    refused.
    """
    slow = BY_HAND | {"client.id": "a", "max.poll.interval.ms": 30_000, "max.poll.records": 5}

    async def body() -> None:
        await send_to(bench, T0, range(20))
        async with bench.consumer(slow) as first, bench.consumer({"client.id": "b"}) as second:
            lost: list[tuple[TopicPartition, ...]] = []
            first.subscribe(["t"], on_lost=lost.append)
            mine = numbers(await read(first, 5))
            assert mine == [*range(5)]
            second.subscribe(["t"])
            its: list[int] = []
            for _ in range(400):  # 40 s, in which the first member processes its records
                its += numbers(await second.poll(100))
            with pytest.raises(CommitFailedException, match="kicked out of the group"):
                await first.commit()
            assert sorted(its) == [*range(20)]
            assert sorted((Counter(mine) & Counter(its)).elements()) == [*range(5)]
            await poll_until_assigned(first, second, sizes=[2, 2])
            assert lost == [tuple(TPS)]
            assert await rest(first, second) == []  # what the second one committed counts

    bench.run(body())


def states(bench: Bench, client: str) -> list[tuple[float, MembershipChanged]]:
    """Return the changes of a member's state, with their times in ms."""
    return [
        (each.mono_us / 1_000, each.event)
        for each in bench.cluster.facts(MembershipChanged)
        if isinstance(each.event, MembershipChanged) and each.event.client == client
    ]


@pytest.mark.parametrize("how", ["a new member", "a member leaves", "a member crashes"])
def test_a_member_learns_of_a_rebalance_by_its_heartbeat(bench: Bench, how: str) -> None:
    """Scenarios 1 to 3 of seed 001: the member learns of a crash after session.timeout.ms, and of
    other changes at once.

    Scenario 4: the member commits what it has read before it joins again, so the others begin
    there.
    """
    other = SimProcess("other")
    began = 0.0

    async def until_killed(consumer: Consumer) -> None:
        consumer.subscribe(["t"])
        while True:
            await consumer.poll(100)

    async def body() -> None:
        nonlocal began
        await bench.send(range(8))
        async with bench.consumer({"client.id": "a"}) as first:
            first.subscribe(["t"])
            assert len(await read(first, 8)) == 8
            second = await bench.consumer({"client.id": "b"}).start()
            if how != "a new member":
                task = bench.cluster.loop.spawn(other, until_killed(second))
                while len(first.assignment()) != 2:
                    await first.poll(100)
                if how == "a member leaves":
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            before = len(states(bench, "a"))
            began = bench.cluster.time.nanoseconds() / 1e6
            if how == "a new member":
                bench.cluster.loop.spawn(other, until_killed(second))
            elif how == "a member leaves":
                await second.close()
            else:
                bench.cluster.loop.kill(other)
                bench.cluster.network.process_died(other)
            size = 2 if how == "a new member" else 4
            while len(first.assignment()) != size:
                await first.poll(100)
            at_ms, change = states(bench, "a")[before]
            assert (change.before, change.after) == ("Stable", "Revoking")
            assert change.reason == "the group has a rebalance"
            limit = HEARTBEAT_MS + (SESSION_MS if how == "a member crashes" else 0) + 1_000
            assert at_ms - began <= limit
            if how == "a member crashes":
                assert at_ms - began >= SESSION_MS - HEARTBEAT_MS
            bench.cluster.loop.kill(other)

    bench.run(body())
    if how == "a new member":
        [committed] = [
            e
            for e in bench.cluster.facts(ConsumerCommitted)
            if isinstance(e.event, ConsumerCommitted) and e.event.client == "a"
        ][:1]
        joined = next(
            at
            for at, change in states(bench, "a")
            if change.after == "PreparingRebalance" and at >= began
        )
        assert committed.mono_us / 1_000 <= joined  # scenario 4
        assert isinstance(committed.event, ConsumerCommitted)
        assert dict(committed.event.offsets) == {f"t-{n}": 2 for n in range(PARTITIONS)}
        assert committed.event.error == ""


def test_the_leader_stays_the_leader_whoever_begins_the_rebalance(bench: Bench) -> None:
    """Seed 002, chapter 6: the first member of an empty group leads it. When a new member starts a
    rebalance, all members join again, and the first one assigns again (figures 6-18 and 6-20).
    """

    async def body() -> None:
        consumers = [await bench.consumer({"client.id": f"c{n}"}).start() for n in range(3)]
        for number, each in enumerate(consumers):
            each.subscribe(["t"])
            sizes = [[4], [2, 2], [1, 1, 2]][number]
            await poll_until_assigned(*consumers[: number + 1], sizes=sizes)
        for each in consumers:
            await each.close()

    bench.run(body())
    led = [
        each.event
        for each in bench.cluster.facts(ConsumerLedAssignment)
        if isinstance(each.event, ConsumerLedAssignment)
    ]
    assert [event.client for event in led[:3]] == ["c0"] * 3
    assert [len(event.members) for event in led[:3]] == [1, 2, 3]
    assert [event.generation for event in led[:3]] == [1, 2, 3]
    started = [
        each.event
        for each in bench.cluster.facts(RebalanceStarted)
        if isinstance(each.event, RebalanceStarted)
    ]
    assert [event.member.partition("-")[0] for event in started[:3]] == ["c0", "c1", "c2"]
    assert {event.reason for event in started[:3]} == {"a new member joins"}
    completed = [
        each.event
        for each in bench.cluster.facts(RebalanceCompleted)
        if isinstance(each.event, RebalanceCompleted) and each.event.members
    ]
    assert len({event.leader for event in completed[:3]}) == 1
