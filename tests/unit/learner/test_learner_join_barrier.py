"""A learner's join barrier in the coordinator: its decisions are carried out. Where it fails, our
own barrier takes over.
"""

from collections.abc import Callable

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.coordinator.group import delayed_join, group_rebalancer
from kafka_edu.learner import learner_join_barrier
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerError
from kafka_edu.trace.events.group import MemberFailed
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group import test_delayed_join as joins
from tests.unit.coordinator.group import test_group_coordinator as groups
from tests.unit.coordinator.group.group_world import World

from .conftest import Load

RIGHT = find_exercise("13-3").solution.read_text(encoding="utf-8")
Serve = Callable[[str], list[LearnerError]]


def barrier(answer: str) -> str:
    return (
        "class JoinBarrier:\n    def __init__(self, *_):\n        pass\n"
        f"    def look(self, now_ms, members, promised):\n        return {answer}\n"
    )


@pytest.fixture
def serve(load: Load, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Return a function that installs a learner's text, and returns the list of its errors."""

    def install(text: str) -> list[LearnerError]:
        code, errors = load("13-3", text)
        adapted = learner_join_barrier.adapt(code)
        monkeypatch.setattr(group_rebalancer, "join_barrier", adapted)
        return errors

    return install


def test_the_seam_of_the_barrier_is_where_the_rebalancer_looks() -> None:
    seam = SEAMS["13-3"]
    assert seam.module == group_rebalancer.__name__
    assert vars(group_rebalancer)[seam.name] is delayed_join.join_barrier


@pytest.mark.parametrize(
    "case",
    [
        joins.test_each_newcomer_prolongs_the_initial_delay_up_to_the_rebalance_time_out,
        joins.test_a_member_that_does_not_join_again_within_the_rebalance_time_out_is_removed,
        groups.test_a_new_member_gets_its_id_and_the_rebalance_waits_for_it,
        groups.test_a_pending_member_that_does_not_come_is_not_waited_for,
        groups.test_static_members_are_not_put_out_by_a_rebalance_but_by_their_session,
        groups.test_an_assignment_that_is_overtaken_by_a_rebalance_is_void,
        groups.test_waiting_members_are_answered_when_the_group_goes_to_another_broker,
    ],
)
def test_the_reference_serves_as_ours_does(serve: Serve, case: Callable[[], None]) -> None:
    errors = serve(RIGHT)
    case()
    assert errors == []


def test_a_barrier_that_opens_too_early_costs_members_their_place(serve: Serve) -> None:
    world = World()
    world.stable("a", "b")
    errors = serve(barrier("'next', [m for m, i, joined, _ in members if not joined]"))
    newcomer = world.join("c")
    assert newcomer.now.generation_id == 3
    assert [one.member_id for one in newcomer.now.members] == [world.members["c"]]
    assert len(world.events(MemberFailed)) == 2
    assert errors == []


def test_a_barrier_may_wait_until_the_longest_time_out(serve: Serve) -> None:
    world = World()
    world.stable("a")
    errors = serve(RIGHT.replace("if self.empty or not complete:", "if True:"))
    joined = world.join("a", rebalance_ms=60_000)
    world.join("b")
    world.advance(59_999)
    assert joined.waits
    world.advance(1)
    assert not joined.waits
    assert errors == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("'wait', now_ms + 60_001", "the end of the longest rebalance time-out, and no longer"),
        ("'wait', now_ms", "which is over"),
        ("'wait', None", "expected ('wait', until_ms) or ('next', [member])"),
        ("'next', []", "the dynamic members that have not joined are"),
        ("'next', [row[0] for row in members]", "removes "),
        ("'next', [{}]", "removes "),
        ("None", "expected ('wait', until_ms) or ('next', [member])"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_barrier_that_never_ends_is_said_and_ours_goes_on(
    serve: Serve, answer: str, said: str
) -> None:
    world = World()
    world.stable("a", "b")
    errors = serve(barrier(answer))
    newcomer = world.join("c")
    (error,) = errors
    assert said in error.message
    assert "\n" not in error.message
    assert newcomer.waits
    world.join("a")
    world.join("b")
    assert newcomer.now.generation_id == 3, "ours opens when all have joined"
    assert world.events(MemberFailed) == []


def test_ours_takes_over_in_the_middle_of_a_rebalance(serve: Serve) -> None:
    world = World()
    world.stable("a", "b")
    early = "('wait', now_ms + 10) if not members[0][2] else 1 / 0"
    errors = serve(barrier(early))
    newcomer = world.join("c")
    assert errors == []
    world.join("a")
    assert len(errors) == 1
    assert newcomer.waits
    world.join("b")
    assert newcomer.now.generation_id == 3


def test_ours_takes_over_at_the_end_of_a_delay(serve: Serve) -> None:
    world = World(GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=3_000))
    calls = "('wait', self.end) if hasattr(self, 'end') else ('wait', vars(self).setdefault"
    errors = serve(barrier(f"{calls}('end', now_ms + 1_000))"))
    first = world.join("a")
    world.advance(1_000)
    assert len(errors) == 1
    assert "which is over" in errors[0].message
    assert first.waits
    world.advance(3_000)
    assert first.now.generation_id == 1


def test_after_three_failures_ours_alone_decides(serve: Serve) -> None:
    world = World()
    errors = serve(barrier("None"))
    for number in range(FAILURES_ALLOWED + 2):
        world.join(f"a{number}")
        for earlier in range(number):
            world.join(f"a{earlier}")
    assert len(errors) == FAILURES_ALLOWED
    assert world.group.generation_id == FAILURES_ALLOWED + 2
