"""Pictures of a terminal, as Rich and Textual export them, for pages that have no network."""

import re
from typing import Final

#: For pictures: the width of a character in Rich's SVG, the blank that it uses, and fonts that
#: give bars and circles the same width.
_CELL_WIDTH: Final = 12.2
_BLANK: Final = "&#160;"
_FONTS: Final = "font-family: 'Fira Code', 'DejaVu Sans Mono', 'Cascadia Mono', Menlo, monospace"


def tidy(svg: str) -> str:
    """Return an SVG of Rich or Textual without remote fonts and without leading blanks.

    The SVG would fetch its fonts from the net. Some viewers do not keep the blanks at the start of
    a text.
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
