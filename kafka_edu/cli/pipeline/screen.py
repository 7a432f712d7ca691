"""Show a running pipeline in a view that fills the terminal, or as plain lines without a terminal.

The first line says whether the pipeline keeps up. The next lines say why: the queries, the lag of
each partition, and the watermark. Below are the results: how many log lines there are of each kind,
and the newest windows.
"""

import io
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kafka_edu.common.terminal_picture import tidy
from kafka_edu.spark.pipeline_view import Lag, PipelineView, QueryState, WindowRow

BARS: Final = " ▁▂▃▄▅▆▇█"
_FULL: Final = "█"
_PARTS: Final = " ▏▎▍▌▋▊▉"
#: From this terminal width on (in characters), the windows are shown next to the queries.
WIDE: Final = 110
_REDRAW_EVERY_S: Final = 0.25
_LINE_EVERY_S: Final = 2.0
#: Rows that the narrow view always has. It also needs rows for the windows, queries and lags.
_FIXED_ROWS: Final = 11
#: From this terminal width on (in characters), the columns of the queries have wider gaps.
_ROOMY: Final = 70
_MOST_PARTITIONS: Final = 8
_PICTURE: Final = (120, 30)


def sparkline(values: Sequence[float], width: int) -> str:
    """Return the last `width` values as one line of block characters.

    The highest value fills its block.
    """
    shown = list(values)[-width:]
    most = max(shown, default=0.0)
    return "".join(BARS[max(1, round(8 * value / most))] if most else BARS[1] for value in shown)


def bar(share: float, width: int) -> str:
    """Return a bar `width` characters long. The part `share` of it (0 to 1) is filled."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    text = _FULL * (eighths // 8)
    if eighths % 8:
        text += _PARTS[eighths % 8]
    return text.ljust(width)


def clock_of(time_s: int | None) -> str:
    """Return a time of the log as HH:MM:SS in UTC. `time_s` is in seconds since 1970."""
    return "–" if time_s is None else f"{datetime.fromtimestamp(time_s, UTC):%H:%M:%S}"


def span_of(seconds: int | None) -> str:
    """Return a number of seconds as text, for example `12 min 31 s`."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def draw(view: PipelineView, title: str, width: int, height: int) -> RenderableType:
    """Return the view, drawn for a terminal of `width` × `height` characters."""
    headline = view.headline
    word = Text(f" {headline.word} ", "black on green" if headline.is_well else "black on yellow")
    answer = Text.assemble(word, " ", headline.text, no_wrap=True, overflow="ellipsis")
    head = [Text(title, "bold", no_wrap=True, overflow="ellipsis"), answer, _fed(view, width)]
    partitions = view.lags[:_MOST_PARTITIONS]
    if width >= WIDE:
        left = (width - 3) // 2
        sides = Table.grid(padding=(0, 3, 0, 0), expand=False)
        sides.add_column(width=left)
        sides.add_column(width=width - left - 4)
        sides.add_row(
            Group(
                _queries(view.queries.values(), left),
                Text(),
                *_lags(view, partitions, left, 1),
                Text(),
                *_times(view),
            ),
            _windows(list(view.newest), height - len(head) - 4, width - left - 4),
        )
        return Group(*head, Text(), sides)
    two = 2 if len(partitions) > 2 else 1
    rows = height - _FIXED_ROWS - len(view.queries) - -(-len(partitions) // two)
    return Group(
        *head,
        Text(),
        _queries(view.queries.values(), width),
        Text(),
        *_lags(view, partitions, width, two),
        *_times(view),
        Text(),
        _windows(list(view.newest), rows, width),
    )


def _fed(view: PipelineView, width: int) -> Text:
    number = f" {view.sent:,} of {view.lines:,} lines sent"
    drawn = bar(view.sent / view.lines, max(8, width - len(number) - 1))
    return Text.assemble((drawn, "cyan"), number, no_wrap=True)


def _queries(queries: Iterable[QueryState], width: int) -> Table:
    gap = 2 if width >= _ROOMY else 1
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("query", no_wrap=True)
    for name in ("batches", "read", "rows/s", "state", "s/batch"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="cyan")
    for query in queries:
        table.add_row(
            query.name,
            f"{query.batches:,}",
            f"{query.read:,}",
            f"{query.rows_a_second:,.0f}" if query.batches else "–",
            f"{query.state_rows:,}" if query.has_state else "–",
            f"{query.seconds[-1]:.1f}" if query.seconds else "–",
            sparkline(query.seconds, max(4, min(24, width - 45 - 6 * gap))),
        )
    return table


def _lags(
    view: PipelineView, lags: Sequence[Lag], width: int, columns: int
) -> Iterator[RenderableType]:
    left_out = len(view.lags) - len(lags)
    more = f" (and {left_out} more partitions)" if left_out else ""
    yield Text(
        f"lag by partition{more}, of {view.slowest.name}, which has read least", "dim", no_wrap=True
    )
    most = max([lag.behind for lag in view.lags] + [view.batch_lines // max(1, len(view.lags))])
    each = width // columns - 14
    drawn = [
        Text.assemble(
            (f"{lag.partition:>3} ", "dim"),
            (bar(lag.behind / most, each), "cyan"),
            f"{lag.behind:>8,}",
            no_wrap=True,
        )
        for lag in lags
    ]
    if columns == 1:
        yield from drawn
    else:
        rows = -(-len(drawn) // columns)
        grid = Table.grid(padding=(0, 2, 0, 0))
        for row in range(rows):
            grid.add_row(*drawn[row::rows])
        yield grid


def _times(view: PipelineView) -> Iterator[Text]:
    behind = (
        f", {span_of(view.behind_s)} behind line {clock_of(view.newest_line_s)}"
        if view.watermark_s is not None
        else "no batch has set it yet"
    )
    yield Text.assemble(
        ("watermark ", "dim"),
        clock_of(view.watermark_s) if view.watermark_s is not None else "",
        behind,
        no_wrap=True,
        overflow="ellipsis",
    )
    yield Text.assemble(("lines ", "dim"), kinds_of(view), no_wrap=True, overflow="ellipsis")


def kinds_of(view: PipelineView) -> str:
    """Return a text with the number of lines that are good, bad, too late, and dropped."""
    good, bad, late = (view.by_kind.get(kind, 0) for kind in ("good", "bad", "too_late"))
    return f"{good:,} good · {bad:,} bad · {late:,} too late · {view.dropped:,} dropped"


def _windows(newest: Sequence[WindowRow], rows: int, width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("window", no_wrap=True)
    for name in ("lines", "5xx", "rate"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("p99", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    if not newest:
        table.add_row("none is complete yet")
        return table
    each = max(4, (width - 46) // 2)
    worst = max(one.error_rate for one in newest) or 1.0
    slowest = max(one.p99_us for one in newest) or 1
    for one in list(reversed(newest))[: max(1, rows)]:
        table.add_row(
            clock_of(one.begin_s),
            f"{one.lines:,}",
            f"{one.errors:,}",
            f"{100 * one.error_rate:.1f} %",
            Text(bar(one.error_rate / worst, each), "red"),
            f"{one.p99_us / 1000:,.0f} ms",
            Text(bar(one.p99_us / slowest, each), "yellow"),
        )
    return table


def plain_line(view: PipelineView) -> str:
    """Return the state of the pipeline as one line of plain text, without colours."""
    if view.starting:
        return f"{view.headline.word}: {view.headline.text}"
    read = ", ".join(f"{query.name} {query.read:,}" for query in view.queries.values())
    mark = (
        f"watermark {clock_of(view.watermark_s)}"
        if view.watermark_s is not None
        else "no watermark yet"
    )
    return (
        f"{view.headline.word}: {view.sent:,} of {view.lines:,} lines sent; read: {read};"
        f" {mark}; {kinds_of(view)}; {view.windows_seen:,} windows"
    )


class Steps:
    """Show the steps of the command before and after the view, as a moving line or plain lines."""

    def __init__(self, console: Console, *, is_live: bool) -> None:
        self._console = console
        self.is_live = is_live

    @contextmanager
    def step(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show the text during the block. Yield a function that changes the text on a terminal."""
        if self.is_live:
            with self._console.status(escape(text)) as status:
                yield lambda news: status.update(escape(news))
        else:
            self._console.print(text, soft_wrap=True, highlight=False, markup=False)
            yield lambda news: None


class Screen(Protocol):
    """An output on which a running pipeline shows its view again and again."""

    def show(self, view: PipelineView) -> None: ...


class LiveScreen:
    """A view that fills the terminal.

    When it ends, the terminal shows its earlier content again.
    """

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._live = Live(console=console, screen=True, auto_refresh=False)
        self._drawn_at = 0.0

    def __enter__(self) -> "LiveScreen":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, view: PipelineView) -> None:
        """Draw the view, at most four times a second."""
        if (now := time.monotonic()) - self._drawn_at < _REDRAW_EVERY_S:
            return
        self._drawn_at = now
        size = self._console.size
        self._live.update(draw(view, self._title, size.width, size.height), refresh=True)


class PlainScreen:
    """Prints a line of plain text when the state has changed. The class is used for files and
    pipes.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said = ""
        self._said_at = 0.0

    def __enter__(self) -> "PlainScreen":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, view: PipelineView) -> None:
        """Print the state if it has changed, at most every two seconds."""
        now = time.monotonic()
        if now - self._said_at < _LINE_EVERY_S or (line := plain_line(view)) == self._said:
            return
        self._said, self._said_at = line, now
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)


def title_of(topic: str, connector: str, mode: str, master: str) -> str:
    """Return the title line of the view, with topic, mode, connector and Spark's master."""
    return f"Spark pipeline · topic {topic} · {mode} · connector {connector} · {master}"


def picture(view: PipelineView, title: str, size: tuple[int, int] = _PICTURE) -> str:
    """Return the view as an SVG that needs no fonts from the network."""
    width, height = size
    console = Console(
        file=io.StringIO(), record=True, width=width, height=height, force_terminal=True
    )
    console.print(draw(view, title, width, height))
    return tidy(console.export_svg(title=title))
