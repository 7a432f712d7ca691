"""A learner's Fetcher: followers of a stepped cluster use it. Where it fails, our own Fetcher goes
on.
"""

from collections.abc import Callable
from random import Random

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner import learner_fetcher
from kafka_edu.learner.learner_fetcher import LearnerReplicaFetcher
from kafka_edu.learner.seams import SEAMS, LearnerError
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchResponse,
)
from kafka_edu.replication import replica_fetcher_manager
from kafka_edu.replication.replica_fetcher import PartitionFetchState, ReplicaFetcher
from kafka_edu.replication.replication_quota_manager import ALL_PARTITIONS
from kafka_edu.sim import stepped_cluster
from kafka_edu.sim.stepped_cluster import SteppedCluster, T
from kafka_edu.trace.events.replication import FetcherPartitionDelayed
from tests.unit.replication.logs import in_loop

from .conftest import Load

Make = Callable[..., tuple[SteppedCluster, list[LearnerError]]]
OutOfRange = list[tuple[TopicPartition, PartitionFetchState]]
BACKOFF_MS = 1_000


@pytest.fixture
def make(load: Load, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes a cluster whose followers use a learner's class: the reference
    solution, with edits.
    """

    def go(
        old: str = "",
        new: str = "",
        *,
        also: tuple[str, str] = ("", ""),
        brokers: int = 2,
        protocol: tuple[int, int] = (2, 8),
    ) -> tuple[SteppedCluster, list[LearnerError]]:
        text = find_exercise("10-6").solution.read_text(encoding="utf-8")
        for before, after in ((old, new), also):
            assert before in text
            text = text.replace(before, after) if before else text
        code, errors = load("10-6", text)
        monkeypatch.setattr(learner_fetcher, "all_of_labs", lambda _: True)
        monkeypatch.setattr(stepped_cluster, "ReplicaFetcher", learner_fetcher.adapt(code))
        return SteppedCluster(brokers, protocol=protocol), errors

    return go


def refuse(cluster: SteppedCluster, follower: int, error: Errors) -> OutOfRange:
    """Let the leader answer a follower's fetch with an error."""
    fetcher = theirs(cluster, follower)
    now_ms = cluster.time.hi_res_clock_ms()
    fetcher.resume_delayed(now_ms)
    assert fetcher.fetch_request(now_ms) is not None
    refused = FetchablePartitionResponse(partition=T.partition, error_code=error)
    topic = FetchableTopicResponse(topic=T.topic, partition_responses=[refused])
    return fetcher.on_fetch(FetchResponse(responses=[topic]), now_ms, 0)


def theirs(cluster: SteppedCluster, follower: int) -> ReplicaFetcher:
    fetcher = cluster.fetcher(follower)
    assert isinstance(fetcher, LearnerReplicaFetcher)
    return fetcher


def part(cluster: SteppedCluster) -> None:
    """Let broker 0 store two records that no other broker has. Then let broker 1 lead."""
    cluster.elect(0, (0, 1))
    cluster.produce("both", acks=1)
    for _ in range(3):
        cluster.fetch(1)
    cluster.produce("alone", "alone", acks=1)
    cluster.elect(1, (1,))
    cluster.produce("later", acks=1)


def delays(cluster: SteppedCluster, follower: int) -> list[tuple[str, int]]:
    events = cluster.brokers[follower].events(FetcherPartitionDelayed.__name__)
    return [(e.error, e.delay_ms) for e in events if isinstance(e, FetcherPartitionDelayed)]


def test_the_seam_is_where_the_broker_looks() -> None:
    assert SEAMS["10-6"].module == replica_fetcher_manager.__name__
    assert vars(replica_fetcher_manager)[SEAMS["10-6"].name] is ReplicaFetcher


def test_other_topics_keep_the_shipped_rules(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    code, errors = load("10-6", "class Fetcher:\n    pass\n")
    monkeypatch.setattr(stepped_cluster, "ReplicaFetcher", learner_fetcher.adapt(code))
    cluster = SteppedCluster(protocol=(2, 8))
    part(cluster)
    cluster.fetch(0)
    cluster.fetch(0)
    assert cluster.brokers[0].values() == ["both", "later"]
    assert (code.calls, errors) == (0, [])


@pytest.mark.parametrize("protocol", [(2, 0), (2, 8)])
def test_the_reference_makes_the_logs_equal(make: Make, protocol: tuple[int, int]) -> None:
    cluster, errors = make(protocol=protocol)
    part(cluster)
    cluster.fetch(0)
    cluster.fetch(0)
    assert cluster.brokers[0].values() == ["both", "later"]
    [cut] = cluster.brokers[0].events("LogTruncatedByEpoch")[-1:]
    assert cut[2:4] == (3, 1)
    assert errors == []


def test_random_elections_end_with_equal_logs(make: Make) -> None:
    """The elections may be unclean, so a follower must sometimes ask more than once for the end of
    an epoch.
    """
    cluster, errors = make(brokers=3)
    random, asked_again = Random(5), 0
    cluster.elect(0, (0, 1, 2))
    for number in range(120):
        leader = cluster.state.leader
        for _ in range(random.randrange(3)):
            cluster.produce(f"{number}", acks=1)
        for follower in {0, 1, 2} - {leader}:
            if random.random() < 0.3:
                cluster.fetch(follower)
        if random.random() < 0.4:
            new = random.randrange(3)
            cluster.elect(new, (new,))
    for _ in range(12):
        for follower in {0, 1, 2} - {cluster.state.leader}:
            cluster.fetch(follower)
    values = cluster.leader.values()
    for broker in cluster.brokers:
        assert broker.values() == values
        cuts = broker.events("LogTruncatedByEpoch")
        asked_again += sum(not cut[-1] for cut in cuts)
    assert len(values) > 20
    assert asked_again > 0
    assert errors == []


def test_a_wrong_but_possible_cut_is_carried_out(make: Make) -> None:
    cluster, errors = make("return min(end, leader_end)", "return 0")
    part(cluster)
    cluster.look_up_epochs(0)
    assert cluster.brokers[0].values() == []
    assert errors == []


def test_a_partition_waits_as_long_as_the_learner_says(make: Make) -> None:
    cluster, errors = make("now_ms + self.backoff_ms", "now_ms + 300")
    part(cluster)
    cluster.fetch(0)
    refuse(cluster, 0, Errors.NOT_LEADER_OR_FOLLOWER)
    fetcher, now_ms = theirs(cluster, 0), cluster.time.hi_res_clock_ms()
    fetcher.resume_delayed(now_ms + 299)
    assert fetcher.fetch_request(now_ms + 299) is None
    assert fetcher.next_resume_ms == now_ms + 300
    assert delays(cluster, 0) == [("NOT_LEADER_OR_FOLLOWER", 300 - 299)]
    fetcher.resume_delayed(now_ms + 300)
    assert fetcher.fetch_request(now_ms + 300) is not None
    assert errors == []


def test_an_error_without_a_wait_is_seen(make: Make) -> None:
    cluster, _ = make("if now_ms < until_ms:", "if False:")
    part(cluster)
    cluster.fetch(0)
    refuse(cluster, 0, Errors.NOT_LEADER_OR_FOLLOWER)
    assert theirs(cluster, 0).fetch_request(cluster.time.hi_res_clock_ms()) is not None
    assert delays(cluster, 0) == [("NOT_LEADER_OR_FOLLOWER", 0)]


def test_a_wait_without_an_error_is_seen(make: Make) -> None:
    cluster, _ = make(
        "plan = dict(self.does)",
        "plan = {one: ('wait', 1 << 50) for one in self.does}",
        also=("if now_ms < until_ms:", "if False:"),
    )
    part(cluster)
    cluster.fetch(0)
    assert [error for error, _ in delays(cluster, 0)] == ["NONE"]
    fetcher, now_ms = theirs(cluster, 0), cluster.time.hi_res_clock_ms()
    state = fetcher._states[T]
    fetcher.on_offsets_failed(T, state, Errors.NOT_LEADER_OR_FOLLOWER, now_ms)
    fetcher.resume_delayed(now_ms)
    assert len(delays(cluster, 0)) == 1, "it waits as before"


def test_the_requests_have_the_learners_epoch_and_the_fetch_has_none(make: Make) -> None:
    cluster, errors = make(
        """        self.does[partition] = ("fetch",)
        if""",
        """        self.does[partition] = ("ask", 3) if self.does[partition][1] == 7 else ("fetch",)
        if""",
        also=("epochs[-1][0] if epochs else -1", "7"),
    )
    part(cluster)
    fetcher, now_ms = theirs(cluster, 0), cluster.time.hi_res_clock_ms()
    for epoch in (7, 3):
        fetcher.resume_delayed(now_ms)
        [topic] = fetcher.epochs_request(fetcher.epochs_wanted()).topics
        assert [one.leader_epoch for one in topic.partitions] == [epoch]
        cluster.look_up_epochs(0)
    request = fetcher.fetch_request(now_ms)
    assert request is not None
    assert [one.last_fetched_epoch for one in request.topics[0].partitions] == [-1]
    assert errors == []


def test_the_learner_hears_of_a_partition_that_is_left(make: Make) -> None:
    cluster, errors = make("self.does.pop(partition)", "raise KeyError(partition)")
    cluster.elect(0, (0, 1))
    cluster.fetch(1)
    assert errors == []
    cluster.elect(1, (1,))
    assert [error.message for error in errors] == ["KeyError: 't-0'"]


def test_a_failed_partition_is_in_no_request_before_it_is_followed_again(make: Make) -> None:
    cluster, errors = make()
    part(cluster)
    cluster.look_up_epochs(0)  # it has fetched nothing yet, so a quota would throttle it
    refuse(cluster, 0, Errors.FENCED_LEADER_EPOCH)
    fetcher = theirs(cluster, 0)
    quota = cluster.brokers[0].quotas.follower
    later_ms = cluster.time.hi_res_clock_ms() + 3_600_000
    quota.mark_throttled(T.topic, ALL_PARTITIONS, later_ms)
    quota.update_quota(100, later_ms)
    quota.record(150, later_ms)
    for now_ms in (later_ms, later_ms + 60_000):
        fetcher.resume_delayed(now_ms)
        assert fetcher.epochs_wanted() == {}
        assert fetcher.fetch_request(now_ms) is None
    cluster.elect(1, (1,))
    assert [*fetcher.epochs_wanted()] == []
    fetcher.resume_delayed(later_ms)
    assert [*fetcher.epochs_wanted()] == [T]
    assert errors == []


@in_loop
def test_a_log_outside_the_leaders_range_starts_over_or_is_cut(make: Make) -> None:
    cluster, errors = make()
    cluster.elect(0, (0,))
    cluster.look_up_epochs(1)
    for value in range(5):
        cluster.produce(str(value))
    cluster.leader.log.maybe_increment_log_start_offset(3)
    for _ in range(3):
        cluster.fetch(1)
    follower = cluster.brokers[1]
    assert follower.values() == ["3", "4"]
    [tp_state] = refuse(cluster, 1, Errors.OFFSET_OUT_OF_RANGE)
    fetcher = theirs(cluster, 1)
    assert not fetcher.on_leader_end_offset(*tp_state, 4)
    fetcher.on_leader_start_offset(*tp_state, 3, 0)
    assert follower.values() == ["3"]
    [tp_state] = refuse(cluster, 1, Errors.OFFSET_OUT_OF_RANGE)
    assert not fetcher.on_leader_end_offset(*tp_state, 5)
    fetcher.on_leader_start_offset(*tp_state, 3, 0)
    assert follower.values() == ["3"]
    assert [event[2:4] for event in follower.events("LogTruncatedByRange")] == [(0, 3), (5, 4)]
    assert errors == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("return min(end, leader_end)", "return leo + 1", "expected an offset from 0 to 3"),
        ("return min(end, leader_end)", "return True", "expected an offset from 0 to 3"),
        ("plan = dict(self.does)", "plan = {}", "expected a row for each of ['t-0']"),
        ("plan = dict(self.does)", "plan = {'t-0': ('wait', now_ms)}", "('wait', until later than"),
        ("plan = dict(self.does)", "plan = {'t-0': ('ask', -2)}", "('ask', epoch), ('fetch',)"),
        ("plan = dict(self.does)", "plan = {'t-0': 'fetch'}", "or ('failed',) for t-0"),
        (
            'self.does[partition] = ("ask", epochs',
            '1 / 0; self.does[partition] = ("ask", epochs',
            "ZeroDivisionError",
        ),
    ],
)
def test_after_an_impossible_answer_ours_begins_again(
    make: Make, old: str, new: str, says: str
) -> None:
    cluster, errors = make(old, new)
    part(cluster)
    for _ in range(3):
        cluster.fetch(0)
    assert cluster.brokers[0].values() == ["both", "later"]
    assert errors
    assert says in errors[0].message


@pytest.mark.parametrize("answer", ["None", "('wait', 'long')", "('fetch',)"])
def test_after_an_impossible_answer_to_an_error_ours_waits(make: Make, answer: str) -> None:
    cluster, errors = make('return ("failed",)', f"return {answer}")
    part(cluster)
    cluster.fetch(0)
    assert refuse(cluster, 0, Errors.FENCED_LEADER_EPOCH) == []
    assert "('look',) or ('failed',)" in errors[0].message
    assert delays(cluster, 0) == [("FENCED_LEADER_EPOCH", BACKOFF_MS)]
    for _ in range(2):
        cluster.fetch(0)
    assert cluster.brokers[0].values() == ["both", "later"]


@pytest.mark.parametrize("answer", ["None", '("cut", leo + 1)', '("restart", -1)', '("cut", True)'])
def test_after_an_impossible_answer_to_offsets_ours_decides(make: Make, answer: str) -> None:
    cluster, errors = make('return "cut", leader_end', f"return {answer}")
    part(cluster)
    cluster.fetch(0)
    cluster.fetch(0)
    [tp_state] = refuse(cluster, 0, Errors.OFFSET_OUT_OF_RANGE)
    fetcher = theirs(cluster, 0)
    assert not fetcher.on_leader_end_offset(*tp_state, 1)
    fetcher.on_leader_start_offset(*tp_state, 0, 0)
    assert cluster.brokers[0].values() == ["both"]
    assert "('keep',)" in errors[0].message
