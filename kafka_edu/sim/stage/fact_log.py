"""A short record of each fact of a run. It is used to find a past moment, and to check that a
repeated run has the same facts.

To go back in time, a run is executed again from its start, and must have the same facts again. For
each fact the log keeps two bytes of the digest of all facts up to this fact. So the log can find
the first fact that differs. Three brokers emit about 9,000 facts per virtual second, and a browser
has little memory. So times are kept only for those facts at which a step can end, one in eight.
Such a fact needs 15 bytes, and any other fact needs 2.
"""

from array import array
from bisect import bisect_left, bisect_right
from enum import StrEnum
from typing import Final

from kafka_edu.sim.growing_bytes import GrowingBytes
from kafka_edu.sim.scenario.scenario_run import FactDigest
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level
from kafka_edu.trace.events.learner import LearnerAnswered, LearnerFailed, LearnerPrinted
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
    LEARNER = "learner"
    """To the next answer of a learner's code. Only runs with such code have this unit."""
    MILLISECOND = "ms"
    """One millisecond of virtual time."""


_BITS: Final = {Unit.EVENT: 1, Unit.REQUEST: 2, Unit.TIMER: 4, Unit.LEARNER: 8}
_KEPT_BYTES: Final = FactDigest.SHORT_BYTES
"""How much of each digest is kept. Two different digests have the same first two bytes once in
65,536 times. Then a difference is found one fact later, because each digest includes all facts
before it.
"""


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
        case Unit.LEARNER:
            return known.cls is LearnerAnswered
        case Unit.MILLISECOND:
            return False


class FactLog:
    """The times and digests of all facts of one run, in their order.

    While a run is executed again, `take` compares the new facts with the recorded facts. The run
    adds each fact to `digest` before it calls `take`, so each fact is hashed only once.
    """

    def __init__(self) -> None:
        self._digests = GrowingBytes()
        self._stops = array("I")
        """The numbers of the facts at which a step can end, from 0. The next two fields have
        the times and the units of these facts.
        """
        self._times_us = array("q")
        self._units = bytearray()
        self.digest = FactDigest()
        """The digest of all facts of the present execution."""
        self.parted = ""
        """Where the run has parted from the recorded one, in one sentence. Empty: it has not."""

    def __len__(self) -> int:
        return len(self._digests) // _KEPT_BYTES

    @property
    def count(self) -> int:
        """How many facts the present execution has emitted."""
        return self.digest.count

    @property
    def repeats(self) -> bool:
        """Whether the facts that come next are recorded already."""
        return self.count < len(self)

    def begin_again(self) -> FactDigest:
        """Begin to compare a new execution with the recorded facts, from the first fact on. Return
        the digest to which the new execution adds its facts.
        """
        self.digest, self.parted = FactDigest(), ""
        return self.digest

    def fork(self) -> None:
        """Forget the recorded facts after the present moment, because a different future begins."""
        self._digests.truncate(_KEPT_BYTES * self.count)
        kept = bisect_left(self._stops, self.count)
        del self._stops[kept:], self._times_us[kept:], self._units[kept:]

    def take(self, envelope: Envelope) -> None:
        """Record or compare the next event of the present execution. If the event is a fact,
        `digest` already includes it.
        """
        if EVENT_TYPES[envelope.name].kind is not Kind.FACT:
            return
        before, digest = self.count - 1, self.digest.short()
        if (at := _KEPT_BYTES * before) < len(self._digests):
            if digest != self._digests.read(at, at + _KEPT_BYTES) and not self.parted:
                self.parted = (
                    f"the run has parted from the recorded one at {envelope.mono_us / 1e6:.6f} s,"
                    f" fact {self.count:,}: {envelope.name} of {envelope.source}{_blame(envelope)}"
                )
            return
        self._digests.write(digest, at)
        if units := sum(bit for unit, bit in _BITS.items() if is_at(envelope, unit)):
            self._stops.append(before)
            self._times_us.append(envelope.mono_us)
            self._units.append(units)

    def find(self, unit: Unit, from_us: int, by: int) -> int:
        """Return the time (µs) of the first fact of this unit after `from_us`, or of the last one
        before it.

        `by` is 1 (after) or -1 (before). Raises ValueError if there is no such fact. O(facts in
        between at which a step of any unit can end).
        """
        if unit is Unit.MILLISECOND:
            return max(from_us + by * 1_000, 0)
        bit = _BITS[unit]
        places = (
            range(bisect_right(self._times_us, from_us), len(self._times_us))
            if by > 0
            else range(bisect_left(self._times_us, from_us) - 1, -1, -1)
        )
        for place in places:
            if self._units[place] & bit:
                return self._times_us[place]
        side = "after" if by > 0 else "before"
        raise ValueError(f"no {unit} is recorded {side} {from_us / 1e6:.6f} s")


def _blame(envelope: Envelope) -> str:
    """Return a text about the learner's part that behaves differently when the run is repeated.
    Empty if the event does not come from a learner's part.
    """
    match envelope.event:
        case LearnerAnswered(exercise=exercise, call=call, answer=answer, line=line):
            what = f"line {line} now answers {answer} to {call}"
        case LearnerPrinted(exercise=exercise, text=text):
            what = f"now it prints {text!r}"
        case LearnerFailed(exercise=exercise, message=message, line=line):
            what = f"now it fails in line {line}: {message}"
        case _:
            return ""
    return f". The part {exercise} is not deterministic, or its file has changed: {what}"
