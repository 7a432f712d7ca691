"""The first facts in which two futures differ.

Both futures begin as the same run, so their facts are the same, one by one, up to the first
difference. The facts of each future arrive in pieces, in their order.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level


class Parting(NamedTuple):
    """Where two futures part: for each one, its first fact that the other future does not have.

    None means that nothing has happened in this future since the fact of the other future.
    """

    present: Envelope | None
    stored: Envelope | None


class FirstDifference:
    """Compares the facts of two futures as they arrive. It keeps only facts that are not compared
    yet.
    """

    def __init__(self) -> None:
        self.same = 0
        """How many facts are the same."""
        self.found: Parting | None = None
        self.from_start = True
        """Whether the facts were compared from the start of the run. If not, the first facts of
        one future were not kept, and the difference may be older.
        """
        self._present: deque[Envelope] = deque()
        self._stored: deque[Envelope] = deque()
        self._earlier: deque[Envelope] | None = None
        """The facts of the future whose first facts the other one has not kept."""

    def take_present(self, events: Iterable[Envelope]) -> None:
        """Take events of the present future. Only facts count."""
        facts = filter(_counts, events)
        if self.found is None:
            self._present += facts
            self._compare()
        elif self.found.present is None:
            self.found = self.found._replace(present=next(facts, None))

    def take_stored(self, events: Iterable[Envelope]) -> None:
        """Take events of the stored future."""
        facts = filter(_counts, events)
        if self.found is None:
            self._stored += facts
            self._compare()
        elif self.found.stored is None:
            self.found = self.found._replace(stored=next(facts, None))

    def both_stand(self) -> None:
        """Note that both futures stand at the same moment, and that no fact of theirs is missing.

        From then on, a fact that only one of the futures has counts as a difference.
        """
        present, stored = self._present, self._stored
        if self.same and (present or stored):
            self.found = Parting(present[0] if present else None, stored[0] if stored else None)
            present.clear()
            stored.clear()

    def _compare(self) -> None:
        present, stored = self._present, self._stored
        while present and stored:
            one, other = present[0], stored[0]
            if one == other:
                self.same += 1
                present.popleft()
                stored.popleft()
            elif self._is_not_kept(one, other):
                pass
            else:
                self.found = Parting(one, other)
                present.clear()
                stored.clear()

    def _is_not_kept(self, one: Envelope, other: Envelope) -> bool:
        """Drop the first fact of one future if the other future may have had it and not kept it.
        Return whether a fact was dropped.

        Both runs begin with the same fact, so the future whose kept facts begin later has not kept
        its first facts. Facts of the very moment at which they begin may be missing too. As soon as
        one fact of both is the same, no more facts are dropped.
        """
        if self.same:
            return False
        if self._earlier is None and one.mono_us != other.mono_us:
            self._earlier = self._present if one.mono_us < other.mono_us else self._stored
            self.from_start = False
        if self._earlier is None:
            return False
        begins_us = (other if self._earlier is self._present else one).mono_us
        if self._earlier[0].mono_us > begins_us:
            return False
        self._earlier.popleft()
        return True


def _counts(envelope: Envelope) -> bool:
    """Return whether an event is a fact of the level that every future is watched at."""
    known = EVENT_TYPES.get(envelope.name)
    return known is not None and known.kind is Kind.FACT and known.level is Level.STATE
