"""The state of the Purgatory screen: all waiting operations, and what ended other operations.

For each purgatory of each broker, it has the operations and the brokers that they wait for.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_edu.common.words import joined, plural
from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.instruments.waiting import Ended, Missing, RecentlyEnded, missing, since
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind
from kafka_edu.trace.events.purgatory import (
    OperationCompleted,
    OperationsEndedSampled,
    OperationsEndedSnapshot,
    PurgatorySampled,
    PurgatorySnapshot,
    PurgatoryState,
    WaitingOperation,
    WaitingOperationSampled,
    WaitingOperationSnapshot,
)
from kafka_edu.trace.events.supervisor import ProcessEnded

from .figures import duration
from .glow import Glow

WAITING_EVENTS: Final = (
    PurgatorySnapshot,
    PurgatorySampled,
    WaitingOperationSnapshot,
    WaitingOperationSampled,
)
ENDED_EVENTS: Final = (OperationsEndedSnapshot, OperationsEndedSampled, OperationCompleted)

PATIENT: Final = frozenset({"Fetch", "Heartbeat"})
"""Purgatories whose operations wait because their clients want to wait."""
KEPT_COMPLETIONS: Final = 200
SILENT_AFTER_US: Final = 1_000_000
"""A broker that has sent nothing for this many µs counts as silent.

Its operations are then shown as they were at its last sample.
"""
ALL: Final = ""
"""A value that is used instead of a purgatory's name. It means all purgatories."""


class OperationKey(NamedTuple):
    """The key of one operation. It is unique as long as its broker runs."""

    broker: int
    purgatory: str
    operation: int


class WaitingView(NamedTuple):
    """One waiting operation, as its broker last reported it."""

    broker: int
    facts: WaitingOperation
    sampled_us: int

    @property
    def key(self) -> OperationKey:
        return OperationKey(self.broker, self.facts.purgatory, self.facts.operation)

    @property
    def patient(self) -> bool:
        return self.facts.purgatory in PATIENT

    @property
    def sampled_ms(self) -> int:
        """The time of the operation's last sample, in ms of the timer's clock."""
        return self.sampled_us // 1000

    @property
    def begun_ms(self) -> int:
        """The time when the operation began to wait, in ms of the timer's clock."""
        return self.sampled_ms - self.facts.age_ms


class CompletionView(NamedTuple):
    """One ended operation. Brokers report only some of them one by one."""

    envelope: Envelope
    facts: OperationCompleted

    @property
    def cause(self) -> str:
        return self.facts.cause or self.facts.by


class OnePurgatory:
    """One purgatory of one broker, with its waiting operations."""

    def __init__(self, broker: int, name: str) -> None:
        self.broker = broker
        self.name = name
        self.state: PurgatoryState | None = None
        self.sampled_us = 0
        self.waiting: list[WaitingView] = []
        """The waiting operations, the longest waiting first. The broker may not report all."""
        self.ended = RecentlyEnded()


class PurgatoryView:
    """All purgatories, by broker and name. They change only through `apply`.

    Brokers on one machine stamp events with the clock of their timers. So `now_ms` is also the
    timers' time, and ages and deadlines advance between two samples. For a silent broker they stop:
    it is not known whether its operations still wait.
    """

    def __init__(self) -> None:
        self.glow = Glow()
        self.purgatories: dict[tuple[int, str], OnePurgatory] = {}
        self.completions: deque[CompletionView] = deque(maxlen=KEPT_COMPLETIONS)
        """Operations that ended after a long wait, or that were ended by another fact."""
        self.completed = 0
        """The number of all completions so far."""
        self._sampled_us: dict[int, int] = {}
        """Broker → the time of its last sample of any kind, in µs."""

    @property
    def now_ms(self) -> int:
        return self.glow.now_us // 1000

    def advance(self, now_us: int) -> None:
        self.glow.advance(now_us)

    def brokers(self) -> list[int]:
        return sorted({broker for broker, _ in self.purgatories})

    def names(self, broker: int | None) -> list[str]:
        """Return the names of the purgatories of one broker, or of all brokers (None)."""
        return sorted({name for b, name in self.purgatories if broker in (None, b)})

    def chosen(self, broker: int | None, name: str) -> list[OnePurgatory]:
        """Return the purgatories of one broker (None: all) with one name (ALL: any name)."""
        return [
            one
            for (b, n), one in sorted(self.purgatories.items())
            if broker in (None, b) and name in (ALL, n)
        ]

    def delayed(self, broker: int | None, name: str) -> int:
        """Return the number of operations that wait in these purgatories.

        `waiting` may list fewer.
        """
        return sum(p.state.delayed for p in self.chosen(broker, name) if p.state is not None)

    def waiting(self, broker: int | None = None, name: str = ALL) -> list[WaitingView]:
        """Return the waiting operations, the longest waiting first.

        Operations whose clients want to wait come after the others. Those of a silent broker come
        last.
        """
        found = [w for one in self.chosen(broker, name) for w in one.waiting]
        silent = {b for b in self.brokers() if self.silent_us(b)}
        return sorted(found, key=lambda w: (w.broker in silent, w.patient, w.begun_ms, w.key))

    def ended(self, broker: int | None = None, name: str = ALL) -> list[Ended]:
        """Return what ended operations in the last ten seconds, the most frequent cause first.

        Causes that ended only operations whose clients want to wait come last: they are frequent,
        and rarely interesting. If several purgatories have the same cause, the typical wait is that
        of the purgatory with the most operations.
        """
        by_cause: dict[str, list[Ended]] = {}
        unwilling: set[str] = set()
        for one in self.chosen(broker, name):
            for ended in one.ended.recent(self.glow.now_us):
                by_cause.setdefault(ended.cause, []).append(ended)
                if one.name not in PATIENT:
                    unwilling.add(ended.cause)
        merged = [
            Ended(cause, sum(e.times for e in ends), max(ends, key=lambda e: e.times).typical_ms)
            for cause, ends in by_cause.items()
        ]
        return sorted(merged, key=lambda e: (e.cause not in unwilling, -e.times, e.cause))

    def counts_causes(self, broker: int | None = None, name: str = ALL) -> bool:
        """Return whether the brokers count causes. Brokers of older recordings do not."""
        return any(one.ended.counted for one in self.chosen(broker, name))

    def completion(self, key: OperationKey) -> CompletionView | None:
        """Return how an operation ended, or None if its broker has not reported it."""
        for one in reversed(self.completions):
            if key == (one.envelope.broker, one.facts.purgatory, one.facts.operation):
                return one
        return None

    def silent_us(self, broker: int) -> int:
        """Return for how many µs a broker has sent no sample, or 0 if its last sample is recent."""
        sampled = self._sampled_us.get(broker, 0)
        quiet_us = self.glow.now_us - sampled
        return quiet_us if sampled and quiet_us > SILENT_AFTER_US else 0

    def silence(self, broker: int | None) -> int:
        """Return for how many µs all chosen brokers have been silent, or 0 if one of them is
        not.
        """
        ages = [self.silent_us(b) for b in self.brokers() if broker in (None, b)]
        return min(ages, default=0)

    def as_of_ms(self, row: WaitingView) -> int:
        """Return the time of the known state of an operation, on the timer's clock.

        It is the current time, or the time of the last sample if the broker is silent.
        """
        return row.sampled_ms if self.silent_us(row.broker) else self.now_ms

    def age_ms(self, row: WaitingView) -> int:
        """Return for how many ms an operation has waited, as far as that is known."""
        return max(self.as_of_ms(row) - row.begun_ms, 0)

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1), amortised."""
        self.glow.advance(envelope.mono_us)
        broker = envelope.broker
        known = EVENT_TYPES.get(envelope.name)
        if broker is not None and known is not None and known.kind is not Kind.FACT:
            self._sampled_us[broker] = envelope.mono_us
        if isinstance(envelope.event, ProcessEnded):
            broker = envelope.event.child.broker
        if broker is None:
            return
        match envelope.event:
            case LinkLost() | ProcessEnded():
                self.purgatories = {k: p for k, p in self.purgatories.items() if k[0] != broker}
            case PurgatorySnapshot(state=state) | PurgatorySampled(state=state):
                one = self._one(broker, state.purgatory)
                one.state, one.sampled_us, one.waiting = state, envelope.mono_us, []
            case WaitingOperationSnapshot(waiting=facts) | WaitingOperationSampled(waiting=facts):
                one = self._one(broker, facts.purgatory)
                if one.sampled_us != envelope.mono_us:
                    one.sampled_us, one.waiting = envelope.mono_us, []
                one.waiting.append(WaitingView(broker, facts, envelope.mono_us))
            case OperationsEndedSnapshot(state=ends):
                self._one(broker, ends.purgatory).ended.begin(ends.ended, envelope.mono_us)
            case OperationsEndedSampled(state=ends):
                self._one(broker, ends.purgatory).ended.sample(ends.ended, envelope.mono_us)
            case OperationCompleted() as facts if facts.by != "at once":
                self.completions.append(CompletionView(envelope, facts))
                self.completed += 1
            case _:
                pass

    def _one(self, broker: int, name: str) -> OnePurgatory:
        key = (broker, name)
        if key not in self.purgatories:
            self.purgatories[key] = OnePurgatory(broker, name)
        return self.purgatories[key]

    def answer(self, broker: int | None = None, name: str = ALL) -> tuple[str, str]:
        """Answer "why is it still waiting?" with a kind (`ok` or `warning`) and one sentence.

        The broker for which most operations wait comes first, because it is the answer.
        """
        brokers = [b for b in self.brokers() if broker in (None, b)]
        silent = [b for b in brokers if self.silent_us(b)]
        waiting = [one for one in self.waiting(broker, name) if one.broker not in silent]
        unwilling = [one for one in waiting if not one.patient]
        blame = _blame(unwilling)
        if blame:
            parts = [
                f"{plural(times, 'request')} {'waits' if times == 1 else 'wait'} for broker"
                f" {one.broker}: {plural(one.behind, 'record')} behind"
                + _after(since(one, self.now_ms))
                for times, one in blame[:2]
            ]
            return "warning", "! " + "; ".join(parts)
        elsewhere = "elsewhere " if silent else ""
        if unwilling:
            oldest_ms = self.now_ms - unwilling[0].begun_ms
            return (
                "warning" if oldest_ms >= 1000 or silent else "ok",
                f"{self._silence(silent)}{plural(len(unwilling), 'request')} waiting"
                f" {elsewhere}".rstrip()
                + f", the longest for {duration(oldest_ms)}; no broker is behind",
            )
        if silent:
            rest = "" if len(silent) == len(brokers) else "no other request is kept waiting"
            return "warning", (self._silence(silent) + rest).removesuffix("; ")
        if not brokers:
            return "warning", "? no purgatory is known yet"
        if waiting:
            return "ok", (
                f"✓ no request is kept waiting: {plural(len(waiting), 'operation')} here"
                f" {'waits' if len(waiting) == 1 else 'wait'} for news, as"
                f" {'its client wants' if len(waiting) == 1 else 'their clients want'}"
            )
        return "ok", "✓ nothing waits"

    def _silence(self, silent: list[int]) -> str:
        """Return the age of the silent brokers' data as a text, or "" if no broker is silent."""
        if not silent:
            return ""
        age = duration(min(self.silent_us(broker) for broker in silent) / 1000)
        one = len(silent) == 1
        who = f"broker {silent[0]} has" if one else f"brokers {joined(silent)} have"
        return f"? {who} sent nothing for {age}: {'its' if one else 'their'} waits are as of then; "


def _after(words: str) -> str:
    return f", {words}" if words else ""


def _blame(waiting: Iterable[WaitingView]) -> list[tuple[int, Missing]]:
    """Return the brokers that operations wait for, the one with the most operations first. Each
    entry is (number of operations, largest lag of the broker).
    """
    found: dict[int, tuple[int, Missing]] = {}
    for one in waiting:
        here: dict[int, Missing] = {}
        for m in (m for need in one.facts.why for m in missing(need)):
            here[m.broker] = max(here.get(m.broker, m), m, key=lambda m: m.behind)
        for broker, behind in here.items():
            times, worst = found.get(broker, (0, behind))
            found[broker] = times + 1, max(worst, behind, key=lambda m: m.behind)
    return sorted(found.values(), key=lambda pair: (-pair[0], pair[1].broker))
