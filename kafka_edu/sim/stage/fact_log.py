"""What is remembered of each fact of a run, so that a past moment can be found and proved again.

A run is executed again from its start to go back. It must then have the same facts. For each fact
the log keeps the first 8 bytes of the digest of all facts up to it. So the first fact that differs
is known, at a cost of 17 bytes for each fact.
"""

from array import array
from bisect import bisect_left, bisect_right
from enum import StrEnum
from typing import Final

from kafka_edu.sim.scenario.scenario_run import FactDigest
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level
from kafka_edu.trace.events.network import RequestReceived
from kafka_edu.trace.events.timer import TimerTaskExpired


class Unit(StrEnum):
    """How far a step goes."""

    EVENT = "event"
    """To the next fact of level `state`: a change that the time line shows."""
    REQUEST = "request"
    """To the next request that a broker receives."""
    TIMER = "timer"
    """To the next task of a timing wheel that expires."""
    MILLISECOND = "ms"
    """One millisecond of virtual time."""


_BITS: Final = {Unit.EVENT: 1, Unit.REQUEST: 2, Unit.TIMER: 4}


def is_at(envelope: Envelope, unit: Unit) -> bool:
    """Return whether a step by this unit ends at this fact."""
    known = EVENT_TYPES[envelope.name]
    if known.kind is not Kind.FACT:
        return False
    match unit:
        case Unit.EVENT:
            return known.level is Level.STATE
        case Unit.REQUEST:
            return known.cls is RequestReceived
        case Unit.TIMER:
            return known.cls is TimerTaskExpired
        case Unit.MILLISECOND:
            return False


class FactLog:
    """The times and digests of all facts of one run, in their order.

    While a run is executed again, `take` compares its facts with those of the first time.
    """

    def __init__(self) -> None:
        self._times_us = array("q")
        self._units = bytearray()
        self._digests = bytearray()
        self._digest = FactDigest()
        self.parted = ""
        """Where the run has parted from the recorded one, in one sentence. Empty: it has not."""

    def __len__(self) -> int:
        return len(self._times_us)

    @property
    def count(self) -> int:
        """How many facts the present execution has emitted."""
        return self._digest.count

    @property
    def repeats(self) -> bool:
        """Whether the facts that come next are recorded already."""
        return self.count < len(self)

    @property
    def digest(self) -> str:
        """The digest of all facts of the present execution."""
        return self._digest.hex()

    def begin_again(self) -> None:
        """Begin to compare with what is recorded, from the first fact on."""
        self._digest, self.parted = FactDigest(), ""

    def fork(self) -> None:
        """Forget the recorded facts that come later: from now on the future is another one."""
        del self._times_us[self.count :]
        del self._units[self.count :]
        del self._digests[8 * self.count :]

    def take(self, envelope: Envelope) -> None:
        """Take the next event of the present execution."""
        before = self.count
        self._digest.add(envelope)
        if self.count == before:
            return
        digest = self._digest.short()
        if before < len(self):
            if digest != self._digests[8 * before : 8 * self.count] and not self.parted:
                self.parted = (
                    f"the run has parted from the recorded one at {envelope.mono_us / 1e6:.6f} s,"
                    f" fact {self.count:,}: {envelope.name} of {envelope.source}"
                )
            return
        self._times_us.append(envelope.mono_us)
        self._units.append(sum(bit for unit, bit in _BITS.items() if is_at(envelope, unit)))
        self._digests += digest

    def find(self, unit: Unit, from_us: int, by: int) -> int:
        """Return the time (µs) of the next fact of this unit, or of the last one before `from_us`.

        `by` is 1 or -1. Raises ValueError if there is none. O(facts in between).
        """
        if unit is Unit.MILLISECOND:
            return max(from_us + by * 1_000, 0)
        bit = _BITS[unit]
        places = (
            range(bisect_right(self._times_us, from_us), len(self))
            if by > 0
            else range(bisect_left(self._times_us, from_us) - 1, -1, -1)
        )
        for place in places:
            if self._units[place] & bit:
                return self._times_us[place]
        side = "after" if by > 0 else "before"
        raise ValueError(f"no {unit} is recorded {side} {from_us / 1e6:.6f} s")
