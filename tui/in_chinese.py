"""The key `g` shows each term of the glossary in Chinese, on every screen.

Screens and widgets write only English. A line filter translates each line when it is painted. So no
word is missed, and no widget needs to know a second language.

A line is made of cells, gaps and rules. Cells are pieces of text. Gaps stand between them: two or
more spaces, or the line of a box. Rules are │ and similar signs. A Chinese word is wider or
narrower than the English one. The gap after the cell takes up the difference, so all text after
the gap stays in its column. If there is no room for the book's word, its short form is used. If
there is no room for the short form either, the cell ends with an ellipsis.

Names are not translated: `broker-0`, `/controller`, `replica.lag.time.max.ms`, `LeaderAndIsr`, and
the cluster's topics, groups and clients, even if they have the name of a term.
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

#: A separator of cells: a gap, whose width may change, or a rule, whose width may not change.
_BETWEEN: Final = re.compile(r"(?P<gap> {2,}|[─━═┄┈╌·]{2,})|[│┃║┊┆╎┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝▏▎▕▌▐█▔▁]+")


#: Names of Kafka requests that are also terms of the glossary. They are not translated.
NAMES: Final = frozenset({"Metadata", "Heartbeat"})


class _Cell(NamedTuple):
    """One character and its style. A translated word also counts as one character."""

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
    """Return the pattern that finds all terms, the longest first.

    It finds only whole words, and no parts of names.
    """
    return re.compile(
        rf"(?<![\w./@-])(?:{_words()})(?P<of>'s|(?<=s)')?(?![\w=@]|[.:-]\w)", re.IGNORECASE
    )


@cache
def _by_form() -> dict[str, Term]:
    return {form.lower(): term for term in terms() for form in forms(term)}


def term_of(match: re.Match[str]) -> Term:
    """Return the term that the match has found."""
    return _by_form()[match.group().removesuffix(match.group("of") or "").lower()]


def names_like_terms(names: Iterable[str]) -> frozenset[str]:
    """Return the names that look like a term, for example a topic with the name `session`."""
    return frozenset(name for name in names if name.lower() in _by_form())


def found_in(text: str, names: Collection[str] = NAMES) -> Iterator[re.Match[str]]:
    """Yield a match for each term in a line. `names` are skipped."""
    return (match for match in _pattern().finditer(text) if match.group() not in names)


class Verbatim(Widget):
    """A widget whose lines are not translated: names, data, or text in both languages.

    It must be the last base class of a widget: Textual looks at the first base class to decide
    whether the widget can have the focus.
    """

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [each for each in super().get_line_filters() if not isinstance(each, ChineseFilter)]


class ChineseFilter(LineFilter):
    """Translates each painted line. `names`, such as topics and groups, are not translated."""

    def __init__(self, names: Collection[str] = ()) -> None:
        super().__init__()
        self.names = NAMES | frozenset(names)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the line in Chinese, with the same width in columns."""
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
        """Return a translated cell and the gap after it. Together they are as wide as before the
        translation.
        """
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
    """Return the part of a cell that fits into `room` columns, with an ellipsis at its end."""
    kept, width = [], 0
    for cell in cells:
        if width + cell.width > room - 1:
            break
        kept.append(cell)
        width += cell.width
    return [*kept, _Cell("…", cells[len(kept) - 1].style)] if room > 0 else []


def _as_segments(cells: list[_Cell]) -> list[Segment]:
    """Join neighbours that have the same style."""
    segments: list[Segment] = []
    words, style = "", None
    for cell in cells:
        if cell.style is not style and words:
            segments.append(Segment(words, style))
            words = ""
        words, style = words + cell.text, cell.style
    return [*segments, Segment(words, style)] if words else segments
