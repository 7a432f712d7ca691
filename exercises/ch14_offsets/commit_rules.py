"""The right answers of exercise 14-1, and a group whose members come, go and are killed."""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

INTERVAL_MS: Final = 1_000
Offsets = dict[str, int]


class Rules(Protocol):
    """A consumer's decisions about commits: made by RightCommits or by a learner's class."""

    def assigned(self, partitions: Sequence[str]) -> object: ...

    def polled(self, partition: str, offsets: Sequence[int]) -> object: ...

    def done(self, partition: str, offset: int) -> object: ...

    def due(self, now_ms: int) -> Offsets: ...

    def answered(self, stored: bool) -> object: ...

    def revoked(self, partitions: Sequence[str]) -> Offsets: ...

    def lost(self, partitions: Sequence[str]) -> object: ...


class _Polled(NamedTuple):
    """A record that poll() has returned."""

    offset: int
    done: bool


class RightCommits:
    """The right answers, computed from the list of all records that poll() has returned."""

    def __init__(self, interval_ms: int) -> None:
        self.interval_ms = interval_ms
        self.records: dict[str, list[_Polled]] = {}
        """The records of each partition that the consumer has."""
        self.stored: Offsets = {}
        """The offset of each partition that was stored since it was assigned."""
        self.in_flight: Offsets | None = None
        self.since_ms: int | None = None
        """The time of the first call of `due`, or of its last answer that was not empty."""

    def assigned(self, partitions: Sequence[str]) -> None:
        """Note new partitions."""
        self.records |= {one: [] for one in partitions}

    def polled(self, partition: str, offsets: Sequence[int]) -> None:
        """Note records in work."""
        self.records[partition] += [_Polled(offset, False) for offset in offsets]

    def done(self, partition: str, offset: int) -> None:
        """A worker has finished a record."""
        if partition in self.records:
            self.records[partition] = [
                one._replace(done=one.done or one.offset == offset)
                for one in self.records[partition]
            ]

    def committable(self, partition: str) -> int | None:
        """Return the right offset to commit now; None if the partition has no record yet."""
        records = self.records[partition]
        if not records:
            return None
        return next((one.offset for one in records if not one.done), records[-1].offset + 1)

    def beyond(self, partitions: Sequence[str]) -> Offsets:
        """Return the offsets of the partitions that moved on since their last stored commit."""
        found: Offsets = {}
        for partition in partitions:
            offset = self.committable(partition) if partition in self.records else None
            if offset is None:
                continue
            if offset > self.stored.get(partition, self.records[partition][0].offset):
                found[partition] = offset
        return found

    def rest_ms(self, now_ms: int) -> int:
        """Return how many ms are left until the next commit may be sent."""
        since_ms = now_ms if self.since_ms is None else self.since_ms
        return max(0, self.interval_ms - (now_ms - since_ms))

    def due(self, now_ms: int) -> Offsets:
        """Return what to commit between two polls."""
        rest_ms = self.rest_ms(now_ms)
        if self.since_ms is None:
            self.since_ms = now_ms
        if rest_ms > 0 or self.in_flight is not None:
            return {}
        found = self.beyond([*self.records])
        if found:
            self.in_flight, self.since_ms = found, now_ms
        return dict(found)

    def answered(self, stored: bool) -> None:
        """The commit in flight has ended."""
        assert self.in_flight is not None
        if stored:
            self.stored |= self.in_flight
        self.in_flight = None

    def revoked(self, partitions: Sequence[str]) -> Offsets:
        """Return what to commit before the partitions are given up."""
        found = self.beyond(partitions)
        self.lost(partitions)
        return found

    def lost(self, partitions: Sequence[str]) -> None:
        """Forget partitions."""
        for partition in partitions:
            for table in (self.records, self.stored, self.in_flight or {}):
                table.pop(partition, None)


class _Member:
    """A member of the group, and the records that its workers have."""

    def __init__(self, name: str, rules: Rules) -> None:
        self.name = name
        self.rules = rules
        self.partitions: list[str] = []
        self.positions: Offsets = {}
        self.working: list[tuple[str, int]] = []
        self.flying: Offsets | None = None


class CommitWorld:
    """A group that reads some partitions. Members join, leave, are expelled and are killed.

    Each member that joins takes one of the objects `rules`. A killed member makes no more calls.
    """

    def __init__(self, rules: Sequence[Rules], random: Random, partitions: int, log: int) -> None:
        self._random = random
        self._spare = list(rules)
        names = [f"web-{number}" for number in range(partitions)]
        self.logs: dict[str, list[int]] = {name: _log(random, log) for name in names}
        """The offsets of the records in each partition. Some are missing."""
        self.committed: Offsets = {}
        self.read: dict[tuple[str, int], int] = {}
        """(partition, offset) → how often a member has read the record."""
        self.ended: set[tuple[str, int]] = set()
        """The records that a worker has finished, even if its member had lost the partition."""
        self._members: list[_Member] = []
        self._now_ms = 0
        self._joins = 0

    def run(self, turns: int) -> None:
        """Let this number of random events happen."""
        random = self._random
        self._join()
        for _ in range(turns):
            self._now_ms += random.choice((0, 1, 200, 499, 999, 1_000))
            draw = random.random()
            member = random.choice(self._members)
            if draw < 0.25:
                self._poll(member)
            elif draw < 0.6:
                self._work(member)
            elif draw < 0.85:
                self._commit(member)
            elif draw < 0.93:
                self._answer(member, stored=random.random() < 0.7)
            elif draw < 0.96 and self._spare:
                self._join()
            elif draw < 0.975:
                self._expel(member)
            elif len(self._members) > 1:
                self._members.remove(member)  # killed
                self._rebalance()

    def settle(self) -> None:
        """Let all records be read, finished and committed. No member leaves any more."""
        for _ in range(2 * sum(map(len, self.logs.values()))):
            for member in self._members:
                self._poll(member)
                self._work(member)
        for member in self._members:
            self._answer(member, stored=True)
            self._now_ms += INTERVAL_MS
            self._commit(member)
            self._now_ms += INTERVAL_MS
            self._commit(member)
            self._answer(member, stored=True)

    def _join(self) -> None:
        self._joins += 1
        self._members.append(_Member(f"member {self._joins}", self._spare.pop()))
        self._rebalance()

    def _rebalance(self) -> None:
        """Let all members give up their partitions, commit, and get new partitions."""
        for member in self._members:
            if member.partitions:
                offsets = member.rules.revoked(list(member.partitions))
                if self._random.random() < 0.9:
                    self._store(member, offsets)
            self._drop(member)
        for number, name in enumerate(self.logs):
            member = self._members[number % len(self._members)]
            member.partitions.append(name)
        for member in self._members:
            member.rules.assigned(list(member.partitions))
            for name in member.partitions:
                first = self.logs[name][0]
                member.positions[name] = self.committed.get(name, first)

    def _expel(self, member: _Member) -> None:
        """A member is too late: it loses its partitions, and joins again."""
        if member.partitions:
            member.rules.lost(list(member.partitions))
            self._drop(member)
            self._rebalance()

    def _drop(self, member: _Member) -> None:
        member.partitions.clear()
        member.positions.clear()

    def _poll(self, member: _Member) -> None:
        if not member.partitions:
            return
        name = self._random.choice(member.partitions)
        position = member.positions[name]
        coming = [offset for offset in self.logs[name] if offset >= position]
        some = coming[: self._random.randint(1, 6)]
        if some:
            member.rules.polled(name, some)
            member.positions[name] = some[-1] + 1
            for offset in some:
                self.read[name, offset] = self.read.get((name, offset), 0) + 1
            member.working += [(name, offset) for offset in some]

    def _work(self, member: _Member) -> None:
        for _ in range(min(self._random.randint(1, 4), len(member.working))):
            number = min(self._random.randrange(6), len(member.working) - 1)
            name, offset = member.working.pop(number)
            self.ended.add((name, offset))
            member.rules.done(name, offset)

    def _commit(self, member: _Member) -> None:
        offsets = member.rules.due(self._now_ms)
        if offsets:
            member.flying = offsets

    def _answer(self, member: _Member, *, stored: bool) -> None:
        if member.flying is None:
            return
        offsets, member.flying = member.flying, None
        if stored:
            self._store(member, offsets)
        member.rules.answered(stored)

    def _store(self, member: _Member, offsets: Offsets) -> None:
        """Store the offsets of the member's partitions. The coordinator refuses all others."""
        self.committed |= {name: at for name, at in offsets.items() if name in member.partitions}


def _log(random: Random, records: int) -> list[int]:
    """Return the offsets of a log from which compaction has removed some."""
    offset, offsets = random.randint(0, 50), list[int]()
    for _ in range(records):
        offsets.append(offset)
        offset += 1 if random.random() < 0.8 else random.randint(2, 9)
    return offsets
