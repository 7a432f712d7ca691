"""The exhibit of C2, a cluster with a controller next to one in which every broker watches all
znodes. Both end in the same state, and ZooKeeper's counts show what the book says.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from chapters.ch04_controller.watches import watches
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.watches_exhibit import EVENTS, ControllerWorld, HerdWorld, World, measure

BROKERS, PARTITIONS = 4, 12


@pytest.fixture(params=[HerdWorld, ControllerWorld])
def world(request: pytest.FixtureRequest) -> World:
    made: World = request.param(BROKERS, PARTITIONS)
    return made


def states(world: World) -> dict[TopicPartition, tuple[int, set[int]]]:
    """Return leader and ISR of each partition from ZooKeeper."""

    async def read() -> dict[TopicPartition, tuple[int, set[int]]]:
        assignments = await world.admin.get_assignment_for_topics(
            await world.admin.get_all_topics_in_cluster()
        )
        partitions = [
            TopicPartition(topic, number)
            for topic, assignment in assignments.items()
            for number in assignment.partitions
        ]
        found = await world.admin.get_topic_partition_states(partitions)
        assert len(found) == len(partitions)
        return {
            tp: (state.leader_and_isr.leader, set(state.leader_and_isr.isr))
            for tp, state in found.items()
        }

    return world.run(read())


@pytest.mark.parametrize(
    "events", [EVENTS[: n + 1] for n in range(len(EVENTS))], ids=[name for name, _ in EVENTS]
)
def test_both_ways_lead_to_the_same_leaders_and_isrs(
    events: tuple[tuple[str, Callable[[World], None]], ...],
) -> None:
    herd, ours = HerdWorld(BROKERS, PARTITIONS), ControllerWorld(BROKERS, PARTITIONS)
    for _, act in events:
        for world in (herd, ours):
            act(world)
            world.settle()
    assert states(herd) == states(ours)
    for tp, (leader, _) in states(herd).items():
        alive = [
            broker for broker_id, broker in herd.herd.items() if herd.processes[broker_id].alive
        ]
        assert {broker.leader_of(tp) for broker in alive} == {leader}, "everybody knows"


def test_what_is_watched_at_rest() -> None:
    """Without a controller, every broker watches the brokers, the topics, each topic and each
    partition.

    In our cluster the controller watches seven znodes, each broker and each topic. All brokers
    watch /controller.
    """
    exhibit = measure(BROKERS, PARTITIONS)
    assert exhibit.watches_herd == BROKERS * (2 + 1 + PARTITIONS)
    assert exhibit.watches_ours == 7 + BROKERS + 1 + BROKERS


def test_a_broker_s_death_wakes_everybody_for_each_partition_or_the_controller_once() -> None:
    herd, ours = HerdWorld(BROKERS, PARTITIONS), ControllerWorld(BROKERS, PARTITIONS)
    touched = [tp for tp, (_, isr) in states(herd).items() if 1 in isr]
    died = herd.measure(lambda world: world.kill(1))
    alive = BROKERS - 1
    assert died.watches_fired >= alive * (1 + len(touched))
    assert died.brokers_woken in (
        alive,
        BROKERS,
    )  # the dead one's connection may still be open when ZooKeeper reports its end to it
    assert died.requests_to_brokers == 0
    told = ours.measure(lambda world: world.kill(1))
    assert told.brokers_woken == 1
    assert told.watches_fired == 2, "the list of brokers, and the dead one's own znode"
    assert told.requests_to_brokers > 0


def test_a_change_that_concerns_nobody_wakes_the_herd_all_the_same() -> None:
    exhibit = measure(BROKERS, PARTITIONS)
    herd, ours = exhibit.costs["one ISR changes"]
    assert (herd.watches_fired, herd.brokers_woken) == (BROKERS, BROKERS)
    assert ours.brokers_woken == 1


def test_the_same_sizes_give_the_same_figures(tmp_path: Path) -> None:
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file in files:
        done = CliRunner().invoke(
            watches, ["--brokers", "4", "--partitions", "12", "--json", str(file)]
        )
        assert done.exit_code == 0, done.output
        assert (
            "4 brokers, 12 partitions: watches set: 60 where everybody watches, 16 with a"
            " controller" in done.output
        )
        assert "…" not in done.output
    one, two = (json.loads(file.read_text()) for file in files)
    assert one == two
    assert one["name"] == "watches"
    assert (
        one["figures"][
            "4 brokers, 12 partitions: one ISR changes, everybody watches: watches that fire"
        ]
        == 4
    )
    assert all(target["holds"] for target in one["targets"])


def test_a_world_that_is_settled_stays_so(world: World) -> None:
    before = states(world)
    world.counter.reset()
    world.settle()
    assert (world.counter.reads, world.counter.writes, world.counter.fired) == (0, 0, 0)
    assert states(world) == before


def test_too_small_a_cluster_is_refused() -> None:
    with pytest.raises(ValueError, match="two brokers"):
        measure(1, 5)
