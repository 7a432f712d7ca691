"""Readable numbers (unit, three significant digits, grouped thousands), and rows of bars."""

from collections.abc import Sequence
from typing import Final

from kafka_edu.common.words import duration as duration
from kafka_edu.common.words import span as span

BARS: Final = "▁▂▃▄▅▆▇█"


def count(number: int) -> str:
    """Group the thousands: 12411 → `12,411`."""
    return f"{number:,}"


def short_count(number: float) -> str:
    """Shorten a number for narrow places: 12411 → `12.4k`."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return (
                f"{number / limit:.1f}{unit}"
                if number < 100 * limit
                else f"{number / limit:.0f}{unit}"
            )
    return f"{number:.0f}"


def size(number: float) -> str:
    """Format bytes in decimal units, as networks and Kafka's graphs do: 12411000 → `12.4 MB`."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= limit:
            return (
                f"{number / limit:.1f} {unit}"
                if number < 100 * limit
                else f"{number / limit:.0f} {unit}"
            )
    return f"{number:.0f} B"


def old(age_us: int) -> str:
    """Format the age of a sample, given in µs: 12 000 000 → `12 s old`."""
    return f"{duration(age_us / 1000)} old"


def per_second(rate: float) -> str:
    """Format a rate: `3/s`, `0.4/s`, `12,411/s`."""
    return f"{rate:.1f}/s" if 0 < rate < 10 else f"{rate:,.0f}/s"


def clock(ms: int) -> str:
    """Format ms as hours, minutes and seconds: 192000 → `00:03:12`."""
    seconds = max(ms, 0) // 1000
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def bar(value: float, top: float) -> str:
    """Return a bar of one character, full at `top`.

    Every value above zero is visible, and zero is a flat line.
    """
    if value <= 0 or top <= 0:
        return BARS[0]
    return BARS[max(1, min(len(BARS) - 1, round(value / top * (len(BARS) - 1))))]


def sparkline(values: Sequence[float], width: int, floor: float = 1.0) -> str:
    """Draw the last `width` values as bars, the newest at the right.

    A bar is full at the largest value, or at `floor` if that is larger.
    """
    shown = list(values)[-width:] if width > 0 else []
    top = max([floor, *shown])
    return BARS[0] * (width - len(shown)) + "".join(bar(value, top) for value in shown)


def column(value: float, top: float, rows: int) -> list[str]:
    """Draw a bar of `rows` characters, from the top down.

    Zero is blank; any other value fills at least an eighth of a character.
    """
    eighths = 0 if value <= 0 or top <= 0 else max(1, min(rows * 8, round(value / top * rows * 8)))
    cells = []
    for row in range(rows - 1, -1, -1):
        here = min(max(eighths - row * 8, 0), 8)
        cells.append(" " if here == 0 else BARS[here - 1])
    return cells
