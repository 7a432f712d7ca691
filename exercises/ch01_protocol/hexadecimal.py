"""Show bytes as rows of 16 in hexadecimal, with a caret under the first wrong byte."""

from typing import Final

ROW: Final = 16
INDENT: Final = 10
"""The number of columns for the words on the left of the bytes."""


def first_difference(expected: bytes, came: bytes) -> int:
    """Return the index of the first byte that differs. If no byte differs, return the shorter
    length.
    """
    pairs = zip(expected, came, strict=False)
    shorter = min(len(expected), len(came))
    return next((at for at, (one, other) in enumerate(pairs) if one != other), shorter)


def compare(expected: bytes, came: bytes, note: str = "") -> tuple[str, ...]:
    """Show both byte strings around the first difference, with a caret and a note below it."""
    at = first_difference(expected, came)
    begin = at - at % ROW
    rows = [_ruler(begin, max(len(expected), len(came)))]
    rows += [_row("expected", expected, begin), _row("came", came, begin)]
    return (*rows, _caret(at, begin, note or f"byte {at} is the first wrong one"))


def point(data: bytes, at: int, note: str) -> tuple[str, ...]:
    """Return lines that show `data` around the byte `at`, with a caret and a note below it."""
    begin = at - at % ROW
    return (_ruler(begin, len(data)), _row("bytes", data, begin), _caret(at, begin, note))


def _ruler(begin: int, end: int) -> str:
    places = range(begin, min(max(end, begin + 1), begin + ROW))
    return " " * INDENT + " ".join(f"{place % 100:>2}" for place in places).rstrip()


def _row(word: str, data: bytes, begin: int) -> str:
    shown = data[begin : begin + ROW].hex(" ") or "(no byte here)"
    more = " …" if len(data) > begin + ROW else ""
    return f"{word:<{INDENT}}{shown}{more}"


def _caret(at: int, begin: int, note: str) -> str:
    return " " * (INDENT + 3 * (at - begin)) + f"^^ {note}"
