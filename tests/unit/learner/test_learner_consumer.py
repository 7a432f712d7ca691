"""Learners' parts of a consumer: their answers are carried out. Where a part fails, our own code
answers.
"""

from collections.abc import Mapping

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.clients.consumer import consumer_coordinator
from kafka_edu.clients.consumer.assignors import Assignment, MemberSubscription
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner import learner_range_assignor, learner_sticky_assignor
from kafka_edu.learner.seams import CONSUMER, FAILURES_ALLOWED, SEAMS, LearnerCode

from .conftest import Load

TOPICS = {"web": 7, "orders": 3}
MEMBERS = {
    "b": MemberSubscription(("web", "orders")),
    "a": MemberSubscription(("web",)),
    "c": MemberSubscription(("orders", "later"), "one"),
}


def right(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text(encoding="utf-8")


def blocks(answer: str) -> str:
    return f"class RangeAssignor:\n    def assign(self, *_):\n        return {answer}\n"


def divide(
    code: LearnerCode, members: Mapping[str, MemberSubscription] = MEMBERS
) -> Mapping[str, list[TopicPartition]]:
    assignment: Assignment = learner_range_assignor.adapt(code)["range"](TOPICS, members)
    return {member: sorted(partitions) for member, partitions in assignment.items()}


def ours(members: Mapping[str, MemberSubscription] = MEMBERS) -> Mapping[str, list[TopicPartition]]:
    assignment = ASSIGNORS["range"](TOPICS, members)
    return {member: sorted(partitions) for member, partitions in assignment.items()}


def test_the_seam_of_the_assignors_is_where_the_coordinator_looks() -> None:
    seam = SEAMS["13-1"]
    assert seam.process == CONSUMER
    assert seam.module == consumer_coordinator.__name__
    assert vars(consumer_coordinator)[seam.name] is ASSIGNORS


def test_the_reference_divides_as_ours_does(load: Load) -> None:
    code, errors = load("13-1", right("13-1"))
    assert divide(code) == ours()
    assert learner_range_assignor.adapt(code).keys() == ASSIGNORS.keys()
    assert code.calls == 2, "the object, and the call"
    assert errors == []


def test_an_unequal_division_is_used(load: Load) -> None:
    code, errors = load("13-1", blocks("[('a', 'web', 0, 7), ('c', 'orders', 0, 3)]"))
    assert {member: len(has) for member, has in divide(code).items()} == {"a": 7, "b": 0, "c": 3}
    assert errors == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("[('a', 'web', 0, 7), ('b', 'web', 6, 1), ('c', 'orders', 0, 3)]", "gives web-6 to two"),
        ("[('a', 'web', 0, 6), ('c', 'orders', 0, 3)]", "gives web-6 to no member"),
        ("[]", "gives orders-0 to no member"),
        ("[('a', 'web', 0, 8)]", "with partitions that exist"),
        ("[('a', 'web', -1, 2)]", "with partitions that exist"),
        ("[('a', 'clicks', 0, 1)]", "with partitions that exist"),
        ("[('a', 'web', 0, 7), ('a', 'orders', 0, 3)]", "to a, which does not read orders"),
        ("[('z', 'web', 0, 7)]", "the member 'z', which is not in the group"),
        ("[('a', 'web')]", "expected (member, topic, first, count)"),
        ("{'a': 7}", "expected a list of blocks"),
        ("None", "expected a list of blocks"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_division_that_is_none_is_said_and_ours_goes_on(
    load: Load, answer: str, said: str
) -> None:
    code, errors = load("13-1", blocks(answer))
    assert divide(code) == ours()
    (error,) = errors
    assert said in error.message
    assert "\n" not in error.message


def test_after_three_failures_ours_divides_without_a_call(load: Load) -> None:
    code, errors = load("13-1", blocks("[]"))
    for _ in range(FAILURES_ALLOWED + 2):
        assert divide(code) == ours()
    assert len(errors) == FAILURES_ALLOWED
    assert code.calls == 2 * FAILURES_ALLOWED


HAD = {
    "a": MemberSubscription(
        ("web", "later"), None, tuple(TopicPartition("web", n) for n in (6, 5, 4, 3)), 7
    ),
    "b": MemberSubscription(("later", "web"), None, (TopicPartition("web", 0),), 7),
    "c": MemberSubscription(("web", "later"), None, (TopicPartition("web", 6),), 3),
}


def stick(
    code: LearnerCode, members: Mapping[str, MemberSubscription] = HAD
) -> Mapping[str, list[TopicPartition]]:
    """Let the learner's assignor `sticky` divide."""
    assignment: Assignment = learner_sticky_assignor.adapt(code)["sticky"](TOPICS, members)
    return {member: sorted(partitions) for member, partitions in assignment.items()}


def shipped_sticky(
    members: Mapping[str, MemberSubscription] = HAD,
) -> Mapping[str, list[TopicPartition]]:
    """Let ours divide."""
    found = ASSIGNORS["sticky"](TOPICS, members)
    return {member: sorted(partitions) for member, partitions in found.items()}


def owners(answer: str) -> str:
    return f"class StickyAssignor:\n    def assign(self, *_):\n        return {answer}\n"


def test_the_reference_keeps_what_ours_keeps(load: Load) -> None:
    assert SEAMS["13-2"].process == CONSUMER
    code, errors = load("13-2", right("13-2"))
    theirs, ours_ = stick(code), shipped_sticky()
    for member, one in HAD.items():
        if one.generation == 7:
            kept = [{*has[member]} & {*one.owned} for has in (theirs, ours_)]
            assert len(kept[0]) == len(kept[1])
    assert sorted(map(len, theirs.values())) == [2, 2, 3]
    assert errors == []


def test_a_group_with_other_subscriptions_is_no_task_of_13_2(load: Load) -> None:
    code, errors = load("13-2", owners("1 / 0"))
    assert stick(code, MEMBERS) == shipped_sticky(MEMBERS)
    assert code.calls == 0
    assert errors == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("{'a': [('web', n) for n in range(7)], 'b': [('web', 6)]}", "gives web-6 to two members"),
        ("{'a': [('web', n) for n in range(6)]}", "gives web-6 to no member"),
        ("{'a': [('orders', 0)]}", "which does not read orders"),
        ("{'a': [('web', 7)]}", "web-7, which does not exist"),
        ("{'z': []}", "the member 'z', which is not in the group"),
        ("{'a': ['web-0']}", "expected (topic, partition)"),
        ("{'a': 3}", "expected (topic, partition)"),
        ("[('a', 'web', 0)]", "expected {member: [(topic, partition)]}"),
        ("None", "expected {member: [(topic, partition)]}"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_sticky_division_that_is_none_is_said_and_ours_goes_on(
    load: Load, answer: str, said: str
) -> None:
    code, errors = load("13-2", owners(answer))
    assert stick(code) == shipped_sticky()
    (error,) = errors
    assert said in error.message
    assert "\n" not in error.message


def test_an_assignment_that_moves_everything_is_used(load: Load) -> None:
    code, errors = load("13-2", owners("{'c': [('web', n) for n in range(7)]}"))
    assert {member: len(has) for member, has in stick(code).items()} == {"a": 0, "b": 0, "c": 7}
    assert errors == []
