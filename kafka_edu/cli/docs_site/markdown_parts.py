"""Split a page into prose and code, and indent its lists in the way that MkDocs needs.

Our pages follow CommonMark: the content of a list item has the same indent as the item's text.
MkDocs needs indents of four spaces for each level, and an empty line before a list.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

_FENCE: Final = re.compile(r"(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)$")
_HEADING: Final = re.compile(r"#{1,6} ")
_ITEM: Final = re.compile(r"(?:[-*+]|\d+\.) +")
_STEP: Final = 4
"""Spaces for each level of a list, and before indented code."""


def parts_of(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a page as pairs (whether the part is code, its text).

    Headings count as code, because links and comments stay unchanged in headings and in code. After
    the opening ``` of a code block, our pages write the language, and also how CI runs the block.
    Only the language is kept.
    """
    for is_code, lines in groupby(_lines(text), key=itemgetter(0)):
        yield is_code, "".join(line for _, line in lines)


def _lines(text: str) -> Iterator[tuple[bool, str]]:
    """Yield each line as a pair (whether it is code, the line with its new indentation)."""
    columns: list[int] = []  # for each item around this line, the column where its text begins
    fence, fence_indent = "", 0
    empty_before, code_before = True, False
    for whole in text.splitlines():
        line = whole.lstrip(" ")
        indent = len(whole) - len(line)
        if fence:
            spaces = _STEP * len(columns) + max(0, indent - fence_indent) if line else 0
            yield True, f"{' ' * spaces}{line}\n"
            if line.startswith(fence) and not line.strip(fence[0]).strip():
                fence = ""
            continue
        if not line:
            yield code_before, "\n"
            empty_before = True
            continue
        opening, item = _FENCE.match(line), _ITEM.match(line)
        in_list = bool(columns)
        if empty_before or opening or item or _HEADING.match(line):
            while columns and indent < columns[-1]:
                columns.pop()
        beyond = max(0, indent - (columns[-1] if columns else 0))
        margin = " " * (_STEP * len(columns))
        if beyond >= _STEP and (empty_before or code_before):
            yield True, f"{margin}{' ' * beyond}{line}\n"
            code_before, empty_before = True, False
            continue
        code_before = False
        if opening:
            fence, fence_indent = opening["marks"], indent
            yield True, f"{margin}{fence}{''.join(opening['info'].split()[:1])}\n"
        elif _HEADING.match(line):
            yield True, f"{line}\n"
        else:
            if item:
                if not empty_before and not in_list:
                    yield False, "\n"
                columns.append(indent + item.end())
            yield False, f"{margin}{line}\n"
        empty_before = False
