"""The cases of seed 002, chapter 6 (figures 6-18 to 6-20), and the four scenarios of seed 001.

Kafka 2.0 behaves as these tests say. In seed 002 a group begins in Stable; since 0.10.2 it begins
in Empty (see SPEC, errata). Case 4 of seed 002 contradicts rule 2 of seed 002: once a member has
started a rebalance, every member that joins waits.
"""

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.trace.events.group import MemberFailed, MemberLeft, RebalanceStarted
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group.group_world import World

T = TopicPartition("t", 0)


def test_case_1_of_an_empty_group_the_first_member_makes_it_gather_and_leads() -> None:
    world = World(GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=3_000))
    first = world.join("a")
    assert world.group.state is GroupState.PREPARING_REBALANCE
    second, third = world.join("b"), world.join("c")
    assert first.waits
    assert second.waits
    assert third.waits
    world.advance(10_000)
    assert (first.now.leader_id, len(first.now.members)) == (world.members["a"], 3)
    assert (second.now.members, third.now.members) == ((), ())
    assert {answer.now.generation_id for answer in (first, second, third)} == {1}
    (started,) = world.events(RebalanceStarted)
    assert isinstance(started, RebalanceStarted)
    assert (started.reason, started.member) == ("a new member joins", world.members["a"])


def test_case_2_of_a_stable_group_the_leader_makes_it_gather_by_joining_again() -> None:
    world = World()
    world.stable("a", "b", "c")
    leader = world.join("a")
    assert leader.waits
    assert world.group.state is GroupState.PREPARING_REBALANCE
    second = world.join("b")
    assert second.waits
    third = world.join("c")
    assert [answer.now.generation_id for answer in (leader, second, third)] == [4, 4, 4]
    assert len(leader.now.members) == 3


def test_case_3_followers_that_join_before_the_leader_are_answered_at_once() -> None:
    world = World()
    world.stable("a", "b", "c", "d")
    lucky, too = world.join("b"), world.join("c")
    assert (lucky.now.error, lucky.now.generation_id, too.now.generation_id) == (Errors.NONE, 4, 4)
    assert world.group.state is GroupState.STABLE
    leader, unlucky = world.join("a"), world.join("d")
    assert leader.waits
    assert unlucky.waits
    world.join("b")
    world.join("c")
    assert leader.now.generation_id == unlucky.now.generation_id == 5


def test_case_4_a_newcomer_makes_the_group_gather_and_from_then_on_everybody_waits() -> None:
    """The second follower waits too. In the book this follower is answered at once, against the
    book's own rule 2.
    """
    world = World()
    world.stable("a", "b", "c")
    newcomer = world.join("d")
    assert newcomer.waits
    assert world.group.state is GroupState.PREPARING_REBALANCE
    second, leader = world.join("b"), world.join("a")
    assert second.waits
    assert leader.waits
    third = world.join("c")
    assert (leader.now.leader_id, len(leader.now.members)) == (
        world.members["a"],
        4,
    ), "it leads on, whoever began"
    assert newcomer.now.members == second.now.members == third.now.members == ()


def test_scenario_1_of_001_the_others_learn_of_a_new_member_by_their_heartbeats() -> None:
    world = World()
    world.stable("a", "b")
    world.join("c")
    assert world.heartbeat("a") is Errors.REBALANCE_IN_PROGRESS
    assert world.heartbeat("b") is Errors.REBALANCE_IN_PROGRESS
    world.join("a")
    world.join("b")
    assert world.heartbeat("a") is Errors.NONE, "also while the assignment is awaited"
    waiting = world.sync("b")
    assert waiting.waits
    assert world.sync("a", {"a": b"1", "b": b"2", "c": b"3"}).now.assignment == b"1"
    assert waiting.now.assignment == b"2"
    assert world.sync("c").now.assignment == b"3"
    assert world.group.state is GroupState.STABLE


def test_scenario_2_a_member_that_leaves_is_gone_at_once() -> None:
    world = World()
    world.stable("a", "b")
    assert world.leave("b") is Errors.NONE
    assert world.heartbeat("a") is Errors.REBALANCE_IN_PROGRESS
    started = world.events(RebalanceStarted)[-1]
    assert isinstance(started, RebalanceStarted)
    assert (started.reason, started.member) == ("a member leaves", world.members["b"])
    assert len(world.events(MemberLeft)) == 1
    alone = world.join("a")
    assert [member.member_id for member in alone.now.members] == [world.members["a"]]


def test_scenario_3_a_member_that_crashes_is_missed_after_its_session_time_out() -> None:
    world = World()
    world.stable("a", "b")
    for _ in range(9):
        world.advance(1_000)
        assert world.heartbeat("a") is Errors.NONE
    world.advance(1_500)
    assert world.heartbeat("a") is Errors.REBALANCE_IN_PROGRESS, (
        "10 s after the last sign of life of b"
    )
    (failed,) = world.events(MemberFailed)
    assert isinstance(failed, MemberFailed)
    assert (failed.member, failed.reason) == (
        world.members["b"],
        "no heartbeat within its session time-out of 10 s",
    )
    assert world.heartbeat("b") is Errors.UNKNOWN_MEMBER_ID


def test_scenario_4_members_may_commit_while_the_group_gathers_but_not_while_it_is_assigned() -> (
    None
):
    world = World()
    world.stable("a", "b")
    world.join("c")
    assert world.commit({T: 5}, "a", generation=2).now == {T: Errors.NONE}
    world.join("a")
    world.join("b")
    assert world.commit({T: 6}, "a", generation=2).now == {T: Errors.ILLEGAL_GENERATION}
    assert world.commit({T: 6}, "a", generation=3).now == {T: Errors.REBALANCE_IN_PROGRESS}
    world.sync("a")
    assert world.commit({T: 7}, "a", generation=3).now == {T: Errors.NONE}
    assert world.committed() == {T: 7}
