"""The joins of book 002 (图6-18 to 图6-20) and the four scenarios of book 001, step by step.

Each case runs on the coordinator of a simulated broker, so its answers are those of the code.
`./kafka-edu chapter 13 --part joins` shows them one request after the other.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from kafka_edu.sim.sim_cluster import SimCluster

from .stepped_group import INITIAL_DELAY_S, Moment, SteppedGroup, simulate


async def first_joins(group: SteppedGroup) -> None:
    """图6-18, upper half: three members join an empty group."""
    for name in "abc":
        await group.join(name)
    await group.pass_time(INITIAL_DELAY_S)
    await group.pass_time(INITIAL_DELAY_S)


async def leader_first(group: SteppedGroup) -> None:
    """图6-18, lower half: the leader of a stable group joins again, and then the other members."""
    await group.stable("a", "b", "c")
    for name in "abc":
        await group.join(name)


async def followers_first(group: SteppedGroup) -> None:
    """图6-19: two followers join again before the leader, and one after it."""
    await group.stable("a", "b", "c", "d")
    for name in "bcadbc":
        await group.join(name)


async def newcomer_first(group: SteppedGroup) -> None:
    """图6-20: a newcomer joins first, then a follower, the leader, and the last follower."""
    await group.stable("a", "b", "c")
    for name in "dbac":
        await group.join(name)


async def member_joins(group: SteppedGroup) -> None:
    """Scenario 1 of 001: a new member joins a stable group."""
    await group.stable("a", "b")
    await group.join("c")
    await group.heartbeat("a")
    await group.heartbeat("b")
    await group.join("a")
    await group.join("b")
    await group.sync("b")
    await group.sync("a", ("a", "b", "c"))
    await group.sync("c")


async def member_leaves(group: SteppedGroup) -> None:
    """Scenario 2 of 001: a member calls close()."""
    await group.stable("a", "b")
    await group.leave("b")
    await group.heartbeat("a")
    await group.join("a")
    await group.sync("a", ("a",))


async def member_crashes(group: SteppedGroup) -> None:
    """Scenario 3 of 001: a member sends no more requests."""
    await group.stable("a", "b")
    await group.pass_time(9, ("a",))
    await group.pass_time(1)
    await group.heartbeat("a")
    await group.heartbeat("b")
    await group.join("a")


async def commits_while_it_gathers(group: SteppedGroup) -> None:
    """Scenario 4 of 001: a member commits during a rebalance of the group."""
    await group.stable("a", "b")
    await group.join("c")
    await group.commit("a", 5, 1)
    await group.join("a")
    await group.join("b")
    await group.commit("a", 6, 1)
    await group.commit("a", 6, 2)
    await group.sync("a", ("a", "b", "c"))
    await group.commit("a", 7, 2)


class Case(NamedTuple):
    """One case: its title, the function that runs it, and its number of moments (requests or
    pauses).
    """

    title: str
    run: Callable[[SteppedGroup], Awaitable[None]]
    moments: int


CASES: Final[Mapping[str, Case]] = {
    "first": Case("An empty group", first_joins, 5),
    "leader": Case("The leader joins again first", leader_first, 3),
    "followers": Case("Followers join again before the leader", followers_first, 6),
    "newcomer": Case("A newcomer joins first", newcomer_first, 4),
    "joins": Case("A member joins", member_joins, 8),
    "leaves": Case("A member leaves", member_leaves, 4),
    "crashes": Case("A member crashes", member_crashes, 5),
    "commits": Case("A member commits during a rebalance", commits_while_it_gathers, 8),
}


class Story(NamedTuple):
    """The results of one case. `states` and `reasons` include those before the first moment."""

    moments: tuple[Moment, ...]
    states: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why each rebalance of the group began."""
    generation: int


@cache
def stories() -> dict[str, Story]:
    """Run all cases on one broker, one after the other. Return name → story."""
    found: dict[str, Story] = {}

    async def run(cluster: SimCluster) -> None:
        for name, case in CASES.items():
            group = SteppedGroup(cluster, name)
            await group.find()
            await case.run(group)
            group.close()
            found[name] = Story(
                tuple(group.moments),
                tuple(group.states()),
                tuple(group.reasons()),
                group.generation,
            )

    simulate(run)
    return found


EXPIRY_S: Final = 60
_CHECK_MS: Final = 15_000


class Kept(NamedTuple):
    """Whether a group's committed offset is still there at one moment."""

    words: str
    state: str
    offset: int
    """The offset, or -1 if there is none."""


@cache
def expiry() -> list[Kept]:
    """Commit an offset. Check it while the group has a member, and when the group is empty.

    The offsets of a group are kept as long as it has members, even if they are old. The time begins
    when the group becomes empty.
    """
    kept: list[Kept] = []

    async def run(cluster: SimCluster) -> None:
        group = SteppedGroup(cluster, "expiry")
        await group.find()

        async def note(words: str) -> None:
            kept.append(Kept(words, group.states()[-1], await group.committed("a")))

        await group.stable("a")
        await group.commit("a", 5, 1)
        await note("a has committed 5")
        await group.pass_time(3 * EXPIRY_S, ("a",))
        await note(f"{3 * EXPIRY_S} s later, a lives")
        await group.leave("a")
        await group.pass_time(EXPIRY_S // 2)
        await note(f"{EXPIRY_S // 2} s after a has left")
        await group.pass_time(EXPIRY_S)
        await note(f"{EXPIRY_S} s later")
        group.close()

    simulate(
        run,
        {
            "offsets.retention.minutes": str(EXPIRY_S // 60),
            "offsets.retention.check.interval.ms": str(_CHECK_MS),
        },
    )
    return kept
