"""The words of a presentation's page, drawn with their emphasis."""

import pytest

from kafka_edu.instruments.presenter.page import Line, Role
from tui.palette import DARK
from tui.presenter.panel import draw

pytestmark = pytest.mark.tui


@pytest.mark.parametrize(
    ("words", "shown", "new"),
    [
        ("It has a *watermark* (水位线).", "It has a watermark (水位线).", ["watermark"]),
        ("*at least once*. *Why?", "at least once. *Why?", ["at least once"]),
        ("local[*], local[2] and 2 * 3 * 4", "local[*], local[2] and 2 * 3 * 4", []),
        ("ls *.py a*b*c **", "ls *.py a*b*c **", []),
    ],
)
def test_a_new_word_is_in_italics(words: str, shown: str, new: list[str]) -> None:
    text = draw([Line(Role.SAY, words)], DARK)
    assert text.plain == shown
    assert [text.plain[a.start : a.end] for a in text.spans if "italic" in str(a.style)] == new
