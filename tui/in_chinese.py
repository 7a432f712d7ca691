"""The key `g`: each term of the glossary in Chinese, on every screen.

Screens and widgets write English only. A line filter translates the lines when they are painted, so
no word is missed, and no widget knows a second language.

A line is made of cells: pieces of text between gaps (two spaces or more, a line of a box) and
rules (│ and its like). A Chinese word is wider or narrower than the English one. The gap behind a
cell takes up the difference, so everything after the gap stays in its column. Where there is no
room for the book's word, its short form stands; where there is none for that either, the cell ends
in an ellipsis.

Names stay as they are: `broker-0`, `/controller`, `replica.lag.time.max.ms`, `LeaderAndIsr`, and
topics, groups and clients of the cluster that are called like a term.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.widget import Widget

from .glossary import Term, forms, terms

#: What stands between cells: a gap, which may grow and shrink, or a rule, which may not.
_BETWEEN: Final = re.compile(r"(?P<gap> {2,}|[─━═┄┈╌·]{2,})|[│┃║┊┆╎┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝▏▎▕▌▐█▔▁]+")


#: Names of Kafka's requests that are terms too.
NAMES: Final = frozenset({"Metadata", "Heartbeat"})


class _Cell(NamedTuple):
    """One character and its style. A translated word is one of them too."""

    text: str
    style: Style | None

    @property
    def width(self) -> int:
        return cell_len(self.text)


def _words() -> str:
    found = sorted((form for term in terms() for form in forms(term)), key=len, reverse=True)
    return "|".join(re.escape(form).replace(r"\ ", " ") for form in found)


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of all terms, the longest first, as whole words and not within names."""
    return re.compile(
        rf"(?<![\w./@-])(?:{_words()})(?P<of>'s|(?<=s)')?(?![\w=@]|[.:-]\w)", re.IGNORECASE
    )


@cache
def _by_form() -> dict[str, Term]:
    return {form.lower(): term for term in terms() for form in forms(term)}


def term_of(match: re.Match[str]) -> Term:
    """Return the term that was found."""
    return _by_form()[match.group().removesuffix(match.group("of") or "").lower()]


def names_like_terms(names: Iterable[str]) -> frozenset[str]:
    """Return those names that could be taken for a term: a topic that is called `session`."""
    return frozenset(name for name in names if name.lower() in _by_form())


def found_in(text: str, names: Collection[str] = NAMES) -> Iterator[re.Match[str]]:
    """Yield where terms stand in a line. `names` are left out."""
    return (match for match in _pattern().finditer(text) if match.group() not in names)


class Verbatim(Widget):
    """A widget whose lines are names and data, or have both languages: they stay as they are.

    It is the last base of such a widget: Textual takes the first base's word for whether a widget
    can have the focus.
    """

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [each for each in super().get_line_filters() if not isinstance(each, ChineseFilter)]


class ChineseFilter(LineFilter):
    """Translates each painted line. `names` stay as they are: topics and groups, for example."""

    def __init__(self, names: Collection[str] = ()) -> None:
        super().__init__()
        self.names = NAMES | frozenset(names)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the line in Chinese, as many columns wide."""
        if any(segment.control for segment in segments):
            return segments
        text = "".join(segment.text for segment in segments)
        if next(found_in(text, self.names), None) is None:
            return segments
        cells = [_Cell(c, segment.style) for segment in segments for c in segment.text]
        return _as_segments(self._translated(text, cells))

    def _translated(self, text: str, cells: list[_Cell]) -> list[_Cell]:
        line: list[_Cell] = []
        at = 0
        for between in [*_BETWEEN.finditer(text), None]:
            end = len(text) if between is None else between.start()
            after = len(text) if between is None else between.end()
            gap = cells[end:after]
            stretches = between is not None and between.group("gap") is not None
            line += self._cell(text[at:end], cells[at:end], gap, stretches)
            at = after
        return line

    def _cell(
        self, text: str, cells: list[_Cell], gap: list[_Cell], stretches: bool
    ) -> list[_Cell]:
        """Return a cell and what follows it, together as wide as before."""
        width = sum(cell.width for cell in cells)
        room = width + (sum(cell.width for cell in gap) - 1 if stretches else 0)
        for short in (False, True):
            words = self._in_chinese(text, cells, short)
            if sum(cell.width for cell in words) <= room:
                break
        else:
            words = _cut(words, room)
        more = width - sum(cell.width for cell in words)
        if not stretches:
            style = cells[-1].style if cells else None
            return [*words, *[_Cell(" ", style)] * more, *gap]
        if more > 0:
            return [*words, *[gap[0]] * more, *gap]
        return [*words, *gap[-more:]]

    def _in_chinese(self, text: str, cells: list[_Cell], short: bool) -> list[_Cell]:
        line: list[_Cell] = []
        at = 0
        for match in found_in(text, self.names):
            term = term_of(match)
            words = (term.short if short else term.word) + ("的" if match.group("of") else "")
            line += cells[at : match.start()]
            line.append(_Cell(words, cells[match.start()].style))
            at = match.end()
        return line + cells[at:]


def _cut(cells: list[_Cell], room: int) -> list[_Cell]:
    """Return as much of a cell as there is room for, with an ellipsis at its end."""
    kept, width = [], 0
    for cell in cells:
        if width + cell.width > room - 1:
            break
        kept.append(cell)
        width += cell.width
    return [*kept, _Cell("…", cells[len(kept) - 1].style)] if room > 0 else []


def _as_segments(cells: list[_Cell]) -> list[Segment]:
    """Join neighbours of the same style."""
    segments: list[Segment] = []
    words, style = "", None
    for cell in cells:
        if cell.style is not style and words:
            segments.append(Segment(words, style))
            words = ""
        words, style = words + cell.text, cell.style
    return [*segments, Segment(words, style)] if words else segments
