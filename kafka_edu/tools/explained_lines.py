"""The pieces of a log's file as text of at most 100 columns.

       0  00 00 00 00 00 00 00 05                          baseOffset = 5
                                                           The offset of the first record; …

For a long piece, only the first bytes are shown, and the number of the remaining bytes.
"""

import textwrap
from collections.abc import Iterator
from typing import Final

from kafka_edu.tools.explain_log import Heading, Line, Piece

COLUMNS: Final = 100
_BYTES_A_ROW: Final = 8
_ROWS: Final = 4
_POSITION: Final = 8
_TEXT_AT: Final = _POSITION + 2 + 3 * _BYTES_A_ROW + 1
_INDENT: Final = 2


def text_of(line: Line) -> Iterator[str]:
    """Yield the rows of one piece or heading."""
    indent = " " * (_INDENT * line.depth)
    if isinstance(line, Heading):
        yield from textwrap.wrap(_printable(f"{indent}── {line.text}"), COLUMNS)
        return
    left = list(_bytes(line))
    width = COLUMNS - _TEXT_AT - len(indent)
    right = textwrap.wrap(_printable(f"{line.field} = {line.value}"), width, max_lines=_ROWS)
    right += textwrap.wrap(_printable(line.sentence), width)
    for number in range(max(len(left), len(right))):
        row = left[number] if number < len(left) else ""
        text = right[number] if number < len(right) else ""
        yield f"{indent}{row.ljust(_TEXT_AT)}{text}".rstrip()


def _bytes(piece: Piece) -> Iterator[str]:
    """Yield position and bytes, row by row."""
    rows = [piece.raw[i : i + _BYTES_A_ROW] for i in range(0, len(piece.raw), _BYTES_A_ROW)]
    for number, row in enumerate(rows[:_ROWS]):
        position = piece.position if number == 0 else piece.position + number * _BYTES_A_ROW
        yield f"{position:>{_POSITION}}  {row.hex(' ')}"
    if len(rows) > _ROWS:
        yield " " * _POSITION + f"  … {len(piece.raw) - _ROWS * _BYTES_A_ROW:,} bytes more"


def _printable(text: str) -> str:
    """Return the text without control characters that a terminal would execute."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
