"""A group of members that read by a pattern, with the class of exercise 13-5 in each of them."""

from collections.abc import Sequence
from random import Random
from typing import Final, Protocol

PATTERN: Final = "web-.*"
MEMBERS: Final = 3
LEADER: Final = 1
"""The number of the member that leads the group."""


class Watch(Protocol):
    """Decides when a member joins again."""

    def sees(self, metadata: Sequence[tuple[str, int]]) -> object: ...

    def joins(self) -> object: ...

    def assigned(self, leads: bool) -> object: ...


class WrongAnswerError(Exception):
    """A watch gave a wrong answer."""

    def __init__(self, call: str, expected: object, came: object, why: str) -> None:
        super().__init__(f"{call}: expected {expected!r}, not {came!r}: {why}")
        self.call = call
        self.expected = expected
        self.came = came
        self.why = why


class StormWorld:
    """The topics of a cluster, and the members of a group. Members are numbered from 1 on."""

    def __init__(
        self, watches: Sequence[Watch], topics: dict[str, int], random: Random, *, strict: bool
    ) -> None:
        """Let all members see the metadata and join. `strict`: a wrong answer raises an error."""
        self._watches = watches
        self._random = random
        self._strict = strict
        self.topics = topics
        self.events: list[str] = []
        self.needless: list[tuple[int, int]] = []
        """(line, member) of each time that a member joined again without a reason."""
        self.generation = 0
        self.leader = LEADER
        self._seen: dict[int, dict[str, int]] = {}
        self._joined: dict[int, set[str]] = {}
        self._counts: dict[str, int] = {}
        for number in range(1, len(watches) + 1):
            self._show(number)
        self._rebalance()

    def _matching(self, rows: Sequence[tuple[str, int]]) -> dict[str, int]:
        return {topic: count for topic, count in rows if topic.startswith("web-")}

    def _show(self, number: int, rows: Sequence[tuple[str, int]] | None = None) -> object:
        """Let a member see the metadata, in these rows or in a random order. Return its answer."""
        if rows is None:
            rows = self._random.sample(list(self.topics.items()), len(self.topics))
        self._seen[number] = self._matching(rows)
        shown = ", ".join(f"{topic} {count}" for topic, count in rows)
        self.events.append(f"member {number} sees: {shown or 'no topics'}")
        return self._watches[number - 1].sees(rows)

    def right(self, number: int) -> tuple[str, str]:
        """Return the right answer of `sees` after the last metadata, and why it is right."""
        seen = self._seen[number]
        if {*seen} != self._joined[number]:
            names = ", ".join(sorted({*seen} ^ self._joined[number]))
            return "topics", f"since it joined, this has come or gone: {names}"
        if number == self.leader and seen != self._counts:
            names = ", ".join(one for one in sorted(seen) if seen[one] != self._counts[one])
            return "partitions", f"it leads, and this has another number of partitions: {names}"
        return "", "it has the same topics as when it joined; their order does not matter"

    def metadata(self, number: int, rows: Sequence[tuple[str, int]] | None = None) -> None:
        """Let a member see new metadata. If it rejoins, all do. Raises WrongAnswerError."""
        came = self._show(number, rows)
        right, why = self.right(number)
        if self._strict and came != right:
            raise WrongAnswerError(f"sees({self.events[-1].partition(': ')[2]})", right, came, why)
        if came:
            self.events.append(f"member {number} joins again: {came}")
            if not right:
                self.needless.append((len(self.events), number))
            self._rebalance()

    def _rebalance(self) -> None:
        """Let all members join. Raises WrongAnswerError."""
        self.generation += 1
        words = []
        for number, watch in enumerate(self._watches, 1):
            came = watch.joins()
            right = sorted(self._seen[number])
            names = sorted(map(str, came)) if isinstance(came, list | tuple) else came
            if self._strict and names != right:
                why = "these topics match in the last metadata that the member has seen"
                raise WrongAnswerError(f"joins() of member {number}", right, came, why)
            self._joined[number] = {*self._seen[number]}
            words.append(f"member {number} has {', '.join(right) or 'no topic'}")
        self._counts = self._seen[self.leader]
        for number, watch in enumerate(self._watches, 1):
            watch.assigned(number == self.leader)
        self.events.append(f"generation {self.generation}: {'; '.join(words)}")

    def lead(self, number: int) -> None:
        """Begin a new generation with a new leader of the group: member `number`."""
        self.leader = number
        self.events.append(f"member {number} leads from now on")
        self._rebalance()


def happen(world: StormWorld, random: Random, steps: int) -> None:
    """Let topics come, go and grow, and let members see new metadata. Raises WrongAnswerError."""
    for _ in range(steps):
        match random.randrange(9):
            case 0:
                name = random.choice(("web-", "orders-")) + random.choice("abcdefgh")
                world.topics.setdefault(name, random.randint(1, 4))
            case 1 if len(world.topics) > 2:
                del world.topics[random.choice(sorted(world.topics))]
            case 2 if world.topics:
                world.topics[random.choice(sorted(world.topics))] += 1
            case 3:
                world.lead(random.randint(1, MEMBERS))
            case _:
                world.metadata(random.randint(1, MEMBERS))
