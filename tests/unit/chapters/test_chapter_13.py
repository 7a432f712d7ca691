"""Chapter 13's pictures agree with the chapter's page. The real coordinator and the real assignors
compute them. The tests also cover each moment of the chapter's cases, and that its jobs notice when
a group is stable.
"""

import asyncio

import pytest

from chapters.ch13_consumer_groups.crew import Crew, Member, MemberEndedError
from chapters.ch13_consumer_groups.jobs import JOBS
from chapters.ch13_consumer_groups.join_cases import CASES, expiry, stories
from chapters.ch13_consumer_groups.pictures import DRAWINGS, figures, group_way, sizes
from chapters.ch13_consumer_groups.sharing import (
    COOPERATIVE,
    GROWN,
    MEMBERS,
    SHRUNK,
    TOPICS,
    change,
    shares,
)
from chapters.chapter import find_chapters
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS
from kafka_edu.common.time import MockTime
from kafka_edu.trace.event import CLIENT
from kafka_edu.trace.tracer import Tracer
from tui.presenter.run import screen_names

JOINED = "a new member joins"
LEADER = "the leader joins again: it may want to make a new assignment"
SAID = {
    "models": {"queue": "20", "subscribe": "80", "both": "40"},
    "cake": {"idle_five": "1", "share_two": "2"},
    "coordinator": {"kagura_hash": "-1138882061", "kagura_at": "11"},
    "assignors": {"range_first": "4", "many_range": "20", "many_turn": "15"},
    "two-steps": {"coop_rebalances": "2"},
    "expired": {"offset_with_members": "5", "offset_expired": "-1"},
    "moves": {
        "range_moved": "6",
        "range_given_up": "8",
        "range_left_moved": "0",
        "roundrobin_moved": "5",
        "roundrobin_given_up": "8",
        "roundrobin_left_moved": "2",
        "sticky_moved": "2",
        "sticky_given_up": "8",
        "sticky_left_moved": "0",
        "cooperative_sticky_moved": "2",
        "cooperative_sticky_given_up": "2",
        "cooperative_sticky_left_moved": "0",
    },
}
#: Case → how many are answered at once, the last generation, and the reason of the last rebalance.
ENDS = {
    "first": ("0", "1", JOINED),
    "leader": ("0", "2", LEADER),
    "followers": ("2", "2", LEADER),
    "newcomer": ("0", "2", JOINED),
    "joins": ("0", "2", JOINED),
    "leaves": ("1", "2", "a member leaves"),
    "crashes": ("1", "2", "a member sent no heartbeat"),
    "commits": ("0", "2", JOINED),
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    assert DRAWINGS[name]().names == SAID[name]


@pytest.mark.parametrize("name", CASES)
def test_the_last_picture_of_a_case_binds_how_it_ended(name: str) -> None:
    at_once, generation, reason = ENDS[name]
    assert DRAWINGS[f"{name}-{CASES[name].moments}"]().names == {
        f"{name}_at_once": at_once,
        f"{name}_generation": generation,
        f"{name}_reason": reason,
    }


@pytest.mark.parametrize("name", CASES)
def test_each_moment_of_a_case_has_its_picture_and_its_figure(name: str) -> None:
    assert len(stories()[name].moments) == CASES[name].moments
    assert f"case-{name}" in figures()
    texts = [DRAWINGS[f"{name}-{step}"]().text for step in range(1, CASES[name].moments + 1)]
    assert len(set(texts)) == len(texts)


def test_the_part_shows_every_moment_in_order() -> None:
    part = find_chapters()["13"].parts()["joins"]
    shown = [step.show for step in part.script(screen_names()).steps if step.show]
    assert shown == [f"{name}-{n}" for name in CASES for n in range(1, CASES[name].moments + 1)]


def test_nobody_is_answered_before_all_have_joined() -> None:
    *before, last = stories()["newcomer"].moments
    assert [one.waiting for one in before] == [("d",), ("b", "d"), ("a", "b", "d")]
    assert all(not one.answers for one in before)
    assert last.answers == (
        ("a", "generation 2, leads 4"),
        ("b", "generation 2"),
        ("c", "generation 2"),
        ("d", "generation 2"),
    )


def test_a_member_may_commit_until_the_new_generation_begins() -> None:
    answers = [
        dict(one.answers)["a"] for one in stories()["commits"].moments if "commits" in one.words
    ]
    assert answers == ["NONE", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "NONE"]


def test_a_silent_member_is_unknown_after_its_session() -> None:
    moments = stories()["crashes"].moments
    assert [one.state for one in moments[:2]] == ["Stable", "PreparingRebalance"]
    assert moments[3].answers == (("b", "UNKNOWN_MEMBER_ID"),)


def test_the_way_of_the_group_is_that_of_a_group_which_grows() -> None:
    round_trip = ["PreparingRebalance", "CompletingRebalance", "Stable"]
    assert group_way() == ["Empty", *round_trip, *round_trip]


def test_offsets_expire_after_the_group_is_empty_and_not_before() -> None:
    assert [(one.state, one.offset) for one in expiry()] == [
        ("Stable", 5),
        ("Stable", 5),
        ("Empty", 5),
        ("Dead", -1),
    ]


@pytest.mark.parametrize("members", range(1, 9))
def test_members_beyond_the_partitions_are_idle(members: int) -> None:
    assert sum(sizes(members)) == 4
    assert sizes(members).count(0) == max(members - 4, 0)


@pytest.mark.parametrize("after", [GROWN, SHRUNK])
@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_in_the_end_each_partition_has_one_member(assignor: str, after: tuple[str, ...]) -> None:
    *_, last = change(assignor, MEMBERS, after).after
    had = [tp for own in last.values() for tp in own]
    assert len(had) == len(set(had)) == sum(TOPICS.values())
    assert set(last) == set(after)


def test_a_cooperative_group_never_gives_a_partition_that_another_member_has() -> None:
    found = change(COOPERATIVE, MEMBERS, GROWN)
    owners = {tp: member for member, own in found.before.items() for tp in own}
    first, second = found.after
    assert all(owners[tp] == member for member, own in first.items() for tp in own)
    assert first["d"] == []
    assert len(second["d"]) == found.moved == found.given_up


def test_shares_of_a_new_group_are_those_of_the_assignor() -> None:
    assert [len(own) for own in shares("range", MEMBERS).values()] == [4, 2, 2]
    assert [len(own) for own in shares("roundrobin", MEMBERS).values()] == [3, 3, 2]


def test_every_job_is_in_the_script() -> None:
    script = find_chapters()["13"].script(screen_names())
    assert [step.job for step in script.steps if step.job] == sorted(
        JOBS, key=[step.job for step in script.steps].index
    )


@pytest.mark.parametrize(
    ("a", "b", "stable"),
    [
        ((1, {0, 1}), (1, {2, 3}), True),
        ((1, {0, 1}), (2, {2, 3}), False),  # b is in the next generation
        ((1, {0, 1}), (1, {2}), False),  # nobody has 3
        ((1, {0, 1}), (1, {1, 2}), False),  # both have 1
        ((1, {0, 1, 2, 3}), (1, set()), False),  # b has nothing yet
        ((-1, {0, 1}), (-1, {2, 3}), False),  # neither is a member
    ],
)
def test_a_crew_is_stable_when_all_have_equal_shares_of_one_generation(
    a: tuple[int, set[int]], b: tuple[int, set[int]], stable: bool
) -> None:
    async def run() -> bool:
        crew = Crew("127.0.0.1:1", "g", "t", 4, Tracer(CLIENT, MockTime()))
        crew.members = [Member("a", crew.changed), Member("b", crew.changed)]
        waiting = asyncio.create_task(crew.stable())
        await asyncio.sleep(0)
        for member, (generation, partitions) in zip(crew.members, (a, b), strict=True):
            await member.note(generation, partitions)
        for _ in range(3):
            await asyncio.sleep(0)
        done = waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return done

    assert asyncio.run(run()) is stable


def test_a_lost_member_does_not_count() -> None:
    async def run() -> int:
        crew = Crew("127.0.0.1:1", "g", "t", 2, Tracer(CLIENT, MockTime()))
        a, b = crew.members = [Member("a", crew.changed), Member("b", crew.changed)]
        await a.note(3, {0, 1})
        await b.note(2, {1})
        crew.lose(b)
        return await crew.stable()

    assert asyncio.run(run()) == 3


def test_a_process_that_ends_by_itself_ends_the_job() -> None:
    """Without this the job would wait for ever for a stable group."""

    async def run() -> None:
        async with Crew("127.0.0.1:1", "g", "t", 2, Tracer(CLIENT, MockTime())) as crew:
            await crew.join_as_process("x", {"no.such.setting": 1})
            await crew.stable()

    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(run())
    (error,) = raised.value.exceptions
    assert isinstance(error, MemberEndedError)
    assert str(error) == "the member x has ended, with exit code 1"
