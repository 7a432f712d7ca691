"""The ticker: facts with their causes, the newest last. The same fact about many partitions is one
line.
"""

from collections import deque
from typing import Final

from kafka_edu.common.words import joined
from kafka_edu.instruments.sentences import Sentence, sentence, teller
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind
from kafka_edu.trace.reader import History

KEPT_LINES: Final = 500
KEPT_FACTS: Final = 20_000
FOLD_US: Final = 1_500_000
REPEAT_US: Final = 10_000_000
"""Within this time, the same fact repeated becomes one line with a count."""
_LOOK_BACK: Final = 12
SHOWN_EFFECTS: Final = 40


class TickerLine:
    """One line. `envelopes` are its facts; the last one is the fact to follow."""

    def __init__(self, envelope: Envelope, said: Sentence, because: str) -> None:
        self.envelopes = [envelope]
        self.said = said
        self.because = because
        self.subjects = [said.subject] if said.subject else []

    @property
    def envelope(self) -> Envelope:
        return self.envelopes[0]

    @property
    def text(self) -> str:
        times = (
            f" (×{len(self.envelopes)})" if len(self.envelopes) > 1 and not self.subjects else ""
        )
        return self.said.text(joined(self.subjects)) + times

    def takes(self, envelope: Envelope, said: Sentence, because: str) -> bool:
        """Return whether this fact fits the line: the same statement about another subject, or a
        repetition.
        """
        first = self.envelopes[0]
        within_us = FOLD_US if said.subject else REPEAT_US
        return (
            first.source == envelope.source
            and type(first.event) is type(envelope.event)
            and envelope.mono_us - self.envelopes[-1].mono_us <= within_us
            and (self.said.before, self.said.after, self.because)
            == (said.before, said.after, because)
        )

    def add(self, envelope: Envelope, said: Sentence) -> None:
        self.envelopes.append(envelope)
        if said.subject and said.subject not in self.subjects:
            self.subjects.append(said.subject)


class Link:
    """One step of a chain of causes: the event, its text, and its time after the first event."""

    def __init__(self, envelope: Envelope, first: Envelope, depth: int) -> None:
        self.envelope = envelope
        self.after_us = envelope.mono_us - first.mono_us
        self.teller = teller(envelope.source)
        self.said = sentence(envelope.event)
        self.depth = depth


class Ticker:
    """All lines, and the history behind them."""

    def __init__(self) -> None:
        self.lines: deque[TickerLine] = deque(maxlen=KEPT_LINES)
        self.history = History()
        self.told = 0
        """How many lines were ever begun; a change means that there is a new line."""

    def apply(self, envelope: Envelope) -> None:
        """Take one event. Gauges and snapshots leave no line. O(length of the event's chain)."""
        known = EVENT_TYPES.get(envelope.name)
        if known is not None:
            if known.kind is not Kind.FACT:
                return
            if len(self.history.events) >= KEPT_FACTS:
                self.history = History(self.history.events[-KEPT_FACTS // 2 :])
            self.history.add(envelope)
        said = sentence(envelope.event)
        if not said.loud:
            return
        because = said.reason or self._cause(envelope)
        for line in list(self.lines)[-_LOOK_BACK:]:
            if line.takes(envelope, said, because):
                line.add(envelope, said)
                return
        self.lines.append(TickerLine(envelope, said, because))
        self.told += 1

    def _cause(self, envelope: Envelope) -> str:
        """Return the nearest cause that fits into a few words."""
        if envelope.name not in EVENT_TYPES:
            return ""
        for cause in reversed(self.history.chain(envelope)[:-1]):
            words = sentence(cause.event).because
            if words and words != type(cause.event).__name__:
                return words
        return ""

    def chain(self, envelope: Envelope) -> list[Link]:
        """Return the steps from the first cause to this fact, then its effects (depth + 1)."""
        if envelope.name not in EVENT_TYPES:
            return [Link(envelope, envelope, 0)]
        chain = self.history.chain(envelope)
        links = [Link(step, chain[0], depth) for depth, step in enumerate(chain)]
        return links + [
            Link(link.effect, chain[0], len(chain))
            for link in self.history.children(envelope)[:SHOWN_EFFECTS]
        ]
