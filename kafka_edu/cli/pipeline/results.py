"""Show the results of a pipeline: tables and plots in the terminal, PNG files, HTML and JSON."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.table import Table

from kafka_edu.cli.pipeline.html_report import Figure, Page, Row, html_page
from kafka_edu.cli.pipeline.plots import PlotData, draw_plots, own_ids, write_pngs
from kafka_edu.cli.pipeline.run import Mode, Outcome, Run
from kafka_edu.cli.pipeline.screen import Steps, clock_of
from kafka_edu.cli.pipeline.terminal_plot import column_plot
from kafka_edu.cli.report import MISSED, Ending, Report
from kafka_edu.common.python_process import command_line
from kafka_edu.spark.pipeline_view import WindowRow

if TYPE_CHECKING:
    from rich.console import Console

    from kafka_edu.spark.pipeline_answers import Window
    from kafka_edu.spark.pipeline_settings import PipelineSettings

_PLOT_ROWS: Final = 6
_MOST_COLUMNS: Final = 100


class Places(NamedTuple):
    """The files and the folder to which the results are written."""

    folder: Path
    html: Path
    json: Path | None


def show_results(
    console: "Console",
    steps: Steps,
    settings: "PipelineSettings",
    run: Run,
    found: Outcome,
    places: Places,
) -> bool:
    """Show the results and write the files. Return whether all results are right.

    Raises OSError if a file cannot be written.
    """
    report = report_of(settings, run, found, places)
    _show_comparisons(console, found)
    _show_plots(console, found)
    with steps.step("drawing the report"):
        write_files(settings, run, found, report, places)
    console.print(f"report: {places.html}", soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"results: {places.folder} (lines, windows, sessions: Parquet; plots: PNG)",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
    if found.result_records is not None:
        console.print(
            f"result topic: {settings.result_topic} holds {found.result_records:,} windows; the"
            f" truth has {len(found.truth.windows):,}",
            soft_wrap=True,
            highlight=False,
            markup=False,
        )
    report.show_ending(console)
    return report.holds


def report_of(settings: "PipelineSettings", run: Run, found: Outcome, places: Places) -> Report:
    """Return the report of a run: its figures, one target for each result, and its ending."""
    report = Report("spark-pipeline")
    answers = found.answers
    for name, value in {
        "mode": run.mode.value,
        "connector": settings.connector.value,
        "master": run.master,
        "lines": run.lines,
        "seed": run.seed,
        "seconds": round(found.seconds, 3),
        "lines/s": round(run.lines / max(found.seconds, 1e-9)),
        "batches": len(found.batches),
        "lines in windows": sum(one.lines for one in answers.windows.values()),
        "bad lines": sum(answers.by_reason.values()),
        "too late lines": sum(answers.too_late_by_window.values()),
        "windows": len(answers.windows),
        "sessions": answers.sessions_written,
        "records in the result topic": found.result_records,
        "largest distance between partitions, s of the log's time": answers.apart_s,
        "seconds by batch": {
            f"{one.query} {one.number}": round(one.seconds, 3) for one in found.batches
        },
    }.items():
        report.figure(name, value)
    for one in found.comparisons:
        report.target(f"{one.name}: differences", one.differences, "==", 0)
    if run.mode is not Mode.BATCH:
        report.target("lines dropped by Spark's watermark", found.dropped, "==", 0)
    report.end(**_ending(settings, run, found, places)._asdict())
    return report


def _ending(settings: "PipelineSettings", run: Run, found: Outcome, places: Places) -> Ending:
    answers = found.answers
    in_windows = sum(one.lines for one in answers.windows.values())
    happened = (
        f"{run.lines:,} lines went from a producer through topic {settings.topic} to Spark in"
        f" {found.seconds:.0f} s: {in_windows:,} were counted in {len(answers.windows)} windows,"
        f" {sum(answers.by_reason.values()):,} are in quarantine, and"
        f" {sum(answers.too_late_by_window.values()):,} came too late. Every answer equals the"
        " truth, each p99 to the microsecond."
    )
    why = (
        "A batch job reads the topic once, and the rule for late lines looks at each record alone."
        " So it gives the same answers as a stream."
        if run.mode is Mode.BATCH
        else "Whether a line is too late is decided by the record alone, so it does not matter"
        " where a micro-batch ends. Each batch writes to its own folder, so a repeated batch"
        " overwrites its own rows."
    )
    other = "official" if settings.connector == "python" else "python"
    another = (
        f"{command_line('spark pipeline')} --connector {other}"
        if run.mode is Mode.BATCH
        else f"{command_line('spark pipeline')} --batch"
    )
    look_next = (
        f"Open {places.html} in a browser. Run it in another way, and the answers stay the same:"
        f" {another}. docs/spark-pipeline.md explains the view."
    )
    return Ending(happened, why, look_next)


def _show_comparisons(console: "Console", found: Outcome) -> None:
    table = Table("the answers", title="The pipeline compared with the truth", title_justify="left")
    for name in ("truth", "pipeline", "differences"):
        table.add_column(name, justify="right")
    table.add_column("")
    for one in found.comparisons:
        table.add_row(
            one.name,
            f"{one.truth:,}",
            f"{one.found:,}",
            f"{one.differences:,}",
            "[red]✗[/]" if one.differences else "[green]✓[/]",
        )
    console.print(table)


def _show_plots(console: "Console", found: Outcome) -> None:
    windows = _rows(found.answers.windows)
    if not windows:
        return
    labels = clock_of(windows[0].begin_s), clock_of(windows[-1].begin_s)
    size = min(_MOST_COLUMNS, console.width - 2), _PLOT_ROWS
    for title, values, unit, color in (
        ("error rate by window", [100 * one.error_rate for one in windows], "%", "red"),
        ("p99 by window", [one.p99_us / 1000 for one in windows], "ms", "yellow"),
    ):
        first, *drawn, under = column_plot(title, values, labels, unit, size)
        console.print(first, highlight=False)
        for line in drawn:
            console.print(line, style=color, highlight=False)
        console.print(under, style="dim", highlight=False)


def write_files(
    settings: "PipelineSettings", run: Run, found: Outcome, report: Report, places: Places
) -> None:
    """Write the plots as PNG, the report as HTML, and the figures as JSON. Raises OSError."""
    answers, truth = found.answers, found.truth
    plots = draw_plots(
        PlotData(
            _rows(answers.windows),
            _rows(truth.windows),
            answers.by_status,
            found.batches,
            answers.sessions,
        )
    )
    write_pngs(plots, places.folder / "plots")
    assert report.ending is not None
    page = Page(
        f"Pipeline of the topic {settings.topic}",
        {
            "mode": run.mode.value,
            "connector": settings.connector.value,
            "Spark's master": run.master,
            "lines": f"{run.lines:,} (seed {run.seed})",
            "time of Spark's work": f"{found.seconds:.1f} s",
            "windows": f"{settings.window_s} s of the log's time; a session ends after"
            f" {settings.gap_s} s",
            "too late": f"written more than {settings.watermark_s} s after its time",
            "partitions apart": f"{answers.apart_s} s of the log's time at most; {settings.apart_s}"
            " s are allowed",
            "result topic": "none"
            if found.result_records is None
            else f"{settings.result_topic}: {found.result_records:,} windows, the truth has"
            f" {len(found.truth.windows):,}",
            "results": str(places.folder.resolve()),
        },
        [Row(*one) for one in found.comparisons],
        answers.by_reason,
        [Figure(plot.title, plot.caption, own_ids(plot.svg, plot.name)) for plot in plots],
        report.ending if report.holds else report.ending._replace(happened=MISSED),
    )
    places.html.write_text(html_page(page), encoding="utf-8")
    if places.json is not None:
        report.write(places.json)


def _rows(windows: "dict[int, Window]") -> list[WindowRow]:
    return sorted(
        WindowRow(begin_s, one.lines, one.errors, one.p99_us) for begin_s, one in windows.items()
    )
