"""A learner's Member in a consumer: its answers are carried out. Where it fails, our own Member
goes on.
"""

from collections.abc import Iterable

import pytest

from exercises.ch13_consumer_groups.member_rules import RightMember
from exercises.runner.manifest import find_exercise
from kafka_edu.clients.consumer import consumer_core
from kafka_edu.clients.consumer.membership import (
    VALID_PREVIOUS_STATES,
    Membership,
    MembershipState,
)
from kafka_edu.learner import learner_member
from kafka_edu.learner.learner_member import EVENTS
from kafka_edu.learner.seams import SEAMS, LearnerCode

from .conftest import Load

RIGHT = find_exercise("13-4").solution.read_text(encoding="utf-8")
LIFE = (
    MembershipState.REVOKING,
    MembershipState.PREPARING_REBALANCE,
    MembershipState.COMPLETING_REBALANCE,
    MembershipState.ASSIGNING,
    MembershipState.STABLE,
    MembershipState.REVOKING,
    MembershipState.PREPARING_REBALANCE,
)
Seen = list[tuple[MembershipState, bool, bool]]


def live(membership: Membership, states: Iterable[MembershipState] = LIFE) -> Seen:
    """Let a membership go through these states, and then leave the group. Return what it may do in
    each state.
    """
    seen = []
    for state in states:
        if state is MembershipState.COMPLETING_REBALANCE:
            membership.joined("m-1", 4, "range")
        else:
            membership.enter(state, "the test")
        seen.append((membership.state, membership.in_generation, membership.may_commit))
    membership.leave_generation("the test")
    return [*seen, (membership.state, membership.in_generation, membership.may_commit)]


def member(code: LearnerCode) -> Membership:
    return learner_member.adapt(code)("client", "group", None)


def test_the_seam_of_the_member_is_where_the_consumer_looks() -> None:
    seam = SEAMS["13-4"]
    assert seam.module == consumer_core.__name__
    assert vars(consumer_core)[seam.name] is Membership


def test_the_events_are_the_table_of_the_membership() -> None:
    table = {(before, after) for (before, _), after in EVENTS.items()}
    assert table == {
        (before, after) for after, befores in VALID_PREVIOUS_STATES.items() for before in befores
    }


def test_the_reference_allows_what_ours_allows(load: Load) -> None:
    code, errors = load("13-4", RIGHT)
    assert live(member(code)) == live(Membership("client", "group"))
    assert errors == []


def test_what_it_forbids_is_not_done(load: Load) -> None:
    code, errors = load("13-4", RIGHT.replace('return what == "heartbeat" or', "return "))
    ours, theirs = live(Membership("client", "group")), live(member(code))
    assert [one for one, other in zip(ours, theirs, strict=True) if one != other] == [
        (MembershipState.COMPLETING_REBALANCE, True, False)
    ]
    assert errors == []


def test_without_heartbeats_it_may_still_commit(load: Load) -> None:
    code, errors = load(
        "13-4", RIGHT.replace('return what == "heartbeat" or', 'return what == "commit" and')
    )
    ours, theirs = live(Membership("client", "group")), live(member(code))
    assert theirs == [(state, False, may_commit) for state, _, may_commit in ours]
    assert errors == []


def test_it_cannot_allow_what_is_not_possible(load: Load) -> None:
    code, errors = load(
        "13-4",
        RIGHT.replace(
            "def may(self, what: str) -> bool:",
            "def may(self, _):\n        return True\n\n    def old(self, what):",
        ),
    )
    assert live(member(code)) == live(Membership("client", "group"))
    assert errors == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (': "Assigning"', ': "Stable"', "answered 'Stable'; the member is Assigning now"),
        ("return self.state", "return None", "answered None; the member is Revoking now"),
        ("return False", "return 0", "answered 0; expected True or False"),
        ("self.leave()", "1 / 0", "ZeroDivisionError"),
    ],
)
def test_another_state_is_said_and_ours_goes_on(
    load: Load, right: str, wrong: str, said: str
) -> None:
    code, errors = load("13-4", RIGHT.replace(right, wrong, 1))
    assert live(member(code)) == live(Membership("client", "group"))
    (error,) = errors
    assert said in error.message
    assert "\n" not in error.message


def test_the_right_member_is_ours() -> None:
    right = RightMember()
    assert right.happens("taken", "", -1) == "Unjoined", "it comes too late"
    for event in ("poll", "given_up", "joined"):
        right.happens(event, "m-7", 3)
    assert (right.may("heartbeat"), right.may("commit")) == (True, False)
    assert right.identity() == ("m-7", 3)
    assert right.happens("expelled", "", -1) == "Unjoined"
    assert right.identity() == ("", -1)
