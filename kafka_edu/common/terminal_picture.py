"""Change SVG pictures that Rich and Textual make, so that they need no network."""

import re
from typing import Final

#: For the SVG pictures: the width of a character, the blank that Rich writes, and fonts. In these
#: fonts bars and circles are as wide as letters.
_CELL_WIDTH: Final = 12.2
_BLANK: Final = "&#160;"
_FONTS: Final = "font-family: 'Fira Code', 'DejaVu Sans Mono', 'Cascadia Mono', Menlo, monospace"


def tidy(svg: str) -> str:
    """Return an SVG of Rich or Textual without network fonts and without leading blanks.

    Some viewers drop the blanks at the start of a text, so the text is moved instead.
    """

    def shift(text: re.Match[str]) -> str:
        blanks = text["blanks"].count(_BLANK)
        left = f"{float(text['x']) + blanks * _CELL_WIDTH:g}"
        length = f"{float(text['length']) - blanks * _CELL_WIDTH:g}"
        return f'{text["head"]} x="{left}"{text["y"]}textLength="{length}"{text["tail"]}>'

    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("font-family: Fira Code, monospace", _FONTS)
    return re.sub(
        r'(?P<head><text[^>]*?) x="(?P<x>[\d.]+)"(?P<y> y="[\d.]+"'
        rf' )textLength="(?P<length>[\d.]+)"(?P<tail>[^>]*)>(?P<blanks>(?:{_BLANK})+)(?=[^<])',
        shift,
        svg,
    )
