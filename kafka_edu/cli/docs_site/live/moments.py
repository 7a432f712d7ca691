"""Links from a marked number of a chapter's page to its moment in the live page."""

import html
import re
from collections.abc import Collection
from typing import Final

from kafka_edu.cli.docs_site.casts import MARK


def with_moments(text: str, chapter: str, names: Collection[str], live: str) -> str:
    """Return the text of a chapter's page, with a link after each marked number whose moment a
    simulated run has. `names` are those that the run binds, and `live` is the live page's address.
    """

    def link(mark: re.Match[str]) -> str:
        if mark["name"] not in names:
            return mark[0]
        address = html.escape(f"{live}#chapter={chapter}&fact={mark['name']}")
        return f'{mark[0]}<a class="rewind" href="{address}" title="{TITLE}">⟲</a>'

    return MARK.sub(link, text)


TITLE: Final = "rewind to this moment: three brokers play up to it in the browser"
