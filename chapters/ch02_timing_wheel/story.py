"""The timing wheel told with the book's figures, by the real classes, in a time that stands still
until it is moved (MockTime).
"""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafka_edu.common.python_process import command_line
from kafka_edu.common.time import MockTime
from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timer_task_list import TimerTaskEntry
from kafka_edu.timer.timing_wheel import TimingWheel
from kafka_edu.trace.event import Envelope, Event, Level, Source
from kafka_edu.trace.events.timer import (
    TimerTaskAdded,
    TimerTaskDemoted,
    TimerTaskExpired,
    WheelCreated,
    WheelSnapshot,
    WheelState,
)
from kafka_edu.trace.tracer import Tracer

from .figures import dot, draw, span, write_figure

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000

Told = tuple[int, Event]
"""An event and the ms at which it was told."""


class Named(TimerTask):
    """A task that does nothing but have a name: what happens to it, events tell."""

    __slots__ = ("name",)

    def __init__(self, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self.name = span(delay_ms)

    @property
    def label(self) -> str:
        return self.name

    def run(self) -> None:
        """Nothing to do."""


class Story:
    """A timer at time 0, and everything it tells."""

    level = Level.ALL

    def __init__(self, tick_ms: int = 1, wheel_size: int = 20) -> None:
        self.time = MockTime(0)
        self.trace = Tracer(Source.of_broker(0), self.time)
        self.trace.add_sink(self)
        self.timer = SystemTimer(
            "story", self.time.hi_res_clock_ms, self.trace, tick_ms, wheel_size
        )
        self._told: list[Told] = []

    def accept(self, envelope: Envelope) -> None:
        self._told.append((envelope.wall_ms, envelope.event))

    def add(self, *delays_ms: int) -> list[Told]:
        for delay_ms in delays_ms:
            self.timer.add(Named(delay_ms))
        return self.take()

    def until(self, now_ms: int) -> list[Told]:
        """Live on to `now_ms`, from bucket to bucket, as the reaper does."""
        while (due_ms := self.timer.next_expiration_ms()) is not None and due_ms <= now_ms:
            self.time.advance(max(due_ms - self.time.hi_res_clock_ms(), 0))
            self.timer.advance_clock(self.time.hi_res_clock_ms())
        self.time.advance(now_ms - self.time.hi_res_clock_ms())
        return self.take()

    def take(self) -> list[Told]:
        told, self._told = self._told, []
        return told

    def wheels(self) -> list[WheelState]:
        return [
            envelope.event.state
            for envelope in self.trace.snapshot()
            if isinstance(envelope.event, WheelSnapshot)
        ]


def in_words(event: Event) -> str:
    """One line of the story."""
    match event:
        case WheelCreated(level=level, tick_ms=tick, wheel_size=size, delay_ms=delay):
            return f"level {level} is made, {span(tick)} x {size}, for a task {span(delay)} away"
        case TimerTaskAdded(task=task, level=level, slot=slot, deadline_ms=deadline):
            return f"{task} goes into level {level}, slot {slot}; it is due at {deadline:,}"
        case TimerTaskDemoted(
            task=task, left_ms=left, from_level=was, from_slot=from_slot, level=level, slot=slot
        ):
            return (
                f"{task} comes down from level {was}, slot {from_slot}, to level {level}, slot"
                f" {slot}: {span(left)} are left"
            )
        case TimerTaskExpired(task=task, late_ms=late):
            return f"{task} is due, and runs" + (f", {late} ms late" if late else "")
        case _:
            return type(event).__name__


def placements(events: list[Told]) -> Iterator[tuple[str, int, int]]:
    for _, event in events:
        if isinstance(event, TimerTaskAdded | TimerTaskDemoted):
            yield event.task, event.level, event.slot


class Teller:
    """Prints the story and keeps its numbers."""

    def __init__(self, console: Console, figures: Path | None) -> None:
        self.console = console
        self.figures = figures
        self.numbers: dict[str, object] = {}

    def head(self, title: str, text: str) -> None:
        self.console.print(f"\n[bold]{escape(title)}[/]\n{escape(text)}", highlight=False)

    def at(self, story: Story, events: list[Told], name: str = "") -> None:
        """What happened, and the wheels after it."""
        for at_ms, event in events:
            self.console.print(
                f"  [cyan]{at_ms:>6,} ms[/]  {escape(in_words(event))}", highlight=False
            )
        self.console.print(draw(story.wheels()))
        if name:
            self.numbers[name] = [list(placement) for placement in placements(events)]
            if self.figures is not None:
                write_figure(
                    self.figures, name, dot(story.wheels(), f"at {story.time.hi_res_clock_ms()} ms")
                )


def tell(console: Console, figures: Path | None) -> dict[str, object]:
    """The whole story; returns the numbers told."""
    teller = Teller(console, figures)
    tell_one_wheel(teller)
    tell_levels(teller)
    tell_clock(teller)
    tell_ticks(teller)
    tell_cost(teller)
    tell_errata(teller)
    return teller.numbers


def tell_one_wheel(teller: Teller) -> None:
    story = Story()
    teller.head(
        "1. One wheel (图 6-7)",
        "20 buckets (时间格) of 1 ms, the hand (表盘指针) on 0. A bucket is a linked list of tasks:"
        " to go in or out costs the same, however many there are.",
    )
    teller.at(story, story.add(2), "figure-6-7-a")
    teller.head(
        "2 ms later",
        "The task runs. Now one of 8 ms comes, and one of 19 ms: deadline 21, and 21 goes round to"
        " slot 1, which is used again.",
    )
    teller.at(story, [*story.until(2), *story.add(8, 19)], "figure-6-7-b")


def tell_levels(teller: Teller) -> None:
    story = Story()
    teller.head(
        "2. Levels (图 6-8, 层级时间轮)",
        "350 ms do not fit. A larger wheel would be no end to that; so a second one is made, whose"
        " tick is the whole first wheel: 20 ms. 350 // 20 = 17.",
    )
    teller.at(story, story.add(350), "figure-6-8-a")
    teller.head(
        "450 ms, with 446, 455 and 473",
        "Too far for level 2. On level 3 a bucket is 400 ms, and all four share slot 1: [400,"
        " 800).",
    )
    teller.at(story, story.add(450, 446, 455, 473), "figure-6-8-b")
    for now_ms, text in (
        (
            400,
            (
                "The bucket of level 3 is due, its tasks are not: they are added again and come"
                " down (降级). 450 has 50 ms left: level 2, [440, 460)."
            ),
        ),
        (
            440,
            (
                "That bucket is due: 450 has 10 ms left, level 1. Never a tick without a bucket was"
                " looked at: the clock jumps to the next bucket."
            ),
        ),
        (450, "Due."),
    ):
        teller.head(f"At {now_ms} ms", text)
        teller.at(story, story.until(now_ms), f"at-{now_ms}")


def tell_clock(teller: Teller) -> None:
    queue = DelayQueue()
    seconds = TimingWheel(SECOND, 60, 0, queue, level=1)
    minutes = seconds.overflow_wheel = TimingWheel(seconds.interval_ms, 60, 0, queue, level=2)
    minutes.overflow_wheel = TimingWheel(minutes.interval_ms, 12, 0, queue, level=3)
    alarm = 3 * HOUR + 25 * MINUTE + 40 * SECOND
    entry = TimerTaskEntry(TimerTask(alarm), alarm)
    seconds.add(entry)
    teller.head(
        "3. A clock is three wheels: 60 x 1 s, 60 x 1 min, 12 x 1 h",
        "An alarm at 3:25:40 waits with the hour hand first.",
    )
    hands = {1: "second", 2: "minute", 3: "hour"}
    steps = []
    while entry.bucket is not None:
        due = queue.poll(12 * HOUR)
        if due is None:
            break
        steps.append([entry.bucket.level, entry.bucket.slot])
        line = (
            f"waits for the {hands[entry.bucket.level]} hand to come to {entry.bucket.slot}:"
            f" {due[0] // HOUR}:{due[0] // MINUTE % 60:02}:{due[0] // SECOND % 60:02}"
        )
        teller.console.print(f"  {line}", highlight=False)
        seconds.advance_clock(due[0])
        due[1].flush()
        seconds.add(entry)
    teller.numbers["clock"] = steps


def tell_ticks(teller: Teller) -> None:
    teller.head(
        "4. Ticks of 1, 2 and 8 ms (002, 图 3-75)",
        "Eight buckets each, at 100 ms. One deadline, three buckets: the slot is deadline // tick %"
        " size.",
    )
    table = Table("deadline")
    rows = {}
    for tick_ms in (1, 2, 8):
        table.add_column(f"tick {tick_ms} ms", justify="right")
    for deadline_ms in (103, 120, 127):
        cells = []
        for tick_ms in (1, 2, 8):
            entry = TimerTaskEntry(TimerTask(0), deadline_ms)
            bucket = entry.bucket if TimingWheel(tick_ms, 8, 100, DelayQueue()).add(entry) else None
            cells.append("due" if bucket is None else f"level {bucket.level}, slot {bucket.slot}")
        table.add_row(str(deadline_ms), *cells)
        rows[str(deadline_ms)] = cells
    teller.console.print(table)
    teller.numbers["ticks"] = rows


def tell_cost(teller: Teller) -> None:
    """How many buckets were looked at, against how many ticks went by."""
    story = Story()
    story.add(*range(1_000, 31_000, 100))
    rounds = 0
    while (due_ms := story.timer.next_expiration_ms()) is not None:
        story.time.advance(max(due_ms - story.time.hi_res_clock_ms(), 0))
        story.timer.advance_clock(story.time.hi_res_clock_ms())
        rounds += 1
    moves = story.timer.demoted_total / story.timer.inserted_total
    teller.head(
        "5. What it costs",
        f"300 tasks over 31 s: the timer woke {rounds} times where there were"
        f" {story.time.hi_res_clock_ms():,} ticks, and moved each task {moves:.1f} times on its way"
        " down. To cancel one, it is unlinked: nothing else is touched."
        f" `{command_line('bench timer')}` measures it beside asyncio and heaps.",
    )
    teller.numbers["cost"] = {
        "tasks": story.timer.inserted_total,
        "wake_ups": rounds,
        "ticks": story.time.hi_res_clock_ms(),
        "moves_a_task": moves,
    }


def tell_errata(teller: Teller) -> None:
    table = Table("the book says", "right is", title="Errata (勘误)", title_justify="left")
    table.add_row(
        "insert and delete in java.util.Timer and DelayQueue are O(n log n)",
        "O(log n) to insert; n of them are O(n log n). DelayQueue.remove searches: O(n)",
    )
    table.add_row(
        "the first wheel of a clock, 60 buckets to the minute, ticks every 1 ms", "every 1 s"
    )
    table.add_row(
        "(002) at time 8, tasks ⑧ and ⑨ both go back into level 0",
        "⑧ is due at 8 and runs at once; only ⑨ goes back",
    )
    teller.console.print()
    teller.console.print(table)
