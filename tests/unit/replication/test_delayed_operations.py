"""A partition wakes the requests that wait for it."""

from kafka_edu.sim.stepped_cluster import T
from tests.unit.replication.test_fetch_session import idle_cluster, sessions


def test_a_session_that_ends_or_forgets_is_not_woken() -> None:
    cluster = idle_cluster()
    first, second = sessions(cluster)
    first.update({}, [T])
    cluster.leader.sessions.cache.remove(second.session_id, "for the test")
    assert first.infos() == []
    cluster.produce("c", acks=1)
    assert not cluster.leader.partition._delayed.sessions


def test_sessions_that_have_ended_do_not_gather() -> None:
    cluster = idle_cluster()
    for _ in range(50):
        fetcher = cluster.fetcher(1)
        assert fetcher is not None
        fetcher.on_no_answer()  # the next fetch is full, and opens a new session
        for _ in range(3):
            cluster.fetch(1)
    assert len(cluster.leader.partition._delayed.sessions) < 12
