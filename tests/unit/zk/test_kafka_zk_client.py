"""KafkaZkClient on ZooKeeper in memory: its requests, how many are sent at once, and what happens
when they fail.
"""

import asyncio
import weakref
from collections.abc import Coroutine
from typing import TypeVar

import pytest

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.memory_zookeeper import MemoryZooKeeper
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import Stat, ZkError, ZkErrorCode
from kafka_edu.zk.zk_data import (
    ProducerIdBlock,
    ReassignPartitionsZNode,
    ReplicaAssignment,
    TopicAssignment,
)
from kafka_edu.zk.zk_requests import ControllerMovedError
from tests.defaults import BROKER_DEFAULTS
from tests.without_collector import without_collector

T = TypeVar("T")
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
BROKER = Broker(1, (EndPoint("127.0.0.1", 9092, "PLAINTEXT", "PLAINTEXT"),))


def state(
    leader: int, epoch: int, *isr: int, version: int = 0, controller_epoch: int = 1
) -> LeaderIsrAndControllerEpoch:
    return LeaderIsrAndControllerEpoch(LeaderAndIsr(leader, epoch, isr, version), controller_epoch)


class ZkWorld:
    def __init__(self) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.sessions: dict[str, MemoryZkClient] = {}

        async def make() -> MemoryZooKeeper:
            zookeeper = MemoryZooKeeper(self.time, latency_ms=lambda: 0.5)
            zookeeper.start()
            return zookeeper

        self.zookeeper = self.run(make())

    def run(self, coro: Coroutine[object, object, T]) -> T:
        return self.loop.run_until_complete(self.loop.create_task(coro))

    def client(self, name: str, max_in_flight: int = 10) -> KafkaZkClient:
        self.sessions[name] = MemoryZkClient(self.zookeeper, 6000, name)
        client = KafkaZkClient(
            self.sessions[name],
            self.time,
            inter_broker_protocol=BROKER_DEFAULTS.inter_broker_protocol_version,
            max_in_flight=max_in_flight,
        )
        self.run(client.start(lambda _: None, lambda _: None, 1000))
        self.run(client.create_top_level_paths())
        return client


@pytest.fixture
def zk_world() -> ZkWorld:
    return ZkWorld()


def test_brokers_register_with_growing_epochs(zk_world: ZkWorld) -> None:
    a, b = zk_world.client("a"), zk_world.client("b")
    epoch = zk_world.run(a.register_broker(BROKER))
    assert zk_world.run(a.register_broker(BROKER)) == epoch  # our own: its answer was lost
    with pytest.raises(ZkError) as taken:
        zk_world.run(b.register_broker(BROKER))
    assert taken.value.code is ZkErrorCode.NODE_EXISTS
    assert zk_world.run(b.get_all_brokers_in_cluster()) == {1: BROKER._replace(epoch=epoch)}
    zk_world.run(a.unregister_broker(1))
    assert zk_world.run(b.register_broker(BROKER)) > epoch


def test_a_broker_waits_for_the_session_of_its_life_before(zk_world: ZkWorld) -> None:
    a, b = zk_world.client("a"), zk_world.client("b")
    zk_world.run(a.register_broker(BROKER))
    zk_world.sessions["a"].pause()
    before = zk_world.time.hi_res_clock_ms()
    zk_world.run(b.register_broker(BROKER, wait_ms=10_000))
    assert 3000 <= zk_world.time.hi_res_clock_ms() - before <= 8000


def test_ids_and_the_clusters_name(zk_world: ZkWorld) -> None:
    a = zk_world.client("a")
    assert [zk_world.run(a.generate_broker_id(1000)) for _ in range(3)] == [1001, 1002, 1003]
    assert zk_world.run(a.get_cluster_id()) is None
    assert [zk_world.run(a.create_or_get_cluster_id(name)) for name in ("first", "second")] == [
        "first",
        "first",
    ]


def test_producer_id_blocks_never_overlap(zk_world: ZkWorld) -> None:
    a, b = zk_world.client("a"), zk_world.client("b")

    async def race() -> list[ProducerIdBlock]:
        return list(
            await asyncio.gather(
                *(client.generate_producer_id_block(n) for n in range(5) for client in (a, b))
            )
        )

    blocks = zk_world.run(race())
    assert sorted(block.start for block in blocks) == [n * 1000 for n in range(10)]
    assert all(block.end == block.start + 999 for block in blocks)


def test_of_two_candidates_one_is_elected(zk_world: ZkWorld) -> None:
    a, b = zk_world.client("a"), zk_world.client("b")

    async def race() -> list[tuple[int, int] | BaseException]:
        return list(
            await asyncio.gather(
                a.register_controller_and_increment_epoch(1),
                b.register_controller_and_increment_epoch(2),
                return_exceptions=True,
            )
        )

    outcome = zk_world.run(race())
    assert outcome[0] == (1, 1)
    assert isinstance(outcome[1], ControllerMovedError)
    assert zk_world.run(b.get_controller_id()) == 1
    assert zk_world.run(b.get_controller_epoch()) == (1, 1)


def test_a_replaced_controller_can_write_nothing(zk_world: ZkWorld) -> None:
    a, b = zk_world.client("a"), zk_world.client("b")
    _, old = zk_world.run(a.register_controller_and_increment_epoch(1))
    zk_world.run(a.create_topic_assignment("t", TopicAssignment.of({0: [1], 1: [1]})))
    assert zk_world.run(a.create_topic_partition_states({T0: state(1, 0, 1)}, old)) == {T0: None}
    zk_world.run(a.delete_controller(old))
    _, new = zk_world.run(b.register_controller_and_increment_epoch(2))
    sequence = "0000000000"
    zk_world.run(a.propagate_isr_changes([T0]))
    for write in (
        a.update_leader_and_isr({T0: LeaderAndIsr(2, 1, (2,), 0)}, 1, old),
        a.create_topic_partition_states({T1: state(1, 0, 1)}, old),
        a.delete_isr_change_notifications([sequence], old),
        a.delete_controller(old),
        a.delete_topic("t", old),
    ):
        with pytest.raises(ControllerMovedError):
            zk_world.run(write)
    assert zk_world.run(b.get_topic_partition_states([T0, T1])) == {T0: state(1, 0, 1)}
    assert zk_world.run(b.get_isr_change_notifications()) == [sequence]
    zk_world.run(b.delete_isr_change_notifications([sequence], new))
    assert zk_world.run(b.get_isr_change_notifications()) == []


def test_states_are_compared_and_set(zk_world: ZkWorld) -> None:
    a = zk_world.client("a")
    _, version = zk_world.run(a.register_controller_and_increment_epoch(1))
    gone = zk_world.run(a.create_topic_partition_states({T0: state(1, 0, 1)}, version))[T0]
    assert gone is not None
    assert gone.code is ZkErrorCode.NO_NODE
    zk_world.run(a.create_topic_assignment("t", TopicAssignment.of({0: [1, 2], 1: [1, 2]})))
    zk_world.run(
        a.create_topic_partition_states({T0: state(1, 0, 1, 2), T1: state(1, 0, 1, 2)}, version)
    )
    assert zk_world.run(a.conditional_update_partition_state(T0, state(1, 0, 1), 0)) == 1
    assert zk_world.run(a.conditional_update_partition_state(T0, state(1, 0, 1, 2), 0)) is None
    assert (
        zk_world.run(
            a.conditional_update_partition_state(TopicPartition("no", 0), state(1, 0, 1), 0)
        )
        is None
    )
    new = {tp: LeaderAndIsr(2, 1, (2,), 0) for tp in (T0, T1, TopicPartition("no", 0))}
    result = zk_world.run(a.update_leader_and_isr(new, 1, version))
    assert result.finished == {T1: LeaderAndIsr(2, 1, (2,), 1)}
    assert result.bad_version == [T0]
    assert {tp: error.code for tp, error in result.failed.items()} == {
        TopicPartition("no", 0): ZkErrorCode.NO_NODE
    }
    assert zk_world.run(a.create_topic_partition_states({T0: state(9, 9)}, version))[T0] is not None


def test_many_requests_are_on_the_way_at_once(zk_world: ZkWorld) -> None:
    """Each of 1,000 requests takes a round trip of 1 ms. Ten at a time take 100 ms; one by one they
    would take a second (spec Z6).
    """
    pipelined, one_by_one = zk_world.client("a"), zk_world.client("b", max_in_flight=1)
    partitions = [TopicPartition("t", n) for n in range(1000)]
    _, version = zk_world.run(pipelined.register_controller_and_increment_epoch(1))
    zk_world.run(pipelined.create_topic_assignment("t", TopicAssignment.of({})))
    zk_world.run(
        pipelined.create_topic_partition_states({tp: state(1, 0, 1) for tp in partitions}, version)
    )
    took = []
    for client in (pipelined, one_by_one):
        before = zk_world.time.nanoseconds()
        assert list(zk_world.run(client.get_topic_partition_states(partitions))) == partitions
        took.append((zk_world.time.nanoseconds() - before) // 1_000_000)
    assert took == [100, 1000]


def test_a_lost_connection_is_waited_out(zk_world: ZkWorld) -> None:
    a = zk_world.client("a")

    async def use() -> tuple[int, int]:
        zk_world.sessions["a"].cut()
        asked = asyncio.create_task(a.register_controller_and_increment_epoch(1))
        await zk_world.time.sleep(2500)
        assert not asked.done()
        zk_world.sessions["a"].mend()
        return await asked

    assert zk_world.run(use()) == (1, 1)


def test_a_write_whose_answer_was_lost_is_recognised(zk_world: ZkWorld) -> None:
    a = zk_world.client("a")
    _, version = zk_world.run(a.register_controller_and_increment_epoch(1))
    zk_world.run(a.create_topic_assignment("t", TopicAssignment.of({0: [1]})))
    zk_world.run(a.create_topic_partition_states({T0: state(1, 0, 1)}, version))

    async def use() -> int | None:
        asked = asyncio.create_task(a.conditional_update_partition_state(T0, state(1, 0, 1, 2), 0))
        await zk_world.time.sleep(0.7)  # it has arrived, its answer has not
        zk_world.sessions["a"].cut()
        await zk_world.time.sleep(2500)
        zk_world.sessions["a"].mend()
        return await asked

    assert zk_world.run(use()) == 1


def test_answers_come_in_the_order_of_the_questions(
    zk_world: ZkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the first request has to be sent again."""
    a = zk_world.client("a")
    _, version = zk_world.run(a.register_controller_and_increment_epoch(1))
    zk_world.run(a.create_topic_assignment("t", TopicAssignment.of({0: [1], 1: [1]})))
    zk_world.run(a.create_topic_partition_states({T0: state(1, 0, 1), T1: state(1, 0, 1)}, version))
    get, asked = MemoryZkClient.get, list[str]()

    async def lost_once(
        session: MemoryZkClient, path: str, *, watch: bool = False
    ) -> tuple[bytes, Stat]:
        asked.append(path)
        if len(asked) == 1:
            raise ZkError(ZkErrorCode.CONNECTION_LOSS, path)
        return await get(session, path, watch=watch)

    monkeypatch.setattr(MemoryZkClient, "get", lost_once)
    assert list(zk_world.run(a.get_topic_partition_states([T0, T1]))) == [T0, T1]
    assert len(asked) == 3


def test_a_stray_controller_goes_and_one_in_office_stays(
    zk_world: ZkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = zk_world.client("a"), zk_world.client("b")
    zk_world.run(a.register_controller_and_increment_epoch(1))
    owner = zk_world.sessions["a"].session_id
    zk_world.run(b.delete_stray_controller(owner + 1))
    assert zk_world.run(b.watch_controller()) == (
        1,
        owner,
    ), "another made it than the one that was seen"

    async def replaced_just_then() -> int:
        """Return the old owner. But first delete the znode by hand, and let a new controller be
        elected.
        """
        await zk_world.sessions["a"].delete("/controller")
        await a.register_controller_and_increment_epoch(1)
        return owner

    with monkeypatch.context() as then:
        then.setattr(b, "get_controller_owner", replaced_just_then)
        zk_world.run(b.delete_stray_controller(owner))
    assert zk_world.run(b.get_controller_id()) == 1, "elected after the epoch was read"
    zk_world.run(b.delete_stray_controller(owner))
    assert zk_world.run(b.watch_controller()) == (None, None)


def test_partitions_that_are_added_meanwhile_stay(zk_world: ZkWorld) -> None:
    a, b = zk_world.client("a"), zk_world.client("b")
    _, version = zk_world.run(a.register_controller_and_increment_epoch(1))
    zk_world.run(a.create_topic_assignment("t", TopicAssignment.of({0: [1]})))
    moving = ReplicaAssignment((2, 1), (2,), (1,))

    async def use() -> list[str]:
        writing = asyncio.create_task(
            a.update_replica_assignments({T0: moving, TopicPartition("gone", 0): moving}, version)
        )
        await zk_world.time.sleep(0.7)  # it has been read, and not written yet
        await b.set_topic_assignment("t", TopicAssignment.of({0: [1], 1: [3]}))
        return await writing

    assert zk_world.run(use()) == ["gone"]
    assert zk_world.run(b.get_assignment_for_topics(["t"]))["t"].partitions == {
        0: moving,
        1: ReplicaAssignment((3,)),
    }


def test_what_is_done_leaves_the_order_of_a_reassignment(zk_world: ZkWorld) -> None:
    a, b = zk_world.client("a"), zk_world.client("b")
    _, version = zk_world.run(a.register_controller_and_increment_epoch(1))
    zk_world.run(b.create_partition_reassignment({T0: [2], T1: [3]}))

    async def use() -> dict[TopicPartition, tuple[int, ...]] | None:
        removing = asyncio.create_task(
            a.remove_from_partition_reassignment(lambda tp, replicas: replicas == (2,), version)
        )
        await zk_world.time.sleep(0.7)  # it has been read, and not written yet
        await zk_world.sessions["b"].set(
            ReassignPartitionsZNode.PATH,
            ReassignPartitionsZNode.encode({T0: [2], T1: [3], T2: [4]}),
        )
        return await removing

    assert zk_world.run(use()) == {T1: (3,), T2: (4,)}
    assert (
        zk_world.run(a.remove_from_partition_reassignment(lambda tp, _: False, version)) is None
    ), "nothing was taken out"
    assert zk_world.run(b.get_partition_reassignment()) == {T1: (3,), T2: (4,)}
    assert zk_world.run(a.remove_from_partition_reassignment(lambda *_: True, version)) == {}
    assert zk_world.run(b.get_partition_reassignment()) is None


def test_an_order_of_nothing_is_done(zk_world: ZkWorld) -> None:
    a = zk_world.client("a")
    _, version = zk_world.run(a.register_controller_and_increment_epoch(1))
    zk_world.run(a.create_partition_reassignment({}))
    assert zk_world.run(a.remove_from_partition_reassignment(lambda *_: False, version)) == {}
    assert zk_world.run(a.get_partition_reassignment()) is None
    zk_world.run(a.create_partition_reassignment({T0: [1]}))  # another may be given


def test_topics_and_their_configs(zk_world: ZkWorld) -> None:
    a = zk_world.client("a")
    topic = TopicAssignment.of({0: [1, 2], 1: [2, 1]})
    zk_world.run(a.set_or_create_entity_configs("topics", "t", {"b": "2", "a": "1"}))
    zk_world.run(a.set_or_create_entity_configs("topics", "t", {"a": "3"}))
    zk_world.run(a.create_topic_assignment("t", topic))
    with pytest.raises(ZkError) as taken:
        zk_world.run(a.create_topic_assignment("t", topic))
    assert taken.value.code is ZkErrorCode.NODE_EXISTS
    assert zk_world.run(a.topic_exists("t"))
    assert zk_world.run(a.get_all_topics_in_cluster()) == ["t"]
    assert zk_world.run(a.get_assignment_for_topics(["t", "gone"])) == {"t": topic}
    assert zk_world.run(a.get_topic_configs(["t", "gone"])) == {"gone": {}, "t": {"a": "3"}}
    zk_world.run(a.create_config_change_notification("topics/t"))
    sequences = zk_world.run(a.get_config_change_notifications())
    assert zk_world.run(a.get_changed_entities(sequences)) == ["topics/t"]
    zk_world.run(a.delete_old_config_change_notifications(sequences, 0))
    assert zk_world.run(a.get_config_change_notifications()) == sequences
    zk_world.run(a.delete_old_config_change_notifications(sequences, 1 << 62))
    assert zk_world.run(a.get_config_change_notifications()) == []


def test_log_dir_events(zk_world: ZkWorld) -> None:
    a = zk_world.client("a")
    for broker_id in (3, 1, 3):
        zk_world.run(a.propagate_log_dir_event(broker_id))
    sequences = zk_world.run(a.get_log_dir_event_notifications())
    assert sequences == ["0000000000", "0000000001", "0000000002"]
    assert zk_world.run(a.get_brokers_from_log_dir_events(sequences)) == [1, 3]


def test_an_error_among_many_answers_leaves_nothing_for_the_garbage_collector(
    zk_world: ZkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller reads the states of partitions whose topic is being deleted."""
    left: list[weakref.ref[ZkError]] = []
    client = zk_world.client("a")
    get = zk_world.sessions["a"].get

    async def noted(path: str, *, watch: bool = False) -> tuple[bytes, Stat]:
        try:
            return await get(path, watch=watch)
        except ZkError as error:
            left.append(weakref.ref(error))
            raise

    monkeypatch.setattr(zk_world.sessions["a"], "get", noted)
    with without_collector():
        assert zk_world.run(client.get_topic_partition_states([T0, T1])) == {}
        zk_world.run(asyncio.sleep(0))
        assert [error() for error in left] == [None, None]
