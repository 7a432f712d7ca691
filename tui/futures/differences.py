"""Where two pictures of one screen differ, word by word.

The pictures are lines of text. Lines that are the same in both are matched first, so a line that
only one picture has does not make all lines below it differ. Lines in between are compared in
pairs.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

Span = tuple[int, int]
"""The first column of what differs, and the column after it."""

_WORD: Final = re.compile(r"[^\s─-╿▏-▕▲▶▼◀]+")
"""A word, without the lines that are drawn around and between words. Bars are words."""

_CELL: Final = re.compile("[^│║]+")
"""A part of a line: the text inside one of the boxes that stand next to each other."""
MOST_DIFFERENT: Final = 0.6
"""If more than this part of the words of two lines differs, the lines are not about the same."""


class Differences(NamedTuple):
    """For each line of a picture, the places that the other picture does not have."""

    here: list[list[Span]]
    there: list[list[Span]]

    @property
    def places(self) -> int:
        """How many places differ. A place that only one picture has counts too."""
        return max(sum(map(len, self.here)), sum(map(len, self.there)))


def differences(here: Sequence[str], there: Sequence[str]) -> Differences:
    """Compare two pictures. O(lines + words) if few lines differ."""
    found = Differences([[] for _ in here], [[] for _ in there])
    for i1, i2, j1, j2 in _unequal(list(map(_words, here)), list(map(_words, there))):
        pairs = min(i2 - i1, j2 - j1)
        for at in range(pairs):
            found.here[i1 + at], found.there[j1 + at] = _of_lines(here[i1 + at], there[j1 + at])
        for at in range(i1 + pairs, i2):
            found.here[at] = _whole(here[at])
        for at in range(j1 + pairs, j2):
            found.there[at] = _whole(there[at])
    return found


def _unequal(
    here: Sequence[Hashable], there: Sequence[Hashable]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield where two sequences differ: start and end in the first one, start and end in the
    second.
    """
    matcher = SequenceMatcher(None, here, there, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield i1, i2, j1, j2


def _of_lines(here: str, there: str) -> tuple[list[Span], list[Span]]:
    """For each of two lines, return the words that the other line does not have. Two lines that
    have little in common differ as a whole.
    """
    cells = list(_CELL.finditer(here)), list(_CELL.finditer(there))
    if 1 < len(cells[0]) == len(cells[1]):
        found: tuple[list[Span], list[Span]] = [], []
        for pair in zip(*cells, strict=True):
            for places, cell, spans in zip(
                found, pair, _of_lines(pair[0][0], pair[1][0]), strict=True
            ):
                places += [(begin + cell.start(), end + cell.start()) for begin, end in spans]
        return found
    own, other = _spans(here), _spans(there)
    only_here: list[Span] = []
    only_there: list[Span] = []
    differ = 0
    for i1, i2, j1, j2 in _unequal(_words(here), _words(there)):
        differ += max(i2 - i1, j2 - j1)
        only_here += _joined(own[i1:i2])
        only_there += _joined(other[j1:j2])
    if differ > MOST_DIFFERENT * max(len(own), len(other)):
        return _whole(here), _whole(there)
    return only_here, only_there


def _joined(words: Sequence[Span]) -> list[Span]:
    """Return the places of words that differ. Neighbouring words of one sentence become one place,
    but the words of two columns do not.
    """
    places: list[Span] = []
    for begin, end in words:
        if places and begin - places[-1][1] == 1:
            places[-1] = places[-1][0], end
        else:
            places.append((begin, end))
    return places


def _whole(line: str) -> list[Span]:
    """Return the whole line as one place, or nothing if it has no word."""
    spans = _spans(line)
    return [(spans[0][0], spans[-1][1])] if spans else []


def _words(line: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(line))


def _spans(line: str) -> list[Span]:
    return [found.span() for found in _WORD.finditer(line)]
