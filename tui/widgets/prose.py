"""Sentences wrapped for a narrow place, and bars."""

from collections.abc import Iterable
from textwrap import wrap


def folded(words: str, width: int, indent: int = 0, hang: int = 2) -> list[str]:
    """Return the words in lines of at most `width` characters.

    The first line begins after `indent` blanks, the others after `indent + hang`.
    """
    return wrap(
        words,
        max(width, indent + hang + 8),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
    )


def cut(lines: list[str], most: int) -> list[str]:
    """Return the first `most` lines. If there are more, the last one ends with an ellipsis."""
    if len(lines) <= most:
        return lines
    kept = lines[:most]
    if kept:
        kept[-1] = kept[-1][:-1] + "…" if len(kept[-1]) > 1 else "…"
    return kept


def gauge(part: float, width: int) -> tuple[str, str]:
    """Return the filled and the empty part of a bar. `part` is the filled share, 0.0 to 1.0."""
    filled = round(min(max(part, 0.0), 1.0) * width)
    return "━" * filled, "─" * (width - filled)


def column_width(names: Iterable[str], limits: tuple[int, int]) -> int:
    """Return the width of a column for these names, between two limits."""
    return min(max([limits[0], *map(len, names)]), limits[1])


def fitted_name(name: str, width: int) -> str:
    """Return a name in at most `width` characters. A longer one ends with an ellipsis."""
    return name if len(name) <= width else name[: width - 1] + "…"


def fitted_partition(topic: str, partition: int, width: int) -> str:
    """Return a partition's name in at most `width` characters: its topic is cut, its number not."""
    number = f"-{partition}"
    return fitted_name(topic, width - len(number)) + number
