"""The timer: it runs each task once and emits events."""

from collections.abc import Callable
from typing import Any

from kafka_edu.common.time import MockTime
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.trace.event import Envelope, Level, Source
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


class Task(TimerTask):
    __slots__ = ("_label", "_run")

    def __init__(
        self, delay_ms: int, run: Callable[[], Any] = lambda: None, label: str = "task"
    ) -> None:
        super().__init__(delay_ms)
        self._run = run
        self._label = label

    @property
    def label(self) -> str:
        return self._label

    def run(self) -> None:
        self._run()


class Told:
    def __init__(self, level: Level) -> None:
        self.level = level
        self.envelopes: list[Envelope] = []

    def accept(self, envelope: Envelope) -> None:
        self.envelopes.append(envelope)

    @property
    def events(self) -> list[object]:
        return [envelope.event for envelope in self.envelopes]


def advance(timer: SystemTimer, time: MockTime, ms: int) -> int:
    time.advance(ms)
    return timer.advance_clock(time.hi_res_clock_ms())


def test_runs_a_task_at_its_time_and_forgets_it() -> None:
    time, ran = MockTime(0), list[int]()
    timer = SystemTimer("Produce", time.hi_res_clock_ms)
    task = Task(350, lambda: ran.append(time.hi_res_clock_ms()))
    timer.add(task)
    assert timer.size == 1
    assert advance(timer, time, 349) == 0
    assert advance(timer, time, 1) == 1
    assert ran == [350]
    assert (timer.size, task.entry, timer.next_expiration_ms()) == (0, None, None)
    assert (
        timer.inserted_total,
        timer.expired_total,
        timer.cancelled_total,
        timer.demoted_total,
    ) == (1, 1, 0, 1)


def test_a_task_without_delay_runs_inside_add() -> None:
    ran = list[int]()
    timer = SystemTimer("Produce", MockTime(0).hi_res_clock_ms)
    timer.add(Task(0, lambda: ran.append(0)))
    timer.add(Task(-5, lambda: ran.append(-5)))
    assert ran == [0, -5]
    assert timer.size == 0


def test_an_owner_that_comes_late_runs_everything_in_order_of_the_buckets() -> None:
    time, ran = MockTime(0), list[int]()
    timer = SystemTimer("Produce", time.hi_res_clock_ms)
    for delay_ms in (900, 3, 45, 30_000, 3):
        timer.add(Task(delay_ms, lambda delay_ms=delay_ms: ran.append(delay_ms)))  # type: ignore[misc]
    assert advance(timer, time, 60_000) == 5
    assert ran == [3, 3, 45, 900, 30_000]


def test_a_cancelled_task_never_runs_and_its_bucket_passes_empty() -> None:
    time, ran = MockTime(0), list[int]()
    timer = SystemTimer("Produce", time.hi_res_clock_ms)
    task = Task(50, lambda: ran.append(1))
    timer.add(task)
    task.cancel()
    task.cancel()
    assert (timer.size, timer.cancelled_total) == (0, 1)
    assert timer.next_expiration_ms() == 40
    assert advance(timer, time, 100) == 0
    assert ran == []
    assert timer.next_expiration_ms() is None


def test_a_task_may_cancel_another_of_its_bucket() -> None:
    time, ran = MockTime(0), list[str]()
    timer = SystemTimer("Produce", time.hi_res_clock_ms)
    second = Task(5, lambda: ran.append("second"))
    timer.add(Task(5, second.cancel))
    timer.add(second)
    assert advance(timer, time, 5) == 1
    assert ran == []
    assert (timer.size, timer.cancelled_total) == (0, 1)


def test_a_task_may_add_tasks_due_ones_included() -> None:
    time, ran = MockTime(0), list[str]()
    timer = SystemTimer("Produce", time.hi_res_clock_ms)

    def add_two() -> None:
        timer.add(Task(0, lambda: ran.append("at once")))
        timer.add(Task(20, lambda: ran.append("20 later")))
        ran.append("first")

    timer.add(Task(5, add_two))
    advance(timer, time, 5)
    assert ran == ["at once", "first"]
    advance(timer, time, 19)
    assert ran == ["at once", "first"]
    advance(timer, time, 1)
    assert ran == ["at once", "first", "20 later"]


def test_a_task_may_add_itself_again() -> None:
    time, ran = MockTime(0), list[int]()
    timer = SystemTimer("Produce", time.hi_res_clock_ms)

    def again() -> None:
        ran.append(time.hi_res_clock_ms())
        timer.add(task)

    task = Task(100, again)
    timer.add(task)
    for _ in range(3):
        advance(timer, time, 100)
    assert ran == [100, 200, 300]
    assert timer.size == 1


def test_adding_a_waiting_task_again_moves_it() -> None:
    time, ran = MockTime(0), list[int]()
    timer = SystemTimer("Produce", time.hi_res_clock_ms)
    task = Task(10, lambda: ran.append(time.hi_res_clock_ms()))
    timer.add(task)
    advance(timer, time, 6)
    timer.add(task)
    assert timer.size == 1
    advance(timer, time, 9)
    assert ran == []
    advance(timer, time, 1)
    assert ran == [16]


def test_wakes_its_owner_for_an_earlier_bucket_only() -> None:
    woken = list[int | None]()
    timer = SystemTimer("Produce", MockTime(0).hi_res_clock_ms)
    timer.on_earlier(lambda: woken.append(timer.next_expiration_ms()))
    for delay_ms in (30_000, 30_001, 100, 500, 7):
        timer.add(Task(delay_ms))
    assert woken == [24_000, 100, 7]


def traced(level: Level) -> tuple[SystemTimer, MockTime, Told, Tracer]:
    time, told = MockTime(0), Told(level)
    trace = Tracer(Source.of_broker(1), time)
    trace.add_sink(told)
    return SystemTimer("Produce", time.hi_res_clock_ms, trace), time, told, trace


def test_emits_each_task_at_level_all() -> None:
    timer, time, told, _ = traced(Level.ALL)
    kept, dropped = Task(50, label="kept"), Task(3, label="dropped")
    timer.add(kept)
    timer.add(dropped)
    advance(timer, time, 1)
    dropped.cancel()
    advance(timer, time, 40)
    advance(timer, time, 11)
    assert told.events == [
        WheelCreated(
            timer="Produce",
            level=2,
            tick_ms=20,
            wheel_size=20,
            current_time_ms=0,
            deadline_ms=50,
            delay_ms=50,
        ),
        TimerTaskAdded(timer="Produce", task="kept", delay_ms=50, deadline_ms=50, level=2, slot=2),
        TimerTaskAdded(timer="Produce", task="dropped", delay_ms=3, deadline_ms=3, level=1, slot=3),
        TimerTaskCancelled(
            timer="Produce", task="dropped", deadline_ms=3, left_ms=2, level=1, slot=3
        ),
        TimerTaskDemoted(
            timer="Produce",
            task="kept",
            deadline_ms=50,
            left_ms=10,
            from_level=2,
            from_slot=2,
            level=1,
            slot=10,
        ),
        TimerTaskExpired(timer="Produce", task="kept", deadline_ms=50, late_ms=2, level=1, slot=10),
    ]


def test_what_a_task_does_is_caused_by_its_expiry() -> None:
    timer, time, told, trace = traced(Level.ALL)
    timer.add(
        Task(
            5,
            lambda: trace(
                WheelCreated(
                    timer="other",
                    level=2,
                    tick_ms=20,
                    wheel_size=20,
                    current_time_ms=0,
                    deadline_ms=0,
                    delay_ms=0,
                )
            ),
        )
    )
    advance(timer, time, 5)
    assert told.envelopes[-1].cause == told.envelopes[-2].seq
    assert isinstance(told.envelopes[-2].event, TimerTaskExpired)


def test_emits_only_new_wheels_at_level_state() -> None:
    timer, time, told, _ = traced(Level.STATE)
    task = Task(50)
    timer.add(task)
    timer.add(Task(50))
    task.cancel()
    advance(timer, time, 100)
    assert told.events == [
        WheelCreated(
            timer="Produce",
            level=2,
            tick_ms=20,
            wheel_size=20,
            current_time_ms=0,
            deadline_ms=50,
            delay_ms=50,
        )
    ]


def test_gauges_and_snapshot_show_each_level_and_the_next_bucket() -> None:
    timer, time, _, trace = traced(Level.STATE)
    for delay_ms in (350, 345, 450, 2):
        timer.add(Task(delay_ms, label=f"t{delay_ms}"))
    advance(timer, time, 2)
    level_1, level_2, level_3 = (0,) * 20, (0,) * 17 + (2, 0, 0), (0, 1) + (0,) * 18
    totals = TimerState("Produce", 2, 2, 3, 2, 340, 4, 0, 1, 0)
    wheels = [
        WheelState("Produce", 1, 1, 20, 2, level_1, 0, 0),
        WheelState("Produce", 2, 20, 20, 0, level_2, 0, 350),
        WheelState("Produce", 3, 400, 20, 0, level_3, 0, 450),
    ]
    next_bucket = NextBucketSampled(
        timer="Produce",
        level=2,
        slot=17,
        expiration_ms=340,
        size=2,
        tasks=(("t350", 350), ("t345", 345)),
    )
    assert [e.event for e in trace.gauges()] == [
        TimerSampled(state=totals),
        *[WheelSampled(state=wheel) for wheel in wheels],
        next_bucket,
    ]
    assert [e.event for e in trace.snapshot()] == [
        TimerSnapshot(state=totals),
        *[WheelSnapshot(state=wheel) for wheel in wheels],
    ]
