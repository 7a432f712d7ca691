"""Two pictures side by side: what differs is marked, if both show the same moment."""

from types import SimpleNamespace
from typing import cast

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from tui.futures import futures_screen
from tui.futures.futures_screen import FuturesScreen, PictureView
from tui.futures.twin_app import Picture

BLUE = Style(bgcolor="blue")


def picture(*lines: str, at_us: int = 7, screen: str = "1") -> Picture:
    strips = tuple(Strip([Segment(line, BLUE)]) for line in lines)
    return Picture(strips, at_us, screen, len(lines))


def drawn(
    monkeypatch: pytest.MonkeyPatch, line: str, *spans: tuple[int, int]
) -> list[tuple[str, bool]]:
    """Return the pieces of a line as its view draws it, and whether each has the mark."""
    monkeypatch.setattr(futures_screen, "palette_of", lambda _: SimpleNamespace(differs="red"))
    view = SimpleNamespace(
        twin=SimpleNamespace(picture=picture(line)), marks=[list(spans)], size=Size(12, 1)
    )
    strip = PictureView.render_line(cast(PictureView, view), 0)
    assert strip.cell_length == 12
    mark = Style(bgcolor="red", bold=True)
    return [(each.text, each.style == BLUE + mark) for each in strip]


def test_only_the_words_that_differ_have_the_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, "leader 1 ok", (7, 8)) == [
        ("leader ", False),
        ("1", True),
        (" ok", False),
        (" ", False),
    ]
    assert [text for text, marked in drawn(monkeypatch, "a b c", (0, 1), (4, 5)) if marked] == [
        "a",
        "c",
    ]
    assert not any(marked for _, marked in drawn(monkeypatch, "the same"))


def test_a_mark_after_chinese_characters_is_at_their_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [text for text, marked in drawn(monkeypatch, "主题 web-0", (3, 8)) if marked] == [
        "web-0"
    ]


def test_a_line_below_the_picture_is_blank(monkeypatch: pytest.MonkeyPatch) -> None:
    view = SimpleNamespace(twin=SimpleNamespace(picture=picture("x")), marks=[], size=Size(3, 2))
    assert PictureView.render_line(cast(PictureView, view), 1).text == "   "


def compared(present: Picture | None, stored: Picture | None, *, together: bool) -> int:
    """Return how many places are marked."""
    screen = SimpleNamespace(compared=SimpleNamespace(together=together))
    return FuturesScreen._compare(cast(FuturesScreen, screen), present, stored).places


def test_pictures_are_compared_only_at_the_same_moment_of_the_same_screen() -> None:
    here, there = picture("leader 1"), picture("leader 2")
    assert compared(here, there, together=True) == 1
    assert compared(here, there, together=False) == 0, "the stored run is still on its way"
    assert compared(here, picture("leader 2", at_us=8), together=True) == 0
    assert compared(here, picture("leader 2", screen="2"), together=True) == 0
    assert compared(here, None, together=True) == 0
