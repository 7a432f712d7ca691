"""Format the usage text of a tool: its options, sorted by name, in two columns.

The text is 80 characters wide. (joptsimple: BuiltinHelpFormatter)
"""

import re
from collections.abc import Iterable
from typing import Final

from kafka_edu.tools.options import Option, OptionParser, Takes

WIDTH: Final = 80
GAP: Final = 2
_INDENT: Final = "  "
#: Matches a word with the blanks after it. A line may also break after a hyphen.
_WORD: Final = re.compile(r"[^\s-]*(?:-+|\s+|$)")


def usage(parser: OptionParser) -> str:
    """Return the usage text with all options of a tool. O(length of the text)."""
    rows = [("Option", "Description"), ("------", "-----------")]
    rows += [(_label(option), _description(option)) for _, option in sorted(parser.options.items())]
    left = min((WIDTH - GAP) // 2, max(len(label) for label, _ in rows))
    right = min(WIDTH - left - GAP, max(len(text) for _, text in rows))
    lines = []
    for label, text in rows:
        labels, texts = _pieces(label, left), _pieces(text, right)
        for number in range(max(len(labels), len(texts))):
            first = labels[number] if number < len(labels) else ""
            second = texts[number] if number < len(texts) else ""
            lines.append(f"{first:{left}}{' ' * GAP}{second:{right}}\n")
    return "".join(lines)


def _label(option: Option[object]) -> str:
    if option.takes is Takes.NOTHING:
        return f"--{option.name}"
    begin, end = "<>" if option.takes is Takes.REQUIRED else "[]"
    return (
        f"--{option.name}"
        f" {begin}{option.type_name}{': ' if option.described_as else ''}{option.described_as}{end}"
    )


def _description(option: Option[object]) -> str:
    text = option.description if isinstance(option.description, str) else option.description()
    return text if option.default is None else f"{text} (default: {option.default})".strip()


def _pieces(text: str, width: int) -> list[str]:
    pieces: list[str] = []
    for line in text.strip().split("\n"):
        pieces += _wrapped(_WORD.findall(line), width)
    return pieces


def _wrapped(words: Iterable[str], width: int) -> list[str]:
    """Return lines of at most `width` characters. All lines but the first are indented."""
    lines: list[str] = []
    line = ""
    for word in words:
        if len(line) + len(word) > width:
            lines.append(line.rstrip())
            line = _INDENT + word
        else:
            line += word
    return [*lines, line] if line else lines
