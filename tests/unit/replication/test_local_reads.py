"""The reads of a fetch, in order and within its limits."""

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.fetch_params import FetchInfos, PartitionFetch
from kafka_edu.replication.fetch_session import FetchSession
from kafka_edu.sim.stepped_cluster import T
from tests.unit.replication.test_fetch_session import idle_cluster


def test_a_partition_is_not_read_until_it_changes(read_counts: list[int]) -> None:
    cluster = idle_cluster()
    read_counts.clear()
    cluster.fetch(1, 2)
    assert read_counts == [0, 0]
    cluster.produce("c", acks=1)
    cluster.fetch(1, 2)
    assert read_counts == [0, 0, 1, 1]
    assert [broker.leo for broker in cluster.brokers] == [3, 3, 3]
    cluster.fetch(1, 2)
    assert cluster.leader.hw == 3
    cluster.fetch(1, 2)
    assert [broker.hw for broker in cluster.brokers] == [3, 3, 3], "a higher mark is news too"


def test_a_fetch_that_waits_looks_through_its_session_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once when it arrives, once when it is woken."""
    cluster = idle_cluster(wait_ms=500)
    scans: list[FetchInfos] = []
    infos = FetchSession.infos

    def counted(session: FetchSession) -> list[tuple[TopicPartition, PartitionFetch]]:
        scans.append(infos(session))
        return infos(session)

    monkeypatch.setattr(FetchSession, "infos", counted)
    answer = cluster.send_fetch(1)
    assert not answer
    cluster.produce("c")
    assert answer
    assert [[tp for tp, _ in scan] for scan in scans] == [[], [T]]
