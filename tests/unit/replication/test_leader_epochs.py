"""Records that are lost with the high watermark alone, and kept with leader epochs (spec R4; book
001, Leader Epoch 登场; KIP-101, KIP-279).
"""

from collections.abc import Sequence

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.log.leader_epoch_file_cache import EpochEntry
from kafka_edu.replication.offset_lookup import last_offset_for_leader_epoch
from kafka_edu.replication.replica_fetcher import ReplicaFetcher
from kafka_edu.replication.truncation import OffsetTruncationState
from kafka_edu.sim.stepped_cluster import SteppedCluster, T

PROTOCOLS = [(2, 0), (2, 3), (2, 8)]
TRUNCATION = "kafka_edu.replication.replica_fetcher.offset_truncation_state"


def truncate_to_high_watermark(
    leader_epoch: int,
    leader_end_offset: int,
    high_watermark: int,
    log_end_offset: int,
    epochs: Sequence[EpochEntry],
) -> OffsetTruncationState:
    """The rule of followers before 0.11."""
    del leader_epoch, leader_end_offset, epochs
    return OffsetTruncationState(min(high_watermark, log_end_offset), complete=True)


def b_restarts_a_dies_b_leads_a_returns(protocol: tuple[int, int]) -> SteppedCluster:
    """The picture in book 001. A (broker 0) leads and B (broker 1) follows. Both have m0 and m1. A
    knows that both records are committed, B knows this only of m0.
    """
    cluster = SteppedCluster(protocol=protocol)
    a, b = cluster.brokers
    cluster.elect(0, (0, 1))
    cluster.produce("m0", acks=1)
    for _ in range(3):
        cluster.fetch(1)
    cluster.produce("m1", acks=1)
    cluster.fetch(1)  # B has m1
    cluster.send_fetch(1)  # A knows that; its answer never arrives
    assert cluster.line() == "HW 2, LEO 2, remote 2 | HW 1, LEO 2"
    b.restart(high_watermark=1)
    cluster.tell(1)
    cluster.look_up_epochs(1)
    a.alive = False
    cluster.elect(1, (1,))
    a.restart(high_watermark=2)
    cluster.tell(0)
    for _ in range(3):
        cluster.fetch(0)
    return cluster


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_leader_epochs_keep_the_record(protocol: tuple[int, int]) -> None:
    cluster = b_restarts_a_dies_b_leads_a_returns(protocol)
    a, b = cluster.brokers
    assert a.values() == b.values() == ["m0", "m1"]
    cluster.produce("m2", acks=1)
    assert last_offset_for_leader_epoch(cluster.leader.partition, -1, 0, True) == (
        0,
        2,
    )  # <1, 2>: epoch 0 ended there
    cluster.fetch(0)
    assert a.values() == ["m0", "m1", "m2"]


def test_high_watermark_truncation_loses_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TRUNCATION, truncate_to_high_watermark)
    cluster = b_restarts_a_dies_b_leads_a_returns((2, 0))
    a, b = cluster.brokers
    assert b.values() == [
        "m0"
    ]  # B cut m1, which A had acknowledged, and led before it could fetch it again
    assert a.values() == ["m0"]  # A's end lay behind B's, and so it cut m1 too: gone from both


def both_die_and_b_comes_back_first(protocol: tuple[int, int]) -> SteppedCluster:
    """KIP-101's second scenario: A has m0 and m1, B only m0. Both die. B returns first, leads, and
    stores another record in the place of m1. Then A returns.
    """
    cluster = SteppedCluster(protocol=protocol)
    a, b = cluster.brokers
    cluster.elect(0, (0, 1))
    cluster.produce("m0", acks=1)
    for _ in range(3):
        cluster.fetch(1)
    cluster.produce("m1 of A", acks=1)
    a.alive = False
    b.restart(high_watermark=1)
    cluster.elect(1, (1,))
    cluster.produce("m1 of B", acks=1)
    a.restart(
        high_watermark=2
    )  # B had flushed nothing: what A held committed lay in B's page cache
    cluster.tell(0)
    for _ in range(3):
        cluster.fetch(0)
    return cluster


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_leader_epochs_keep_the_logs_the_same(protocol: tuple[int, int]) -> None:
    cluster = both_die_and_b_comes_back_first(protocol)
    assert cluster.brokers[0].values() == cluster.brokers[1].values() == ["m0", "m1 of B"]
    [told] = [e for e in cluster.brokers[0].events("LogTruncatedByEpoch") if e[2] != e[3]]
    assert told[2:4] == (2, 1)


def test_high_watermark_truncation_lets_the_logs_diverge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TRUNCATION, truncate_to_high_watermark)
    cluster = both_die_and_b_comes_back_first((2, 0))
    assert cluster.brokers[0].values() == ["m0", "m1 of A"]
    assert cluster.brokers[1].values() == ["m0", "m1 of B"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fast_elections_need_more_than_one_round(protocol: tuple[int, int]) -> None:
    """KIP-279: the leader never had the follower's last epoch, and answers with an epoch that the
    follower never had.
    """
    cluster = SteppedCluster(protocol=protocol)
    a, b = cluster.brokers
    cluster.elect(0, (0, 1))  # epoch 0
    cluster.produce("both", acks=1)
    cluster.fetch(1)
    cluster.elect(0, (0,), notified=(0,))  # epoch 1: A alone, B does not hear of it
    cluster.produce("A1", "A2", acks=1)
    cluster.elect(1, (1,), notified=(1,))  # epoch 2: B alone (unclean), A does not hear of it
    cluster.produce("B1", acks=1)
    cluster.elect(0, (0,), notified=(0,))  # epoch 3: A alone
    cluster.produce("A3", acks=1)
    cluster.elect(1, (1,))  # epoch 4: B leads, A follows
    for _ in range(4):
        cluster.fetch(0)
    assert a.values() == b.values() == ["both", "B1"]
    rounds = [(e[2], e[3], e[8]) for e in a.events("LogTruncatedByEpoch")]
    assert rounds[0][2] is False  # A cut its epoch 3, and had to ask again
    assert rounds[-1][1] == 1
    assert rounds[-1][2] is True


def test_epochs_of_the_seed() -> None:
    """The epochs <0, 0> and <1, 120>: the leader of epoch 0 wrote 120 records, and then there was
    an election.
    """
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    for i in range(120):
        cluster.produce(str(i), acks=1)
    cluster.elect(0, (0,))
    for i in range(5):
        cluster.produce(str(i), acks=1)
    answer = cluster.leader.manager.offset_lookup.last_offset_for_leader_epoch
    assert cluster.leader.log.leader_epoch_cache.latest_epoch == 1
    assert answer(T, 0) == (0, 120)
    assert answer(T, 1) == (1, 125)
    assert answer(T, 7) == (-1, -1)
    assert answer(T, -1) == (-1, -1)
    with pytest.raises(KafkaException) as fenced:
        answer(T, 0, current_leader_epoch=0)
    assert fenced.value.error is Errors.FENCED_LEADER_EPOCH
    with pytest.raises(KafkaException) as unknown:
        answer(T, 0, current_leader_epoch=2)
    assert unknown.value.error is Errors.UNKNOWN_LEADER_EPOCH


def test_a_truncated_follower_forgets_the_answer_on_its_way() -> None:
    """The controller makes another broker the leader while the follower's fetch is on its way. The
    response must not be appended.
    """
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.produce("a", acks=1)
    cluster.look_up_epochs(1)
    fetcher: ReplicaFetcher = cluster.brokers[1].fetchers.by_leader[0]
    late = cluster.send_fetch(1)
    cluster.elect(1, (1,))
    assert fetcher.on_fetch(late[0], 0, 0) == []
    assert cluster.brokers[1].values() == []
    cluster.elect(0, (0, 1))
    again = cluster.brokers[1].fetchers.by_leader[0]
    again.on_no_answer()
    assert again.on_fetch(late[0], 0, 0) == []
    assert cluster.brokers[1].leo == 0
