"""A follower whose offset is outside the leader's range, a disk that fails, checkpoints, and
ListOffsets v0.
"""

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchResponse,
)
from kafka_edu.replication.replication_quota_manager import ALL_PARTITIONS
from kafka_edu.sim.stepped_cluster import SteppedCluster, T
from kafka_edu.trace.events.replication import UncleanTruncation
from tests.unit.replication.logs import in_loop


@in_loop
def test_a_follower_that_ends_before_the_leader_starts_drops_all_and_starts_there() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    for i in range(5):
        cluster.produce(str(i))
    cluster.leader.log.maybe_increment_log_start_offset(3)
    cluster.fetch(1)
    follower = cluster.brokers[1]
    assert (follower.log.log_start_offset, follower.leo, follower.hw) == (3, 3, 3)
    [told] = follower.events("LogTruncatedByRange")
    assert told[2:4] == (0, 3)
    cluster.fetch(1)
    assert follower.values() == ["3", "4"]


@in_loop
def test_a_follower_takes_the_batch_whole_in_which_the_leaders_log_starts() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    cluster.produce("a", "b", "c")
    cluster.produce("d")
    cluster.leader.log.maybe_increment_log_start_offset(1)
    for _ in range(3):
        cluster.fetch(1)
    follower = cluster.brokers[1]
    assert (follower.log.log_start_offset, follower.leo, follower.hw) == (1, 4, 4)
    assert follower.log.segments.first_base == 0
    assert follower.events("FetcherPartitionDelayed") == []


def test_a_held_back_partition_that_is_not_followed_any_more_is_not_fetched_again() -> None:
    cluster = SteppedCluster(2, protocol=(2, 8))
    cluster.elect(0, (0,))
    cluster.produce("a", acks=1)
    cluster.look_up_epochs(1)
    fetcher, quota = cluster.fetcher(1), cluster.brokers[1].quotas.follower
    assert fetcher is not None
    now_ms = cluster.time.hi_res_clock_ms()
    quota.mark_throttled(T.topic, ALL_PARTITIONS, now_ms)
    quota.update_quota(100, now_ms)
    quota.record(150, now_ms)
    assert fetcher.fetch_request(now_ms) is None, "it is held back"
    fetcher.remove([T])
    assert not quota.is_quota_exceeded(now_ms + 60_000)
    assert fetcher.fetch_request(now_ms + 60_000) is None


def test_after_an_unclean_election_a_follower_that_is_ahead_is_cut_to_the_leader() -> None:
    """The records it loses were acknowledged: that is what unclean.leader.election.enable means."""
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    for i in range(3):
        cluster.produce(str(i))
    cluster.elect(1, (1,))
    cluster.fetch(0)
    cluster.fetch(0)
    assert cluster.brokers[0].values() == []
    assert cluster.brokers[0].hw == 0
    [unclean] = cluster.brokers[0].events("UncleanTruncation")
    assert unclean == UncleanTruncation(
        topic="t",
        partition=0,
        leader=1,
        leader_epoch=1,
        before=3,
        after=0,
        high_watermark=3,
        records=3,
        exact=True,
    ), "it led alone in the ISR until the election, so it knows that these three are all"


def test_records_above_the_high_watermark_do_not_count_as_lost() -> None:
    """Broker 0 led with broker 1 in the ISR. One record was committed. Two more records were
    appended, but not committed.
    """
    cluster = SteppedCluster(brokers=3)
    cluster.elect(0, (0, 1))
    cluster.produce("committed", acks=1)
    cluster.fetch(1)
    cluster.fetch(1)
    for value in ("never acknowledged", "nor this"):
        cluster.produce(value, acks=1)
    assert (cluster.brokers[0].hw, cluster.brokers[0].leo) == (1, 3)
    cluster.elect(2, (2,))
    cluster.fetch(0)
    cluster.fetch(0)
    [unclean] = cluster.brokers[0].events("UncleanTruncation")
    assert (unclean.before, unclean.after, unclean.high_watermark) == (3, 0, 1)
    assert unclean.records == 1, "the log end counts what was never committed"
    assert not unclean.exact, (
        "broker 1 was in the ISR too: it may have led in between, and committed more"
    )


def test_a_followers_count_is_what_is_lost_at_least() -> None:
    """A follower's high watermark lags: the last commit before the election may not have reached
    it.
    """
    cluster = SteppedCluster(brokers=3)
    cluster.elect(0, (0, 1))
    cluster.produce("a", acks=1)
    for _ in range(3):
        cluster.fetch(1)
    cluster.produce("b", acks=1)
    cluster.fetch(1)
    cluster.fetch(1)
    assert (cluster.brokers[0].hw, cluster.brokers[1].hw, cluster.brokers[1].leo) == (2, 1, 2)
    cluster.elect(2, (2,))
    cluster.fetch(1)
    cluster.fetch(1)
    [unclean] = cluster.brokers[1].events("UncleanTruncation")
    assert (unclean.records, unclean.exact) == (
        1,
        False,
    ), "two were committed; the follower knows of one"


def test_what_is_cut_above_the_high_watermark_was_never_promised() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.fetch(1)
    cluster.produce("a", acks=1)
    assert (cluster.brokers[0].hw, cluster.brokers[0].leo) == (0, 1)
    cluster.elect(1, (1, 0))
    for _ in range(3):
        cluster.fetch(0)
    assert cluster.brokers[0].leo == 0
    assert cluster.brokers[0].events("UncleanTruncation") == []


def test_a_follower_that_is_too_early_soon_asks_again_and_then_less_and_less_often() -> None:
    """The new leader may not know yet that it leads. A produce with acks=all waits until the leader
    knows and the follower asks again.
    """
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.fetch(1)
    cluster.state = cluster.state._replace(leader=1, leader_epoch=1)
    cluster.tell(0)  # broker 0 leads no more; broker 1 has not heard
    follower = cluster.brokers[1]
    fetcher = cluster.fetcher(1)
    assert fetcher is not None
    waits = [20, 40, 80, 160, 320, 640, 1000, 1000]
    for wait_ms in waits:
        cluster.fetch(1)
        delayed = follower.events("FetcherPartitionDelayed")[-1]
        assert delayed[3:] == (Errors.NOT_LEADER_OR_FOLLOWER.name, wait_ms)
        now_ms = cluster.time.hi_res_clock_ms()
        assert fetcher.fetch_request(now_ms) is None
        assert fetcher.next_resume_ms == now_ms + wait_ms
        fetcher.resume_delayed(now_ms + wait_ms - 1)
        assert fetcher.next_resume_ms == now_ms + wait_ms
        fetcher.resume_delayed(now_ms + wait_ms)
        assert fetcher.next_resume_ms is None
    assert fetcher.fetch_request(cluster.time.hi_res_clock_ms()) is not None


def test_another_error_leaves_the_partition_aside_for_the_whole_back_off() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.fetch(1)
    fetcher = cluster.fetcher(1)
    assert fetcher is not None
    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=T.topic,
                partition_responses=[
                    FetchablePartitionResponse(
                        partition=T.partition, error_code=Errors.UNKNOWN_SERVER_ERROR
                    )
                ],
            )
        ]
    )
    now_ms = cluster.time.hi_res_clock_ms()
    assert fetcher.fetch_request(now_ms) is not None
    fetcher.on_fetch(response, now_ms, now_ms)
    assert cluster.brokers[1].events("FetcherPartitionDelayed")[-1][3:] == (
        Errors.UNKNOWN_SERVER_ERROR.name,
        1_000,
    )
    assert fetcher.next_resume_ms == now_ms + 1_000


def test_a_full_disk_under_the_leader_takes_the_dir_offline() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    cluster.produce("a")
    cluster.leader.disk.capacity = 0
    assert cluster.produce("b").error() is Errors.KAFKA_STORAGE_ERROR
    assert cluster.leader.manager.partitions.is_offline(T)
    assert cluster.leader.logs.live_log_dirs == []
    assert [event[:2] for event in cluster.leader.events("PartitionOffline")] == [tuple(T)]


def test_a_full_disk_under_a_follower_ends_its_fetching() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.produce("a", acks=1)
    follower = cluster.brokers[1]
    follower.disk.capacity = 0
    cluster.fetch(1)
    assert follower.manager.partitions.is_offline(T)
    follower.fetchers.shutdown_idle_fetcher_threads()
    assert follower.fetchers.by_leader == {}
