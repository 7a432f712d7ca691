"""Links from a marked number on a chapter's page to the moment in the live page at which a
simulated run measures this number.
"""

import html
import re
from collections.abc import Collection
from typing import Final

from kafka_edu.cli.docs_site.casts import MARK


def with_moments(text: str, chapter: str, names: Collection[str], live: str) -> str:
    """Return the text of a chapter's page, with links after marked numbers. A marked number gets a
    link if its name is in `names`: the simulated run measures this number. `live` is the live
    page's address.
    """

    def link(mark: re.Match[str]) -> str:
        if mark["name"] not in names:
            return mark[0]
        address = html.escape(f"{live}#chapter={chapter}&fact={mark['name']}")
        return f'{mark[0]}<a class="rewind" href="{address}" title="{TITLE}">⟲</a>'

    return MARK.sub(link, text)


TITLE: Final = "rewind to this moment: three brokers play up to it in the browser"
