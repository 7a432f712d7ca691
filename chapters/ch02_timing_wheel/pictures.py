"""The pictures of chapter 02: the book's figures, made by the real classes in virtual time.

Each picture also returns the values that the page and the script use by name.
"""

import heapq
from collections.abc import Callable, Mapping
from typing import Final

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timer_task_list import TimerTaskEntry
from kafka_edu.timer.timing_wheel import TimingWheel
from kafka_edu.trace.events.timer import (
    TimerTaskAdded,
    TimerTaskDemoted,
    TimerTaskExpired,
)

from ..drawing import picture
from .figures import draw, wheels_figure
from .story import Story, TimedEvent, in_words

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000

#: The load of the comparison: requests a second, their time-out, and the time until they are
#: answered.
REQUESTS: Final = 1_000
TIMEOUT_MS: Final = 30_000
ANSWERED_MS: Final = 5
BAR: Final = 40


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the book's numbered figures for the chapter's page, and return them by name."""
    one, levels = Story(), Story()
    one.add(2)
    first = one.wheels()
    one.until(2)
    one.add(8, 19)
    levels.add(350, 450, 446, 455, 473)
    third = levels.wheels()
    return {
        "figure-6-7-a": wheels_figure(first, "Figure 6-7 at 0 ms: a task of 2 ms"),
        "figure-6-7-b": wheels_figure(one.wheels(), "Figure 6-7 at 2 ms: 8 and 19 ms more"),
        "figure-6-8": wheels_figure(
            third, "Figure 6-8 at 0 ms: 350, 446, 450, 455, 473 ms", _next_moves(levels)
        ),
    }


def _next_moves(story: Story) -> list[tuple[int, TimerTaskDemoted]]:
    """Return the next move of each task to a lower wheel, with its time in ms."""
    first: dict[str, tuple[int, TimerTaskDemoted]] = {}
    for at_ms, event in story.until(MINUTE):
        if isinstance(event, TimerTaskDemoted):
            first.setdefault(event.task, (at_ms, event))
    return list(first.values())


def _event_lines(events: list[TimedEvent]) -> Text:
    lines = [f"{at_ms:>6,} ms  {in_words(event)}" for at_ms, event in events]
    return Text("\n".join(lines), style="cyan")


def naive_list() -> Picture:
    """Count the cost of a plain list of tasks that is searched every millisecond."""
    waiting = REQUESTS * ANSWERED_MS // 1000
    in_vain = REQUESTS * TIMEOUT_MS // 1000
    table = Table("", "tasks in the list", "comparisons a second", box=None)
    table.add_row("every request is answered", f"{waiting:,}", f"{waiting * 1000:,}")
    table.add_row("no request is answered", f"{in_vain:,}", f"{in_vain * 1000:,}")
    return picture({"scan_idle": waiting * 1000, "scan_busy": in_vain * 1000}, table)


def lazy_heap() -> Picture:
    """Compare a heap with the wheel: count the tasks that the heap holds.

    The heap removes a cancelled task only when its time comes.
    """
    heap: list[int] = []
    story = Story()
    tasks: list[tuple[int, TimerTask]] = []
    every_ms = 1000 // REQUESTS
    held_heap = held_wheel = 0
    for now_ms in range(0, TIMEOUT_MS + SECOND, every_ms):
        while heap and heap[0] <= now_ms:
            heapq.heappop(heap)
        heapq.heappush(heap, now_ms + TIMEOUT_MS)
        story.until(now_ms)
        task = TimerTask(TIMEOUT_MS)
        story.timer.add(task)
        tasks.append((now_ms + ANSWERED_MS, task))
        while tasks[0][0] <= now_ms:
            tasks.pop(0)[1].cancel()
        held_heap, held_wheel = len(heap), story.timer.size
    bars = Text()
    for name, held in (("lazy heap", held_heap), ("timing wheel", held_wheel)):
        bar = "█" * max(round(held / held_heap * BAR), 0) or "▏"
        bars.append(f"{name:>12} {bar} {held:,} entries\n")
    bars.right_crop(1)
    return picture({"heap_holds": held_heap, "wheel_holds": held_wheel}, bars)


def one_wheel() -> Picture:
    """Draw the book's single wheel (图 6-7).

    A task of 2 ms is added. After 2 ms, tasks of 8 and 19 ms follow.
    """
    story = Story()
    events = [*story.add(2), *story.until(2), *story.add(8, 19)]
    slots = _slots(events)
    names = {"slot_2": slots["2 ms"], "slot_8": slots["8 ms"], "slot_19": slots["19 ms"]}
    return picture(names, _event_lines(events), draw(story.wheels()))


def second_level() -> Picture:
    """Draw where a task of 350 ms is put (图 6-8)."""
    story = Story()
    events = story.add(350)
    added = _placed(events)["350 ms"]
    return picture(
        {"level_350": added.level, "slot_350": added.slot},
        _event_lines(events),
        draw(story.wheels()),
    )


def third_level() -> Picture:
    """Draw where a task of 450 ms is put, with the three other tasks in its bucket (图 6-8)."""
    story = Story()
    events = story.add(450, 446, 455, 473)
    added = _placed(events)
    bucket = (added["450 ms"].level, added["450 ms"].slot)
    together = [task for task, at in added.items() if (at.level, at.slot) == bucket]
    names = {
        "level_450": added["450 ms"].level,
        "slot_450": added["450 ms"].slot,
        "in_bucket": len(together),
    }
    return picture(names, _event_lines(events), draw(story.wheels()))


def demotions() -> Picture:
    """Show how a task of 450 ms moves down from wheel to wheel (降级)."""
    story = Story()
    story.add(450)
    events = story.until(450)
    moved = [(at_ms, e) for at_ms, e in events if isinstance(e, TimerTaskDemoted)]
    names: dict[str, object] = {"moves_450": len(moved)}
    for number, (at_ms, event) in enumerate(moved, 1):
        names |= {
            f"down_{number}_at": at_ms,
            f"down_{number}_level": event.level,
            f"down_{number}_slot": event.slot,
        }
    (ran,) = [at_ms for at_ms, event in events if isinstance(event, TimerTaskExpired)]
    return picture(names | {"ran_at": ran}, _event_lines(events))


def clock() -> Picture:
    """Show how an alarm waits on the wheels of a clock: 60 x 1 s, 60 x 1 min, 12 x 1 h."""
    queue = DelayQueue()
    seconds = TimingWheel(SECOND, 60, 0, queue, level=1)
    minutes = seconds.overflow_wheel = TimingWheel(seconds.interval_ms, 60, 0, queue, level=2)
    minutes.overflow_wheel = TimingWheel(minutes.interval_ms, 12, 0, queue, level=3)
    alarm = 3 * HOUR + 25 * MINUTE + 40 * SECOND
    entry = TimerTaskEntry(TimerTask(alarm), alarm)
    seconds.add(entry)
    hands = {1: "second", 2: "minute", 3: "hour"}
    names: dict[str, object] = {}
    lines = Text(style="cyan")
    while (bucket := entry.bucket) is not None and (due := queue.poll(12 * HOUR)) is not None:
        names[f"{hands[bucket.level]}_slot"] = bucket.slot
        at = f"{due[0] // HOUR}:{due[0] // MINUTE % 60:02}:{due[0] // SECOND % 60:02}"
        lines.append(
            f"waits until {at}, when the {hands[bucket.level]} hand comes to {bucket.slot}\n"
        )
        seconds.advance_clock(due[0])
        due[1].flush()
        seconds.add(entry)
    lines.right_crop(1)
    return picture(names, lines)


def ticks() -> Picture:
    """Show when one deadline is met if the tick is 1, 2 or 8 ms (002, 图 3-75)."""
    table = Table("deadline", *(f"tick {tick_ms} ms" for tick_ms in (1, 2, 8)), box=None)
    names: dict[str, object] = {}
    for deadline_ms in (103, 120, 127):
        cells = []
        for tick_ms in (1, 2, 8):
            entry = TimerTaskEntry(TimerTask(0), deadline_ms)
            bucket = entry.bucket if TimingWheel(tick_ms, 8, 100, DelayQueue()).add(entry) else None
            if bucket is not None:
                names[f"tick_{tick_ms}_of_{deadline_ms}"] = bucket.slot
            cells.append("" if bucket is None else f"level {bucket.level}, slot {bucket.slot}")
        table.add_row(str(deadline_ms), *cells)
    return picture(names, table)


def a_to_d() -> Picture:
    """Show 002's run of tasks A to D on a wheel of 8 buckets with a tick of 1 s (图 3-74)."""
    story = Story(tick_ms=SECOND, wheel_size=8)
    events = story.add(0, SECOND, SECOND, 3 * SECOND)
    wheels = draw(story.wheels())
    events += story.until(3 * SECOND)
    ran = [at_ms for at_ms, event in events if isinstance(event, TimerTaskExpired)]
    names = dict(zip(("ran_a", "ran_b", "ran_c", "ran_d"), ran, strict=True))
    return picture(names, wheels, _event_lines(events))


def last_round() -> Picture:
    """Show 002's tasks ⑦, ⑧ and ⑨ on two wheels of 8 buckets (图 3-78)."""
    story = Story(wheel_size=8)
    events = [*story.add(7, 8, 9), *story.until(9)]
    ran = {e.task: at_ms for at_ms, e in events if isinstance(e, TimerTaskExpired)}
    down = [e for _, e in events if isinstance(e, TimerTaskDemoted)]
    names = {"ran_8": ran["8 ms"], "came_down": len(down), "down_task": down[0].task}
    return picture(names, _event_lines(events))


def jumps() -> Picture:
    """Count the wake-ups of a timer with 300 tasks, and the moves of its tasks."""
    story = Story()
    story.add(*range(1_000, 31_000, 100))
    wakes = 0
    while (due_ms := story.timer.next_expiration_ms()) is not None:
        story.time.advance(max(due_ms - story.time.hi_res_clock_ms(), 0))
        story.timer.advance_clock(story.time.hi_res_clock_ms())
        wakes += 1
    moves = story.timer.demoted_total / story.timer.inserted_total
    passed = story.time.hi_res_clock_ms()
    lines = Text(
        f"{story.timer.inserted_total} tasks over {passed:,} ticks of 1 ms\n"
        f"the timer woke up {wakes} times, and a task moved {moves:.1f} times on its way down"
    )
    return picture({"wakes": wakes, "ticks_passed": passed, "moves": f"{moves:.1f}"}, lines)


def _placed(events: list[TimedEvent]) -> dict[str, TimerTaskAdded]:
    return {event.task: event for _, event in events if isinstance(event, TimerTaskAdded)}


def _slots(events: list[TimedEvent]) -> dict[str, int]:
    return {task: event.slot for task, event in _placed(events).items()}


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "naive-list": naive_list,
    "lazy-heap": lazy_heap,
    "one-wheel": one_wheel,
    "second-level": second_level,
    "third-level": third_level,
    "demotions": demotions,
    "clock": clock,
    "ticks": ticks,
    "a-to-d": a_to_d,
    "last-round": last_round,
    "jumps": jumps,
}
