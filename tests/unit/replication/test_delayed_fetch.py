"""A fetch waits until there is enough to send (book 000 §6.3, figure 6-13)."""

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_size
from kafka_edu.sim.stepped_cluster import SteppedCluster, batch
from kafka_edu.trace.events.purgatory import OperationsEndedSampled
from tests.unit.replication.test_append import causes


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
    cluster.elect(1, (0, 1), notified=(0,))
    told = [e.event for e in cluster.brokers[0].trace.gauges()]
    ended = next(e.state.ended for e in told if isinstance(e, OperationsEndedSampled))
    assert ended[-1].cause == "not leader any more"
