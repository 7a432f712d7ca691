"""The right barrier of exercise 13-3, and a simulated group that uses it."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

Answer = tuple[str, int | tuple[str, ...]]


class Row(NamedTuple):
    """A member, as the barrier sees it."""

    member: str
    instance: str | None
    joined: bool
    rebalance_timeout_ms: int


class RightBarrier:
    """Decides when a rebalance continues. It stores the time in ms at which the wait ends."""

    def __init__(self, empty: bool, initial_delay_ms: int, began_ms: int) -> None:
        self._empty = empty
        self._delay_ms = initial_delay_ms
        self._began_ms = began_ms
        self._end_ms = 0
        self._budget_ms = 0
        self._at_begin: frozenset[str] | None = None
        self.why = ""
        """Why the last answer is right."""

    def look(self, now_ms: int, rows: Sequence[Row], promised: Sequence[str]) -> Answer:
        """Return ("wait", until_ms), or ("next", the removed members in order)."""
        longest = max([row.rebalance_timeout_ms for row in rows] or [0])
        names = frozenset(row.member for row in rows)
        if self._at_begin is None:
            self._at_begin = names
            wait_ms = self._delay_ms if self._empty else longest
            self._end_ms = self._began_ms + wait_ms
            self._budget_ms = longest - self._delay_ms
        missing = [row for row in rows if not row.joined]
        if now_ms < self._end_ms:
            if self._empty:
                return self._wait("the delay of an empty group is not over")
            if missing:
                return self._wait(f"{missing[0].member} has not joined, and the end is not there")
            if promised:
                return self._wait(f"{promised[0]} has got an id, and may join with it")
            self.why = "all members have joined"
        elif rows and len(missing) == len(rows) and any(row.instance for row in rows):
            self._end_ms = now_ms + longest
            return self._wait("static members are left, and none has joined: nobody can lead")
        elif self._empty and rows and names - self._at_begin and self._budget_ms > 0:
            more_ms = min(self._delay_ms, self._budget_ms)
            if more_ms:
                self._budget_ms -= more_ms
                self._end_ms = now_ms + more_ms
                self._at_begin = names
                new = "a member came during the delay, so another one follows"
                return self._wait(f"{new}; further delays have a limit")
            self.why = "the delay is 0"
        else:
            self.why = "the time is over; dynamic members that have not joined are removed"
        return "next", tuple(sorted(row.member for row in missing if row.instance is None))

    def _wait(self, why: str) -> Answer:
        self.why = why
        return "wait", self._end_ms


class World:
    """A group in a rebalance: its members come and go at random."""

    def __init__(self, random: Random, static: bool = True) -> None:
        self._random = random
        self._static = static
        self._numbers = 0
        self.rows: dict[str, Row] = {}
        self.promised: list[str] = []

    def add(self, joined: bool) -> None:
        """Add a new member to the group."""
        self._numbers += 1
        name = f"m{self._numbers}"
        instance = f"i{self._numbers}" if self._static and self._random.random() < 0.4 else None
        self.rows[name] = Row(name, instance, joined, self._random.choice((5, 20, 60)) * 1_000)

    def step(self) -> None:
        """Let a random event happen: a member joins, comes, goes, or gets an id."""
        waiting = [row for row in self.rows.values() if not row.joined]
        match self._random.randrange(6):
            case 0:
                self.add(joined=True)
            case 1:
                self._numbers += 1
                self.promised.append(f"p{self._numbers}")
            case 2 if self.promised:
                self.promised.pop(0)
            case 3 if self.rows:
                del self.rows[self._random.choice(sorted(self.rows))]
            case _ if waiting:
                one = self._random.choice(waiting)
                self.rows[one.member] = one._replace(joined=True)
