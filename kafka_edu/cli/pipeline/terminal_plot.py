"""Draw a plot with block characters in the terminal. The height of a column has steps of ⅛ line."""

import itertools
from collections.abc import Sequence
from typing import Final

from kafka_edu.cli.pipeline.screen import BARS
from kafka_edu.cli.report import number

_FULL: Final = BARS[-1]


def column_plot(
    title: str, values: Sequence[float], labels: tuple[str, str], unit: str, size: tuple[int, int]
) -> list[str]:
    """Return the lines of a plot: the title with the highest value, the columns, and two labels.

    `labels` are the labels of the first and of the last value. `size` is the width and the height
    of the columns. If there are more values than columns, a column shows the highest of its values,
    so that no peak is lost.
    """
    width, height = size
    shown = _fit(values, width)
    most = max(shown, default=0.0)
    rows = []
    for row in reversed(range(height)):
        cells = [round(8 * height * value / most) - 8 * row if most else 0 for value in shown]
        rows.append("".join(BARS[max(0, min(8, cell))] for cell in cells).rstrip())
    first, last = labels
    under = first.ljust(max(len(first) + 1, len(shown) - len(last))) + last
    return [f"{title}: at most {number(most)} {unit}", *rows, under]


def _fit(values: Sequence[float], width: int) -> list[float]:
    """Return one value for each column. With few values, several columns show the same value.

    With many values, a column shows the highest of the values that fall into it.
    """
    count = len(values)
    if not count:
        return []
    if count <= width:
        each = max(1, min(6, width // count))
        return [value for value in values for _ in range(each)]
    begins = [column * count // width for column in range(width + 1)]
    return [max(values[begin:end]) for begin, end in itertools.pairwise(begins)]
