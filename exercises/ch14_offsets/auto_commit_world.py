"""Simulated consumers with the automatic commit of exercise 14-4. Each is killed by kill -9.

A program calls poll(), works on each record that it returned, and calls poll() again. Records come
from the broker into the consumer's buffer at any time.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

Record = tuple[str, int]
Offsets = dict[str, int]
Answer = tuple[Offsets, list[Record]]
WORK_MS: Final = (5, 60)
"""The shortest and the longest work on a record, in ms."""


class Rules(Protocol):
    """The class of exercise 14-4: RightAutoCommit, or a learner's class."""

    def fetched(self, partition: str, offsets: Sequence[int]) -> object: ...

    def poll(self, now_ms: int) -> Answer: ...

    def revoked(self, partitions: Sequence[str]) -> Offsets: ...


class _Returned(NamedTuple):
    record: Record
    poll: int
    """The number of the poll() that returned the record."""


class RightAutoCommit:
    """The right answers, computed from the list of all records that poll() has returned."""

    def __init__(self, interval_ms: int, most: int) -> None:
        self.interval_ms = interval_ms
        self.most = most
        self.polls = 0
        self.buffer: list[Record] = []
        self.returned: list[_Returned] = []
        self.committed: Offsets = {}
        self.last_ms: int | None = None
        """When the present interval began; None before the first poll()."""

    def fetched(self, partition: str, offsets: Sequence[int]) -> None:
        """Add records to the buffer."""
        self.buffer += [(partition, offset) for offset in offsets]

    def rest_ms(self, now_ms: int) -> int:
        """Return how many ms of the interval are left."""
        return self.interval_ms - (now_ms - (now_ms if self.last_ms is None else self.last_ms))

    def poll(self, now_ms: int) -> Answer:
        """Return the offsets that are committed, and the records that the program gets."""
        over = self.rest_ms(now_ms) <= 0
        if over or self.last_ms is None:
            self.last_ms = now_ms
        offsets = self.new([*{one.record[0] for one in self.returned}]) if over else {}
        self.committed |= offsets
        self.polls += 1
        records, self.buffer = self.buffer[: self.most], self.buffer[self.most :]
        self.returned += [_Returned(record, self.polls) for record in records]
        return offsets, records

    def new(self, partitions: Sequence[str]) -> Offsets:
        """Return the positions of the partitions whose position is not committed yet."""
        found: Offsets = {}
        for partition in sorted(partitions):
            offsets = [one.record[1] for one in self.returned if one.record[0] == partition]
            if offsets and self.committed.get(partition) != offsets[-1] + 1:
                found[partition] = offsets[-1] + 1
        return found

    def revoked(self, partitions: Sequence[str]) -> Offsets:
        """Return the offsets that are committed before the partitions are given up."""
        offsets = self.new(partitions)
        self.buffer = [one for one in self.buffer if one[0] not in partitions]
        self.returned = [one for one in self.returned if one.record[0] not in partitions]
        for partition in partitions:
            self.committed.pop(partition, None)
        return offsets


class AutoCommitWorld:
    """A log of some partitions, and members that read it, one after the other."""

    def __init__(self, random: Random, first: Mapping[str, int], each: int) -> None:
        """`first` is the first offset of each partition, which has `each` records."""
        self._random = random
        self._first = dict(first)
        self._ends = {name: offset + each for name, offset in first.items()}
        self.committed: Offsets = dict(first)
        self.committed_ms: Offsets = {}
        """The time of each partition's last commit."""
        self._rules: Rules | None = None
        self._read: Offsets = {}
        self._working: list[Record] = []
        self._buffered: set[Record] = set()
        """The records in the member's buffer."""
        self.done: set[Record] = set()
        self.now_ms = random.randint(1_000, 9_000)
        self.events: list[str] = []

    def begin(self, rules: Rules, name: str) -> None:
        """Let a member begin at the committed offsets."""
        self._rules = rules
        self._read = dict(self.committed)
        self._working = []
        self._buffered = set()
        places = ", ".join(f"{one} at {offset}" for one, offset in self.committed.items())
        self._tell(f"{name} begins: {places}")

    def _tell(self, text: str) -> None:
        self.events.append(f"{self.now_ms:>6,} ms  {text}")

    def step(self, *, revoke: bool = False) -> bool:
        """Let one event happen. Return False if the member has nothing left to do."""
        assert self._rules is not None
        random = self._random
        waiting = [name for name, end in self._ends.items() if self._read[name] < end]
        if waiting and random.random() < 0.25:
            self._fetch(self._rules, random.choice(waiting))
        elif self._working:
            self.now_ms += random.randint(*WORK_MS)
            record = self._working.pop(0)
            self.done.add(record)
            self._tell(f"record {record[1]} of {record[0]} is done")
        elif revoke and random.random() < 0.1:
            self._revoke(self._rules)
        else:
            self._poll(self._rules)
        return bool(waiting or self._working or self._buffered)

    def _fetch(self, rules: Rules, name: str) -> None:
        count = min(self._random.randint(2, 7), self._ends[name] - self._read[name])
        offsets = list(range(self._read[name], self._read[name] + count))
        self._read[name] += count
        self.now_ms += self._random.randint(0, 5)
        self._tell(f"{name}: the records {offsets[0]} to {offsets[-1]} are in the buffer")
        self._buffered.update((name, offset) for offset in offsets)
        rules.fetched(name, offsets)

    def _poll(self, rules: Rules) -> None:
        self.now_ms += self._random.randint(1, 4)
        offsets, records = rules.poll(self.now_ms)
        self._commit(offsets)
        self._working += records
        self._buffered.difference_update(records)
        listed = ", ".join(f"{offset} of {name}" for name, offset in records)
        committed = ", ".join(f"{name} {offset}" for name, offset in sorted(offsets.items()))
        commits = f"commits {committed}, and " if offsets else ""
        self._tell(f"poll() {commits}returns {listed or 'nothing'}")

    def _revoke(self, rules: Rules) -> None:
        """Let the member give up a partition, and get it again."""
        name = self._random.choice([*self._ends])
        offsets = rules.revoked([name])
        self._commit(offsets)
        self._read[name] = self.committed[name]
        self._buffered = {one for one in self._buffered if one[0] != name}
        self._tell(f"{name} is given up, and comes back at {self.committed[name]}")

    def _commit(self, offsets: Offsets) -> None:
        self.committed |= offsets
        self.committed_ms |= dict.fromkeys(offsets, self.now_ms)

    def kill(self) -> None:
        """End the member by kill -9."""
        self._rules = None
        self._tell("kill -9")

    def lost(self) -> list[Record]:
        """Return the records below the committed offsets on which no member has worked."""
        return [
            (name, offset)
            for name, at in self.committed.items()
            for offset in range(self._first[name], at)
            if (name, offset) not in self.done
        ]
