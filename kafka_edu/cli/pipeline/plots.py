"""Draw the results of a pipeline with matplotlib: SVG for the report, and PNG files.

matplotlib draws in memory. It opens no window, and no global state of matplotlib is used.
"""

import io
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_edu.spark.pipeline_view import Batch, WindowRow

_INCHES: Final = (6.0, 2.9)
_DPI: Final = 150
_BLUE: Final = "#1f6feb"
_RED: Final = "#cf222e"
_GREY: Final = "#57606a"
_QUERY_COLORS: Final = ("#1f6feb", "#bf5700", "#1a7f37", "#8250df", "#57606a")
_STYLE: Final = {
    "svg.fonttype": "none",  # text stays text, which a reader can search and copy
    "svg.hashsalt": "kafka-edu",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


#: The names of all plots, in the order in which they are shown.
NAMES: Final = ("error-rate", "p99", "status", "sessions", "batch-rows", "batch-time")


class PlotData(NamedTuple):
    """The numbers from which all plots are drawn."""

    windows: Sequence[WindowRow]
    """The windows that the pipeline counted."""
    true_windows: Sequence[WindowRow]
    by_status: Mapping[int, int]
    batches: Sequence[Batch]
    sessions: Mapping[int, int]
    """Session length in lines → number of sessions with this length."""


class Plot(NamedTuple):
    """One plot, as SVG and as PNG."""

    name: str
    title: str
    caption: str
    svg: str
    png: bytes


def draw_plots(data: PlotData) -> list[Plot]:
    """Draw and return all plots. A plot without data is left out."""
    drawings: tuple[tuple[str, str, str, bool, Callable[[Any, PlotData], None]], ...] = (
        (
            "error-rate",
            "Error rate by window",
            "The share of good lines with a status of 500 or more. Bars are what the pipeline"
            " found, dots are the truth. A tall bar is a burst: a part of the shop was broken.",
            bool(data.windows),
            lambda axes, all: _windows(axes, all, lambda one: 100 * one.error_rate, "%"),
        ),
        (
            "p99",
            "p99 of the request time by window",
            "99 % of the lines of a window took at most this time. The value is exact, not an"
            " approximation.",
            bool(data.windows),
            lambda axes, all: _windows(axes, all, lambda one: one.p99_us / 1000, "ms"),
        ),
        (
            "status",
            "Lines by status",
            "Good lines, including those that came too late. The scale is logarithmic.",
            bool(data.by_status),
            _statuses,
        ),
        (
            "sessions",
            "Sessions by length",
            "How many sessions there are of each number of lines. The scale is logarithmic.",
            bool(data.sessions),
            _sessions,
        ),
        (
            "batch-rows",
            "Rows a second by batch",
            "One line for each query. The first batch is slow because Spark compiles code in it. A"
            " small batch is slow because each batch takes the same time to begin.",
            len(data.batches) > 1,
            lambda axes, all: _batches(axes, all, lambda one: one.rows_a_second, "rows/s"),
        ),
        (
            "batch-time",
            "Time of a batch",
            "From planning to commit. A batch without rows closes windows.",
            len(data.batches) > 1,
            lambda axes, all: _batches(axes, all, lambda one: one.seconds, "s"),
        ),
    )
    return [
        Plot(name, title, caption, *_render(title, paint, data))
        for name, title, caption, is_there, paint in drawings
        if is_there
    ]


def write_pngs(plots: Sequence[Plot], folder: Path) -> list[Path]:
    """Write each plot as NAME.png into the folder. Return the paths of the written files.

    If this run has no data for a plot, the file that an earlier run wrote for it is removed. Raises
    OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stale in set(NAMES).difference(plot.name for plot in plots):
        (folder / f"{stale}.png").unlink(missing_ok=True)
    written = []
    for plot in plots:
        file = folder / f"{plot.name}.png"
        file.write_bytes(plot.png)
        written.append(file)
    return written


def _render(
    title: str, paint: Callable[[Any, PlotData], None], data: PlotData
) -> tuple[str, bytes]:
    """Draw with the function `paint`.

    Return the plot as an SVG element, and as a PNG with its title.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=_INCHES, layout="constrained")
        axes = figure.add_subplot()
        axes.set_axisbelow(True)
        paint(axes, data)
        svg, png = io.StringIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        axes.set_title(title, loc="left", fontsize=10)
        figure.savefig(png, format="png", dpi=_DPI, metadata={"Software": None})
    text = re.sub(r"<metadata>.*?</metadata>", "", svg.getvalue(), flags=re.DOTALL)
    return text[text.index("<svg") :], png.getvalue()


def own_ids(svg: str, prefix: str) -> str:
    """Put `prefix` before all ids of an SVG, because several plots are in one HTML page."""
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", svg)


def _windows(axes: Any, data: PlotData, value: Callable[[WindowRow], float], unit: str) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

    def at(rows: Sequence[WindowRow]) -> list[float]:
        return [float(date2num(datetime.fromtimestamp(one.begin_s, UTC))) for one in rows]

    begins = [one.begin_s for one in data.windows]
    step = min((b - a for a, b in itertools.pairwise(begins)), default=60)
    axes.bar(
        at(data.windows),
        [value(one) for one in data.windows],
        width=0.85 * step / 86_400,
        color=_BLUE,
        alpha=0.75,
        label="the pipeline",
    )
    axes.plot(
        at(data.true_windows),
        [value(one) for one in data.true_windows],
        linestyle="none",
        marker=".",
        markersize=5,
        color=_RED,
        label="the truth",
    )
    locator = AutoDateLocator(tz=UTC, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC, show_offset=False))
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, ncols=2)
    axes.margins(x=0.01)


def _statuses(axes: Any, data: PlotData) -> None:
    statuses = sorted(data.by_status, reverse=True)
    lines = [data.by_status[one] for one in statuses]
    bars = axes.barh(
        [str(one) for one in statuses],
        lines,
        color=[_RED if one >= 500 else _BLUE if one < 400 else _GREY for one in statuses],
        height=0.7,
    )
    axes.bar_label(bars, [f"{one:,}" for one in lines], padding=3)
    axes.set_xscale("log")
    axes.set_xlim(left=0.8, right=max(lines) * 8)
    axes.set_xlabel("lines")


def _sessions(axes: Any, data: PlotData) -> None:
    axes.bar(list(data.sessions), list(data.sessions.values()), color=_BLUE, width=0.9)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.8)
    axes.set_xlabel("lines of a session")
    axes.set_ylabel("sessions")
    axes.grid(axis="y", alpha=0.3)
    axes.margins(x=0.01)


def _batches(axes: Any, data: PlotData, value: Callable[[Batch], float], unit: str) -> None:
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(one.query for one in data.batches))
    for name, color in zip(names, _QUERY_COLORS * len(names), strict=False):
        own = [one for one in data.batches if one.query == name]
        axes.plot(
            [one.number for one in own],
            [value(one) for one in own],
            marker="o",
            markersize=3.5,
            linewidth=1.3,
            color=color,
            label=name,
        )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("batch")
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, ncols=len(names))
