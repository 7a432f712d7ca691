"""The joins of book 002 (图6-18 to 图6-20) and the four scenarios of book 001, step by step.

Each case runs on the coordinator of a simulated broker, so its answers are those of the code.
`./kafka-edu chapter 13 --part joins` shows them one request after the other.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess

from .stepped_group import BROKER, INITIAL_DELAY_S, PROPERTIES, TOPIC, Moment, SteppedGroup

SEED: Final = 13
LIMIT_MS: Final = 600_000


async def first_joins(group: SteppedGroup) -> None:
    """图6-18, upper half: three members join an empty group."""
    for name in "abc":
        await group.join(name)
    await group.pass_time(INITIAL_DELAY_S)
    await group.pass_time(INITIAL_DELAY_S)


async def leader_first(group: SteppedGroup) -> None:
    """图6-18, lower half: the leader of a stable group joins again, and then the others."""
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
    """Scenario 3 of 001: a member falls silent."""
    await group.stable("a", "b")
    await group.pass_time(9, ("a",))
    await group.pass_time(1)
    await group.heartbeat("a")
    await group.heartbeat("b")
    await group.join("a")


async def commits_while_it_gathers(group: SteppedGroup) -> None:
    """Scenario 4 of 001: a member commits while the group has a rebalance."""
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
    """One case: its title, and the function that runs it."""

    title: str
    run: Callable[[SteppedGroup], Awaitable[None]]


CASES: Final[Mapping[str, Case]] = {
    "first": Case("An empty group", first_joins),
    "leader": Case("The leader joins again first", leader_first),
    "followers": Case("Followers join again before the leader", followers_first),
    "newcomer": Case("A newcomer joins first", newcomer_first),
    "joins": Case("A member joins", member_joins),
    "leaves": Case("A member leaves", member_leaves),
    "crashes": Case("A member crashes", member_crashes),
    "commits": Case("A member commits during a rebalance", commits_while_it_gathers),
}


class Story(NamedTuple):
    """What happened in one case."""

    moments: tuple[Moment, ...]
    reasons: tuple[str, ...]
    """Why each rebalance of the group began. Those before the first moment are among them."""


@cache
def stories() -> dict[str, Story]:
    """Run all cases on one broker, one after the other. Return name → story."""
    cluster = SimCluster(SEED, broker_ids=(BROKER,), properties=PROPERTIES)
    cluster.start_all()
    client = SimClient(cluster)
    made = cluster.run_as(client.process, client.create_topic(TOPIC, 1, 1))
    assert made is Errors.NONE
    found: dict[str, Story] = {}

    async def run() -> None:
        for name, case in CASES.items():
            group = SteppedGroup(cluster, name)
            await group.find()
            await case.run(group)
            group.close()
            found[name] = Story(tuple(group.moments), tuple(group.reasons()))

    cluster.run_as(SimProcess("members"), run(), LIMIT_MS)
    cluster.close()
    return found
