"""Symbols as letters: each symbol of the dashboard has one, of the same width."""

from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from tui.ascii import SYMBOLS, AsciiFilter, terminal_is_ascii, to_ascii

ROOT = Path(__file__).parents[3]


def symbols_in_use() -> set[str]:
    """The symbols of all strings that screens and instruments draw."""
    files = [*(ROOT / "tui").rglob("*.py"), *(ROOT / "kafka_edu" / "instruments").rglob("*.py")]
    others = [path for path in files if path.name not in ("ascii.py", "glossary_page.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in others)
    return {c for c in text if not c.isascii()}


def test_each_symbol_in_use_has_a_letter_of_its_own_width() -> None:
    for symbol in symbols_in_use() | set(SYMBOLS):
        letters = to_ascii(symbol)
        assert letters.isascii(), symbol
        assert cell_len(letters) == cell_len(symbol), symbol
        assert "?" not in letters or symbol in SYMBOLS or "\u4e00" <= symbol <= "\u9fff", (
            f"{symbol} has no letter in tui/ascii.py"
        )


def test_the_states_of_a_replica_can_be_told_apart() -> None:
    assert len({to_ascii(sign) for sign in "●○◌✕"}) == 4
    assert len({to_ascii(bar) for bar in "▁▂▃▄▅▆▇█"}) == 8


def test_a_line_keeps_its_styles_and_its_width() -> None:
    line = [Segment("♛ broker 1 ", None), Segment("═╗│ 3 µs")]
    shown = AsciiFilter().apply(line, Color.parse("black"))
    assert [segment.text for segment in shown] == ["C broker 1 ", "-+| 3 us"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LANG": "C"}, True),
        ({"LANG": "C.UTF-8"}, False),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, True),
        ({"LC_ALL": "", "LANG": "zh_CN.UTF-8"}, False),
    ],
)
def test_the_environment_says_whether_there_is_unicode(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: bool
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert terminal_is_ascii() is expected
