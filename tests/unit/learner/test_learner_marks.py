"""Learners' high watermarks and replica selectors: their answers are carried out. Where one fails,
our own code answers.
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner import learner_high_watermark, learner_replica_selector
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerError
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication import high_watermark, replica_selector
from kafka_edu.replication.high_watermark import HighWatermarkRule
from kafka_edu.replication.replica_selector import (
    ClientMetadata,
    RackAwareReplicaSelector,
    ReplicaView,
    make_selector,
)

from .conftest import Load

Made = tuple[Any, list[LearnerError]]
Make = Callable[[str, str], Made]
LAB = TopicPartition("lab-101", 0)
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
EAST = ClientMetadata("east", "client", "PLAINTEXT")
LEADER = ReplicaView(2, "north", 15, 0)
FOLLOWERS = (ReplicaView(0, "east", 15, 0), ReplicaView(1, "east", 8, 900))


class Follower(NamedTuple):
    """The facts of a replica that the rule reads."""

    broker_id: int
    log_end_offset: LogOffsetMetadata
    last_caught_up_time_ms: int


TWO: Any = (Follower(0, LogOffsetMetadata(15), 0), Follower(1, LogOffsetMetadata(8), 0))


@pytest.fixture
def make(load: Load) -> Make:
    def go(exercise: str, text: str) -> Made:
        code, errors = load(exercise, text)
        adapt: Any = {
            "10-1": learner_high_watermark.adapt,
            "10-2": learner_replica_selector.adapt,
        }[exercise]
        return adapt(code), errors

    return go


def right(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text(encoding="utf-8")


def marks(leader: str = "8", follower: str = "3") -> str:
    """A class with these answers."""
    return (
        f"class HighWatermark:\n    def leader(self, *_):\n        return {leader}\n"
        f"    def follower(self, *_):\n        return {follower}\n"
    )


def selector(answer: str) -> str:
    return f"class ReplicaSelector:\n    def select(self, *_):\n        return {answer}\n"


def lead(rule: Any, hw: int = 4) -> int:
    """Return the high watermark by the rule, for a leader with LEO 15 and followers at 15 and 8."""
    leo = LogOffsetMetadata(15)
    return int(rule.of_leader(LogOffsetMetadata(hw), leo, (2, 0, 1), TWO, 0, 1).message_offset)


def test_the_seams_are_where_the_broker_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SEAMS["10-1"].module == high_watermark.__name__
    assert vars(high_watermark)[SEAMS["10-1"].name] is HighWatermarkRule
    assert SEAMS["10-2"].module == replica_selector.__name__
    assert vars(replica_selector)[SEAMS["10-2"].name] is RackAwareReplicaSelector
    theirs = RackAwareReplicaSelector()
    monkeypatch.setattr(replica_selector, SEAMS["10-2"].name, lambda: theirs)
    assert make_selector(SELECTOR) is theirs


def test_the_references_answer_as_ours_do(make: Make) -> None:
    made, mark_errors = make("10-1", right("10-1"))
    choose, errors = make("10-2", right("10-2"))
    theirs, ours, random = made(LAB), HighWatermarkRule(LAB), Random(7)
    select, our_select = choose(), RackAwareReplicaSelector()
    for _ in range(100):
        leo = LogOffsetMetadata(random.randrange(5, 20))
        followers: Any = [
            Follower(n, LogOffsetMetadata(random.randint(-1, 19)), random.randrange(20))
            for n in range(2)
        ]
        hw = LogOffsetMetadata(random.randrange(5))
        isr = tuple(random.sample(range(3), 2))
        state = (hw, leo, isr, followers, 20, 9)
        expected = max(hw.message_offset, ours.of_leader(*state).message_offset)
        assert theirs.of_leader(*state).message_offset == expected
        asked = (random.randrange(5), random.randrange(5, 9), random.randrange(12))
        assert theirs.of_follower(*asked) == ours.of_follower(*asked)
        client = EAST._replace(rack_id=random.choice(("east", "west", "")))
        views = [
            ReplicaView(n, random.choice(("east", None)), random.randrange(3), random.randrange(2))
            for n in range(2)
        ]
        assert select.select(client, views, LEADER) == our_select.select(client, views, LEADER)
    assert mark_errors == errors == []


def test_other_topics_keep_the_shipped_rule(make: Make) -> None:
    made, _ = make("10-1", marks())
    assert type(made(TopicPartition("web", 0))) is HighWatermarkRule
    assert type(made(LAB)) is not HighWatermarkRule


def test_a_wrong_but_possible_answer_is_carried_out(make: Make) -> None:
    made, errors = make("10-1", marks("15", "9"))
    assert lead(made(LAB)) == 15
    assert made(LAB).of_follower(0, 9, 4) == 9
    choose, more = make("10-2", selector("1"))
    assert choose().select(EAST, FOLLOWERS, LEADER) is FOLLOWERS[1]
    assert errors == more == []


@pytest.mark.parametrize("answer", ["16", "3", "-1", "None", "True", "8.0"])
def test_a_mark_outside_the_log_or_below_the_last_is_an_error(make: Make, answer: str) -> None:
    made, errors = make("10-1", marks(answer, answer))
    assert lead(made(LAB)) == 8
    assert made(LAB).of_follower(4, 9, 7) == 7
    assert [error.exercise for error in errors] == ["10-1", "10-1"]
    assert "expected an offset from 4 to 15" in errors[0].message


@pytest.mark.parametrize("answer", ["7", "None", "True", "'0'"])
def test_a_broker_without_the_replica_is_an_error(make: Make, answer: str) -> None:
    choose, errors = make("10-2", selector(answer))
    assert choose().select(EAST, FOLLOWERS, LEADER) is FOLLOWERS[0]
    assert "expected one of [0, 1, 2]" in errors[0].message


def test_after_three_failures_ours_stays(make: Make) -> None:
    made, errors = make("10-1", marks("1 / 0", "1 / 0"))
    choose, more = make("10-2", selector("1 / 0"))
    rule, select = made(LAB), choose()
    for _ in range(FAILURES_ALLOWED + 2):
        assert lead(rule) == 8
        assert select.select(EAST, FOLLOWERS, LEADER) is FOLLOWERS[0]
    assert len(errors) == len(more) == FAILURES_ALLOWED
