"""The glossary: every screen has a Chinese word, and docs/glossary.md agrees with the file."""

from pathlib import Path

from tui.glossary import chinese_of, terms, terms_in
from tui.glossary_page import page
from tui.screens.registry import DECLARATIONS

ROOT = Path(__file__).parents[3]


def test_each_screen_has_a_chinese_word() -> None:
    for each in DECLARATIONS:
        assert any(term.english == each.title for term in terms()), each.title


def test_terms_are_whole_and_stand_once() -> None:
    names = [term.english.lower() for term in terms()]
    assert len(names) == len(set(names))
    for term in terms():
        assert term.means.endswith(".")
        assert term.chinese


def test_a_text_is_looked_through_for_terms() -> None:
    found = terms_in("Two replicas lag behind the high watermark.")
    assert [term.english for term in found] == ["replica", "high watermark", "lag"]
    assert chinese_of("Wheels") == "时间轮"
    assert chinese_of("no such word") == "no such word"


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert written == page(), "run python -m tui.glossary_page docs/glossary.md"
