"""Who is in sync, and how that gets into ZooKeeper (spec R2)."""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.high_watermark import leader_high_watermark
from kafka_edu.replication.isr import may_join_isr, out_of_sync_replicas
from kafka_edu.replication.replica import NEVER_MS, Replica
from kafka_edu.sim.stepped_cluster import SteppedCluster


def follower(broker_id: int, caught_up_ms: int, leo: int = 0) -> Replica:
    replica = Replica(broker_id)
    replica.reset(0, caught_up_ms, in_sync=True)
    replica.log_end_offset = LogOffsetMetadata(leo)
    return replica


@pytest.mark.parametrize(("now_ms", "out"), [(10_000, ()), (10_001, (2,)), (15_000, (2,))])
def test_ten_seconds_is_not_yet_more_than_ten_seconds(now_ms: int, out: tuple[int, ...]) -> None:
    assert (
        out_of_sync_replicas(
            (1, 2, 3), [follower(2, 0), follower(3, 9_000), follower(4, NEVER_MS)], now_ms, 10_000
        )
        == out
    )


def test_joining_needs_all_that_is_committed_and_all_that_the_leader_began_with() -> None:
    assert may_join_isr(10, 10, 10)
    assert not may_join_isr(9, 10, 5)
    assert not may_join_isr(9, 5, 10)


def test_the_mark_waits_for_members_and_for_those_who_have_caught_up_of_late() -> None:
    leader = LogOffsetMetadata(15)
    assert (
        leader_high_watermark(
            leader, (1, 2, 3), [follower(2, 0, 8), follower(3, 0, 15)], 0, 10_000
        ).message_offset
        == 8
    )
    assert (
        leader_high_watermark(
            leader, (1, 3), [follower(2, 0, 8), follower(3, 0, 15)], 10_000, 10_000
        ).message_offset
        == 8
    )
    assert (
        leader_high_watermark(
            leader, (1, 3), [follower(2, 0, 8), follower(3, 0, 15)], 10_001, 10_000
        ).message_offset
        == 15
    )
    assert (
        leader_high_watermark(leader, (1, 2), [follower(2, 0, -1)], 0, 10_000).message_offset == -1
    )


def test_a_follower_that_stops_leaves_after_15_s_and_returns_when_it_has_caught_up() -> None:
    """Record b waits for follower 2, and is acknowledged when the ISR has shrunk."""
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    cluster.fetch(1, 2)
    b = cluster.produce("b")
    for second in (5, 10, 15):
        cluster.time.advance(5_000)
        for _ in range(2):
            cluster.fetch(1)
        cluster.leader.manager.isr_updates.maybe_shrink_isr()
        assert [p.after for p in cluster.leader.proposals] == ([] if second < 15 else [(0, 1)])
    assert b.error() is None
    assert cluster.leader.partition.isr == (0, 1, 2)  # ZooKeeper has not answered yet
    cluster.settle_isr()
    assert b.error() is Errors.NONE
    assert list(cluster.leader.partition.isr) == list(cluster.state.isr) == [0, 1]
    [shrunk] = cluster.leader.events("IsrShrunk")
    assert "2 is stuck: no fetch for 15000 ms" in str(shrunk)

    cluster.fetch(2)
    assert cluster.leader.proposals == []  # asked from 0, below the mark
    cluster.fetch(2)
    assert [p.after for p in cluster.leader.proposals] == [(0, 1, 2)]
    cluster.settle_isr()
    assert cluster.leader.partition.isr == (0, 1, 2)
    assert cluster.leader.events("IsrExpanded")
    assert (
        cluster.leader.manager.isr_updates.changes.take_due(cluster.time.hi_res_clock_ms() + 5_001)
        != []
    )


def test_a_follower_that_is_always_behind_leaves_too() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    for _ in range(12):
        cluster.produce("x" * 10, "y", acks=1)
        cluster.time.advance(1_000)
        cluster.look_up_epochs(1)
        cluster.send_fetch(1)  # the answer is lost, so it asks from 0 again and again
        cluster.brokers[1].fetchers.by_leader[0].on_no_answer()
    cluster.leader.manager.isr_updates.maybe_shrink_isr()
    [proposal] = cluster.leader.proposals
    assert "1 is slow" in proposal.reason


def test_while_a_change_is_on_its_way_the_larger_set_holds_the_mark() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    cluster.produce("a", acks=1)
    cluster.fetch(1)
    cluster.fetch(1)
    assert cluster.leader.partition.isr_state.expected == (0, 1)
    cluster.time.advance(60_000)  # by time alone the follower would count no more
    answer = cluster.produce("b")
    assert answer.error() is None
    assert cluster.leader.hw == 1
    cluster.settle_isr()
    assert cluster.leader.hw == 1
    cluster.fetch(1)
    cluster.fetch(1)
    assert answer.error() is Errors.NONE


def test_another_version_in_zookeeper_means_silence_until_the_controller_tells() -> None:
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    cluster.fetch(1, 2)
    cluster.elect(0, (0, 1), notified=())  # the controller has written; the leader has not heard
    cluster.time.advance(15_000)
    cluster.leader.manager.isr_updates.maybe_shrink_isr()
    assert len(cluster.leader.proposals) == 1
    cluster.settle_isr()
    assert cluster.leader.events("IsrWriteFailed")
    assert cluster.leader.partition.isr == (0, 1, 2)
    cluster.time.advance(15_000)
    cluster.leader.manager.isr_updates.maybe_shrink_isr()
    assert cluster.leader.proposals == []
    cluster.tell(0)
    assert list(cluster.leader.partition.isr) == [0, 1]
    cluster.time.advance(15_000)
    cluster.leader.manager.isr_updates.maybe_shrink_isr()
    assert [p.after for p in cluster.leader.proposals] == [(0,)]


def test_an_answer_after_the_controller_has_spoken_changes_nothing() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.time.advance(15_000)
    cluster.leader.manager.isr_updates.maybe_shrink_isr()
    [proposal] = cluster.leader.proposals
    assert cluster.leader.manager.isr_updates.still_wanted(proposal)
    cluster.elect(0, (0, 1))
    assert not cluster.leader.manager.isr_updates.still_wanted(proposal)
    cluster.leader.manager.isr_updates.written(proposal, 99)
    assert cluster.leader.partition.isr == (0, 1)


def test_a_new_leader_lets_a_follower_in_only_at_its_first_offset() -> None:
    """KAFKA-6361: a follower's offset above the high watermark is not enough, because the high
    watermark may lag behind what was committed under the previous leader.
    """
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1))
    for _ in range(2):
        cluster.produce("a", "b", acks=1)
        cluster.fetch(1)
    cluster.elect(1, (1,))
    assert (cluster.leader.hw, cluster.leader.partition.leader_epoch_start_offset) == (4, 4)
    assert not may_join_isr(2, 0, cluster.leader.partition.leader_epoch_start_offset)
    cluster.fetch(2)
    assert cluster.leader.proposals == []
    cluster.fetch(2)
    assert [p.after for p in cluster.leader.proposals] == [(1, 2)]
