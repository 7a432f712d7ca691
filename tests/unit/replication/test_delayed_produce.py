"""A produce with acks=all waits for the in-sync followers (book 000 §6.3, figures 6-9 to 6-12)."""

from kafka_edu.common.errors import Errors
from kafka_edu.instruments.waiting import leaves_isr_ms
from kafka_edu.replication.partition_view import remote_progress
from kafka_edu.sim.stepped_cluster import SteppedCluster
from kafka_edu.trace.events.purgatory import OperationsEndedSampled, ReplicaProgress
from tests.unit.replication.test_append import causes


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


def test_a_waiting_produce_tells_when_its_leader_will_drop_who_is_missing() -> None:
    cluster = SteppedCluster(2)
    cluster.elect(0, (0, 1))
    remote = remote_progress(cluster.leader.partition)
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
