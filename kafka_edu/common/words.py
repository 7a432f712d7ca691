"""Numbers, names and causes in sentences for people."""

import os
from collections.abc import Collection
from itertools import islice


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: `1 partition`, `2 partitions`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cause_of(error: OSError) -> str:
    """Return the system's words for an error without Python's `[Errno 111]`: `Connection refused`.

    asyncio replaces these words by the address that it tried. The words are then taken from the
    number of the error.
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
    """Join the first names and count the rest: `web-0, web-1, web-2 and 9 more`. O(most)."""
    shown = ", ".join(map(str, islice(names, most)))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
