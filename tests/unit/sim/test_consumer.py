"""Our whole consumer on a simulated cluster, in virtual time, alone and in groups."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping

import pytest

from kafka_edu.clients.client_errors import ClientException, TimeoutException
from kafka_edu.clients.consumer.consumer import Consumer, ConsumerStateException
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.group_offsets import CommitFailedException
from kafka_edu.clients.consumer.subscription_state import (
    LogTruncationException,
    NoOffsetForPartitionException,
    NotAssignedException,
    OffsetAndMetadata,
    OffsetOutOfRangeException,
)
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import CLIENT, Event, Level
from kafka_edu.trace.events.consumer import (
    ConsumerAssigned,
    ConsumerCommitted,
    ConsumerSampled,
    ConsumerSnapshot,
    MembershipChanged,
    RecordsFetched,
)
from kafka_edu.trace.events.group import RebalanceCompleted
from kafka_edu.trace.events.producer import ClientClosed, ClientRequestSent
from kafka_edu.trace.tracer import Tracer

PARTITIONS = 4
TPS = [TopicPartition("t", number) for number in range(PARTITIONS)]
T0, T1 = TPS[:2]
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class Bench:
    """A simulated cluster with topic t, and processes for clients."""

    def __init__(
        self,
        seed: int = 7,
        *,
        with_racks: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        selector = {"replica.selector.class": RACK_AWARE} if with_racks else {}
        self.cluster = SimCluster(
            seed,
            properties={
                "auto.create.topics.enable": "false",
                "offsets.topic.num.partitions": "3",
                "group.initial.rebalance.delay.ms": "0",
                **selector,
                **(properties or {}),
            },
            level=Level.HOPS if with_racks else Level.STATE,
            broker_properties={b: {"broker.rack": f"rack-{b}"} for b in (1, 2, 3)},
        )
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        self.process = SimProcess("clients")
        made = self.cluster.run_as(
            self.client.process, self.client.create_topic("t", PARTITIONS, 3)
        )
        assert made is Errors.NONE
        self.cluster.advance(1_000)
        self.first_ms = self.cluster.time.milliseconds()
        """The timestamp of record 0. Record n has this + n."""
        self.trace = Tracer(CLIENT, self.cluster.time)
        self.trace.add_sink(self.cluster.sink)

    def _settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        servers = ",".join(f"127.0.0.1:{FIRST_PORT + b}" for b in self.cluster.brokers)
        return {"bootstrap.servers": servers} | dict(settings)

    def consumer(
        self,
        settings: Mapping[str, object] | None = None,
        seed: int = 3,
        time: Time | None = None,
    ) -> Consumer:
        given = {"group.id": "g", "client.id": "c", "auto.offset.reset": "earliest"}
        return Consumer(
            self._settings(given | dict(settings or {})),
            transport=self.cluster.network.transport(),
            time=time or self.cluster.time,
            trace=self.trace,
            chance=random.Random(seed),
        )

    def producer(
        self, settings: Mapping[str, object] | None = None, time: Time | None = None
    ) -> Producer:
        return Producer(
            self._settings({"client.id": "p", "acks": "all"} | dict(settings or {})),
            transport=self.cluster.network.transport(),
            time=time or self.cluster.time,
            chance=random.Random(5),
        )

    def run(self, body: Coroutine[object, object, None], limit_ms: float = 600_000) -> None:
        self.cluster.run_as(self.process, body, limit_ms)

    def with_consumer(
        self,
        body: Callable[[Consumer], Awaitable[None]],
        settings: Mapping[str, object] | None = None,
    ) -> None:
        async def whole() -> None:
            async with self.consumer(settings) as consumer:
                await body(consumer)

        self.run(whole())

    async def send(self, values: Iterator[int] | range) -> None:
        """Send numbers, each to partition `number % PARTITIONS`."""
        async with self.producer() as producer:
            futures = [
                await producer.send(
                    "t", f"{n}", partition=n % PARTITIONS, timestamp_ms=self.first_ms + n
                )
                for n in values
            ]
            for future in futures:
                await future


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.cluster.close()


def numbers(records: list[ConsumerRecord]) -> list[int]:
    return [int(bytes(record.value)) for record in records if isinstance(record.value, bytes)]


async def read(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    """Poll until there are `count` records."""
    found: list[ConsumerRecord] = []
    while len(found) < count:
        found += await consumer.poll(5_000)
    return found


def test_a_group_goes_on_where_it_has_committed(bench: Bench) -> None:
    async def body() -> None:
        await bench.send(range(40))
        async with bench.consumer({"max.poll.records": 7}) as consumer:
            consumer.subscribe(["t"])
            records = await read(consumer, 40)
            assert sorted(numbers(records)) == list(range(40))
            for tp in TPS:
                mine = [r for r in records if r.partition == tp.partition]
                assert [r.offset for r in mine] == list(range(10))
                assert numbers(mine) == list(range(tp.partition, 40, PARTITIONS))
                assert await consumer.position(tp) == 10
                assert consumer.lag(tp) == 0
            assert consumer.assignment() == TPS
        await bench.send(range(40, 44))
        async with bench.consumer() as consumer:
            consumer.subscribe(["t"])
            assert sorted(numbers(await read(consumer, 4))) == [40, 41, 42, 43]
            found = await consumer.committed(TPS)
            assert {tp: each.offset for tp, each in found.items()} == dict.fromkeys(TPS, 10)

    bench.run(body())


def test_without_a_group_a_program_chooses_partitions_and_offsets(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        await bench.send(range(40))
        consumer.assign([T0])
        assert numbers(await read(consumer, 10)) == list(range(0, 40, 4))
        consumer.seek(T0, 7)
        assert await consumer.position(T0) == 7
        assert numbers(await read(consumer, 3)) == [28, 32, 36]
        consumer.assign([T0, T1])
        assert numbers(await read(consumer, 10)) == list(range(1, 40, 4))
        consumer.seek_to_beginning([T0])
        assert await consumer.position(T0) == 0
        consumer.seek_to_end()
        assert [await consumer.position(tp) for tp in (T0, T1)] == [10, 10]
        consumer.seek_to_time(bench.first_ms + 17, [T0])
        assert await consumer.position(T0) == 5
        consumer.seek_to_time(bench.first_ms + 1_000, [T1])
        assert await consumer.position(T1) == 10
        assert await consumer.beginning_offsets([T0, T1]) == {T0: 0, T1: 0}
        assert await consumer.end_offsets([T0, T1]) == {T0: 10, T1: 10}
        times = await consumer.offsets_for_times(
            {T0: bench.first_ms + 17, T1: bench.first_ms + 1_000}
        )
        assert times[T1] is None
        found = times[T0]
        assert found is not None
        assert (found.offset, found.timestamp) == (5, bench.first_ms + 20)
        assert await consumer.partitions_for("t") == TPS
        with pytest.raises(ConsumerStateException, match="you must provide a valid group"):
            await consumer.commit()

    bench.with_consumer(body, {"group.id": ""})


def test_a_paused_partition_keeps_its_records_for_later(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        await bench.send(range(8))
        consumer.assign([T0, T1])
        consumer.pause([T1])
        assert numbers(await read(consumer, 2)) == [0, 4]
        assert await consumer.poll(2_000) == []
        assert consumer.paused() == [T1]
        consumer.resume([T1])
        assert numbers(await read(consumer, 1)) == [1]
        consumer.pause([T1])  # one record of it waits in the consumer
        assert await consumer.poll(2_000) == []
        await bench.send(range(8, 9))
        assert numbers(await read(consumer, 1)) == [8]
        consumer.resume([T1])
        assert numbers(await read(consumer, 1)) == [5]

    bench.with_consumer(body, {"max.poll.records": 1})


def test_records_of_a_paused_partition_do_not_hold_back_another_one_of_its_broker(
    bench: Bench,
) -> None:
    async def body(consumer: Consumer) -> None:
        other = TopicPartition("t", 3)  # four partitions on three brokers: it is with partition 0
        await bench.send(range(3, 12, 4))
        await bench.send(range(0, 4, 4))
        consumer.assign([T0, other])
        assert numbers(await read(consumer, 2)) == [0, 3]
        consumer.pause([other])  # two records of it wait, and partition 0 is at its end
        await bench.send(range(4, 8, 4))
        assert numbers(await consumer.poll(100)) == [4]  # no timer has to run out first

    bench.with_consumer(body, {"max.poll.records": 2, "group.id": ""})


def test_two_members_share_the_partitions_and_the_listener_hears_of_it(bench: Bench) -> None:
    heard: list[tuple[str, list[int]]] = []

    async def assigned(partitions: tuple[TopicPartition, ...]) -> None:
        await asyncio.sleep(0.1)
        heard.append(("assigned", [tp.partition for tp in partitions]))

    def revoked(partitions: tuple[TopicPartition, ...]) -> None:
        heard.append(("revoked", [tp.partition for tp in partitions]))

    async def body() -> None:
        await bench.send(range(8))
        async with bench.consumer({"client.id": "a"}) as first:
            first.subscribe(["t"], on_assigned=assigned, on_revoked=revoked)
            await read(first, 8)
            async with bench.consumer({"client.id": "b"}) as second:
                second.subscribe(["t"])
                while not second.assignment():
                    await second.poll(100)
                    await first.poll(100)
                while len(first.assignment()) != 2:
                    await first.poll(100)
                assert sorted(first.assignment() + second.assignment()) == TPS
                await bench.send(range(8, 16))
                mine, its = await read(first, 4), await read(second, 4)
                assert sorted(numbers(mine) + numbers(its)) == list(range(8, 16))
            while len(first.assignment()) != 4:
                await first.poll(100)
        assert heard == [
            ("assigned", [0, 1, 2, 3]),
            ("revoked", [0, 1, 2, 3]),
            ("assigned", [0, 1]),
            ("revoked", [0, 1]),
            ("assigned", [0, 1, 2, 3]),
            ("revoked", [0, 1, 2, 3]),
        ]

    bench.run(body())


def test_a_listener_may_commit_and_seek(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        await bench.send(range(40))

        async def assigned(partitions: tuple[TopicPartition, ...]) -> None:
            assert await consumer.position(T1) == 0
            consumer.seek(T0, 8)

        async def revoked(partitions: tuple[TopicPartition, ...]) -> None:
            assert partitions == tuple(TPS)
            await consumer.commit()

        consumer.subscribe(["t"], on_assigned=assigned, on_revoked=revoked)
        records = await read(consumer, 32)
        assert [each.offset for each in records if each.partition == 0] == [8, 9]
        await consumer.unsubscribe()
        found = await consumer.committed(TPS)
        assert {tp: each.offset for tp, each in found.items()} == dict.fromkeys(TPS, 10)

    bench.with_consumer(body, {"enable.auto.commit": False})


@pytest.mark.parametrize("assignor", ["roundrobin", "sticky", "range,sticky"])
def test_members_agree_on_an_assignor(bench: Bench, assignor: str) -> None:
    settings = {"partition.assignment.strategy": assignor}

    async def body() -> None:
        async with bench.consumer(settings) as first, bench.consumer(settings) as second:
            first.subscribe(["t"])
            second.subscribe(["t"])
            while len(first.assignment()) != 2 or len(second.assignment()) != 2:
                await first.poll(100)
                await second.poll(100)
            assert sorted(first.assignment() + second.assignment()) == TPS

    bench.run(body())


def test_heartbeats_keep_a_working_member_in_the_group(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        await bench.send(range(4))
        consumer.subscribe(["t"])
        await read(consumer, 4)
        rebalances = len(bench.cluster.facts(RebalanceCompleted))
        await asyncio.sleep(60)  # session.timeout.ms is 10 s
        await bench.send(range(4, 8))
        assert sorted(numbers(await read(consumer, 4))) == [4, 5, 6, 7]
        assert len(bench.cluster.facts(RebalanceCompleted)) == rebalances

    bench.with_consumer(body)


def test_a_member_that_does_not_poll_leaves_the_group(bench: Bench) -> None:
    lost: list[tuple[TopicPartition, ...]] = []

    async def body(consumer: Consumer) -> None:
        await bench.send(range(4))
        consumer.subscribe(["t"], on_lost=lost.append)
        await read(consumer, 4)
        await asyncio.sleep(70)
        with pytest.raises(CommitFailedException, match="not part of an active group"):
            await consumer.commit()
        assert sorted(numbers(await read(consumer, 4))) == [0, 1, 2, 3]  # no commit was stored
        assert lost == [tuple(TPS)]
        await consumer.commit()

    bench.with_consumer(body, {"max.poll.interval.ms": 60_000, "enable.auto.commit": False})


def test_an_automatic_commit_is_sent_in_the_poll_that_it_is_due(bench: Bench) -> None:
    """Records of all partitions wait in the consumer's buffer, so no response comes from a
    broker.
    """

    async def body(consumer: Consumer) -> None:
        await bench.send(range(40 * PARTITIONS))
        consumer.subscribe(["t"])
        while not await consumer.poll(100):
            pass
        await asyncio.sleep(1)
        assert await consumer.poll(100)
        begin = len(bench.cluster.sink.events)
        for _ in range(12):
            await asyncio.sleep(0.1)
            assert await consumer.poll(100)
        await asyncio.sleep(0.05)
        found = [e.event for e in bench.cluster.sink.events[begin:]]
        commits = [one for one in found if isinstance(one, ConsumerCommitted)]
        assert [sum(offset for _, offset in one.offsets) for one in commits] == [1, 6, 11]

    config = {"auto.commit.interval.ms": 500, "max.poll.records": 1}
    bench.with_consumer(body, config)


def test_auto_commit_stores_what_earlier_polls_returned(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        await bench.send(range(0, 40, 4))
        consumer.subscribe(["t"])
        assert len(await read(consumer, 5)) == 5
        await asyncio.sleep(7)
        assert await consumer.committed([T0]) == {}  # nothing is committed outside of poll()
        assert len(await read(consumer, 5)) == 5
        await asyncio.sleep(0.5)
        assert (await consumer.committed([T0]))[T0].offset == 5  # the last five are not done

    bench.with_consumer(body, {"max.poll.records": 5})


def test_async_for_counts_a_record_as_done_when_the_next_one_is_wanted(bench: Bench) -> None:
    async def body() -> None:
        await bench.send(range(0, 40, 4))
        seen = []
        async with bench.consumer() as consumer:
            consumer.subscribe(["t"])
            async for record in consumer:
                seen += numbers([record])
                if len(seen) == 4:
                    assert await consumer.position(T0) == 4
                    break
        assert seen == [0, 4, 8, 12]
        async with bench.consumer() as consumer:
            consumer.subscribe(["t"])
            assert numbers(await read(consumer, 6)) == [16, 20, 24, 28, 32, 36]

    bench.run(body())


class WorkTime:
    """The time of the simulation, plus the time for which the program blocks the event loop."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self.blocked_ms = 0

    def milliseconds(self) -> int:
        return self._time.milliseconds() + self.blocked_ms

    def hi_res_clock_ms(self) -> int:
        return self._time.hi_res_clock_ms() + self.blocked_ms

    def nanoseconds(self) -> int:
        return self._time.nanoseconds() + self.blocked_ms * 1_000_000

    async def sleep(self, ms: float) -> None:
        await self._time.sleep(ms)


def test_a_program_with_records_at_hand_lets_other_tasks_run(bench: Bench) -> None:
    """If poll() did not let other tasks run, no heartbeat and no fetch would be sent while records
    wait.
    """
    turns = 0

    async def others() -> None:
        nonlocal turns
        for _ in range(1_000):
            turns += 1
            await asyncio.sleep(0)

    async def body() -> None:
        await bench.send(range(0, 400, 4))
        time = WorkTime(bench.cluster.time)
        async with bench.consumer(time=time) as consumer:
            consumer.subscribe(["t"])
            await consumer.__anext__()
            task = asyncio.ensure_future(others())
            await asyncio.sleep(0)
            before = turns
            for _ in range(50):
                time.blocked_ms += 20
                await consumer.__anext__()
            assert turns > before
            await task
            assert consumer.assignment() == TPS

    bench.run(body())


def test_the_next_fetch_is_sent_before_the_program_works_on_the_last_records() -> None:
    """In this way the broker reads while the program works, even if the program never awaits
    anything.
    """
    bench = Bench(with_racks=True)

    def fetches() -> int:
        sent = [each.event for each in bench.cluster.facts(ClientRequestSent)]
        return sum(e.api_key == ApiKey.FETCH for e in sent if isinstance(e, ClientRequestSent))

    async def body() -> None:
        await bench.send(range(0, 40, 4))
        async with bench.consumer({"group.id": ""}) as consumer:
            consumer.assign([T0])
            assert len(await consumer.poll(5_000)) == 10
            assert fetches() == 2

    bench.run(body())
    bench.cluster.close()


def test_a_bug_after_records_were_taken_does_not_lose_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run(bench.send(range(0, 8, PARTITIONS)))

    async def body(consumer: Consumer) -> None:
        core = consumer._core
        collect = core.fetcher.collect

        def run(now: float) -> None:
            raise RuntimeError("a bug")

        def collect_and_break(most: int) -> list[ConsumerRecord]:
            records = collect(most)
            if records:
                monkeypatch.setattr(core, "run", run)
            return records

        monkeypatch.setattr(core.fetcher, "collect", collect_and_break)
        consumer.assign([T0])
        assert numbers(await consumer.poll(60_000)) == [0, 4]
        with pytest.raises(ConsumerStateException, match="The consumer has a bug"):
            await consumer.poll(60_000)

    bench.with_consumer(body)


def test_close_waits_for_the_brokers_no_longer_than_its_limit(bench: Bench) -> None:
    async def body() -> None:
        await bench.send(range(4))
        consumer = await bench.consumer().start()
        consumer.subscribe(["t"])
        await read(consumer, 4)
        for broker in bench.cluster.brokers:
            bench.cluster.pause(broker)
        began = bench.cluster.time.milliseconds()
        await consumer.close(timeout_s=2)
        assert bench.cluster.time.milliseconds() - began == 2_000
        await consumer.close()
        for broker in bench.cluster.brokers:
            bench.cluster.resume(broker)

    bench.run(body())


def test_commits_by_hand(bench: Bench) -> None:
    results: list[ClientException | None] = []

    async def body(consumer: Consumer) -> None:
        await bench.send(range(40))
        consumer.subscribe(["t"])
        await read(consumer, 40)
        await consumer.commit({T0: OffsetAndMetadata(3, "note")})
        found = await consumer.committed([T0, T1])
        assert (found[T0].offset, found[T0].metadata) == (3, "note")
        assert T1 not in found
        consumer.commit_async(on_done=results.append)
        while not results:
            await consumer.poll(100)
        assert results == [None]
        assert {each.offset for each in (await consumer.committed(TPS)).values()} == {10}

    bench.with_consumer(body, {"enable.auto.commit": False})
    commits = [each.event for each in bench.cluster.facts(ConsumerCommitted)]
    assert [isinstance(each, ConsumerCommitted) and each.error for each in commits] == ["", ""]


class Recorder:
    def __init__(self) -> None:
        self.commits: list[Mapping[TopicPartition, OffsetAndMetadata]] = []

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        return [each._replace(key="seen") for each in records if each.offset > 0]

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.commits.append(offsets)


class Broken:
    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        raise RuntimeError("on_consume has a bug")

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        raise RuntimeError("on_commit has a bug")


def test_interceptors_see_records_and_commits_and_a_bug_in_one_stops_nothing(
    bench: Bench,
) -> None:
    recorder = Recorder()

    async def body(consumer: Consumer) -> None:
        await bench.send(range(0, 12, 4))
        consumer.subscribe(["t"])
        records = await read(consumer, 2)
        assert [(each.offset, each.key) for each in records] == [(1, "seen"), (2, "seen")]
        await consumer.commit({T0: OffsetAndMetadata(3)})
        assert recorder.commits == [{T0: OffsetAndMetadata(3)}]

    bench.with_consumer(
        body, {"interceptor.classes": [Broken(), recorder], "enable.auto.commit": False}
    )


def test_a_static_member_keeps_its_partitions_when_it_restarts(bench: Bench) -> None:
    async def body() -> None:
        await bench.send(range(8))
        one = {"group.instance.id": "one", "session.timeout.ms": 30_000}
        two = {"group.instance.id": "two", "session.timeout.ms": 30_000}
        async with bench.consumer(one) as first:
            first.subscribe(["t"])
            second = await bench.consumer(two).start()
            second.subscribe(["t"])
            while len(first.assignment()) != 2 or len(second.assignment()) != 2:
                await first.poll(100)
                await second.poll(100)
            had = second.assignment()
            rebalances = len(bench.cluster.facts(RebalanceCompleted))
            await second.close()
            async with bench.consumer(two) as again:
                again.subscribe(["t"])
                while again.assignment() != had:
                    await again.poll(100)
                    await first.poll(100)
                assert len(bench.cluster.facts(RebalanceCompleted)) == rebalances

    bench.run(body())


def test_a_second_static_member_of_the_same_name_fences_the_first(bench: Bench) -> None:
    async def body() -> None:
        one = {"group.instance.id": "one"}
        async with bench.consumer(one) as first, bench.consumer(one) as second:
            first.subscribe(["t"])
            while not first.assignment():
                await first.poll(100)
            second.subscribe(["t"])
            while not second.assignment():
                await second.poll(100)
            with pytest.raises(ClientException, match="FENCED_INSTANCE_ID"):
                await first.poll(20_000)

    bench.run(body())


def test_new_partitions_reach_the_group(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        consumer.subscribe(["t", "later"])
        while not consumer.assignment():
            await consumer.poll(100)
        assert consumer.assignment() == TPS
        assert await bench.client.create_topic("later", 1, 1) is Errors.NONE
        while len(consumer.assignment()) != PARTITIONS + 1:
            await consumer.poll(100)
        assert TopicPartition("later", 0) in consumer.assignment()

    bench.with_consumer(body, {"metadata.max.age.ms": 2_000})


def test_a_pattern_follows_the_topics_that_exist(bench: Bench) -> None:
    async def until(consumer: Consumer, topics: set[str]) -> None:
        while {tp.topic for tp in consumer.assignment()} != topics:
            await consumer.poll(100)

    async def body(consumer: Consumer) -> None:
        assert await bench.client.create_topic("web-a", 1, 1) is Errors.NONE
        assert await bench.client.create_topic("my-web-a", 1, 1) is Errors.NONE
        consumer.subscribe(re.compile("t|web-.*|__consumer_offsets"))
        await until(consumer, {"t", "web-a"})
        assert consumer.subscription() == ("t", "web-a")
        await bench.send(range(4))
        assert sorted(numbers(await read(consumer, 4))) == [0, 1, 2, 3]
        assert await bench.client.create_topic("web-b", 2, 1) is Errors.NONE
        await until(consumer, {"t", "web-a", "web-b"})
        consumer.subscribe(re.compile("t"))
        await until(consumer, {"t"})
        await bench.send(range(4, 8))
        assert sorted(numbers(await read(consumer, 4))) == [4, 5, 6, 7]
        await consumer.unsubscribe()
        consumer.subscribe(["web-a"])
        await until(consumer, {"web-a"})
        async with bench.consumer({"group.id": "h", "exclude.internal.topics": False}) as other:
            other.subscribe(re.compile("_.*"))
            await until(other, {"__consumer_offsets"})

    bench.with_consumer(body, {"metadata.max.age.ms": 2_000})
    joined = bench.cluster.facts(RebalanceCompleted)
    generations = {
        fact.event.generation
        for fact in joined
        if isinstance(fact.event, RebalanceCompleted)
        and fact.event.group == "h"
        and fact.event.members
    }
    assert len(generations) == 1  # the first join knew the topics


def test_in_a_cooperative_group_only_the_partitions_that_move_are_revoked(bench: Bench) -> None:
    """A third member joins, and later one leaves, while records are sent and read.

    At any time each partition has at most one owner.
    """
    topic = "six"
    cooperative = {
        "partition.assignment.strategy": "cooperative-sticky",
        "heartbeat.interval.ms": 1_000,
    }
    calls: list[tuple[str, str, tuple[int, ...]]] = []
    seen: set[int] = set()
    loop = bench.cluster.loop
    members = {name: bench.consumer(cooperative | {"client.id": name}) for name in "abc"}
    stop: set[str] = set()

    def listener(name: str, step: str) -> Callable[[tuple[TopicPartition, ...]], Awaitable[None]]:
        async def listen(tps: tuple[TopicPartition, ...]) -> None:
            calls.append((name, step, tuple(sorted(tp.partition for tp in tps))))
            if step == "revoked":  # the program stores something before it gives up partitions
                await asyncio.sleep(0.5)

        return listen

    async def member(name: str) -> None:
        async with members[name] as consumer:
            consumer.subscribe(
                [topic],
                on_assigned=listener(name, "assigned"),
                on_revoked=listener(name, "revoked"),
                on_lost=listener(name, "lost"),
            )
            while name not in stop:
                seen.update(numbers(await consumer.poll(200)))

    async def produce() -> None:
        assert await bench.client.create_topic(topic, 6, 3) is Errors.NONE
        async with bench.producer() as producer:
            for number in range(600):
                await producer.send(topic, f"{number}", partition=number % 6)
                await asyncio.sleep(0.05)

    def owned(name: str) -> set[int]:
        return {tp.partition for tp in members[name].assignment()}

    def until(sizes: dict[str, int]) -> None:
        """Wait until each member has its number of partitions, and the group has settled."""
        for _ in range(300):
            bench.cluster.advance(100)
            if {name: len(owned(name)) for name in sizes} == sizes:
                break
        assert {name: len(owned(name)) for name in sizes} == sizes
        bench.cluster.advance(3_000)

    tasks = [loop.spawn(bench.process, produce())]
    bench.cluster.advance(500)
    tasks += [loop.spawn(SimProcess(name), member(name)) for name in "ab"]
    until({"a": 3, "b": 3})
    before = {name: owned(name) for name in "ab"}
    calls.clear()
    tasks.append(loop.spawn(SimProcess("c"), member("c")))
    until({"a": 2, "b": 2, "c": 2})
    for name in "ab":
        assert owned(name) < before[name]
        gone = tuple(before[name] - owned(name))
        mine = [(step, tps) for who, step, tps in calls if who == name and tps]
        assert mine == [("revoked", gone)]
    assert [call for call in calls if call[0] == "c" and call[2]] == [
        ("c", "assigned", tuple(sorted(owned("c"))))
    ]
    before = {name: owned(name) for name in "ac"}
    calls.clear()
    stop.add("b")
    until({"a": 3, "c": 3})
    for name in "ac":
        assert owned(name) > before[name]
        mine = [(step, tps) for who, step, tps in calls if who == name and tps]
        assert mine == [("assigned", tuple(owned(name) - before[name]))]
    while len(seen) < 600:
        bench.cluster.advance(100)
    stop.update("ac")
    while not all(task.done() for task in tasks):
        bench.cluster.advance(100)
    for task in tasks:
        task.result()
    owner: dict[str, str] = {}
    for fact in bench.cluster.facts(ConsumerAssigned):
        assert isinstance(fact.event, ConsumerAssigned)
        client, partitions = fact.event
        owner = {tp: who for tp, who in owner.items() if who != client}
        for tp in partitions:
            assert tp not in owner
            owner[tp] = client
    assert owner == {}


def test_unsubscribe_leaves_the_group_and_another_subscription_joins_it(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        assert await bench.client.create_topic("u", 1, 1) is Errors.NONE
        consumer.subscribe(["t"])
        while not consumer.assignment():
            await consumer.poll(100)
        consumer.subscribe(["u"])
        while consumer.assignment() != [TopicPartition("u", 0)]:
            await consumer.poll(100)
        await consumer.unsubscribe()
        assert (consumer.assignment(), consumer.subscription()) == ([], ())
        with pytest.raises(ConsumerStateException, match="not subscribed"):
            await consumer.poll()
        consumer.assign([T1])
        await bench.send(range(2))
        assert numbers(await read(consumer, 1)) == [1]

    bench.with_consumer(body)
    last = bench.cluster.facts(MembershipChanged)[-1].event
    assert isinstance(last, MembershipChanged)
    assert last.after == "Unjoined"


def test_what_goes_wrong_has_a_name_and_an_advice(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        with pytest.raises(ConsumerStateException, match=r"Call subscribe\(\) or assign\(\) first"):
            await consumer.poll()
        with pytest.raises(ConsumerStateException, match="Give a list of topics"):
            consumer.subscribe("t")
        with pytest.raises(NotAssignedException):
            consumer.seek(T0, 1)
        consumer.assign([T0])
        with pytest.raises(NoOffsetForPartitionException, match="no committed offset"):
            await consumer.poll(5_000)
        consumer.seek(T0, 5)
        with pytest.raises(OffsetOutOfRangeException, match="Offset 5 is out of range") as refused:
            await consumer.poll(5_000)
        assert (refused.value.topic_partition, refused.value.offset) == (T0, 5)
        consumer.assign([TopicPartition("nothing", 0)])
        consumer.seek_to_beginning()
        with pytest.raises(TimeoutException, match="position for partition nothing-0"):
            await consumer.position(TopicPartition("nothing", 0), timeout_ms=1_000)
        with pytest.raises(TimeoutException, match="the lookup of offsets"):
            await consumer.end_offsets([TopicPartition("nothing", 0)], timeout_ms=1_000)
        with pytest.raises(ClientException, match="INVALID_TOPIC_EXCEPTION"):
            await consumer.partitions_for("t/")
        polling = asyncio.ensure_future(consumer.poll(1_000))
        await asyncio.sleep(0.01)
        with pytest.raises(ConsumerStateException, match="Two tasks poll"):
            await consumer.poll()
        assert await polling == []
        await consumer.close()
        with pytest.raises(ConsumerStateException, match="Create a new consumer"):
            await consumer.poll()

    bench.with_consumer(body, {"auto.offset.reset": "none"})


def test_an_offset_out_of_range_is_reset(bench: Bench) -> None:
    async def body(consumer: Consumer) -> None:
        await bench.send(range(8))
        consumer.assign([T0])
        consumer.seek(T0, 1_000)
        assert numbers(await read(consumer, 2)) == [0, 4]

    bench.with_consumer(body)


def test_a_consumer_reads_from_the_follower_in_its_rack() -> None:
    bench = Bench(with_racks=True)
    numbers_read: list[int] = []

    async def body() -> None:
        await bench.send(range(40))
        settings = {"client.rack": "rack-2", "request.timeout.ms": 3_000}
        async with bench.consumer(settings) as consumer:
            consumer.subscribe(["t"])
            numbers_read.extend(numbers(await read(consumer, 40)))
            followers = {each.event for each in bench.cluster.facts(RecordsFetched)}
            assert {e.broker_id for e in followers if isinstance(e, RecordsFetched)} == {2}
            killed.append(2)
            await asyncio.sleep(15)
            await bench.send(range(40, 80))
            numbers_read.extend(numbers(await read(consumer, 40)))

    killed: list[int] = []
    task = bench.cluster.loop.spawn(bench.process, body())
    while not task.done():
        bench.cluster.advance(100)
        if killed:
            bench.cluster.kill(killed.pop())
    task.result()
    assert sorted(numbers_read) == list(range(80))
    bench.cluster.close()


@pytest.mark.parametrize("reset", ["latest", "none"])
def test_after_an_unclean_election_a_consumer_skips_nothing(reset: str) -> None:
    """The new leader lacks the last 5 records, and has 10 other records from their first offset on
    (KIP-320).
    """
    bench = Bench(properties={"unclean.leader.election.enable": "true"})
    topic = TopicPartition("u", 0)
    down: list[int] = []
    up: list[int] = []

    async def send(values: range) -> None:
        async with bench.producer({"acks": "1"}) as producer:
            for future in [await producer.send("u", f"{n}", partition=0) for n in values]:
                await future

    async def body() -> None:
        assert await bench.client.create_topic("u", 1, 2) is Errors.NONE
        await send(range(10))
        settings = {"group.id": "", "auto.offset.reset": reset}
        async with bench.consumer(settings) as consumer:
            consumer.assign([topic])
            consumer.seek(topic, 0)
            assert numbers(await read(consumer, 10)) == list(range(10))
            [partition] = (await bench.client.metadata("u")).topics[0].partitions
            leader = partition.leader_id
            [follower] = [b for b in partition.replica_nodes if b != leader]
            down.append(follower)
            await asyncio.sleep(30)
            await send(range(10, 15))
            assert numbers(await read(consumer, 5)) == list(range(10, 15))
            down.append(leader)
            await asyncio.sleep(30)
            up.append(follower)
            await send(range(20, 30))
            if reset == "none":
                with pytest.raises(LogTruncationException) as truncated:
                    await read(consumer, 1)
                assert truncated.value.divergent_offset == 10
                consumer.seek(topic, 10)
            records = await read(consumer, 10)
            assert numbers(records) == list(range(20, 30))
            assert [record.offset for record in records] == list(range(10, 20))

    task = bench.cluster.loop.spawn(bench.process, body())
    for _ in range(3_000):
        if task.done():
            break
        bench.cluster.advance(100)
        if down:
            bench.cluster.kill(down.pop())
        if up:
            bench.cluster.start(up.pop())
    task.result()
    bench.cluster.close()


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.faults) for n in (1, 2, 3))]
)
def test_faults_lose_nothing_and_keep_the_order(seed: int, assignor: str) -> None:
    """Brokers die and connections are cut, while three members read what a producer sends.

    Each record is read at least once. While a member has a partition, it reads the partition in
    order, without a gap. Nobody begins behind a record that was not read.
    """
    bench = Bench(seed)
    chance = random.Random(seed)
    total = 300
    read_by: list[dict[int, list[int]]] = []
    seen: set[int] = set()
    loop = bench.cluster.loop
    processes = [SimProcess(f"member-{n}") for n in range(3)]

    async def produce() -> None:
        settings = {
            "enable.idempotence": True,
            "request.timeout.ms": 3_000,
            "delivery.timeout.ms": 500_000,
        }
        async with bench.producer(settings) as producer:
            futures = []
            for number in range(total):
                partition = number % PARTITIONS
                futures.append(await producer.send("t", f"{number}", partition=partition))
                await asyncio.sleep(chance.uniform(0, 0.2))
            for future in futures:
                await future

    async def member(number: int) -> None:
        settings = {
            "client.id": f"c{number}",
            "auto.commit.interval.ms": 700,
            "request.timeout.ms": 3_000,
            "max.poll.records": 10,
            "partition.assignment.strategy": assignor,
        }

        def assigned(partitions: tuple[TopicPartition, ...]) -> None:
            read_by.append({tp.partition: [] for tp in partitions})
            mine.update(read_by[-1])

        mine: dict[int, list[int]] = {}
        async with bench.consumer(settings, seed=number) as consumer:
            consumer.subscribe(["t"], on_assigned=assigned)
            while len(seen) < total:
                for record in await consumer.poll(500):
                    mine[record.partition].append(record.offset)
                    seen.update(numbers([record]))

    async def faults() -> None:
        brokers = list(bench.cluster.brokers)
        for _ in range(4):
            await asyncio.sleep(chance.uniform(2, 6))
            victim = chance.choice(brokers)
            if chance.random() < 0.5:
                down.append(victim)
                continue
            who = chance.choice(processes)
            process = bench.cluster.brokers[victim].process
            bench.cluster.network.cut(who, process)
            await asyncio.sleep(chance.uniform(1, 12))
            bench.cluster.network.mend(who, process)

    down: list[int] = []
    tasks = [loop.spawn(bench.process, produce())]
    tasks += [loop.spawn(process, member(n)) for n, process in enumerate(processes)]
    loop.spawn(SimProcess("faults"), faults())
    for _ in range(6_000):
        if all(task.done() for task in tasks):
            break
        bench.cluster.advance(100)
        if down:
            victim = down.pop()
            bench.cluster.kill(victim)
            bench.cluster.advance(12_000)
            bench.cluster.start(victim)
    bench.cluster.advance(20_000)
    assert all(task.done() for task in tasks), f"{len(seen)} of {total} were read"
    for task in tasks:
        task.result()
    assert seen == set(range(total))
    for assignment in read_by:
        for offsets in assignment.values():
            if offsets:
                assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))
    for partition in range(PARTITIONS):
        end = 0  # whoever reads next begins where everything before it was read
        for assignment in read_by:
            if part := assignment.get(partition):
                assert part[0] <= end
                end = max(end, part[-1] + 1)
    bench.cluster.close()


def test_a_consumer_reports_itself_until_it_is_closed(bench: Bench) -> None:
    seen: list[Event] = []

    async def body(consumer: Consumer) -> None:
        await bench.send(range(8))
        consumer.subscribe(["t"])
        await read(consumer, 8)
        await consumer.commit()
        seen.extend(each.event for each in [*bench.trace.snapshot(), *bench.trace.gauges()])

    bench.with_consumer(body)
    snapshot, sample = seen
    assert isinstance(snapshot, ConsumerSnapshot)
    assert isinstance(sample, ConsumerSampled)
    assert snapshot.consumer == sample.consumer
    state = snapshot.consumer
    assert (state.client, state.group, state.state, state.records) == ("c", "g", "Stable", 8)
    assert [(each.position, each.committed) for each in state.partitions] == [(2, 2)] * PARTITIONS
    assert bench.trace.snapshot() == []
    assert bench.trace.gauges() == []
    closed = [each for each in bench.cluster.sink.events if isinstance(each.event, ClientClosed)]
    assert [each.event for each in closed] == [ClientClosed(client="c", role="consumer")]
