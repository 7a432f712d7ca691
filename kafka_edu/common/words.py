"""Format numbers, durations, names and causes for sentences."""

import os
from collections.abc import Collection
from itertools import islice


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: `1 partition`, `2 partitions`, `2 batches`."""
    ending = "" if number == 1 else "es" if noun.endswith(("ch", "s")) else "s"
    return f"{number:,} {noun}{ending}"


def cause_of(error: OSError) -> str:
    """Return the system's text for an error, without Python's `[Errno 111]`: `Connection refused`.

    For a failed connection, asyncio replaces the system's text with the address that it tried. In
    that case this function looks up the system's text by the error number.
    """
    if error.strerror is None:
        return str(error)
    if (
        error.errno is not None
        and error.errno > 0
        and error.strerror.startswith("Connect call failed")
    ):
        return os.strerror(error.errno)
    return error.strerror


def joined(names: Collection[object], most: int = 3) -> str:
    """Join the first `most` names and the number of further names: `web-0, web-1, web-2 and 9
    more`.

    O(most).
    """
    shown = ", ".join(map(str, islice(names, most)))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def duration(ms: float) -> str:
    """Format a duration for reading: `7 ms`, `1.4 s`, `42 s`, `12 min 05 s`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest:02} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:02.0f} min"


def span(ms: int) -> str:
    """Format a number of milliseconds exactly, for example the tick of a timing wheel.

    400 → `400 ms`, 8000 → `8 s`, 160000 → `160 s`, 1500 → `1500 ms`.
    """
    return f"{ms // 1000} s" if ms >= 1000 and ms % 1000 == 0 else f"{ms} ms"
