"""`kafka-edu bench timer`: compare the timing wheel with asyncio's call_later and three heaps.

*Time*: N tasks with delays of 1 to 60 s are inserted and then cancelled, like the time-outs of
requests that are answered in time. The figure is the CPU time of this process, with its garbage
collector.

*Steady state*: 10,000 requests/s with deadlines of 30 s in simulated time. 99.9 % of them are
answered within 100 ms. The figures are the entries and bytes that are in memory at the end,
measured by tracemalloc. The bytes that the same run needs without a timer are subtracted.

*Counted steps*: the bytecodes that Python executes for one task that is inserted before N others,
cancelled and removed. They are the same on any machine.

In each round, the contestants are measured in turn. Each figure is the median of the rounds, and
each ratio is the median of the ratios of all rounds.
"""

import argparse
import gc
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from kafka_edu.cli.report import Report, number
from kafka_edu.common.python_process import command_line

from .options import add_repeats
from .timer_contestants import (
    CONTESTANTS,
    Clock,
    Contestant,
    Operation,
    takes_part,
    time_insert_and_cancel,
)

if TYPE_CHECKING:
    from _typeshed import TraceFunction

NAME = "timer"
HELP = (
    "the timing wheel compared with asyncio's call_later and heaps: time, memory in a steady state,"
    " counted steps (about 4 minutes)"
)

COUNTS: Final = (1_000, 10_000, 100_000, 1_000_000)
TARGET_TIME: Final = 1.8
TARGET_MEMORY: Final = 100.0
TARGET_FLAT: Final = 1.05
WARM_UP: Final = 5

REQUESTS_PER_MS: Final = 10
DEADLINE_MS: Final = 30_000
ANSWER_MS: Final = 100
LEFT_UNANSWERED: Final = 0.001


class Timed(NamedTuple):
    """CPU time of one insert and of one cancel, in ns."""

    insert: float
    cancel: float

    @property
    def both(self) -> float:
        return self.insert + self.cancel


class Steady(NamedTuple):
    """The result of a simulation: entries in the timer, their bytes, CPU ns for each request."""

    entries: int
    bytes: int
    cpu_ns: float


def measure_time(count: int, repeats: int, tick: Callable[[], None]) -> dict[str, list[Timed]]:
    """Return contestant → one result for each round."""
    rounds: dict[str, list[Timed]] = {name: [] for name in CONTESTANTS if takes_part(name, count)}
    for round_ in range(repeats):
        numbers = random.Random(round_)
        delays_ms = [numbers.randrange(1_000, 60_000) for _ in range(count)]
        for name, figures in rounds.items():
            figures.append(Timed(*time_insert_and_cancel(CONTESTANTS[name], delays_ms)))
            tick()
    return rounds


class NoTimer:
    """A contestant that stores nothing.

    It shows what the simulated requests need without a timer.
    """

    def __init__(self, clock: Clock) -> None:
        pass

    def insert(self, operation: Operation) -> None:
        pass

    def cancel(self, operation: Operation) -> None:
        pass

    def advance(self, now_ms: int) -> None:
        pass

    def held(self) -> int:
        return 0

    def close(self) -> None:
        pass


def simulate(make: Callable[[Clock], Contestant], seconds: int, traced: bool) -> Steady:
    """Simulate `seconds` in steps of one ms. Return the entries, bytes and CPU time.

    Because time is simulated, a slow timer gets the same load as a fast one.
    """
    numbers = random.Random(7)
    now_ms = 0
    contestant = make(lambda: now_ms)
    calendar: list[list[Operation]] = [[] for _ in range(ANSWER_MS + 1)]
    gc.collect()
    if traced:
        tracemalloc.start()
    start = time.process_time_ns()
    for now_ms in range(seconds * 1000):
        answered = calendar[now_ms % len(calendar)]
        for operation in answered:
            contestant.cancel(operation)
        answered.clear()
        for _ in range(REQUESTS_PER_MS):
            operation = Operation(DEADLINE_MS)
            contestant.insert(operation)
            if numbers.random() >= LEFT_UNANSWERED:
                calendar[(now_ms + numbers.randint(1, ANSWER_MS)) % len(calendar)].append(operation)
        contestant.advance(now_ms)
    cpu_ns = (time.process_time_ns() - start) / (seconds * 1000 * REQUESTS_PER_MS)
    gc.collect()
    held_bytes = 0
    if traced:
        held_bytes = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    entries = contestant.held()
    contestant.close()
    return Steady(entries, held_bytes, cpu_ns)


def measure_steady_state(seconds: int, tick: Callable[[], None]) -> dict[str, Steady]:
    """Return contestant → entries, bytes and CPU time.

    The bytes are measured with tracemalloc, and the CPU time in another run without it.
    """
    nothing = simulate(NoTimer, seconds, traced=True).bytes
    result = {}
    for name, make in CONTESTANTS.items():
        if name == "heap, searched":  # it would search 10,000 times a second
            continue
        traced = simulate(make, seconds, traced=True)
        tick()
        result[name] = Steady(
            traced.entries, traced.bytes - nothing, simulate(make, seconds, traced=False).cpu_ns
        )
        tick()
    return result


def count_steps(make: Callable[[Clock], Contestant], count: int, samples: int = 50) -> float:
    """Count the bytecodes for one task, from its insertion until it is cancelled and removed.

    The task is due before `count` other tasks. The garbage collector is switched off, because it
    may call Python functions, whose bytecodes do not belong to the timer.
    """
    numbers = random.Random(3)
    contestant = make(lambda: 0)
    for _ in range(count):
        contestant.insert(Operation(numbers.randrange(20_000, 60_000)))
    contestant.advance(0)
    steps = 0

    def on_step(frame: FrameType, event: str, _: Any) -> "TraceFunction | None":
        nonlocal steps
        if event == "call":
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        elif event == "opcode":
            steps += 1
        return on_step

    def one(operation: Operation) -> None:
        contestant.insert(operation)
        contestant.cancel(operation)
        contestant.advance(0)

    # Python 3.13 counts too few bytecodes of a function that has not been traced before.
    warm_up = [Operation(10_000 + i) for i in range(1, WARM_UP + 1)]
    operations = [Operation(10_000 - i) for i in range(samples)]
    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(on_step)
    try:
        for operation in warm_up:
            one(operation)
        steps = 0
        for operation in operations:
            one(operation)
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    contestant.close()
    return steps / samples


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE", help="write figures and targets there")
    parser.add_argument(
        "--max", type=int, default=COUNTS[-1], help="the largest N (default 1,000,000)"
    )
    add_repeats(parser, 3, "rounds at each N")
    parser.add_argument(
        "--seconds",
        type=int,
        default=32,
        help="simulated seconds of the steady state (default 32: more than its deadlines of 30)",
    )
    args = parser.parse_args(argv)
    counts = [count for count in COUNTS if count <= args.max] or [args.max]
    counted = [count for count in counts if count <= 100_000] or counts[:1]

    report, console = Report(NAME), Console()
    with Progress(console=console, transient=True) as progress:
        total = (
            sum(
                args.repeats * sum(takes_part(name, count) for name in CONTESTANTS)
                for count in counts
            )
            + 8
            + len(counted)
        )
        task = progress.add_task("timers", total=total)

        def tick() -> None:
            progress.advance(task)

        measure_time(1_000, 1, lambda: None)  # Warm up.
        timed = {count: measure_time(count, args.repeats, tick) for count in counts}
        steady = measure_steady_state(args.seconds, tick)
        steps: dict[str, dict[int, float]] = {name: {} for name in CONTESTANTS}
        for count in counted:
            for name, make in CONTESTANTS.items():
                if takes_part(name, count):
                    steps[name][count] = count_steps(make, count)
            tick()

    show_time(console, report, timed)
    show_steady(console, report, steady, args.seconds)
    show_steps(console, report, steps, counted)

    largest = counts[-1]
    wheel, peer = timed[largest]["wheel"], timed[largest]["asyncio call_later"]
    ratio = statistics.median(
        theirs.both / ours.both for ours, theirs in zip(wheel, peer, strict=True)
    )
    report.target(
        f"time of asyncio's call_later + cancel / the wheel's, N = {largest:,}",
        ratio,
        ">=",
        TARGET_TIME,
    )
    report.target(
        "bytes held in the steady state, lazy heap / wheel",
        steady["heap, lazy"].bytes / steady["wheel"].bytes,
        ">=",
        TARGET_MEMORY,
    )
    flat = steps["wheel"][counted[-1]] / steps["wheel"][counted[0]]
    report.target(
        f"the wheel's steps for a task, N = {counted[-1]:,} / N = {counted[0]:,}",
        flat,
        "<=",
        TARGET_FLAT,
    )
    report.show(console, figures=False)
    if args.json:
        report.write(args.json)
    return 0


def show_time(console: Console, report: Report, timed: dict[int, dict[str, list[Timed]]]) -> None:
    table = Table(
        "timer",
        title="insert + cancel, CPU ns a task (and compared with the wheel)",
        title_justify="left",
    )
    for count in timed:
        table.add_column(f"N = {count:,}", justify="right")
    for name in CONTESTANTS:
        cells = []
        for count, rounds in timed.items():
            if name not in rounds:
                cells.append("")
                continue
            insert = statistics.median(figure.insert for figure in rounds[name])
            cancel = statistics.median(figure.cancel for figure in rounds[name])
            ratio = statistics.median(
                theirs.both / ours.both
                for ours, theirs in zip(rounds["wheel"], rounds[name], strict=True)
            )
            report.figure(f"{name}: insert ns, N = {count:,}", insert)
            report.figure(f"{name}: cancel ns, N = {count:,}", cancel)
            report.figure(f"{name}: time / wheel, N = {count:,}", ratio)
            cells.append(f"{insert:,.0f} + {cancel:,.0f}  ({ratio:.2f}x)")
        table.add_row(name, *cells)
    console.print(table)


def show_steady(console: Console, report: Report, steady: dict[str, Steady], seconds: int) -> None:
    title = (
        "steady state: 10,000 requests/s, deadline 30 s, 99.9 % answered within 100 ms; after"
        f" {seconds} s"
    )
    table = Table("timer", title=title, title_justify="left")
    for heading in ("entries held", "bytes held", "compared with the wheel", "CPU ns a request"):
        table.add_column(heading, justify="right")
    for name, figures in steady.items():
        report.figure(f"steady state, {name}: entries held", figures.entries)
        report.figure(f"steady state, {name}: bytes held", figures.bytes)
        report.figure(f"steady state, {name}: CPU ns a request", figures.cpu_ns)
        table.add_row(
            name,
            number(figures.entries),
            number(figures.bytes),
            f"{figures.bytes / steady['wheel'].bytes:.1f}x",
            number(figures.cpu_ns),
        )
    console.print(table)


def show_steps(
    console: Console, report: Report, steps: dict[str, dict[int, float]], counts: list[int]
) -> None:
    table = Table(
        "timer",
        title="counted steps: bytecodes for a task that is inserted before N others and then"
        " removed",
        title_justify="left",
    )
    for count in counts:
        table.add_column(f"N = {count:,}", justify="right")
    for name, by_count in steps.items():
        for count, value in by_count.items():
            report.figure(f"{name}: steps a task, N = {count:,}", value)
        table.add_row(
            name, *[number(by_count[count]) if count in by_count else "" for count in counts]
        )
    console.print(table)
