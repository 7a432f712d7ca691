"""Read and write Java's .properties syntax (java.util.Properties), the format of server.properties
and meta.properties.

    # or ! starts a comment            key=value   key: value   key value
    A line that ends in one backslash continues in the next line, without its leading blanks.
    \\t \\n \\r \\f \\uXXXX are escapes. Any other escaped character stands for itself,
    so `a\\=b=c` sets the key `a=b`.

If a key is given twice, the last value counts, as in Java. There is one difference. Java reads the
file as Latin-1. This module reads it as UTF-8 if it is valid UTF-8, so a path with a letter such as
ü needs no escapes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS: Final = " \t\f"
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class Property(NamedTuple):
    """The value of one setting, and the number of its first line, counted from 1."""

    value: str
    line: int


class PropertiesError(ValueError):
    """The text is not a valid .properties file. `line` is the number of the wrong line, counted
    from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def decode_properties(data: bytes) -> str:
    """Return the file's text. It is decoded as UTF-8 if it is valid UTF-8, otherwise as Latin-1, in
    which every byte is valid.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_properties(text: str) -> dict[str, Property]:
    """Return every setting by key, in the order of the file. Raises PropertiesError for a broken
    \\u escape, as Java does.
    """
    settings: dict[str, Property] = {}
    for line_number, line in _logical_lines(text):
        key, value = _split(line)
        name = _unescape(key, line_number)
        settings.pop(name, None)
        settings[name] = Property(_unescape(value, line_number), line_number)
    return settings


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of each logical line, without comments and blank lines. Continued
    lines are joined, and have the number of their first line.
    """
    start, joined = 0, ""
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        if not joined:
            if not line or line[0] in "#!":
                continue
            start = number
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        joined += line[:-1] if goes_on else line
        if not goes_on:
            yield start, joined
            joined = ""
    if joined:
        yield start, joined


def _split(line: str) -> tuple[str, str]:
    """Return the key and the value of a line, with their escapes. The key ends at the first `=`,
    `:` or blank without a backslash before it.
    """
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    key, rest = line[:end], line[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return key, rest


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "\\" or at == len(text):
            out.append(char)
            continue
        char = text[at]
        at += 1
        if char == "u":
            digits = text[at : at + 4]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                raise PropertiesError(
                    f"\\u{digits} is not an escape: \\u takes four hexadecimal digits", line
                )
            out.append(chr(int(digits, 16)))
            at += 4
        else:
            out.append(_ESCAPES.get(char, char))
    # Java's characters are UTF-16 units, so two escapes may be the two halves of one character.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def format_properties(settings: Mapping[str, str], comment: str = "") -> str:
    """Return the settings as text that `parse_properties` can read. The text is ASCII, so that Java
    reads the same settings.
    """
    lines = [f"#{line}" for line in comment.splitlines()]
    lines += [
        f"{_escape(key, is_key=True)}={_escape(value, is_key=False)}"
        for key, value in settings.items()
    ]
    return "".join(line + "\n" for line in lines)


def _escape(text: str, *, is_key: bool) -> str:
    out: list[str] = []
    names = {char: name for name, char in _ESCAPES.items()}
    for i, char in enumerate(text):
        if char in names:
            out.append("\\" + names[char])
        elif char == "\\" or (is_key and char in "=:#! ") or (char == " " and i == 0):
            out.append("\\" + char)
        elif " " <= char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            out.extend(f"\\u{units[k]:02X}{units[k + 1]:02X}" for k in range(0, len(units), 2))
    return "".join(out)
