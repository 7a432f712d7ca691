"""The rules of exercise 14-1 lose no record, whatever happens to the members of the group."""

from random import Random

import pytest

from exercises.ch14_offsets.commit_rules import INTERVAL_MS, CommitWorld, Offsets, RightCommits

SEEDS = range(40)


class Hasty(RightCommits):
    """Commits the position, as the automatic commit does."""

    def committable(self, partition: str) -> int | None:
        records = self.records[partition]
        return records[-1].offset + 1 if records else None


def world_of(kind: type[RightCommits], seed: int) -> CommitWorld:
    world = CommitWorld([kind(INTERVAL_MS) for _ in range(5)], Random(seed), 3, 40)
    world.run(400)
    return world


def lost(world: CommitWorld) -> set[tuple[str, int]]:
    """Return the records before the committed offsets that no worker has finished."""
    return {
        (name, offset)
        for name, at in world.committed.items()
        for offset in world.logs[name]
        if offset < at and (name, offset) not in world.ended
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_no_record_is_lost(seed: int) -> None:
    world = world_of(RightCommits, seed)
    assert lost(world) == set()
    assert any(world.committed.values())
    world.settle()
    everything = {(name, offset) for name, log in world.logs.items() for offset in log}
    assert world.ended == everything
    assert world.committed == {name: log[-1] + 1 for name, log in world.logs.items()}


def test_the_position_loses_records() -> None:
    assert any(lost(world_of(Hasty, seed)) for seed in SEEDS)


def test_a_rebalance_repeats_what_had_no_end() -> None:
    read: list[Offsets] = []
    for seed in SEEDS:
        world = world_of(RightCommits, seed)
        read.append({name: count for (name, _), count in world.read.items() if count > 1})
    assert sum(map(bool, read)) > len(SEEDS) // 2
