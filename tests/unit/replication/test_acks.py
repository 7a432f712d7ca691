"""When a producer is answered, and with what (spec R3; book 000 §6.3, figures 6-9 to 6-12)."""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_size
from kafka_edu.instruments.waiting import leaves_isr_ms
from kafka_edu.sim.stepped_cluster import Produced, SteppedCluster, T, batch
from kafka_edu.trace.events.purgatory import OperationsEndedSampled, ReplicaProgress


@pytest.mark.parametrize(
    ("acks", "at_once", "after_followers"),
    [
        (0, Errors.NONE, Errors.NONE),
        (1, Errors.NONE, Errors.NONE),
        (-1, None, Errors.NONE),
        (2, Errors.INVALID_REQUIRED_ACKS, Errors.INVALID_REQUIRED_ACKS),
    ],
)
def test_the_table_of_acks(acks: int, at_once: Errors | None, after_followers: Errors) -> None:
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    answer = cluster.produce("a", acks=acks)
    assert answer.error() == at_once
    for _ in range(2):
        cluster.fetch(1, 2)
    assert answer.error() is after_followers
    assert cluster.leader.leo == (0 if acks == 2 else 1)


def test_figures_6_9_to_6_11_both_followers_must_have_messages_3_and_4() -> None:
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    for i in range(3):
        cluster.produce(str(i), acks=1)
    for _ in range(3):
        cluster.fetch(1, 2)
    answer = cluster.produce("3", "4")
    lines = [cluster.line()]  # 6-9: in the leader's log only
    cluster.fetch(1)
    lines.append(
        cluster.line()
    )  # 6-10: follower 1 has them; the leader learns that by its next fetch
    cluster.fetch(1)
    assert answer.error() is None
    [waiting] = cluster.leader.produce_purgatory.waiting()
    [requirement] = waiting.why_waiting()
    assert requirement[:5] == (
        "t-0",
        "high watermark",
        5,
        3,
        (("broker 0", 5), ("broker 1", 5), ("broker 2", 3)),
    )
    assert [(r.broker, r.log_end_offset) for r in requirement.replicas] == [(1, 5), (2, 3)]
    cluster.fetch(2)
    cluster.fetch(2)  # 6-11: follower 2 as well
    lines.append(cluster.line())
    assert (answer.error(), answer.base_offset) == (Errors.NONE, 3)
    assert lines == [
        "HW 3, LEO 5, remote 3 3 | HW 3, LEO 3 | HW 3, LEO 3",
        "HW 3, LEO 5, remote 3 3 | HW 3, LEO 5 | HW 3, LEO 3",
        "HW 5, LEO 5, remote 5 5 | HW 3, LEO 5 | HW 3, LEO 5",
    ]


def test_figure_6_12_the_time_is_up_and_the_records_stay() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    answer = cluster.produce("a", timeout_ms=30_000)
    cluster.step(29_999)
    assert answer.error() is None
    cluster.step(40)
    assert answer.error() is Errors.REQUEST_TIMED_OUT
    for _ in range(3):
        cluster.fetch(1)
    assert (cluster.leader.hw, cluster.leader.values()) == (1, ["a"])


def test_below_min_insync_replicas_nothing_is_written_for_acks_all() -> None:
    cluster = SteppedCluster(3, min_isr=2)
    cluster.elect(0, (0,))
    assert cluster.produce("a").error() is Errors.NOT_ENOUGH_REPLICAS
    assert cluster.leader.leo == 0
    assert cluster.produce("a", acks=1).error() is Errors.NONE
    assert cluster.leader.leo == 1


def test_shrunk_below_min_insync_replicas_after_the_append() -> None:
    cluster = SteppedCluster(2, min_isr=2)
    cluster.elect(0, (0, 1))
    answer = cluster.produce("a", timeout_ms=60_000)
    cluster.time.advance(15_000)
    cluster.leader.manager.isr_updates.maybe_shrink_isr()
    assert answer.error() is None
    cluster.settle_isr()
    assert answer.error() is Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert cluster.leader.values() == ["a"]


def test_a_leader_that_is_deposed_answers_who_waits_at_once() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    answer = cluster.produce("a")
    cluster.elect(1, (1,))
    assert answer.error() is Errors.NOT_LEADER_OR_FOLLOWER
    assert cluster.produce("b", to=0).error() is Errors.NOT_LEADER_OR_FOLLOWER


def test_one_partition_in_error_leaves_the_others_alone() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    answer = Produced()
    unknown = TopicPartition("nowhere", 0)
    cluster.leader.manager.append.append_records(
        30_000, -1, {unknown: batch("x"), T: batch("a")}, answer
    )
    assert answer.error() is None
    for _ in range(2):
        cluster.fetch(1)
    assert answer.error() is Errors.NONE
    assert answer.statuses is not None
    assert answer.statuses[unknown].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert list(answer.statuses) == [unknown, T]


def test_figure_6_13_a_fetch_with_nothing_new_waits_and_reads_a_second_time() -> None:
    cluster = SteppedCluster(3, wait_ms=500)
    cluster.elect(0, (0, 1, 2))
    for follower in (1, 2):
        cluster.look_up_epochs(follower)
    one, two = cluster.send_fetch(1), cluster.send_fetch(2)
    assert one == two == []
    assert [w.why_waiting()[0][:4] for w in cluster.leader.fetch_purgatory.waiting()] == [
        ("follower 1", "bytes up to the log end", 1, 0),
        ("follower 2", "bytes up to the log end", 1, 0),
    ]
    cluster.produce("a", acks=1)  # the event: the leader's log has grown
    assert len(one) == len(two) == 1
    assert part_size(one[0].responses[0].partition_responses[0].record_set or b"") == len(
        batch("a")
    )
    cluster.receive(1, one)
    cluster.receive(2, two)
    assert cluster.brokers[1].leo == cluster.brokers[2].leo == 1


def test_a_consumer_is_woken_by_the_high_watermark_not_by_the_log_end() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.fetch(1)
    answer = cluster.consume(0, max_wait_ms=500)
    cluster.produce("a", acks=1)
    assert answer == []
    cluster.fetch(1)
    assert answer == []
    cluster.fetch(1)
    [read] = answer
    assert (read.high_watermark, read.size_in_bytes) == (1, len(batch("a")))


def test_fetch_min_bytes() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    size = len(batch("a"))
    answer = cluster.consume(0, max_wait_ms=500, min_bytes=3 * size)
    for _ in range(2):
        cluster.produce("a")
    assert answer == []
    cluster.produce("a")
    [read] = answer
    assert read.size_in_bytes == 3 * size


def test_a_fetch_that_waits_too_long_is_answered_with_what_there_is() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    answer = cluster.consume(0, max_wait_ms=500, min_bytes=1 << 20)
    cluster.produce("a")
    cluster.step(540)
    [read] = answer
    assert (read.error, read.size_in_bytes) == (Errors.NONE, len(batch("a")))


def test_a_deposed_leader_ends_the_waiting_fetches() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    answer = cluster.consume(0, max_wait_ms=500)
    cluster.elect(1, (0, 1))
    assert [read.error for read in answer] == [Errors.NOT_LEADER_OR_FOLLOWER]


def test_from_v11_on_a_follower_serves_consumers_up_to_its_own_mark() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    for _ in range(2):
        cluster.produce("a", acks=1)
        cluster.fetch(1)
    cluster.fetch(1)
    assert cluster.line() == "HW 2, LEO 2, remote 2 | HW 1, LEO 2"
    cluster.state = cluster.state._replace(leader=1)  # ask broker 1 without its being the leader
    [old] = cluster.consume(0, api_version=10)
    assert old.error is Errors.NOT_LEADER_OR_FOLLOWER
    [new] = cluster.consume(0, api_version=11)
    assert (new.error, new.size_in_bytes) == (Errors.NONE, len(batch("a")))


def causes(cluster: SteppedCluster) -> list[str]:
    """Return what has ended the operations of the leader's purgatories since somebody looks."""
    return [
        one.cause
        for envelope in cluster.leader.trace.gauges()
        if isinstance(envelope.event, OperationsEndedSampled)
        for one in envelope.event.state.ended
    ]


def test_what_ended_a_produce_is_named() -> None:
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    for _ in range(2):
        cluster.fetch(1, 2)
    causes(cluster)  # somebody begins to look

    cluster.produce("a")
    cluster.fetch(1)
    cluster.fetch(1)
    cluster.fetch(2)
    cluster.fetch(2)
    assert causes(cluster) == ["HW moved: broker 2 fetched"]

    answer = cluster.produce("b")
    max_lag_ms = cluster.leader.config.replica_lag_time_max_ms
    for _ in range(max_lag_ms // 500 + 1):
        cluster.step(500)
        cluster.fetch(1)
        causes(cluster)
    cluster.leader.manager.isr_updates.maybe_shrink_isr()
    cluster.settle_isr()
    assert answer.error() is Errors.NONE
    assert causes(cluster)[-1] == "HW moved: the ISR changed"

    answer = cluster.produce("c", timeout_ms=300)
    cluster.step(340)
    assert answer.error() is Errors.REQUEST_TIMED_OUT
    assert causes(cluster)[-1] == "time-out"

    cluster.produce("d")
    broker = cluster.leader
    cluster.elect(1, (0, 1))
    told = [e.event for e in broker.trace.gauges()]
    ended = next(e.state.ended for e in told if isinstance(e, OperationsEndedSampled))
    assert ended[-1].cause == "not leader any more"


def test_what_ended_a_fetch_is_named() -> None:
    cluster = SteppedCluster(2, wait_ms=500)
    cluster.elect(0, (0, 1))
    causes(cluster)
    cluster.consume(0, max_wait_ms=500)
    cluster.step(540)
    assert causes(cluster) == ["time-out, a consumer"]

    cluster.produce("a", acks=1)
    cluster.fetch(1)
    cluster.send_fetch(1)
    cluster.produce("b")
    assert causes(cluster)[-1] == "bytes for follower 1"
    cluster.consume(2, max_wait_ms=500)
    cluster.elect(1, (0, 1), told=(0,))
    told = [e.event for e in cluster.brokers[0].trace.gauges()]
    ended = next(e.state.ended for e in told if isinstance(e, OperationsEndedSampled))
    assert ended[-1].cause == "not leader any more"


def test_a_waiting_produce_tells_when_its_leader_will_drop_who_is_missing() -> None:
    cluster = SteppedCluster(2)
    cluster.elect(0, (0, 1))
    remote = cluster.leader.partition.remote_progress()
    assert [one.last_fetch_ms for one in remote] == [-1], "not in this leader epoch"
    cluster.time.advance(10)
    for _ in range(2):
        cluster.fetch(1)
    begin_ms = cluster.time.hi_res_clock_ms()
    cluster.leader.manager.isr_updates.maybe_shrink_isr()
    cluster.produce("a")
    cluster.step(2_000)
    [waiting] = cluster.leader.produce_purgatory.waiting()
    [need] = waiting.why_waiting()
    every_ms = cluster.leader.config.replica_lag_time_max_ms // 2
    assert (need.max_lag_ms, need.isr_check_ms, need.min_isr) == (
        2 * every_ms,
        begin_ms + every_ms,
        1,
    )
    assert need.replicas == (ReplicaProgress(1, 0, begin_ms, begin_ms),)
    leaves_ms = leaves_isr_ms(need.replicas[0], need)
    assert leaves_ms == begin_ms + 3 * every_ms, "at the second check it is not yet too late"
    for check in (1, 2, 3):
        cluster.time.advance(begin_ms + check * every_ms - cluster.time.hi_res_clock_ms())
        cluster.leader.manager.isr_updates.maybe_shrink_isr()
        assert bool(cluster.leader.proposals) == (check == 3), check
