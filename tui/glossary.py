"""The terms of the glossary in English and Chinese (row H2), loaded from glossary.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Term(NamedTuple):
    """One term of the glossary."""

    english: str
    chinese: str
    """The Chinese word of the books.

    If the books add the English word, it follows in parentheses.
    """
    short: str
    """A shorter Chinese word, for places with little room."""
    means: str

    @property
    def word(self) -> str:
        """Return the Chinese word without the English word in parentheses."""
        return self.chinese.partition("（")[0]


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms, in the order of the file."""
    text = files(__package__ or "tui").joinpath("glossary.toml")
    found = tomllib.loads(text.read_text(encoding="utf-8"))["term"]
    return tuple(
        Term(
            each["english"],
            each["chinese"],
            each.get("short", each["chinese"].partition("（")[0]),
            each["means"],
        )
        for each in found
    )


def chinese_of(english: str, short: bool = False) -> str:
    """Return the Chinese word for a term, or the term itself if the glossary does not contain it.

    With `short`, return the short word.
    """
    wanted = english.lower()
    found = next((term for term in terms() if term.english.lower() == wanted), None)
    return english if found is None else found.short if short else found.word


def forms(term: Term) -> list[str]:
    """Return the forms in which a term appears in a text: singular and plural."""
    word = term.english
    singular = word[:-1] if word.endswith("s") and not word.endswith("is") else word
    if singular.endswith("y") and not singular.endswith(("ay", "ey", "oy")):
        return [singular, f"{singular[:-1]}ies"]
    return [singular, f"{singular}es" if singular.endswith(("ch", "x")) else f"{singular}s"]


def terms_in(text: str) -> list[Term]:
    """Return the terms that a text uses, in the order of the file. Plurals count too."""
    return [
        term
        for term in terms()
        if re.search(rf"\b(?:{'|'.join(map(re.escape, forms(term)))})\b", text, re.IGNORECASE)
    ]
