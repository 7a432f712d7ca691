"""In a large session a reader that has read all there is rests until its partition changes, and
misses nothing. Here a session of one is large.
"""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.replication import delayed_fetch, fetch, fetch_session, local_reads
from kafka_edu.replication.fetch_params import FetchInfos
from kafka_edu.replication.fetch_session import LOOK_AT_ALL_MS, FetchSession
from kafka_edu.replication.log_read_result import FetchResults
from kafka_edu.replication.partitions import Partitions
from tests.unit.replication.replication_cluster import Cluster, T


@pytest.fixture(autouse=True)
def large_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FetchSession, "REST_FROM", 1)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many partitions each fetch has looked at."""
    counts: list[int] = []
    read = local_reads.read_from_local_log

    def counted(partitions: Partitions, params: object, infos: FetchInfos) -> FetchResults:
        counts.append(len(infos))
        return read(partitions, params, infos)  # type: ignore[arg-type]  # passed on

    for module in (fetch, delayed_fetch):
        monkeypatch.setattr(module, "read_from_local_log", counted)
    return counts


def resting_cluster(wait_ms: int = 0, protocol: tuple[int, int] = (2, 0)) -> Cluster:
    """Three brokers that all have two records, all committed; the partition rests in both
    followers' sessions.
    """
    cluster = Cluster(3, wait_ms=wait_ms, protocol=protocol)
    cluster.elect(0, (0, 1, 2))
    for _ in range(2):
        for follower in (1, 2):
            cluster.receive(follower, answered(cluster, follower))
    cluster.produce("a", "b")
    for _ in range(4):
        for follower in (1, 2):
            cluster.receive(follower, answered(cluster, follower))
    assert [broker.hw for broker in cluster.brokers] == [2, 2, 2]
    assert not any(session.awake for session in sessions(cluster))
    return cluster


def answered(cluster: Cluster, follower: int) -> list:
    """A fetch, answered at once or when its time is up."""
    for _ in range(3):
        cluster.look_up_epochs(follower)
    answer = cluster.send_fetch(follower)
    if not answer:
        cluster.step(500)
    return answer


def sessions(cluster: Cluster) -> list[FetchSession]:
    return list(cluster.leader.sessions.cache._sessions.values())


def test_a_partition_at_rest_is_not_looked_at_until_it_changes(looked_at: list[int]) -> None:
    cluster = resting_cluster()
    looked_at.clear()
    cluster.fetch(1, 2)
    assert looked_at == [0, 0]
    cluster.produce("c", acks=1)
    cluster.fetch(1, 2)
    assert looked_at == [0, 0, 1, 1]
    assert [broker.leo for broker in cluster.brokers] == [3, 3, 3]
    cluster.fetch(1, 2)
    assert cluster.leader.hw == 3
    cluster.fetch(1, 2)
    assert [broker.hw for broker in cluster.brokers] == [3, 3, 3], "a higher mark is news too"


@pytest.fixture
def nothing_but_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch that waits takes longer than LOOK_AT_ALL_MS, so the next one would look at all."""
    monkeypatch.setattr(fetch_session, "LOOK_AT_ALL_MS", 1 << 40)


@pytest.mark.usefixtures("nothing_but_rest")
def test_a_fetch_that_waits_is_woken_by_a_partition_at_rest(looked_at: list[int]) -> None:
    cluster = resting_cluster(wait_ms=500)
    looked_at.clear()
    waiting = {follower: cluster.send_fetch(follower) for follower in (1, 2)}
    assert waiting == {1: [], 2: []}
    assert looked_at == [0, 0]
    produced = cluster.produce("c")
    for follower, answer in waiting.items():
        assert len(answer) == 1, "at once, and not after 500 ms"
        cluster.receive(follower, answer)
    for follower in (1, 2):
        assert cluster.send_fetch(follower) == []
    assert produced.error() is Errors.NONE
    assert not cluster.leader.partition._delayed.resting, "it has just changed"


@pytest.mark.usefixtures("nothing_but_rest")
def test_a_fetch_that_waits_in_vain_is_answered_in_time(looked_at: list[int]) -> None:
    cluster = resting_cluster(wait_ms=500)
    looked_at.clear()
    answer = cluster.send_fetch(1)
    assert looked_at == [0]
    cluster.step(499)
    assert answer == []
    cluster.step(1)
    assert [response.responses for response in answer] == [[]]


def test_all_are_looked_at_now_and_then(looked_at: list[int]) -> None:
    cluster = resting_cluster()
    looked_at.clear()
    cluster.fetch(1)
    cluster.step(LOOK_AT_ALL_MS)
    cluster.leader.log.maybe_increment_log_start_offset(
        1
    )  # as retention does it: no door of Partition
    cluster.fetch(1)
    cluster.fetch(1)
    assert looked_at == [0, 1, 1], "that of the log start is news, and what has news stays awake"
    cluster.fetch(1)
    assert looked_at[-1] == 0
    assert cluster.brokers[1].log.log_start_offset == 1


def test_followers_at_rest_stay_in_sync() -> None:
    cluster = resting_cluster()
    for _ in range(10):
        cluster.step(5_000)
        cluster.fetch(1, 2)
        cluster.leader.partition.maybe_shrink_isr(cluster.time.hi_res_clock_ms())
    assert cluster.leader.proposals == []
    for _ in range(3):
        cluster.step(5_000)
        cluster.fetch(1)
        cluster.leader.partition.maybe_shrink_isr(cluster.time.hi_res_clock_ms())
    cluster.settle_isr()
    assert cluster.state.isr == (0, 1), "2 fetches no more"


def test_a_follower_at_rest_learns_that_it_is_fenced() -> None:
    cluster = resting_cluster(protocol=(2, 4))
    cluster.elect(0, (0, 1, 2), told=[0])
    answer = cluster.send_fetch(1)
    assert answer[0].responses[0].partition_responses[0].error_code == Errors.FENCED_LEADER_EPOCH


def test_what_a_session_forgets_or_leaves_behind_wakes_nobody() -> None:
    cluster = resting_cluster()
    first, second = sessions(cluster)
    first.update({}, [T])
    cluster.leader.sessions.cache.remove(second.session_id, "for the test")
    resting = cluster.leader.partition._delayed.resting
    assert [reader.rests for reader in resting] == [True, False]
    cluster.produce("c", acks=1)
    assert not first.awake
    assert first.partitions == {}


def test_what_a_session_forgets_it_does_not_look_at() -> None:
    cluster = resting_cluster()
    session = sessions(cluster)[0]
    session.wake(T)
    assert [tp for tp, _ in session.infos()] == [T]
    session.update({}, [T])
    assert session.infos() == []
    assert not session.has_resting


def test_a_follower_that_its_partition_has_not_counted_does_not_rest() -> None:
    cluster = resting_cluster()
    session = sessions(cluster)[0]
    [(_, cached)] = session.partitions.items()
    counted = cached.request.at_end
    assert counted is not None
    reader = cluster.leader.partition.reader_at_end(counted.read, 1)
    assert reader is not None
    assert not reader.rest(session)
    reader.counted = True
    assert reader.rest(session)


def test_readers_of_ended_sessions_do_not_gather() -> None:
    cluster = resting_cluster()
    for _ in range(50):
        fetcher = cluster.fetcher(1)
        assert fetcher is not None
        fetcher.on_no_answer()  # the next fetch is full, and opens a new session
        cluster.fetch(1)
        cluster.fetch(1)
    assert len(cluster.leader.partition._delayed.resting) < 12


def test_in_a_small_session_all_stay_awake(
    monkeypatch: pytest.MonkeyPatch, looked_at: list[int]
) -> None:
    monkeypatch.setattr(FetchSession, "REST_FROM", 2)
    cluster = Cluster(2)
    cluster.elect(0, (0, 1))
    for _ in range(4):
        cluster.fetch(1)
    assert looked_at[-2:] == [1, 1]
    assert not any(session.has_resting for session in sessions(cluster))
