"""The timer: it uses the wheels and the queue of buckets, and emits the events about them.

(Kafka: SystemTimer in Timer.scala.)
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timer_task_list import TimerTaskEntry, TimerTaskList
from kafka_edu.timer.timing_wheel import TICK_MS, WHEEL_SIZE, TimingWheel
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.timer import (
    NextBucketSampled,
    TimerSampled,
    TimerSnapshot,
    TimerState,
    TimerTaskAdded,
    TimerTaskCancelled,
    TimerTaskDemoted,
    TimerTaskExpired,
    WheelCreated,
    WheelSampled,
    WheelSnapshot,
    WheelState,
)
from kafka_edu.trace.tracer import Tracer

TASKS_TOLD: Final = 8
"""The maximum number of the next bucket's tasks that a gauge lists."""


class SystemTimer:
    """Runs each task once, at its deadline (定时器).

    If `advance_clock` is called late, the task runs in that call.

    `add` gives the task to the lowest wheel. The wheel puts the task into a bucket, and the bucket
    into the delay queue. A task that is already due runs at once. `advance_clock` takes the buckets
    that are due, moves the wheels' hands, and adds each task of these buckets again. Some of the
    tasks move down to a finer wheel; the other tasks are due and run. A task never runs early. It
    runs late only if `advance_clock` is called late.

    All times are ms of the given clock, which must not run backward. Tasks run inside
    `advance_clock` or `add`; they may add and cancel tasks of this timer. Only one event loop uses
    the timer, so it needs no lock. A learner's wheel can replace `TimingWheel` in this module
    (`kafka_edu.learner.seams`). All events about the timer are emitted by this class. Next:
    `TimingWheel.add` (timing_wheel.py). The purgatory's reaper calls `advance_clock`.
    """

    def __init__(
        self,
        name: str,
        now_ms: Callable[[], int],
        trace: Tracer | None = None,
        tick_ms: int = TICK_MS,
        wheel_size: int = WHEEL_SIZE,
    ) -> None:
        self.name = name
        self._now_ms = now_ms
        self._trace = trace
        self._queue = DelayQueue()
        self._made: dict[int, tuple[int, int]] = {1: (now_ms(), 0)}
        """Level → (time when its wheel was created, delay of the task that needed it), in ms."""
        self.wheel: TimingWheel = TimingWheel(
            tick_ms,
            wheel_size,
            self._made[1][0],
            self._queue,
            on_overflow=self._wheel_created,
            on_cancelled=self._task_cancelled if trace is not None else None,
        )
        """The lowest wheel, with the shortest tick."""
        self.inserted_total = 0
        self.expired_total = 0
        self.demoted_total = 0
        if trace is not None:
            trace.on_snapshot(self._snapshot)
            trace.on_gauges(self._gauges)

    @property
    def size(self) -> int:
        """The number of waiting tasks, counted at each call. O(levels · wheel_size)."""
        return sum(
            bucket.size
            for wheel in self.wheel.wheels()
            for bucket in wheel.buckets
            if bucket is not None
        )

    @property
    def cancelled_total(self) -> int:
        """The number of tasks that were added and then cancelled."""
        return self.inserted_total - self.expired_total - self.size

    def add(self, task: TimerTask) -> None:
        """Run `task` in `task.delay_ms` from now. O(1).

        If that time is within the current tick, the task runs at once, inside this call.
        """
        entry = TimerTaskEntry(task, task.delay_ms + self._now_ms())
        self.inserted_total += 1
        if not self.wheel.add(entry):
            self._expire(entry, self._now_ms(), 0, -1)
        elif self._trace is not None and self._trace.all and entry.bucket is not None:
            bucket = entry.bucket
            self._trace(
                TimerTaskAdded(
                    timer=self.name,
                    task=task.label,
                    delay_ms=task.delay_ms,
                    deadline_ms=entry.expiration_ms,
                    level=bucket.level,
                    slot=bucket.slot,
                )
            )

    def advance_clock(self, now_ms: int) -> int:
        """Run the tasks that are due at `now_ms`, and return how many tasks ran.

        O(buckets that are due, and the tasks in them). Empty ticks take no time.
        """
        expired = 0
        while (due := self._queue.poll(now_ms)) is not None:
            expiration_ms, bucket = due
            self.wheel.advance_clock(expiration_ms)
            failed: Exception | None = None
            for entry in bucket.flush():
                if entry.cancelled:  # an earlier task of the bucket cancelled it
                    continue
                if self.wheel.add(entry):
                    self._demoted(entry, expiration_ms, bucket)
                else:
                    try:
                        self._expire(entry, now_ms, bucket.level, bucket.slot)
                    # The other tasks of the bucket are in no list now. They must still be added or
                    # run, although this task has failed.
                    except Exception as error:
                        failed = error
                    expired += 1
            if failed is not None:
                raise failed
        return expired

    def next_expiration_ms(self) -> int | None:
        """Return the time in ms when `advance_clock` must next be called, or None. O(1)."""
        return self._queue.next_expiration_ms()

    def on_earlier(self, callback: Callable[[], None] | None) -> None:
        """Let the timer call `callback` whenever `next_expiration_ms` becomes earlier."""
        self._queue.on_earlier = callback

    def _demoted(self, entry: TimerTaskEntry, expiration_ms: int, came_from: TimerTaskList) -> None:
        self.demoted_total += 1
        bucket = entry.bucket
        if self._trace is not None and self._trace.all and bucket is not None:
            left_ms = entry.expiration_ms - expiration_ms
            self._trace(
                TimerTaskDemoted(
                    timer=self.name,
                    task=entry.task.label,
                    deadline_ms=entry.expiration_ms,
                    left_ms=left_ms,
                    from_level=came_from.level,
                    from_slot=came_from.slot,
                    level=bucket.level,
                    slot=bucket.slot,
                )
            )

    def _expire(self, entry: TimerTaskEntry, now_ms: int, level: int, slot: int) -> None:
        task = entry.task
        task.entry = None
        self.expired_total += 1
        if self._trace is not None and self._trace.all:
            late_ms = now_ms - entry.expiration_ms
            seq = self._trace(
                TimerTaskExpired(
                    timer=self.name,
                    task=task.label,
                    deadline_ms=entry.expiration_ms,
                    late_ms=late_ms,
                    level=level,
                    slot=slot,
                )
            )
            with self._trace.because(seq):
                task.run()
        else:
            task.run()

    def _task_cancelled(self, entry: TimerTaskEntry, bucket: TimerTaskList) -> None:
        if self._trace is not None and self._trace.all:
            left_ms = entry.expiration_ms - self._now_ms()
            self._trace(
                TimerTaskCancelled(
                    timer=self.name,
                    task=entry.task.label,
                    deadline_ms=entry.expiration_ms,
                    left_ms=left_ms,
                    level=bucket.level,
                    slot=bucket.slot,
                )
            )

    def _wheel_created(self, wheel: TimingWheel, deadline_ms: int) -> None:
        now_ms = self._now_ms()
        self._made[wheel.level] = (now_ms, deadline_ms - now_ms)
        if self._trace is not None:
            self._trace(
                WheelCreated(
                    timer=self.name,
                    level=wheel.level,
                    tick_ms=wheel.tick_ms,
                    wheel_size=wheel.wheel_size,
                    current_time_ms=wheel.current_time_ms,
                    deadline_ms=deadline_ms,
                    delay_ms=deadline_ms - now_ms,
                )
            )

    def _state(self) -> TimerState:
        return TimerState(
            timer=self.name,
            now_ms=self._now_ms(),
            current_time_ms=self.wheel.current_time_ms,
            tasks=self.size,
            queued_buckets=len(self._queue),
            next_bucket_ms=self.next_expiration_ms(),
            inserted_total=self.inserted_total,
            cancelled_total=self.cancelled_total,
            expired_total=self.expired_total,
            demoted_total=self.demoted_total,
        )

    def _wheels(self) -> Iterator[WheelState]:
        for wheel in self.wheel.wheels():
            made_ms, made_for_delay_ms = self._made[wheel.level]
            yield WheelState(
                timer=self.name,
                level=wheel.level,
                tick_ms=wheel.tick_ms,
                wheel_size=wheel.wheel_size,
                current_time_ms=wheel.current_time_ms,
                tasks_by_slot=wheel.counts(),
                made_ms=made_ms,
                made_for_delay_ms=made_for_delay_ms,
            )

    def _snapshot(self) -> Iterator[Event]:
        yield TimerSnapshot(state=self._state())
        for wheel in self._wheels():
            yield WheelSnapshot(state=wheel)

    def _gauges(self) -> Iterator[Event]:
        yield TimerSampled(state=self._state())
        for wheel in self._wheels():
            yield WheelSampled(state=wheel)
        bucket = self._queue.peek()
        if bucket is not None:
            tasks = tuple(
                [(entry.task.label, entry.expiration_ms) for entry in islice(bucket, TASKS_TOLD)]
            )
            yield NextBucketSampled(
                timer=self.name,
                level=bucket.level,
                slot=bucket.slot,
                expiration_ms=bucket.expiration_ms,
                size=bucket.size,
                tasks=tasks,
            )
