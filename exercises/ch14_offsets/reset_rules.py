"""The right answers of exercise 14-2, and a consumer on a log that is cut, cleaned and filled."""

from random import Random
from typing import Final, NamedTuple, Protocol

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
NONE: Final = "none"
POLICIES: Final = (EARLIEST, LATEST, NONE)
Place = str | int
"""EARLIEST, LATEST, or a time in ms since 1970."""
Answer = tuple[str, Place] | tuple[str] | None
FAIL: Final[Answer] = ("fail",)


class Rules(Protocol):
    """A consumer's decisions: made by RightReset or by a learner's class."""

    def begin(self, partition: str, committed: int | None) -> Answer: ...

    def asked(self, partition: str, place: Place) -> Answer: ...

    def sought(self, partition: str, offset: int) -> object: ...

    def out_of_range(self, partition: str, offset: int) -> Answer: ...

    def truncated(self, partition: str, offset: int, end: int | None) -> Answer: ...

    def found(self, partition: str, place: Place, offset: int | None) -> Answer: ...

    def gone(self, partition: str) -> object: ...


class RightReset:
    """The right answers. The last answer of each partition says what the partition waits for."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.last: dict[str, Answer] = {}

    def _note(self, partition: str, answer: Answer) -> Answer:
        self.last[partition] = answer
        return answer

    def by_policy(self) -> Answer:
        """Return the answer that follows from auto.offset.reset."""
        return FAIL if self.policy == NONE else ("look", self.policy)

    def begin(self, partition: str, committed: int | None) -> Answer:
        """Return where the consumer begins to read a partition."""
        answer: Answer = self.by_policy() if committed is None else ("go", committed)
        return self._note(partition, answer)

    def asked(self, partition: str, place: Place) -> Answer:
        """Return the answer after the program asks for a place."""
        return self._note(partition, ("look", place))

    def sought(self, partition: str, offset: int) -> None:
        """The program has called seek()."""
        self._note(partition, ("go", offset))

    def out_of_range(self, partition: str, offset: int) -> Answer:
        """Return the answer for an offset that the log does not have."""
        return self._note(partition, self.by_policy())

    def truncated(self, partition: str, offset: int, end: int | None) -> Answer:
        """Return the answer after the leader has said where its log differs."""
        answer: Answer
        if end is not None and end >= offset:
            answer = ("go", offset)
        elif self.policy == NONE or end is None:
            answer = self.by_policy()
        else:
            answer = ("go", end)
        return self._note(partition, answer)

    def found(self, partition: str, place: Place, offset: int | None) -> Answer:
        """Return the answer after the leader has found the offset of a place."""
        if self.last.get(partition) != ("look", place):
            return None
        return self._note(partition, ("look", LATEST) if offset is None else ("go", offset))

    def gone(self, partition: str) -> None:
        """Forget a partition."""
        self.last.pop(partition, None)


class _Lookup(NamedTuple):
    partition: str
    place: Place


class ResetWorld:
    """A consumer and the logs that it reads. Logs get records, lose old ones, and are truncated.

    The leaders' answers about places come late. Some answer an old question.
    """

    def __init__(self, rules: Rules, random: Random, partitions: int) -> None:
        self._rules = rules
        self._random = random
        self._names = [f"web-{number}" for number in range(partitions)]
        self._logs = {name: [1_000 * random.randint(0, 9)] for name in self._names}
        """The timestamp of each record. The first one may be gone: see `_starts`."""
        self._starts = dict.fromkeys(self._names, 0)
        self.positions: dict[str, int] = {}
        self._assigned: set[str] = set()
        self._lookups: list[_Lookup] = []

    def run(self, turns: int) -> None:
        """Let this number of random events happen."""
        random = self._random
        for _ in range(turns):
            name = random.choice(self._names)
            draw = random.random()
            if draw < 0.2:
                self._log_changes(name)
            elif name not in self._assigned:
                self._assigned.add(name)
                committed = None if random.random() < 0.5 else random.randrange(12)
                self._do(name, self._rules.begin(name, committed))
            elif draw < 0.45:
                self._answer()
            elif draw < 0.6:
                place = random.choice((EARLIEST, LATEST, 1_000 * random.randrange(25), 0))
                self._do(name, self._rules.asked(name, place))
            elif draw < 0.7:
                offset = random.randrange(12)
                self.positions[name] = offset
                self._rules.sought(name, offset)
            elif draw < 0.75:
                self._assigned.discard(name)
                self.positions.pop(name, None)
                self._rules.gone(name)
            else:
                self._fetch(name)

    def _log_changes(self, name: str) -> None:
        log, random = self._logs[name], self._random
        draw = random.random()
        if draw < 0.6:
            log += [log[-1] + 1_000 * random.randint(0, 2) for _ in range(random.randint(1, 4))]
        elif draw < 0.8:
            self._starts[name] = min(len(log), self._starts[name] + random.randint(1, 3))
        elif len(log) > self._starts[name] + 2:
            del log[-random.randint(1, 2) :]
            self._truncated(name)

    def _truncated(self, name: str) -> None:
        position = self.positions.get(name)
        if position is not None:
            end = None if self._random.random() < 0.2 else len(self._logs[name])
            del self.positions[name]
            self._do(name, self._rules.truncated(name, position, end))

    def _fetch(self, name: str) -> None:
        position = self.positions.get(name)
        if position is None:
            return
        if self._starts[name] <= position <= len(self._logs[name]):
            self.positions[name] = min(position + 2, len(self._logs[name]))
        else:
            del self.positions[name]
            self._do(name, self._rules.out_of_range(name, position))

    def _answer(self) -> None:
        if not self._lookups:
            return
        name, place = self._lookups.pop(self._random.randrange(len(self._lookups)))
        offset = self._offset_of(name, place)
        self._do(name, self._rules.found(name, place, offset))

    def _offset_of(self, name: str, place: Place) -> int | None:
        log, start = self._logs[name], self._starts[name]
        if place == LATEST:
            return len(log)
        if place == EARLIEST:
            return start
        assert isinstance(place, int)
        return next((n for n in range(start, len(log)) if log[n] >= place), None)

    def _do(self, name: str, answer: Answer) -> None:
        match answer:
            case ("go", int(offset)):
                self.positions[name] = offset
            case ("look", int() | str() as place):
                self.positions.pop(name, None)
                self._lookups.append(_Lookup(name, place))
