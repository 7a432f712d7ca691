"""Turn the results of all parts of a soak into the report: figures and targets."""

from collections import Counter
from typing import Final

from rich.console import Console
from rich.table import Table

from kafka_edu.cli.report import Report, number
from kafka_edu.cli.soak.memory import FLAT_GROWTH_PERCENT, SHOWS_FROM_S
from kafka_edu.cli.soak.state import Part, SoakState
from kafka_edu.common.python_process import command_line

LONGEST_SHOWN: Final = 5


def report_of(state: SoakState) -> Report:
    """Return the report with a summary of all parts of the soak."""
    report, parts = Report("soak"), state.parts
    report.figure("minutes", round(state.seconds / 60, 2))
    report.figure("parts", len(parts))
    _requests(report, parts)
    _records(report, parts)
    _loop(report, parts)
    _memory(report, parts)
    failed = [part.failed for part in parts if part.failed]
    if failed:
        report.figure("parts that ended early", failed)
    report.target(
        "requests stuck, as the prober saw", sum(part.requests_stuck for part in parts), "==", 0
    )
    report.target(
        "requests stuck, as the brokers' watchdogs saw",
        sum(part.broker_stuck for part in parts),
        "==",
        0,
    )
    report.target(
        "librdkafka's requests timed out", sum(len(part.client_timeouts) for part in parts), "==", 0
    )
    report.target("requests answered", sum(part.requests_answered for part in parts), ">", 0)
    report.target("records acked", sum(part.records_acked for part in parts), ">", 0)
    report.target("acked records lost", sum(part.records_lost for part in parts), "==", 0)
    report.target(
        "acked records the group did not read",
        sum(part.records_not_read_by_group for part in parts),
        "==",
        0,
    )
    report.target("parts that ended early", len(failed), "==", 0)
    _memory_target(report, parts)
    return report


def _requests(report: Report, parts: list[Part]) -> None:
    report.figure("probe requests sent", sum(part.requests_sent for part in parts))
    report.figure("probe requests answered", sum(part.requests_answered for part in parts))
    report.figure(
        "probe requests whose connection closed", sum(part.requests_closed for part in parts)
    )
    report.figure("probe requests stuck", sum(part.requests_stuck for part in parts))
    report.figure(
        "probe requests stuck and answered later",
        sum(part.requests_stuck_but_answered_later for part in parts),
    )
    kinds: dict[str, float] = {}
    for part in parts:
        for kind, waited_ms in part.longest_wait_ms.items():
            kinds[kind] = max(kinds.get(kind, 0.0), waited_ms)
    slowest = sorted(kinds.items(), key=lambda each: -each[1])
    report.figure("longest wait of a request, ms", round(slowest[0][1]) if slowest else None)
    report.figure(
        "longest wait by kind, ms", {kind: round(waited_ms) for kind, waited_ms in slowest}
    )
    stuck = [text for part in parts for text in part.stuck]
    if stuck:
        report.figure("stuck requests", stuck)
        report.figure("story", [part.story for part in parts])
    if events := [event for part in parts for event in part.broker_stuck_events]:
        report.figure("RequestStuck events", events)
    if lines := [line for part in parts for line in part.client_timeouts]:
        report.figure("librdkafka's time-outs", lines)
    if troubles := sum((Counter(part.troubles) for part in parts), Counter[str]()):
        report.figure("events that report trouble, by name", dict(troubles))
    if events := [event for part in parts for event in part.trouble_events]:
        report.figure("trouble that events reported", events)


def _records(report: Report, parts: list[Part]) -> None:
    report.figure("acts", dict(sum((Counter(part.acts) for part in parts), Counter[str]())))
    report.figure("records sent", sum(part.records_sent for part in parts))
    report.figure("records acked", sum(part.records_acked for part in parts))
    report.figure(
        "records refused",
        dict(sum((Counter(part.records_refused) for part in parts), Counter[str]())),
    )
    report.figure(
        "records without an answer at the end", sum(part.records_unanswered for part in parts)
    )
    report.figure("records read by the group", sum(part.records_read for part in parts))
    report.figure("records read more than once", sum(part.records_read_again for part in parts))
    report.figure("parts compared to the end", sum(part.complete for part in parts))
    report.figure(
        "times the replicas were not in sync before the next act",
        sum(part.not_in_sync_in_time for part in parts),
    )


def _loop(report: Report, parts: list[Part]) -> None:
    stalls = sorted(
        (stall for part in parts for stall in part.longest_stalls), key=_stalled_ms, reverse=True
    )
    report.figure("loop stalls", sum(part.loop_stalls for part in parts))
    report.figure("longest loop stall, ms", _stalled_ms(stalls[0]) if stalls else 0)
    report.figure("longest loop stalls", stalls[:LONGEST_SHOWN])
    report.figure("trace events read", sum(part.trace_counts.get("events", 0) for part in parts))
    report.figure(
        "trace level changes", sum(part.trace_counts.get("level changes", 0) for part in parts)
    )
    report.figure(
        "longest fsync of the disk writer, ms",
        max((part.longest_fsync_ms for part in parts), default=0),
    )
    report.figure("written by the disk writers, MB", sum(part.disk_written_mb for part in parts))


def _stalled_ms(stall: dict[str, object]) -> int:
    value = stall.get("stalled_ms", 0)
    return value if isinstance(value, int) else 0


def _memory(report: Report, parts: list[Part]) -> None:
    report.figure(
        "memory and file handles by process", [trend for part in parts for trend in part.trends]
    )


def _memory_target(report: Report, parts: list[Part]) -> None:
    """Add the target for the memory of processes that lived for ten minutes or more.

    If there is no such process, no target is added, and a figure shows the number 0.
    """
    long = [
        trend for part in parts for trend in part.trends if trend["minutes"] * 60 >= SHOWS_FROM_S
    ]
    report.figure("processes that lived long enough to show their memory flat", len(long))
    if long:
        name = "growth of RssAnon, last third over second third, %, the most of any such process"
        report.target(
            name, max(trend["growth_percent"] for trend in long), "<=", FLAT_GROWTH_PERCENT
        )


def show(report: Report, state: SoakState, console: Console) -> None:
    """Print the figures that are numbers, the memory of each process, the stalls, the targets.

    At the end, print sentences that say what the results mean.
    """
    plain = Report(report.name)
    for name, value in report.figures.items():
        if isinstance(value, int | float) or value is None:
            plain.figure(name, value)
    plain.show(console)
    _show_memory(state, console)
    for stall in sorted(
        (stall for part in state.parts for stall in part.longest_stalls),
        key=_stalled_ms,
        reverse=True,
    )[:LONGEST_SHOWN]:
        fields = " · ".join(
            f"{name} {value}" for name, value in stall.items() if name not in ("event", "wall_ms")
        )
        console.print(f"[yellow]loop stall[/] {fields}", soft_wrap=True, highlight=False)
    for part in state.parts:
        for text in (
            *part.stuck,
            *part.client_timeouts,
            *map(str, part.broker_stuck_events),
            *([part.failed] if part.failed else []),
        ):
            console.print(f"[red]✕[/] {text}", soft_wrap=True, highlight=False, markup=True)
    report.show(console, figures=False)
    _show_what_came_of_it(state, console)


def _show_memory(state: SoakState, console: Console) -> None:
    table = Table(
        "broker",
        "minutes",
        "RssAnon MB: first",
        "second third",
        "last third",
        "highest",
        "growth %",
        "MB/hour",
        "file handles, most",
    )
    table.title, table.title_justify = "Memory by process", "left"
    for part in state.parts:
        for trend in part.trends:
            names = (
                "broker",
                "minutes",
                "first_mb",
                "median_second_third_mb",
                "median_last_third_mb",
                "highest_mb",
            )
            more = ("growth_percent", "slope_mb_per_hour", "file_handles_highest")
            table.add_row(*(number(trend[name]) for name in (*names, *more)))
    console.print(table)


def _show_what_came_of_it(state: SoakState, console: Console) -> None:
    parts = state.parts
    stuck = sum(
        part.requests_stuck + part.broker_stuck + len(part.client_timeouts) for part in parts
    )
    acts = sum((Counter(part.acts) for part in parts), Counter[str]())
    console.print(
        f"In {state.seconds / 60:.1f} minutes the cluster went through"
        f" {acts['kill -9 and restart']} kills and {acts['pause and resume']} pauses, and"
        f" {stuck or 'no'} requests were left without an answer.",
        soft_wrap=True,
    )
    console.print(
        "A broker answers each request within its time-out, or closes the connection, because every"
        " wait has a timer and every response is sent in the end.",
        soft_wrap=True,
    )
    if any(part.client_timeouts for part in parts) and not any(
        part.requests_stuck or part.broker_stuck for part in parts
    ):
        console.print(
            "librdkafka timed out although no broker left a request unanswered: its requests waited"
            " behind each other on their connection, because the machine was too busy to answer"
            " them as fast as they came (docs/answers.md, a backlog that looks like silence). Try"
            " fewer records (--rate).",
            soft_wrap=True,
        )
    console.print(
        "Read docs/soak.md next, and try the same mix in virtual time:"
        f" {command_line('soak seeds --seeds 20')}",
        soft_wrap=True,
    )
