"""The questions of exercise 02-5 about a run of the broker's timer, with each learner's tasks."""

from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.time import MockTime
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.timer import (
    TimerTaskAdded,
    TimerTaskCancelled,
    TimerTaskDemoted,
    TimerTaskExpired,
)
from kafka_edu.trace.tracer import Tracer

QUESTIONS: Final = """\
# 02-5: your run

Kafka's timer, tick 1 ms, 20 slots on every level. At 0 ms it is new and empty.

| when | what happens |
| --- | --- |
| 0 ms | task **A** is added, with the deadline {a_ms:,} ms |
| 0 ms | task **C** is added, with the deadline {c_ms:,} ms |
{d_row}| {b_added_ms:,} ms | task **B** is added, with the deadline {b_ms:,} ms |
| {c_cancelled_ms:,} ms | task **C** is cancelled |

Whenever a bucket is due, the timer's owner calls `advance_clock` at once.

1. `a_first`: into which bucket does A go at 0 ms?
2. `a_due_ms`: when is that bucket due?
3. `a_comes_down`: how many times does A come down before it runs?
4. `a_last`: out of which bucket does A run?
5. `b_first`: into which bucket does B go when it is added?
6. `c_comes_down`: how many times does C come down before it is cancelled?
"""


class Plan(NamedTuple):
    """The numbers in the questions. Times are ms on the timer's clock, which begins at 0."""

    a_ms: int
    b_ms: int
    b_added_ms: int
    c_ms: int
    c_cancelled_ms: int
    d_ms: int
    """The deadline of task D; 0 if there is no task D."""


def plan(seed: int) -> Plan:
    """Return the numbers that the seed determines.

    Task A waits on level 3. Task B is added before A's bucket is due. When B is added, the hand is
    still at 0, or at the bucket of task D if the run has a task D. Task C begins on level 4.
    """
    random = Random(seed)
    left_ms = random.choice((random.randint(3, 19), random.randint(21, 399)))
    a_ms = 400 * random.randint(4, 18) + left_ms
    b_added_ms = a_ms - a_ms % 400 - random.randint(30, 300)
    b_ms = b_added_ms + random.randint(40, 350)
    c_ms = random.randint(8_300, 15_900)
    c_cancelled_ms = random.choice((random.randint(8_100, c_ms - 5), c_ms - random.randint(1, 9)))
    d_ms = random.choice((0, b_added_ms - random.randint(3, 40)))
    return Plan(a_ms, b_ms, b_added_ms, c_ms, c_cancelled_ms, d_ms)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    numbers = plan(seed)
    d_row = f"| 0 ms | task **D** is added, with the deadline {numbers.d_ms:,} ms |\n"
    fields = numbers._asdict() | {"d_row": d_row if numbers.d_ms else ""}
    return {"questions.md": QUESTIONS.format(**fields)}


class _Task(TimerTask):
    __slots__ = ("_name",)

    def __init__(self, name: str, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self._name = name

    @property
    def label(self) -> str:
        return self._name

    def run(self) -> None:
        """Do nothing: only the time at which the task runs is of interest."""


TaskEvent = TimerTaskAdded | TimerTaskDemoted | TimerTaskExpired | TimerTaskCancelled


class Run:
    """A run of the broker's own timer with a learner's tasks, and its events."""

    level = Level.ALL

    def __init__(self, numbers: Plan) -> None:
        self._time = MockTime(0)
        self.events: list[tuple[int, TaskEvent]] = []
        """The time of each event in ms, and the event."""
        trace = Tracer(Source.of_broker(0), self._time)
        trace.add_sink(self)
        self._timer = SystemTimer("Produce", self._time.hi_res_clock_ms, trace)
        self._timer.add(_Task("A", numbers.a_ms))
        last = _Task("C", numbers.c_ms)
        self._timer.add(last)
        if numbers.d_ms:
            self._timer.add(_Task("D", numbers.d_ms))
        self._go_to(numbers.b_added_ms)
        self.hand_at_b_ms = self._timer.wheel.current_time_ms
        """The position of the hand, in ms, when B is added."""
        self._timer.add(_Task("B", numbers.b_ms - numbers.b_added_ms))
        self._go_to(numbers.c_cancelled_ms)
        last.cancel()

    def accept(self, envelope: Envelope) -> None:
        """Store an event if it is about a task."""
        if isinstance(envelope.event, TaskEvent):
            self.events.append((self._time.hi_res_clock_ms(), envelope.event))

    def _go_to(self, time_ms: int) -> None:
        while (due_ms := self._timer.next_expiration_ms()) is not None and due_ms <= time_ms:
            # B's bucket may have been due before B came, because the hand stood still.
            now_ms = max(due_ms, self._time.hi_res_clock_ms())
            self._time.advance(now_ms - self._time.hi_res_clock_ms())
            self._timer.advance_clock(now_ms)
        self._time.advance(time_ms - self._time.hi_res_clock_ms())

    def of(self, task: str) -> list[tuple[int, TaskEvent]]:
        """Return the events of one task."""
        return [(time_ms, event) for time_ms, event in self.events if event.task == task]

    def shown(self, task: str) -> tuple[str, ...]:
        """Return the events of one task as lines of text."""
        lines = []
        for time_ms, event in self.of(task):
            place = f"level {event.level}, slot {event.slot}"
            came = f"from level {event.from_level} " if isinstance(event, TimerTaskDemoted) else ""
            lines.append(f"{time_ms:>7,} ms  {type(event).__name__:<18}  {task}  {came}{place}")
        return tuple(lines)


def right_answers(seed: int) -> dict[str, object]:
    """Return the right answers, which are taken from the events of the run."""
    run = Run(plan(seed))
    (_, a_added), (_, b_added) = run.of("A")[0], run.of("B")[0]
    a_end_ms, a_end = run.of("A")[-1]
    assert isinstance(a_end, TimerTaskExpired)
    assert a_end_ms == plan(seed).a_ms
    down = {
        task: [time_ms for time_ms, event in run.of(task) if isinstance(event, TimerTaskDemoted)]
        for task in "AC"
    }
    return {
        "a_first": (a_added.level, a_added.slot),
        # A left its first bucket when that bucket was due: it came down, or it ran.
        "a_due_ms": (down["A"] or [a_end_ms])[0],
        "a_comes_down": len(down["A"]),
        "a_last": (a_end.level, a_end.slot),
        "b_first": (b_added.level, b_added.slot),
        "c_comes_down": len(down["C"]),
    }
