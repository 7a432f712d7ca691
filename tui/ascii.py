"""Replaces symbols by letters, for terminals without Unicode (LANG=C, or `--ascii`).

One filter changes every line that Textual draws, so widgets do not have to know about it. A letter
takes as many columns as its symbol. No meaning is lost: each symbol with a meaning has its own
letter, or a word is next to it.
"""

import locale
import os
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

#: Symbol → letter. The help behind `?` explains the symbols, in the same letters.
SYMBOLS: Final[Mapping[str, str]] = {
    "●": "L",  # leader
    "○": "o",  # in the ISR
    "◌": ".",  # out of sync
    "✕": "X",  # dead
    "✗": "x",
    "✓": "v",
    "★": "*",  # the preferred leader does not lead
    "♛": "C",  # controller
    "⚡": "E ",  # ephemeral
    "▶": ">",
    "▸": ">",
    "◀": "<",
    "▲": "^",
    "▼": "V",
    "▾": "v",
    "◆": "#",
    "■": "#",
    "□": "O",
    "•": ".",
    "◷": "@",
    "⊙": "@",
    "⌛": "~ ",
    "‖": "|",
    "·": ".",
    "…": "~",
    "–": "-",
    "—": "-",
    "×": "x",
    "µ": "u",
    "³": "3",
    "¹": "1",
    "←": "<",
    "→": ">",
    "↑": "^",
    "↓": "v",
    "↔": "=",
    "⇄": "=",
    "⟳": "@",
    "↻": "@",
    "⏎": "E",
    "≠": "!",
    "≤": "<",
    "≥": ">",
    "━": "=",  # the filled part of a bar; the rest of the bar is -
    "▁": "_",
    "▂": ".",
    "▃": ":",
    "▄": "-",
    "▅": "=",
    "▆": "+",
    "▇": "*",
    "█": "#",
    "▉": "#",
    "▊": "#",
    "▋": "=",
    "▌": "=",
    "▍": "-",
    "▎": "|",
    "▏": "|",
    "▐": "|",
    "▕": "|",
    "▔": "-",
    "▀": "-",
    "░": ".",
    "▒": ":",
    "▓": "%",
    "╳": "x",
    "╱": "/",
    "╲": "\\",
    "⚠": "!",
    "🔎": "? ",
    "ⓘ": "i",
    "⭘": "o",
}


def _letter(symbol: str) -> str:
    """Return a letter for a symbol that is not in SYMBOLS. It depends on the symbol's Unicode
    name.
    """
    name = unicodedata.name(symbol, "")
    if name.startswith("BOX DRAWINGS"):
        across = "HORIZONTAL" in name or "LEFT" in name or "RIGHT" in name
        down = "VERTICAL" in name or "UP" in name or "DOWN" in name
        return "+" if across and down else "-" if across else "|"
    plain = unicodedata.normalize("NFKD", symbol).encode("ascii", "ignore").decode()
    width = cell_len(symbol)
    return plain[:width].ljust(width) if plain else "?" * width


@lru_cache(4096)
def to_ascii(text: str) -> str:
    """Return the text in ASCII letters, with the same width in columns."""
    if text.isascii():
        return text
    return "".join(c if c.isascii() else SYMBOLS[c] if c in SYMBOLS else _letter(c) for c in text)


class AsciiFilter(LineFilter):
    """Replaces every symbol in a painted line by its letter."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(to_ascii(segment.text), segment.style, segment.control) for segment in segments
        ]


def terminal_is_ascii() -> bool:
    """Return whether the environment says that the terminal has no Unicode."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = os.environ.get(name)
        if value:
            return value in ("C", "POSIX")
    return locale.getpreferredencoding(False).upper() in ("ANSI_X3.4-1968", "US-ASCII", "ASCII")
