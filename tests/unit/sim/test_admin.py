"""Our whole admin client on a simulated cluster, in virtual time: every call."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping

import pytest

from kafka_edu.clients.admin.admin import Admin, AdminStateException
from kafka_edu.clients.admin.config_calls import AlterConfigOp, ConfigResource
from kafka_edu.clients.admin.log_dir_calls import BrokerReplica
from kafka_edu.clients.admin.partition_calls import ElectionType
from kafka_edu.clients.admin.topic_calls import NewPartitions, NewTopic
from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.describe_configs import ConfigSource, ResourceType
from kafka_edu.protocol.messages.incremental_alter_configs import OpType
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess

BROKERS = (1, 2, 3)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MISSING = TopicPartition("missing", 0)
T = ConfigResource(ResourceType.TOPIC, "t")


class Bench:
    """A simulated cluster of three brokers, and a process for clients."""

    def __init__(self) -> None:
        self.cluster = SimCluster(
            7,
            properties={
                "auto.create.topics.enable": "false",
                "auto.leader.rebalance.enable": "false",
                "offsets.topic.num.partitions": "3",
                "group.initial.rebalance.delay.ms": "0",
            },
            broker_properties={b: {"broker.rack": f"rack-{b}"} for b in BROKERS},
        )
        self.cluster.start_all()
        self.process = SimProcess("clients")

    def settings(self, settings: Mapping[str, object] | None = None) -> dict[str, object]:
        servers = ",".join(f"127.0.0.1:{FIRST_PORT + b}" for b in BROKERS)
        return {"bootstrap.servers": servers, "client.id": "a"} | dict(settings or {})

    def admin(self, settings: Mapping[str, object] | None = None) -> Admin:
        return Admin(
            self.settings(settings),
            transport=self.cluster.network.transport(),
            time=self.cluster.time,
            chance=random.Random(3),
        )

    def run(self, body: Coroutine[object, object, None]) -> None:
        self.cluster.run_as(self.process, body, 600_000)

    def with_admin(self, body: Callable[[Admin], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with self.admin() as admin:
                await body(admin)

        self.run(whole())

    async def send(self, count: int) -> None:
        """Send records to partition 0 of topic t."""
        async with Producer(
            self.settings(),
            transport=self.cluster.network.transport(),
            time=self.cluster.time,
            chance=random.Random(5),
        ) as producer:
            for future in [await producer.send("t", f"{n}", partition=0) for n in range(count)]:
                await future

    def consumer(self) -> Consumer:
        return Consumer(
            self.settings({"group.id": "readers", "auto.offset.reset": "earliest"}),
            transport=self.cluster.network.transport(),
            time=self.cluster.time,
            chance=random.Random(6),
        )


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.cluster.close()


async def make(admin: Admin) -> None:
    """Create topic t: partition 0 on brokers 1 and 2, partition 1 on 2 and 3."""
    made = await admin.create_topics([NewTopic("t", assignments={0: [1, 2], 1: [2, 3]})])
    made.all()


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    """Look every 100 ms of virtual time, until the check holds."""
    while not await check():
        await asyncio.sleep(0.1)


def test_topics_are_created_described_extended_and_deleted(bench: Bench) -> None:
    async def body(admin: Admin) -> None:
        cluster = await admin.describe_cluster()
        assert [(node.id, node.rack) for node in cluster.nodes] == [
            (b, f"rack-{b}") for b in BROKERS
        ]
        assert cluster.controller in cluster.nodes
        checked = await admin.create_topics([NewTopic("t", 1, 1)], validate_only=True)
        assert checked.all()["t"].num_partitions == 1
        assert await admin.list_topics() == {}
        made = await admin.create_topics(
            [
                NewTopic("t", assignments={0: [1, 2], 1: [2, 3]}, configs={"retention.ms": "5000"}),
                NewTopic("u"),
                NewTopic("bad name", 1, 1),
                NewTopic("wide", 1, 4),
            ]
        )
        assert made["t"].num_partitions == made["t"].replication_factor == 2
        assert sorted(made.values) == ["t", "u"]
        assert {name: error.name for name, error in made.errors.items()} == {
            "bad name": "INVALID_TOPIC_EXCEPTION",
            "wide": "INVALID_REPLICATION_FACTOR",
        }
        again = await admin.create_topics([NewTopic("t", 1, 1)])
        with pytest.raises(BrokerException, match="TOPIC_ALREADY_EXISTS: Topic 't' already exists"):
            again.all()
        assert list(await admin.list_topics()) == ["t", "u"]
        described = await admin.describe_topics(["t", "missing"])
        assert described.errors["missing"].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
        assert [
            (p.partition, p.leader and p.leader.id, [n.id for n in p.replicas], len(p.isr))
            for p in described["t"].partitions
        ] == [(0, 1, [1, 2], 2), (1, 2, [2, 3], 2)]
        more = await admin.create_partitions(
            {"t": NewPartitions(3, [[3, 1]]), "u": NewPartitions(1), "missing": NewPartitions(2)}
        )
        assert list(more.values) == ["t"]
        assert {name: error.name for name, error in more.errors.items()} == {
            "u": "INVALID_PARTITIONS",
            "missing": "UNKNOWN_TOPIC_OR_PARTITION",
        }
        deleted = await admin.delete_topics(["t", "missing"])
        assert list(deleted.values) == ["t"]
        assert deleted.errors["missing"].error is Errors.UNKNOWN_TOPIC_OR_PARTITION

        async def gone() -> bool:
            return list(await admin.list_topics()) == ["u"]

        await until(gone)

    bench.with_admin(body)


def test_configs_are_described_and_changed(bench: Bench) -> None:
    broker = ConfigResource(ResourceType.BROKER, "2")

    async def body(admin: Admin) -> None:
        await make(admin)
        missing = ConfigResource(ResourceType.TOPIC, "missing")
        altered = await admin.alter_configs({T: {"retention.ms": "5000", "flush.ms": "9"}})
        altered.all()
        changed = await admin.incremental_alter_configs(
            {
                T: [
                    AlterConfigOp("flush.ms", OpType.DELETE),
                    AlterConfigOp("cleanup.policy", OpType.APPEND, "compact"),
                ],
                broker: [AlterConfigOp("log.retention.ms", OpType.SET, "7000")],
            }
        )
        changed.all()
        wrong = await admin.incremental_alter_configs(
            {T: [AlterConfigOp("retention.ms", OpType.SET, "soon")]}
        )
        assert wrong.errors[T].name == "INVALID_REQUEST"

        async def told() -> bool:
            found = await admin.describe_configs([T, broker, missing], include_synonyms=True)
            assert missing in found.errors
            kept = found[broker]["log.retention.ms"]
            flush = found[T]["flush.ms"].source
            return kept.value == "7000" and flush is ConfigSource.DEFAULT

        await until(told)
        found = await admin.describe_configs([T, broker], include_synonyms=True)
        retention = found[T]["retention.ms"]
        assert (retention.value, retention.source) == ("5000", ConfigSource.TOPIC)
        assert retention.synonyms[0].source is ConfigSource.TOPIC
        assert found[T]["cleanup.policy"].value == "delete,compact"
        assert found[broker]["broker.rack"].value == "rack-2"
        assert found[broker]["broker.rack"].read_only
        with pytest.raises(ClientException, match="The broker id 'two' is no number"):
            await admin.describe_configs([ConfigResource(ResourceType.BROKER, "two")])

    bench.with_admin(body)


def test_offsets_are_found_and_records_deleted(bench: Bench) -> None:
    async def body(admin: Admin) -> None:
        await make(admin)
        await bench.send(10)
        ends = await admin.list_offsets(dict.fromkeys([T0, T1, MISSING], LATEST_TIMESTAMP))
        assert {tp: each.offset for tp, each in ends.values.items()} == {T0: 10, T1: 0}
        assert ends.errors[MISSING].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
        deleted = await admin.delete_records({T0: 4, T1: 1, MISSING: 1})
        assert deleted.values == {T0: 4}
        assert {tp: error.name for tp, error in deleted.errors.items()} == {
            T1: "OFFSET_OUT_OF_RANGE",
            MISSING: "UNKNOWN_TOPIC_OR_PARTITION",
        }
        starts = await admin.list_offsets(dict.fromkeys([T0, T1], EARLIEST_TIMESTAMP))
        assert {tp: each.offset for tp, each in starts.all().items()} == {T0: 4, T1: 0}

    bench.with_admin(body)


def test_replicas_move_and_leaders_are_elected(bench: Bench) -> None:
    async def body(admin: Admin) -> None:
        await make(admin)
        moved = await admin.alter_partition_reassignments({T0: [3, 1], T1: None, MISSING: [1]})
        assert list(moved.values) == [T0]
        assert {tp: error.name for tp, error in moved.errors.items()} == {
            T1: "NO_REASSIGNMENT_IN_PROGRESS",
            MISSING: "UNKNOWN_TOPIC_OR_PARTITION",
        }

        async def at_rest() -> bool:
            for reassignment in (await admin.list_partition_reassignments()).values():
                assert reassignment.adding_replicas == (3,)
                assert reassignment.removing_replicas == (2,)
            return await admin.list_partition_reassignments([T0]) == {}

        await until(at_rest)

        async def leader() -> int | None:
            found = (await admin.describe_topics(["t"]))["t"].partitions[0].leader
            return found and found.id

        assert await leader() == 1
        elected = await admin.elect_leaders(ElectionType.PREFERRED, [T0, T1, MISSING])
        assert elected.values == {T0: None}
        assert {tp: error.name for tp, error in elected.errors.items()} == {
            T1: "ELECTION_NOT_NEEDED",
            MISSING: "UNKNOWN_TOPIC_OR_PARTITION",
        }

        async def elected_there() -> bool:
            return await leader() == 3

        await until(elected_there)
        assert not (await admin.elect_leaders(ElectionType.PREFERRED)).errors

    bench.with_admin(body)


def test_log_dirs_are_described(bench: Bench) -> None:
    async def body(admin: Admin) -> None:
        await make(admin)
        await bench.send(10)
        found = (await admin.describe_log_dirs(BROKERS)).all()
        held = {
            broker: {tp for each in log_dirs.values() for tp in each.replicas if tp.topic == "t"}
            for broker, log_dirs in found.items()
        }
        assert held == {1: {T0}, 2: {T0, T1}, 3: {T1}}
        [(path, log_dir)] = found[1].items()
        assert log_dir.error is Errors.NONE
        assert log_dir.replicas[T0].size > 0
        assert not log_dir.replicas[T0].is_future
        here, nowhere = BrokerReplica(T0, 1), BrokerReplica(T1, 2)
        moved = await admin.alter_replica_log_dirs({here: path, nowhere: "/nowhere"})
        assert moved.values == {here: None}
        assert moved.errors[nowhere].name == "LOG_DIR_NOT_FOUND"

    bench.with_admin(body)


def test_groups_are_described_and_their_offsets_changed(bench: Bench) -> None:
    async def body(admin: Admin) -> None:
        await make(admin)
        await bench.send(10)
        async with bench.consumer() as consumer:
            consumer.subscribe(["t"])
            while not await consumer.poll(1_000):
                pass
            await consumer.commit()
            described = (await admin.describe_consumer_groups(["readers", "none"])).all()
            readers = described["readers"]
            assert (readers.state, readers.partition_assignor) == ("Stable", "range")
            [member] = readers.members
            assert (member.client_id, sorted(member.assignment)) == ("a", [T0, T1])
            assert described["none"].state == "Dead"
            busy = await admin.delete_consumer_groups(["readers", "none"])
            assert {group: error.name for group, error in busy.errors.items()} == {
                "readers": "NON_EMPTY_GROUP",
                "none": "GROUP_ID_NOT_FOUND",
            }
            held = await admin.delete_consumer_group_offsets("readers", [T0])
            assert held.errors[T0].name == "GROUP_SUBSCRIBED_TO_TOPIC"
        listed = (await admin.list_consumer_groups(states=["Empty"])).all()
        assert [
            (broker, group.group_id, group.state)
            for broker, groups in listed.items()
            for group in groups
        ] == [(readers.coordinator.id, "readers", "Empty")]
        committed = await admin.list_consumer_group_offsets("readers", [T0, T1, MISSING])
        assert {tp: each and each.offset for tp, each in committed.all().items()} == {
            T0: 10,
            T1: 0,
            MISSING: None,
        }
        changed = await admin.alter_consumer_group_offsets(
            "readers", {T0: OffsetAndMetadata(3, "again"), MISSING: OffsetAndMetadata(1)}
        )
        assert changed.values == {T0: None}
        assert changed.errors[MISSING].name == "UNKNOWN_TOPIC_OR_PARTITION"
        (await admin.delete_consumer_group_offsets("readers", [T1])).all()
        left = (await admin.list_consumer_group_offsets("readers")).all()
        assert {tp: each and each[:2] for tp, each in left.items()} == {T0: (3, "again")}
        (await admin.delete_consumer_groups(["readers"])).all()
        assert not any((await admin.list_consumer_groups()).all().values())

    bench.with_admin(body)


def test_a_call_outlives_the_controller(bench: Bench) -> None:
    async def body(admin: Admin) -> None:
        controller = (await admin.describe_cluster()).controller
        assert controller is not None
        bench.cluster.kill(controller.id)
        made = await admin.create_topics([NewTopic("t", 1, 1)])
        assert list(made.values) == ["t"]
        after = (await admin.describe_cluster()).controller
        assert after is not None
        assert after.id != controller.id

    bench.with_admin(body)


def test_a_client_is_used_between_its_start_and_its_end(bench: Bench) -> None:
    async def body() -> None:
        admin = bench.admin()
        with pytest.raises(AdminStateException, match="not started"):
            await admin.list_topics()
        await admin.start()
        await admin.list_topics()
        for broker in BROKERS:
            bench.cluster.pause(broker)
        waiting = asyncio.ensure_future(admin.list_topics())
        await asyncio.sleep(0.1)
        await admin.close()
        with pytest.raises(AdminStateException, match="already been closed"):
            await waiting
        for broker in BROKERS:
            bench.cluster.resume(broker)
        await admin.close()
        with pytest.raises(AdminStateException, match="already been closed"):
            await admin.list_topics()

    bench.run(body())


def test_a_call_has_its_own_time_limit(bench: Bench) -> None:
    async def body(admin: Admin) -> None:
        await admin.list_topics()
        for broker in BROKERS:
            bench.cluster.pause(broker)
        begin = bench.cluster.time.hi_res_clock_ms()
        with pytest.raises(ClientException, match="TimeoutException: list_topics took longer"):
            await admin.list_topics(timeout_ms=700)
        assert bench.cluster.time.hi_res_clock_ms() - begin == pytest.approx(700, abs=2)
        for broker in BROKERS:
            bench.cluster.resume(broker)

    bench.with_admin(body)
