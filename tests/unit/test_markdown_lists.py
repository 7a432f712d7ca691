"""Lists on the pages: a bad merge leaves lines that do not stand under their item."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ITEM = re.compile(r" *(?:(\d+)\.|[-*]) +")
_FOLDERS = ("docs", "chapters", "exercises", "requirements", "tests", "benchmarks", "tui")


def pages() -> list[Path]:
    return [
        *ROOT.glob("*.md"),
        *(page for folder in _FOLDERS for page in (ROOT / folder).rglob("*.md")),
    ]


def misplaced(text: str) -> Iterator[str]:
    """Yield the lines of list items that do not begin below the item's text."""
    indent: int | None = None
    is_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif is_code:
            continue
        elif not line.strip():
            indent = None
        elif (item := _ITEM.match(line)) and (indent is not None or item[1] in (None, "1")):
            indent = len(item[0])
        elif indent is not None and len(line) - len(line.lstrip()) != indent:
            yield line


def test_each_line_of_an_item_stands_below_its_text() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in pages()
        for line in misplaced(page.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_a_line_that_a_bad_merge_left_is_found() -> None:
    assert list(misplaced("9. Try it.\n")) == []
    assert list(misplaced("1. Try it.\n   Then run it.\n2. End.\n    shows a wrong answer.\n")) == [
        "    shows a wrong answer."
    ]
