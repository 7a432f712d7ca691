"""The state of the Purgatory screen: what waits in every purgatory of every broker, for whom, and
what has ended the others.
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
"""Purgatories in which operations wait because their clients want to wait."""
KEPT_COMPLETIONS: Final = 200
SILENT_AFTER_US: Final = 1_000_000
"""A broker that has sent nothing for so long does not answer; its operations are shown as of
then."""
ALL: Final = ""
"""In place of a purgatory's name: all of them."""


class OperationKey(NamedTuple):
    """Names one operation for as long as its broker runs."""

    broker: int
    purgatory: str
    operation: int


class WaitingView(NamedTuple):
    """One operation that waits, as its broker last reported it."""

    broker: int
    told: WaitingOperation
    sampled_us: int

    @property
    def key(self) -> OperationKey:
        return OperationKey(self.broker, self.told.purgatory, self.told.operation)

    @property
    def patient(self) -> bool:
        return self.told.purgatory in PATIENT

    @property
    def sampled_ms(self) -> int:
        """When it was sampled, on the timer's clock."""
        return self.sampled_us // 1000

    @property
    def begun_ms(self) -> int:
        """When it began to wait, on the timer's clock."""
        return self.sampled_ms - self.told.age_ms


class CompletionView(NamedTuple):
    """One operation that has ended, of those that brokers report one by one."""

    envelope: Envelope
    told: OperationCompleted

    @property
    def cause(self) -> str:
        return self.told.cause or self.told.by


class OnePurgatory:
    """One purgatory of one broker."""

    def __init__(self, broker: int, name: str) -> None:
        self.broker = broker
        self.name = name
        self.state: PurgatoryState | None = None
        self.sampled_us = 0
        self.waiting: list[WaitingView] = []
        """The longest waiting first; at most as many as the broker reports."""
        self.ended = RecentlyEnded()


class PurgatoryView:
    """All purgatories, by broker and name. `apply` is the only way in.

    Brokers of one machine stamp events with the clock by which their timers run. So the time now,
    `now_ms`, is also the timers' time, and ages and deadlines go on between two samples. Of a
    silent broker they stand still: whether its operations still wait is not known.
    """

    def __init__(self) -> None:
        self.glow = Glow()
        self.purgatories: dict[tuple[int, str], OnePurgatory] = {}
        self.completions: deque[CompletionView] = deque(maxlen=KEPT_COMPLETIONS)
        """Operations that ended after a long wait, or whose end another fact caused."""
        self.told = 0
        """How many completions there ever were."""
        self._sampled_us: dict[int, int] = {}
        """broker → when it last sent a sample of any kind."""

    @property
    def now_ms(self) -> int:
        return self.glow.now_us // 1000

    def advance(self, now_us: int) -> None:
        self.glow.advance(now_us)

    def brokers(self) -> list[int]:
        return sorted({broker for broker, _ in self.purgatories})

    def names(self, broker: int | None) -> list[str]:
        """Return the names of the purgatories of a broker, or of all brokers."""
        return sorted({name for b, name in self.purgatories if broker in (None, b)})

    def chosen(self, broker: int | None, name: str) -> list[OnePurgatory]:
        """Return the purgatories of a broker (None: of all) with a name (ALL: with any)."""
        return [
            one
            for (b, n), one in sorted(self.purgatories.items())
            if broker in (None, b) and name in (ALL, n)
        ]

    def delayed(self, broker: int | None, name: str) -> int:
        """Return how many operations wait there; more than `waiting` lists."""
        return sum(p.state.delayed for p in self.chosen(broker, name) if p.state is not None)

    def waiting(self, broker: int | None = None, name: str = ALL) -> list[WaitingView]:
        """Return the operations that wait: the longest waiting first, those that wait because they
        want to after the others, and those of a silent broker last.
        """
        found = [w for one in self.chosen(broker, name) for w in one.waiting]
        silent = {b for b in self.brokers() if self.silent_us(b)}
        return sorted(found, key=lambda w: (w.broker in silent, w.patient, w.begun_ms, w.key))

    def ended(self, broker: int | None = None, name: str = ALL) -> list[Ended]:
        """Return what ended the others in the last ten seconds, the most frequent cause first.

        Causes that ended only waits of patient clients come last: they are many, and rarely the
        answer. Of several purgatories with the same cause the typical wait is the one of most
        operations.
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
        """Return whether the brokers count causes; those of older recordings do not."""
        return any(one.ended.counted for one in self.chosen(broker, name))

    def completion(self, key: OperationKey) -> CompletionView | None:
        """Return how an operation ended, if its broker has reported it."""
        for one in reversed(self.completions):
            if key == (one.envelope.broker, one.told.purgatory, one.told.operation):
                return one
        return None

    def silent_us(self, broker: int) -> int:
        """Return since when a broker has sent no sample; 0 while it sends."""
        sampled = self._sampled_us.get(broker, 0)
        quiet_us = self.glow.now_us - sampled
        return quiet_us if sampled and quiet_us > SILENT_AFTER_US else 0

    def silence(self, broker: int | None) -> int:
        """Return since when no broker of the choice has sent a sample, in µs; 0 while one sends."""
        ages = [self.silent_us(b) for b in self.brokers() if broker in (None, b)]
        return min(ages, default=0)

    def as_of_ms(self, row: WaitingView) -> int:
        """Return the time for which what is known of an operation holds, on the timer's clock: now,
        or that of the last sample if its broker is silent.
        """
        return row.sampled_ms if self.silent_us(row.broker) else self.now_ms

    def age_ms(self, row: WaitingView) -> int:
        """Return for how long an operation has waited, as far as it is known."""
        return max(self.as_of_ms(row) - row.begun_ms, 0)

    def apply(self, envelope: Envelope) -> None:
        """Take one event. O(1), amortised."""
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
            case WaitingOperationSnapshot(waiting=told) | WaitingOperationSampled(waiting=told):
                one = self._one(broker, told.purgatory)
                if one.sampled_us != envelope.mono_us:
                    one.sampled_us, one.waiting = envelope.mono_us, []
                one.waiting.append(WaitingView(broker, told, envelope.mono_us))
            case OperationsEndedSnapshot(state=ends):
                self._one(broker, ends.purgatory).ended.begin(ends.ended, envelope.mono_us)
            case OperationsEndedSampled(state=ends):
                self._one(broker, ends.purgatory).ended.sample(ends.ended, envelope.mono_us)
            case OperationCompleted() as told if told.by != "at once":
                self.completions.append(CompletionView(envelope, told))
                self.told += 1
            case _:
                pass

    def _one(self, broker: int, name: str) -> OnePurgatory:
        key = (broker, name)
        if key not in self.purgatories:
            self.purgatories[key] = OnePurgatory(broker, name)
        return self.purgatories[key]

    def answer(self, broker: int | None = None, name: str = ALL) -> tuple[str, str]:
        """Answer "why is it still waiting?" in one sentence: its kind (ok, warning), and the words.

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
            rest = "" if len(silent) == len(brokers) else "elsewhere nobody is kept waiting"
            return "warning", (self._silence(silent) + rest).removesuffix("; ")
        if not brokers:
            return "warning", "? no purgatory is known yet"
        if waiting:
            return "ok", (
                f"✓ nobody is kept waiting: {plural(len(waiting), 'operation')} here"
                f" {'waits' if len(waiting) == 1 else 'wait'} for news, as"
                f" {'its client wants' if len(waiting) == 1 else 'their clients want'}"
            )
        return "ok", "✓ nothing waits"

    def _silence(self, silent: list[int]) -> str:
        """Say of silent brokers how old what is shown of them is; empty if there are none."""
        if not silent:
            return ""
        age = duration(min(self.silent_us(broker) for broker in silent) / 1000)
        one = len(silent) == 1
        who = f"broker {silent[0]} has" if one else f"brokers {joined(silent)} have"
        return f"? {who} sent nothing for {age}: {'its' if one else 'their'} waits are as of then; "


def _after(words: str) -> str:
    return f", {words}" if words else ""


def _blame(waiting: Iterable[WaitingView]) -> list[tuple[int, Missing]]:
    """Return (operations, the farthest behind) of each broker that is missing, most first."""
    found: dict[int, tuple[int, Missing]] = {}
    for one in waiting:
        here: dict[int, Missing] = {}
        for m in (m for need in one.told.why for m in missing(need)):
            here[m.broker] = max(here.get(m.broker, m), m, key=lambda m: m.behind)
        for broker, behind in here.items():
            times, worst = found.get(broker, (0, behind))
            found[broker] = times + 1, max(worst, behind, key=lambda m: m.behind)
    return sorted(found.values(), key=lambda pair: (-pair[0], pair[1].broker))
