"""Numbers and names in sentences for people."""

from collections.abc import Collection
from itertools import islice


def plural(number: int, noun: str) -> str:
    """`1 partition`, `2 partitions`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def joined(names: Collection[object], most: int = 3) -> str:
    """`web-0, web-1, web-2 and 9 more`. O(most)."""
    shown = ", ".join(map(str, islice(names, most)))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
