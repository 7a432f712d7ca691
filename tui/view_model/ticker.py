"""The time line: facts with their causes, the newest last. Equal facts become one line.

There are two logs. The loud log, the ticker, contains only facts that are important for every
reader. The other log contains every fact, so that a chain of causes can be read step by step. In
each log, a line knows the line of its nearest cause. The cause is found by links and never by time
alone.
"""

from collections import deque
from collections.abc import Hashable
from typing import Final

from kafka_edu.common.words import joined
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences import sentence, teller
from kafka_edu.instruments.session_names import naming_owners
from kafka_edu.trace.chain_links import LinkKind
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Source
from kafka_edu.trace.events.controller import (
    ControllerEventProcessed,
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerResponseReceived,
)
from kafka_edu.trace.reader import History, Ident, order

from .keyframe import Shared

KEPT_LINES: Final = 500
KEPT_FACTS: Final = 20_000
_FORGOTTEN_AT_ONCE: Final = KEPT_FACTS // 4
FOLD_US: Final = 1_500_000
REPEAT_US: Final = 10_000_000
"""If the same fact is repeated within this many µs, it becomes one line with a count."""
_LOOK_BACK: Final = 12
_KEPT_SUBJECTS: Final = 1_000
SHOWN_EFFECTS: Final = 40
NO_LINE: Final = 0
_ANSWERS_HANDLED: Final = (
    ControllerResponseReceived,
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerEventProcessed,
)


class TickerLine:
    """One line: one fact, or many equal facts."""

    def __init__(
        self, number: int, envelope: Envelope, said: Sentence, because: str, cause: int
    ) -> None:
        self.number = number
        """The line's number. Lines are numbered from 1, in the order in which they began.

        The lines are in this order, except for a cause that was moved above its effect.
        """
        self.envelope = envelope
        """The first fact of the line."""
        self.last = envelope
        self.times = 1
        self.said = said
        self.because = because
        self.cause = cause
        """The number of the line with the nearest cause, or NO_LINE."""
        self.subjects = {said.subject: None} if said.subject else {}

    @property
    def source(self) -> Source:
        return self.envelope.source

    @property
    def text(self) -> str:
        return self.words(3)

    def words(self, subjects: int) -> str:
        """Return the line's sentence. It names at most `subjects` of its subjects."""
        times = f" (×{self.times:,})" if self.times > 1 and not self.subjects else ""
        return self.said.text(joined(self.subjects, subjects)) + times

    def is_near(self, envelope: Envelope, within_us: int) -> bool:
        """Return whether the fact comes soon enough after the line's last fact to join the line."""
        return envelope.mono_us - self.last.mono_us <= within_us

    def add(self, envelope: Envelope, said: Sentence) -> None:
        self.last = envelope
        self.times += 1
        if self.said.after != said.after:
            self.said = self.said._replace(after="")  # the new fact differs here
        if said.subject and len(self.subjects) < _KEPT_SUBJECTS:
            self.subjects[said.subject] = None


class LineLog:
    """The last lines of one log, with an index from a line's number to the line."""

    def __init__(self) -> None:
        self.lines: deque[TickerLine] = deque(maxlen=KEPT_LINES)
        self.begun = 0
        """How many lines were begun so far. It is the number of the last line."""
        self.sources: set[Source] = set()
        """The processes that have had a line in this log."""
        self._numbers: dict[Hashable, int] = {}
        """The common key of a line's facts → the line's number."""

    def begin(
        self, key: Hashable, envelope: Envelope, said: Sentence, because: str, cause: int
    ) -> TickerLine:
        self.begun += 1
        self._numbers[key] = self.begun
        if len(self._numbers) > 8 * _LOOK_BACK:
            recent = self.begun - _LOOK_BACK
            self._numbers = {k: number for k, number in self._numbers.items() if number > recent}
        line = TickerLine(self.begun, envelope, said, because, cause)
        self.lines.append(line)
        self.sources.add(envelope.source)
        return line

    def index(self, number: int) -> int | None:
        """Return the index in `lines` of the line with this number.

        None if it is forgotten. O(1).
        """
        at = number - 1 - (self.begun - len(self.lines))
        if 0 <= at < len(self.lines) and self.lines[at].number == number:
            return at
        near = range(max(at - _LOOK_BACK, 0), min(at + _LOOK_BACK + 1, len(self.lines)))
        return next((i for i in near if self.lines[i].number == number), None)

    def put_above(self, cause: int, number: int, effect: Envelope) -> None:
        """Set line `cause` as the cause of line `number`, and move the cause above its effect.

        The clocks of two processes may differ by some ms, so a cause may come after its effect. A
        reader looks for the cause above the effect. Nothing changes if line `number` did not begin
        with the fact `effect`. O(1).
        """
        at, cause_at = self.index(number), self.index(cause)
        if at is None or cause_at is None or at == cause_at:
            return
        line = self.lines[at]
        if line.envelope is not effect or line.cause != NO_LINE:
            return
        line.cause = cause
        if 0 < cause_at - at <= _LOOK_BACK:
            moved = self.lines[cause_at]
            del self.lines[cause_at]
            self.lines.insert(at, moved)

    def recent(self, key: Hashable) -> TickerLine | None:
        """Return the last line that began with this key, if it is one of the last few. O(1)."""
        number = self._numbers.get(key, NO_LINE)
        if number <= self.begun - _LOOK_BACK:
            return None
        at = self.index(number)
        return None if at is None else self.lines[at]


class Traced:
    """One fact: the numbers of its lines, and the reason that is shown in the lines of its
    effects.
    """

    __slots__ = ("because", "loud", "quiet")

    def __init__(self, loud: int, quiet: int, because: str) -> None:
        self.loud = loud
        """The number of the fact's line in the loud log, or of its nearest cause's line there."""
        self.quiet = quiet
        self.because = because


_UNKNOWN: Final = Traced(NO_LINE, NO_LINE, "")


class Link:
    """One step in a chain of causes: the event, its text, and its time after the first event."""

    def __init__(
        self, envelope: Envelope, first: Envelope, depth: int, said: Sentence | None = None
    ) -> None:
        self.envelope = envelope
        self.after_us = envelope.mono_us - first.mono_us
        self.teller = teller(envelope.source)
        self.said = said or sentence(envelope.event)
        self.depth = depth


def _same_statement(envelope: Envelope, said: Sentence, because: str) -> Hashable:
    """Return a key that is equal for facts that make the same statement about any subject."""
    return envelope.source, type(envelope.event), said.before, said.after, because


class Ticker:
    """Two logs of facts as text lines, `loud` and `all`, and the history of the facts.

    KEPT_FACTS and KEPT_LINES limit the memory.
    """

    def __init__(self, history: History | None = None) -> None:
        self.loud = LineLog()
        self.all = LineLog()
        self.history = history or History()
        self.now_us = 0
        """The time of the last event. Later effects are not shown.

        A view may be wound back, and then the history also contains later facts.
        """
        self._traced: Shared[dict[Ident, Traced]] = Shared({})

    @property
    def lines(self) -> deque[TickerLine]:
        """Return the lines of the loud log."""
        return self.loud.lines

    @property
    def told(self) -> int:
        """Return how many loud lines were begun so far. If the number changes, there is a new
        line.
        """
        return self.loud.begun

    def apply(self, envelope: Envelope) -> None:
        """Process one event. Gauges and snapshots add no line. O(causes of the event)."""
        self.now_us = max(self.now_us, envelope.mono_us)
        known = EVENT_TYPES.get(envelope.name)
        if known is None:
            self._link_event(envelope)
            return
        if known.kind is not Kind.FACT:
            # A broker's snapshot contains the broker's session. Without it, the chain of a killed
            # broker would begin only with the expiry of the session.
            if known.kind is Kind.SNAPSHOT:
                self.history.add(envelope)
            return
        if len(self.history.events) >= KEPT_FACTS:
            self._forget()
        self.history.add(envelope)
        traced = self._traced.value
        before = self._before(envelope)
        said = naming_owners(sentence(envelope.event), self.history, envelope.mono_us)
        quiet = self._tell_quietly(envelope, said, before)
        loud = self._tell_loudly(envelope, said, before) if said.loud else before.loud
        because = said.because or before.because
        traced[self.history.ident(envelope)] = Traced(loud, quiet, because)
        for effect in self.history.early_effects(envelope):
            self._settle(effect)

    def _before(self, envelope: Envelope) -> Traced:
        """Return what is known about the nearest cause of a fact.

        Only earlier facts are used, so a view that was wound back shows the same lines as before.
        The cause of a write becomes known only with a later fact, so `_settle` adds it.
        """
        found: Traced | None = None
        for link in self.history.parents(envelope):
            if link.kind is LinkKind.WRITER or order(link.cause) > order(envelope):
                continue
            known = self._traced.value.get(self.history.ident(link.cause), _UNKNOWN)
            if link.kind is not LinkKind.ZNODE:
                # A chain may be: reason → a broker's write to a znode → fact. The reason explains
                # more than the write does, so it is shown as the cause of the fact.
                return Traced(known.loud, found.quiet if found else known.quiet, known.because)
            found = found or known
        return found or _UNKNOWN

    def _settle(self, effect: Envelope) -> None:
        """Set the cause of an earlier fact, because that cause has just become known."""
        traced = self._traced.value.get(self.history.ident(effect))
        cause = self.history.cause_of(effect)
        if traced is None or cause is None:
            return
        before = self._traced.value.get(self.history.ident(cause), _UNKNOWN)
        self.all.put_above(before.quiet, traced.quiet, effect)
        self.loud.put_above(before.loud, traced.loud, effect)
        traced.loud = traced.loud or before.loud
        traced.because = traced.because or before.because

    def _link_event(self, envelope: Envelope) -> None:
        """Show an event that the dashboard itself observed, such as a lost connection. Such an
        event has no sequence number, and no chain of causes.
        """
        said = sentence(envelope.event)
        self._tell_quietly(envelope, said, _UNKNOWN)
        if said.loud:
            self._tell_loudly(envelope, said, _UNKNOWN)

    def _tell_loudly(self, envelope: Envelope, said: Sentence, before: Traced) -> int:
        because = said.reason or before.because
        return self._tell(
            self.loud,
            _same_statement(envelope, said, because),
            envelope,
            said,
            because,
            before.loud,
        )

    def _tell_quietly(self, envelope: Envelope, said: Sentence, before: Traced) -> int:
        because = said.reason or ("" if before.quiet else before.because)
        key: Hashable
        if said.loud:
            key = _same_statement(envelope, said, because)
        else:
            # Facts of one kind with one cause, such as 50 LeaderAndIsr requests of one event, share
            # one line. The controller's work on the answers is also one line, although each has its
            # own cause.
            loose = isinstance(envelope.event, _ANSWERS_HANDLED)
            cause = None if loose else before.quiet
            key = envelope.source, type(envelope.event), said.before, cause
        return self._tell(self.all, key, envelope, said, because, before.quiet)

    def _tell(
        self,
        log: LineLog,
        key: Hashable,
        envelope: Envelope,
        said: Sentence,
        because: str,
        cause: int,
    ) -> int:
        """Add the fact to an existing line, or begin a new one. Return the line's number. O(1)."""
        line = log.recent(key)
        within_us = FOLD_US if said.subject or not said.loud else REPEAT_US
        if line is not None and line.number != cause and line.is_near(envelope, within_us):
            line.add(envelope, said)
            return line.number
        return log.begin(key, envelope, said, because, cause).number

    def _forget(self) -> None:
        """Forget the oldest quarter of the facts at once, with all that was known about them."""
        self.history.trim(KEPT_FACTS - _FORGOTTEN_AT_ONCE)
        known = self.history.holds
        self._traced.value = {i: t for i, t in self._traced.value.items() if known(i)}

    def chain(self, envelope: Envelope) -> list[Link]:
        """Return the steps from the first cause to this fact, then its effects (depth + 1)."""
        if envelope.name not in EVENT_TYPES:
            return [Link(envelope, envelope, 0)]
        chain = self.history.chain(envelope)
        links = [self._link(step, chain[0], depth) for depth, step in enumerate(chain)]
        effects = [
            link.effect
            for link in self.history.children(envelope)
            if link.effect.mono_us <= self.now_us
        ]
        shown = effects[:SHOWN_EFFECTS]
        return links + [self._link(one, chain[0], len(chain)) for one in shown]

    def _link(self, envelope: Envelope, first: Envelope, depth: int) -> Link:
        said = naming_owners(sentence(envelope.event), self.history, self.now_us)
        return Link(envelope, first, depth, said)
