"""Every screen at 80 × 24, 120 × 40 and 200 × 60, dark, light and in ASCII, from recordings of real
clusters.

A difference is a failure. Look at the difference, and if it is intended, draw the snapshots again
(tests/tui/snapshots.py).
"""

import re

import pytest
from rich.cells import cell_len

from tests.tui import pictures
from tests.tui.moments import MOMENTS
from tests.tui.snapshots import COLOURED, SIZES, draw, path_of
from tests.unit.tui.test_palette import TEXT, contrast
from tui.screens.registry import DECLARATIONS

pytestmark = pytest.mark.tui
AGAIN = "draw it again: PYTHONPATH=. python -m tests.tui.snapshots"


def test_each_screen_has_a_moment_and_its_snapshots() -> None:
    names = {each.name for each in DECLARATIONS}
    assert set(MOMENTS) == names
    paths = [path_of(name, size) for name in names for size in SIZES]
    missing = [path.name for path in paths if not path.exists()]
    assert not missing, f"{missing}: {AGAIN}"


@pytest.mark.parametrize("screen", [each.name for each in DECLARATIONS])
def test_a_screen_looks_as_it_did(screen: str) -> None:
    for size, text in draw(screen).items():
        path = path_of(screen, size)
        assert path.exists(), f"{path.name} is not there; {AGAIN} {screen}"
        assert text == path.read_text(encoding="utf-8"), f"{path.name}: {AGAIN} {screen}"
        for section in text.split("== ")[1:]:
            name, _, body = section.partition(" ==\n")
            if name == "ascii":
                assert body.isascii()


@pytest.mark.parametrize("look", ["dark", "light"])
@pytest.mark.parametrize("screen", [each.name for each in DECLARATIONS])
def test_each_word_can_be_read_on_its_ground(screen: str, look: str) -> None:
    """For each letter or digit in the picture, check that its colour has enough contrast with the
    background.
    """
    kept = path_of(screen, COLOURED).read_text(encoding="utf-8")
    _, *parts = re.split(r"^== (.+) ==\n", kept, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    rows = sections.get(look, sections["dark"]).splitlines()
    letters, _, legend = sections[f"colours, {look}"].rpartition("\n\n")
    styles = dict(line.split("  ", 1) for line in legend.splitlines())
    faint = {}
    for row, styled in zip(rows, letters.splitlines(), strict=False):
        cells = [character for character in row for _ in range(cell_len(character))]
        for character, letter in zip(cells, styled, strict=False):
            colours = re.search(r"(#\w{6}) on (#\w{6})", styles.get(letter, ""))
            if character.isalnum() and colours and contrast(*colours.groups()) < TEXT:
                faint[styles[letter]] = row
    assert not faint


def test_the_page_lists_the_screens_as_they_declare_themselves() -> None:
    page = pictures.PAGE.read_text(encoding="utf-8")
    assert page == pictures.page_with_table(page), "run python -m tests.tui.pictures --table"
    for each in DECLARATIONS:
        for name in (f"{each.name}.svg", f"{each.name}-light.svg"):
            assert (pictures.PICTURES / name).exists(), f"{name}: run python -m tests.tui.pictures"
