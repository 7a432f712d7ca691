"""A cooperative group, whose leader hands partitions over with the class of exercise 13-6."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple, Protocol

from kafka_edu.clients.consumer.assignors import MemberSubscription
from kafka_edu.clients.consumer.sticky_assignor import sticky_assign
from kafka_edu.common.topic_partition import TopicPartition

TOPIC = "orders"


class Row(NamedTuple):
    """A member, as the leader's class gets it."""

    member: str
    has: tuple[int, ...]
    wanted: tuple[int, ...]


class Handover(Protocol):
    """Decides which partitions each member gets now."""

    def assign(self, members: Sequence[Row]) -> Mapping[str, Sequence[int]]: ...


def right(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Return what each member gets now: all partitions that it wants and no other member has."""
    return {
        row.member: [
            one
            for one in row.wanted
            if not any(one in other.has for other in rows if other.member != row.member)
        ]
        for row in rows
    }


class HandoverWorld:
    """The members of a group, and what each of them reads."""

    def __init__(self, handover: Handover, partitions: int) -> None:
        self._handover = handover
        self._partitions = partitions
        self.generation = 0
        self.reads: dict[str, set[int]] = {}
        """Member → the partitions that it reads at this moment."""
        self.events: list[str] = []
        self.shared: list[tuple[int, int]] = []
        """Each generation and partition of which two members were readers."""

    def rows(self) -> list[Row]:
        """Return the rows of the next rebalance. Our assignor decides the final partitions."""
        wanted = sticky_assign(
            {TOPIC: self._partitions},
            {
                member: MemberSubscription(
                    (TOPIC,), owned=tuple(TopicPartition(TOPIC, n) for n in sorted(reads))
                )
                for member, reads in self.reads.items()
            },
        )
        return [
            Row(member, tuple(sorted(reads)), tuple(sorted(tp.partition for tp in wanted[member])))
            for member, reads in sorted(self.reads.items())
        ]

    def rebalance(self, missing: Sequence[str] = ()) -> bool:
        """Let all members join and get their answers. The `missing` members get no answer. Return
        whether another rebalance follows: a member missed its answer, or gave up a partition.
        """
        self.generation += 1
        rows = self.rows()
        given = self._handover.assign(rows)
        has = "; ".join(f"{row.member} has {_words(row.has)}" for row in rows)
        gets = "; ".join(f"{row.member} gets {_words(given[row.member])}" for row in rows)
        self.events += [f"generation {self.generation}: {has}", f"  {gets}"]
        if missing:
            names = " and ".join(missing)
            self.events.append(f"  {names} missed the answer: the next rebalance has begun")
        for row in rows:
            for one in sorted(given[row.member]):
                if any(one in other.has for other in rows if other.member != row.member):
                    self.shared.append((self.generation, one))
        again = bool(missing)
        for row in rows:
            if row.member not in missing:
                again |= bool(self.reads[row.member] - {*given[row.member]})
                self.reads[row.member] = {*given[row.member]}
        return again

    def settle(self, most: int = 9) -> None:
        """Rebalance until no member gives up a partition."""
        while self.rebalance():
            most -= 1
            assert most, "it does not settle"


def happen(world: HandoverWorld, random: Random, names: Sequence[str]) -> None:
    """Let a member come or go, and then let the group rebalance. Some answers are missed."""
    gone = [name for name in names if name not in world.reads]
    if gone and (len(world.reads) < 2 or random.random() < 0.6):
        name = random.choice(gone)
        world.reads[name] = set()
        world.events.append(f"{name} comes")
    else:
        name = random.choice(sorted(world.reads))
        del world.reads[name]
        world.events.append(f"{name} is gone")
    for _ in range(random.randint(0, 3)):
        late = [name for name in sorted(world.reads) if random.random() < 0.35]
        if not world.rebalance(late):
            return
    world.settle()


def _words(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "nothing"
