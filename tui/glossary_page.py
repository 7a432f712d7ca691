"""Write docs/glossary.md from the glossary: `python -m tui.glossary_page docs/glossary.md`."""

import sys
from pathlib import Path

from .glossary import terms


def page() -> str:
    """Return the text of docs/glossary.md."""
    rows = [f"| {term.english} | {term.chinese} | {term.means} |" for term in terms()]
    head = (
        "# Words in two languages\n\n"
        "The terms of the books ([the reading order](reading.md)) in English and in Chinese. The\n"
        "dashboard shows the Chinese words at the key `g`, on every screen; `?` explains those of\n"
        "a screen.\n\n"
        "Generated from `tui/glossary.toml` by `python -m tui.glossary_page docs/glossary.md`.\n\n"
        "| English | 中文 | what it means |\n| --- | --- | --- |\n"
    )
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
