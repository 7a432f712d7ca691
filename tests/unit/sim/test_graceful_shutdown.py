"""SIGTERM to one broker of three, in virtual time (spec G1).

The broker's leaders move first, clients hardly notice, and its next start recovers no log.
"""

import gc
from collections.abc import Awaitable, Mapping

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.record.record_batch import HEADER_BYTES
from kafka_edu.sim.memory_file_system import MemoryFile
from kafka_edu.sim.sim_client import Answer, SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import (
    ControlledShutdownProcessed,
    ControllerEventStarted,
    ControllerResigned,
    LeaderElected,
)
from kafka_edu.trace.events.log import LogFlushed, LogLoaded, LogRecovered
from kafka_edu.trace.events.network import ConnectionClosed
from kafka_edu.trace.events.replication import IsrExpanded
from kafka_edu.trace.events.server import (
    BrokerStateChanged,
    ControlledShutdownAttempted,
    ServerStopped,
)

#: The book's three cases for broker 2: it leads, it follows, it is alone.
LED, FOLLOWED, ALONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("alone", 0)
ASSIGNMENT = {LED: [2, 3, 1], FOLLOWED: [3, 2, 1], ALONE: [2]}
#: Led by broker 2. Its only other replica is on broker 4.
STUCK = TopicPartition("stuck", 0)


def started(
    assigned: Mapping[TopicPartition, list[int]] = ASSIGNMENT, **properties: str
) -> tuple[SimCluster, SimClient]:
    """Start all brokers that the assignment names, and create its topics. In the names of
    `properties`, `_` stands for a dot.
    """
    brokers = range(1, max(max(ids) for ids in assigned.values()) + 1)
    cluster = SimCluster(
        5, tuple(brokers), {key.replace("_", "."): value for key, value in properties.items()}
    )
    cluster.start_all()
    client = SimClient(cluster)

    async def create() -> int:
        network = NetworkClient(cluster.network.transport(), "script")
        await network.connect("127.0.0.1", cluster.port(1), 1000)
        topics = [
            CreatableTopic(
                name=name, num_partitions=-1, replication_factor=-1, assignments=[], configs=[]
            )
            for name in {tp.topic: None for tp in assigned}
        ]
        for topic in topics:
            of_topic = [
                (tp.partition, ids) for tp, ids in assigned.items() if tp.topic == topic.name
            ]
            topic.assignments = [
                CreatableReplicaAssignment(partition_index=number, broker_ids=ids)
                for number, ids in of_topic
            ]
        response = await network.ask(
            CreateTopicsRequest(topics=topics, timeout_ms=30_000), 4, CreateTopicsResponse, 30_000
        )
        network.close()
        return max(topic.error_code for topic in response.topics)

    creating: Awaitable[int] = create()
    assert cluster.run_as(client.process, creating) == Errors.NONE
    cluster.advance(1000)
    return cluster, client


def produce(cluster: SimCluster, client: SimClient, tp: TopicPartition, value: str) -> None:
    answer = client.produce(tp, value, -1)
    cluster.advance(200)
    assert answer.acked is not None
    assert answer.acked.error is Errors.NONE, value


def of_broker(cluster: SimCluster, broker_id: int, *kinds: type) -> list[Envelope]:
    return [envelope for envelope in cluster.facts(*kinds) if envelope.broker == broker_id]


def test_the_books_steps_in_their_order_and_its_three_cases() -> None:
    cluster, client = started()
    for tp in ASSIGNMENT:
        produce(cluster, client, tp, "before")
    cluster.stop(2)
    (processed,) = (e.event for e in cluster.facts(ControlledShutdownProcessed))
    assert isinstance(processed, ControlledShutdownProcessed)
    assert (processed.led, processed.followed, processed.remaining) == (1, 1, 0)
    (attempt,) = of_broker(cluster, 2, ControlledShutdownAttempted)
    assert attempt.event == ControlledShutdownAttempted(
        attempt=1, controller_id=1, error="NONE", partitions_remaining=0
    )
    states = [
        e
        for e in of_broker(cluster, 2, BrokerStateChanged)
        if isinstance(e.event, BrokerStateChanged)
    ]
    life = [e.event.after for e in states if isinstance(e.event, BrokerStateChanged)]
    assert life == [
        "Starting",
        "RunningAsBroker",
        "PendingControlledShutdown",
        "BrokerShuttingDown",
        "NotRunning",
    ]
    (moved,) = [
        e
        for e in cluster.facts(LeaderElected)
        if isinstance(e.event, LeaderElected) and e.event.strategy == "ControlledShutdown"
    ]
    assert isinstance(moved.event, LeaderElected)
    assert (
        moved.event.partition,
        moved.event.old_leader,
        moved.event.new_leader,
        moved.event.isr,
    ) == (0, 2, 3, (3, 1))
    assert moved.mono_us <= states[3].mono_us, (
        "the leader has moved before the broker begins to close anything"
    )
    (stopped,) = of_broker(cluster, 2, ServerStopped)
    assert isinstance(stopped.event, ServerStopped)
    assert stopped.event.clean
    assert cluster.brokers[2].file_system.exists("/data/.kafka_cleanshutdown")
    cluster.advance(100)
    leaders = {tp: cluster.run_as(client.process, client.leader_of(tp)) for tp in ASSIGNMENT}
    assert leaders == {
        LED: 3,
        FOLLOWED: 3,
        ALONE: -1,
    }, "who is alone goes down with the broker; nothing can be done about it"
    for tp in (LED, FOLLOWED):
        produce(cluster, client, tp, "after")


def test_who_still_asks_finds_out_before_logs_are_flushed() -> None:
    cluster, client = started()
    produce(cluster, client, LED, "a")
    network = NetworkClient(cluster.network.transport(), "late")

    async def connect() -> None:
        await network.connect("127.0.0.1", cluster.port(2), 1000)

    connecting: Awaitable[None] = connect()
    cluster.run_as(client.process, connecting)
    cluster.stop(2)
    ends = of_broker(cluster, 2, ConnectionClosed, LogFlushed, ServerStopped)
    closed = [
        place
        for place, e in enumerate(ends)
        if isinstance(e.event, ConnectionClosed) and e.event.reason == "the broker stops"
    ]
    flushed = [place for place, e in enumerate(ends) if isinstance(e.event, LogFlushed)]
    assert closed
    assert flushed
    assert closed[-1] < flushed[0]
    cluster.advance(10)
    assert not network.connected


def test_a_producer_sees_no_failure_and_a_leaving_broker_does_not_follow_what_it_gave_up() -> None:
    """One partition cannot be moved, so the broker needs all three tries.

    If it followed the partitions that it gave up in the first try, it would be in their ISR again
    within milliseconds. When the broker then stopped, every produce with acks=all would wait until
    it had left the ISR.
    """
    cluster, client = started(
        {**ASSIGNMENT, STUCK: [2, 4]},
        zookeeper_session_timeout_ms="6000",
        replica_lag_time_max_ms="30000",
    )
    produce(cluster, client, LED, "before")
    cluster.kill(4)
    cluster.advance(20_000)
    stopping = cluster.loop.spawn(
        cluster.brokers[2].process, cluster.brokers[2].running.shutdown("SIGTERM")
    )
    began_ms = cluster.time.milliseconds()
    answers: list[Answer] = []
    while not stopping.done():
        answers.append(client.produce(LED, f"meanwhile {len(answers)}", -1))
        cluster.advance(1 if len(answers) < 100 else 100)
    assert 10_000 <= cluster.time.milliseconds() - began_ms < 11_000
    cluster.loop.kill(cluster.brokers[2].process)
    for number in range(100):
        answers.append(client.produce(LED, f"afterwards {number}", -1))
        cluster.advance(20)
    attempts = [e.event for e in of_broker(cluster, 2, ControlledShutdownAttempted)]
    assert attempts == [
        ControlledShutdownAttempted(
            attempt=n, controller_id=1, error="NONE", partitions_remaining=1
        )
        for n in (1, 2, 3)
    ]
    assert not [
        e
        for e in cluster.facts(IsrExpanded)
        if isinstance(e.event, IsrExpanded) and e.event.topic == "t" and 2 in e.event.after
    ]
    refused = [
        answer.acked.error
        for answer in answers
        if answer.acked is not None and answer.acked.error is not Errors.NONE
    ]
    assert set(refused) <= {Errors.NOT_LEADER_OR_FOLLOWER}, (
        "what tells a producer to ask for the new leader"
    )
    assert len(refused) < 20
    assert not [answer.failed for answer in answers if answer.failed]
    acked = [
        answer.acked.value
        for answer in answers
        if answer.acked is not None and answer.acked.error is Errors.NONE
    ]
    assert len(acked) == len(answers) - len(refused), "every other was acked, the last within 20 ms"
    stored = {value for _, value in cluster.run_as(client.process, client.consume(LED))}
    assert stored >= set(acked)


class CountingReads:
    """Counts the reads of segments."""

    def __init__(self, cluster: SimCluster, broker_id: int) -> None:
        self.bytes = 0
        disk = cluster.brokers[broker_id].file_system
        opened = disk.open

        def open_counting(path: str, *, create: bool = True) -> MemoryFile:
            file = opened(path, create=create)
            if path.endswith(".log"):
                read = file.pread

                def pread(count: int, position: int) -> bytes:
                    data = read(count, position)
                    self.bytes += len(data)
                    return data

                file.pread = pread  # type: ignore[method-assign]
            return file

        disk.open = open_counting  # type: ignore[method-assign]


@pytest.mark.parametrize("how", ["SIGTERM", "kill -9"])
def test_the_next_start_recovers_nothing_after_sigterm_and_all_after_kill(how: str) -> None:
    """After a clean end the broker recovers no log and reads only some headers. For example, it
    reads those behind the last index entry of each log, to find the log's end, as Kafka does
    (readNextOffset).
    """
    cluster, client = started()
    for number in range(20):
        produce(cluster, client, ALONE, f"{number} ".ljust(3000, "."))
    if how == "SIGTERM":
        cluster.stop(2)
    else:
        cluster.kill(2)
        cluster.advance(20_000)
    seen = len(cluster.sink.events)
    reads = CountingReads(cluster, 2)
    cluster.start(2)
    cluster.advance(100)
    told = [e.event for e in cluster.sink.events[seen:] if e.broker == 2]
    loaded = [event for event in told if isinstance(event, LogLoaded)]
    recovered = [event for event in told if isinstance(event, LogRecovered)]
    assert {event.topic for event in loaded} >= {"t", "alone"}
    if how == "SIGTERM":
        assert all(event.clean for event in loaded)
        assert recovered == []
        # The broker reads the end of each log twice, the first batch of each epoch, and what shows
        # whether an index fits the batches (log/index_checks.py). It reads no log completely.
        assert 0 < reads.bytes <= 16 * HEADER_BYTES
    else:
        assert not any(event.clean for event in loaded)
        assert {event.topic for event in recovered} >= {"t", "alone"}
        assert reads.bytes > 20 * 3000
    assert not cluster.brokers[2].file_system.exists("/data/.kafka_cleanshutdown"), (
        "so that a crash from now on is noticed"
    )


def test_the_controller_itself_is_stopped() -> None:
    """The stopping broker asks itself, and stays controller until its leaders have moved. The next
    controller has no leaders to move.
    """
    cluster, client = started()
    cluster.stop(1)
    (attempt,) = of_broker(cluster, 1, ControlledShutdownAttempted)
    assert attempt.event == ControlledShutdownAttempted(
        attempt=1, controller_id=1, error="NONE", partitions_remaining=0
    )
    (resigned,) = of_broker(cluster, 1, ControllerResigned)
    assert attempt.mono_us <= resigned.mono_us
    cluster.advance(1000)
    for tp in (LED, FOLLOWED):
        produce(cluster, client, tp, "after")


def test_the_last_broker_asks_once() -> None:
    """All other brokers are dead, so the leaders cannot move. Another try would change nothing, so
    the broker stops.
    """
    cluster, client = started(zookeeper_session_timeout_ms="6000")
    produce(cluster, client, LED, "before")
    cluster.kill(3)
    cluster.kill(1)
    cluster.advance(20_000)
    began = cluster.time.milliseconds()
    cluster.stop(2)
    attempts = [e.event for e in of_broker(cluster, 2, ControlledShutdownAttempted)]
    assert attempts == [
        ControlledShutdownAttempted(
            attempt=1, controller_id=2, error="NONE", partitions_remaining=2
        )
    ]
    assert cluster.time.milliseconds() - began < 1000
    assert cluster.brokers[2].file_system.exists("/data/.kafka_cleanshutdown"), (
        "its logs are whole nevertheless"
    )


def test_controlled_shutdown_can_be_switched_off() -> None:
    cluster, client = started(controlled_shutdown_enable="false")
    produce(cluster, client, LED, "before")
    cluster.stop(2)
    assert not cluster.facts(ControlledShutdownAttempted)
    assert cluster.brokers[2].file_system.exists("/data/.kafka_cleanshutdown")
    cluster.advance(1000)
    strategies = {
        e.event.strategy
        for e in cluster.facts(LeaderElected)
        if isinstance(e.event, LeaderElected) and e.event.old_leader == 2
    }
    assert strategies == {"OfflinePartition"}, "its leaders move when it is gone"


@pytest.mark.filterwarnings(
    "ignore:coroutine .* was never awaited"
)  # the requests that the controller made in its last step
def test_the_controller_dies_while_a_broker_is_asking_it() -> None:
    """The stopping broker finds no controller for a while. Then it finds the next one.

    The next controller may be the stopping broker itself. Then it stops all the same.
    """
    cluster, client = started(zookeeper_session_timeout_ms="6000")
    produce(cluster, client, LED, "before")
    stopping = cluster.loop.spawn(
        cluster.brokers[2].process, cluster.brokers[2].running.shutdown("SIGTERM")
    )
    while not any(
        isinstance(e.event, ControllerEventStarted) and e.event.name == "ControlledShutdown"
        for e in cluster.sink.events[-20:]
    ):
        assert cluster.loop.step()
    cluster.kill(1)
    cluster.loop.run_until_complete(stopping, 600_000)
    cluster.loop.kill(cluster.brokers[2].process)
    attempts = [
        e.event
        for e in of_broker(cluster, 2, ControlledShutdownAttempted)
        if isinstance(e.event, ControlledShutdownAttempted)
    ]
    assert attempts[0].controller_id == 1
    assert "Error" in attempts[0].error
    assert attempts[-1].controller_id in (2, 3)
    assert (attempts[-1].error, attempts[-1].partitions_remaining) == ("NONE", 0)
    cluster.advance(1000)
    for tp in (LED, FOLLOWED):
        assert cluster.run_as(client.process, client.leader_of(tp)) == 3
    produce(cluster, client, LED, "after")
    cluster.close()
    del cluster, client, stopping
    gc.collect()
