"""The state of the Wheels screen: each broker's timers with their wheels and waiting operations.

In the broker a purgatory and its timer have the same name. So one `TimerView` contains both: the
wheels with the deadlines, and the operations that the deadlines belong to.
"""

from collections import deque
from typing import Final, NamedTuple

from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.purgatory import (
    PurgatorySampled,
    PurgatorySnapshot,
    PurgatoryState,
    WaitingOperation,
    WaitingOperationSampled,
    WaitingOperationSnapshot,
)
from kafka_edu.trace.events.supervisor import ProcessEnded
from kafka_edu.trace.events.timer import (
    NextBucketSampled,
    TimerSampled,
    TimerSnapshot,
    TimerState,
    TimerTaskAdded,
    TimerTaskDemoted,
    WheelCreated,
    WheelSampled,
    WheelSnapshot,
    WheelState,
)

from .figures import duration
from .glow import GLOW_US, Glow
from .rates import Rate

TIMER_EVENTS: Final = (
    TimerSnapshot,
    TimerSampled,
    WheelSnapshot,
    WheelSampled,
    WheelCreated,
    NextBucketSampled,
    TimerTaskAdded,
    TimerTaskDemoted,
)
PURGATORY_EVENTS: Final = (
    PurgatorySnapshot,
    PurgatorySampled,
    WaitingOperationSnapshot,
    WaitingOperationSampled,
)


_KEPT_MOVES: Final = 32
_LOW_LEVELS: Final = 2


class TimerKey(NamedTuple):
    broker: int
    timer: str


class WheelView:
    """One wheel of a timer.

    Slot s is due when the hand reaches it: at (c + (s - c) % size) · tick, where c = current //
    tick.
    """

    def __init__(self, sample: WheelState) -> None:
        self.sample = sample

    @property
    def level(self) -> int:
        return self.sample.level

    @property
    def size(self) -> int:
        return self.sample.wheel_size

    @property
    def tick_ms(self) -> int:
        return self.sample.tick_ms

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the number of tasks in each slot."""
        return self.sample.tasks_by_slot

    @property
    def tasks(self) -> int:
        return sum(self.sample.tasks_by_slot)

    @property
    def hand(self) -> int:
        """Return the slot that the hand points to."""
        return self.sample.current_time_ms // self.tick_ms % self.size

    def due_ms(self, slot: int) -> int:
        """Return when the bucket in this slot is due, in ms of the timer's clock."""
        current = self.sample.current_time_ms // self.tick_ms
        return (current + (slot - current) % self.size) * self.tick_ms

    @property
    def next_slot(self) -> int | None:
        """Return the slot with tasks that is due first, or None if all slots are empty. O(size)."""
        return min(
            (slot for slot, count in enumerate(self.counts) if count), key=self.due_ms, default=None
        )


class Move(NamedTuple):
    """Tasks that moved into the wheels, out of them, or down a level."""

    from_level: int
    """The level from which the tasks came. 0 if they came from outside the wheels."""
    from_slot: int
    level: int
    """The level to which the tasks went.

    0 means that the level is not known. Some of the tasks may have run or may have been cancelled
    at that moment.
    """
    slot: int
    tasks: int
    at_us: int
    task: str = ""
    """The task's name, if there was only one task and an event named it."""


class TimerView:
    """One timer, and the purgatory to which it belongs."""

    def __init__(self, key: TimerKey) -> None:
        self.key = key
        self.now_ms = 0
        self.current_time_ms = 0
        self.tasks = 0
        self.next_bucket_ms: int | None = None
        self.inserted = Rate()
        self.cancelled = Rate()
        self.expired = Rate()
        self.demoted = Rate()
        self.wheels: dict[int, WheelView] = {}
        self.next_bucket: NextBucketSampled | None = None
        self.purgatory: PurgatoryState | None = None
        self.by_event = Rate()
        self.by_timeout = Rate()
        self.waiting: list[WaitingOperation] = []
        """The waiting operations, the longest waiting first. The broker may not report all."""
        self.told_us = 0
        self.moves: deque[Move] = deque(maxlen=_KEPT_MOVES)
        """The recent moves of tasks, the latest last."""
        self._waiting_us = 0
        self._named_us = 0
        """The time of the last event that named a moved task, in µs. After such an event, moves are
        not derived from samples.
        """

    @property
    def title(self) -> str:
        return f"{self.key.timer}, broker {self.key.broker}"

    @property
    def is_purgatory(self) -> bool:
        return self.purgatory is not None

    def move(self, move: Move) -> None:
        """Record a move. Moves between the same two slots within one second become one."""
        for at, known in enumerate(self.moves):
            if known[:4] == move[:4] and move.at_us - known.at_us <= GLOW_US:
                del self.moves[at]
                move = move._replace(tasks=known.tasks + move.tasks, task="")
                break
        self.moves.append(move)

    def recent(self, now_us: int) -> list[Move]:
        """Return the moves that are still highlighted, the latest first."""
        return [move for move in reversed(self.moves) if now_us - move.at_us <= GLOW_US]

    def why_low_wheels_are_empty(self) -> str:
        """Return why the lower wheels of a busy timer are always empty, or "" if they are not.

        A produce may wait 30 s, so its task is put on level 4. The produce is answered some ms
        later, and its task is cancelled there. The task would come down only if the produce were
        not answered.
        """
        low = [wheel for level, wheel in self.wheels.items() if level <= _LOW_LEVELS]
        answered, inserted = self.cancelled.total, self.inserted.total
        if not answered or len(low) < _LOW_LEVELS or any(wheel.tasks for wheel in low):
            return ""
        span = max(wheel.tick_ms * wheel.size for wheel in low)
        return (
            f"levels 1 and 2 are empty: tasks come down for their last {duration(span)};"
            f" {answered:,} of {inserted:,} were answered and cancelled before"
        )

    def next_in_ms(self) -> int | None:
        """Return how many ms remain until the next bucket is due.

        0 means that the bucket is being handled, and None that no task waits.
        """
        return (
            max(self.next_bucket_ms - self.now_ms, 0) if self.next_bucket_ms is not None else None
        )


class WheelsView:
    """All timers, by broker and name. They change only through `apply`."""

    READS: Final = frozenset(
        {
            LinkLost,
            NextBucketSampled,
            ProcessEnded,
            PurgatorySampled,
            PurgatorySnapshot,
            TimerSampled,
            TimerSnapshot,
            TimerTaskAdded,
            TimerTaskDemoted,
            WaitingOperationSampled,
            WaitingOperationSnapshot,
            WheelCreated,
            WheelSampled,
            WheelSnapshot,
        }
    )
    """The types of events that change this view."""

    def __init__(self) -> None:
        self.glow = Glow()
        self.timers: dict[TimerKey, TimerView] = {}

    def advance(self, now_us: int) -> None:
        self.glow.advance(now_us)

    def brokers(self) -> list[int]:
        return sorted({key.broker for key in self.timers})

    def of_broker(self, broker: int) -> list[TimerView]:
        """Return a broker's timers: busy timers first, then by name, always in the same order."""
        return [timer for key, timer in sorted(self.timers.items()) if key.broker == broker]

    def _timer(self, broker: int, name: str) -> TimerView:
        key = TimerKey(broker, name)
        if key not in self.timers:
            self.timers[key] = TimerView(key)
        return self.timers[key]

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(slots of the wheel)."""
        self.glow.advance(envelope.mono_us)
        broker, now_us = envelope.broker, envelope.mono_us
        if isinstance(envelope.event, ProcessEnded):
            broker = envelope.event.child.broker
        if broker is None:
            return
        match envelope.event:
            case LinkLost() | ProcessEnded():
                self._forget(broker)
            case TimerSnapshot(state=state) | TimerSampled(state=state):
                self._sample(self._timer(broker, state.timer), state, now_us)
            case WheelSnapshot(state=wheel) | WheelSampled(state=wheel):
                self._wheel(self._timer(broker, wheel.timer), wheel)
            case TimerTaskAdded() as e:
                self._named(
                    broker, e.timer, Move(0, 0, e.level, e.slot, 1, envelope.mono_us, e.task)
                )
            case TimerTaskDemoted() as e:
                self._named(
                    broker,
                    e.timer,
                    Move(e.from_level, e.from_slot, e.level, e.slot, 1, envelope.mono_us, e.task),
                )
            case WheelCreated() as e:
                self.glow.touch("wheel", broker, e.timer, e.level)
            case NextBucketSampled() as e:
                self._timer(broker, e.timer).next_bucket = e
            case PurgatorySnapshot(state=purgatory) | PurgatorySampled(state=purgatory):
                self._purgatory(self._timer(broker, purgatory.purgatory), purgatory, now_us)
            case WaitingOperationSnapshot(waiting=one) | WaitingOperationSampled(waiting=one):
                self._waits(self._timer(broker, one.purgatory), one, now_us)
            case _:
                pass

    def _named(self, broker: int, name: str, move: Move) -> None:
        """Record a move of a task that an event has named."""
        timer = self._timer(broker, name)
        timer._named_us = move.at_us
        timer.move(move)
        self._glow_of(timer, move)

    def _glow_of(self, timer: TimerView, move: Move) -> None:
        if move.from_level:
            self.glow.touch("left", timer.key, move.from_level, move.from_slot)
        if move.level:
            self.glow.touch("came", timer.key, move.level, move.slot)

    def _forget(self, broker: int) -> None:
        """Forget the timers of a broker that is gone."""
        self.timers = {key: timer for key, timer in self.timers.items() if key.broker != broker}

    def _sample(self, timer: TimerView, state: TimerState, now_us: int) -> None:
        timer.now_ms, timer.current_time_ms = state.now_ms, state.current_time_ms
        timer.tasks, timer.told_us = state.tasks, now_us
        timer.next_bucket_ms = state.next_bucket_ms
        for rate, total in (
            (timer.inserted, state.inserted_total),
            (timer.cancelled, state.cancelled_total),
            (timer.expired, state.expired_total),
            (timer.demoted, state.demoted_total),
        ):
            rate.sample(total, now_us)
        if state.next_bucket_ms is None:
            timer.next_bucket = None

    def _wheel(self, timer: TimerView, sample: WheelState) -> None:
        before = timer.wheels.get(sample.level)
        if before is not None and before.size == sample.wheel_size:
            for slot, (was, is_) in enumerate(
                zip(before.counts, sample.tasks_by_slot, strict=True)
            ):
                if was != is_:
                    self.glow.touch("slot", timer.key, sample.level, slot)
                    self._sampled_move(timer, before, sample, slot, is_ - was)
            if before.hand != sample.current_time_ms // sample.tick_ms % sample.wheel_size:
                self.glow.touch("hand", timer.key, sample.level)
        timer.wheels[sample.level] = WheelView(sample)

    def _sampled_move(
        self, timer: TimerView, before: WheelView, sample: WheelState, slot: int, by: int
    ) -> None:
        """Derive a move of tasks from two samples of a slot.

        If the hand has passed a slot of a higher level, its tasks went down. If a slot has new
        tasks, they came from outside or from a higher level. The sample does not show from which.
        """
        now_us = self.glow.now_us
        if now_us - timer._named_us <= GLOW_US:
            return
        move: Move | None = None
        if by > 0:
            move = Move(0, 0, sample.level, slot, by, now_us)
        elif (
            sample.level > 1
            and timer.demoted.rose
            and before.due_ms(slot) <= sample.current_time_ms
        ):
            move = Move(sample.level, slot, 0, 0, min(-by, timer.demoted.rose), now_us)
        if move is not None:
            timer.move(move)
            self._glow_of(timer, move)

    def _purgatory(self, timer: TimerView, sample: PurgatoryState, now_us: int) -> None:
        timer.purgatory = sample
        timer.by_event.sample(sample.completed_by_event + sample.completed_at_once, now_us)
        timer.by_timeout.sample(sample.completed_by_timeout, now_us)
        timer.waiting, timer._waiting_us = [], now_us

    def _waits(self, timer: TimerView, sample: WaitingOperation, now_us: int) -> None:
        if timer._waiting_us != now_us:
            timer.waiting, timer._waiting_us = [], now_us
        timer.waiting.append(sample)


def why(operation: WaitingOperation) -> list[str]:
    """Return why the operation still waits, one line for each requirement.

    A line names each broker that is behind.
    """
    lines = []
    for needs in operation.why:
        what = "HW" if needs.needs == "high watermark" else needs.needs
        line = f"{needs.subject} needs {what} ≥ {needs.at_least:,}, has {needs.have:,}"
        behind = [
            f"{who} is {needs.at_least - have:,} behind"
            for who, have in needs.holders
            if have < needs.at_least
        ]
        if needs.needs == "high watermark" and behind:
            line += ": " + ", ".join(behind)
        lines.append(line)
    return lines or [
        f"waits for {', '.join(operation.keys)}" if operation.keys else "waits for its time-out"
    ]


def left(operation: WaitingOperation, timer: TimerView) -> str:
    """Return the time left until the deadline, as a text."""
    return f"{duration(max(operation.deadline_ms - timer.now_ms, 0))} left"
