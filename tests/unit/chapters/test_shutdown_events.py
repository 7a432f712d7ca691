"""The facts that `demo shutdown` reads from recordings: when a partition had no leader, how a
broker ended, what its next start read again.
"""

from chapters.ch06_graceful_shutdown.shutdown import longest_silence
from chapters.ch06_graceful_shutdown.shutdown_events import End, Start, end_of, moves, start_of
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.log import LogLoaded, LogRecovered
from kafka_edu.trace.events.replication import BecameFollower, BecameLeader
from kafka_edu.trace.events.server import ControlledShutdownAttempted, ServerStarted, ServerStopped

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def told(broker: int, mono_us: int, event: Event) -> Envelope:
    return Envelope(Source.of_broker(broker), 1, 0, 0, mono_us, event)


def leads(tp: TopicPartition, epoch: int = 1) -> BecameLeader:
    return BecameLeader(
        topic=tp.topic,
        partition=tp.partition,
        leader_epoch=epoch,
        controller_epoch=1,
        start_offset=0,
        high_watermark=0,
        isr=(1,),
        replicas=(0, 1),
        zk_version=1,
    )


def follows(tp: TopicPartition, epoch: int = 1) -> BecameFollower:
    return BecameFollower(
        topic=tp.topic,
        partition=tp.partition,
        leader=1,
        leader_epoch=epoch,
        controller_epoch=1,
        log_end_offset=0,
        high_watermark=0,
        replicas=(0, 1),
    )


def test_a_stopped_broker_ceases_to_lead_when_it_is_told() -> None:
    events = [
        told(1, 9_000, leads(T0)),
        told(0, 5_000, follows(T0)),
        told(2, 5_500, leads(T1)),
        told(0, 6_000, follows(T1)),
    ]
    found = moves(events, [T0, T1], broker=0, gone_us=1_000)
    assert found.ms_without_leader == {
        T0: 4.0,
        T1: 0,
    }, "of T1 the new leader began before the old one ended"
    assert (found.median_ms, found.longest_ms) == (2.0, 4.0)


def test_a_killed_broker_ceases_to_lead_when_it_is_killed() -> None:
    assert moves([told(1, 7_001_000, leads(T0))], [T0], 0, 1_000).ms_without_leader == {T0: 7000.0}


def test_only_its_own_leaderships_count_and_only_the_first_move() -> None:
    events = [
        told(1, 500, leads(T0)),
        told(1, 2_000, leads(T0)),
        told(2, 9_000, leads(T0, 2)),
        told(1, 2_000, leads(TopicPartition("t", 7))),
    ]
    assert moves(events, [T0, T1], 0, 1_000).ms_without_leader == {T0: 1.0}
    nothing = moves([], [T0], 0, 0)
    assert (nothing.median_ms, nothing.longest_ms) == (0.0, 0.0)


def test_a_moment_without_a_leader() -> None:
    killed = moves([told(1, 7_001_000, leads(T0))], [T0, T1], 0, 1_000)
    assert [killed.was_without_leader(T0, at) for at in (999, 1_000, 7_000_999, 7_001_000)] == [
        False,
        True,
        True,
        False,
    ]
    assert not killed.was_without_leader(T1, 2_000)


def test_the_end_of_a_broker() -> None:
    attempts = [
        told(
            0,
            n,
            ControlledShutdownAttempted(
                attempt=n, controller_id=1, error="NONE", partitions_remaining=left
            ),
        )
        for n, left in ((1, 3), (2, 1))
    ]
    assert end_of(
        [*attempts, told(0, 9, ServerStopped(broker_id=0, clean=True, shutdown_ms=5))]
    ) == End(2, 1, True)
    assert end_of([]) == End(0, 0, False)


def test_its_next_start() -> None:
    recording = [
        told(
            0,
            1,
            LogRecovered(
                topic="t",
                partition=0,
                recovery_point=10,
                segments=2,
                truncated_bytes=0,
                log_end_offset=110,
                reason="",
            ),
        ),
        told(
            0,
            2,
            LogLoaded(
                topic="t",
                partition=0,
                log_dir="/d",
                log_start_offset=0,
                log_end_offset=110,
                segments=2,
                size=1,
                producers=0,
                clean=False,
            ),
        ),
        told(
            0,
            3,
            LogLoaded(
                topic="t",
                partition=1,
                log_dir="/d",
                log_start_offset=0,
                log_end_offset=9,
                segments=1,
                size=1,
                producers=0,
                clean=True,
            ),
        ),
        told(0, 4, ServerStarted(broker_id=0, end_points=(), startup_ms=77)),
    ]
    assert start_of(recording) == Start(77, 2, 1, 2, 100)


def test_a_silence_counts_if_it_reaches_into_the_time_looked_at() -> None:
    acks = [0.0, 5.0, 5.5, 7.0, 12.0, 30.0]
    assert longest_silence(acks, 6.0, 8.0) == 5.0
    assert longest_silence(acks, 1.0, 2.0) == 5.0
    assert longest_silence(acks, 6.0, 6.5) == 1.5
    assert longest_silence([], 0.0, 1.0) == 0.0
