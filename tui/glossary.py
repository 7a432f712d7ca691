"""The terms in English and Chinese (row H2): one file, glossary.toml, loaded as data."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Term(NamedTuple):
    """One term."""

    english: str
    chinese: str
    means: str


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms, in the order of the file."""
    text = files(__package__ or "tui").joinpath("glossary.toml")
    found = tomllib.loads(text.read_text(encoding="utf-8"))["term"]
    return tuple(Term(each["english"], each["chinese"], each["means"]) for each in found)


def chinese_of(english: str) -> str:
    """Return the Chinese word for a term, or the term itself if the file does not have it."""
    wanted = english.lower()
    return next((term.chinese for term in terms() if term.english.lower() == wanted), english)


def terms_in(text: str) -> list[Term]:
    """Return the terms that a text uses, in the order of the file; plurals count."""
    found = []
    for term in terms():
        if re.search(rf"\b{re.escape(term.english)}(s|es)?\b", text, re.IGNORECASE):
            found.append(term)
    return found
