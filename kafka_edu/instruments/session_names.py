"""Add the name of the broker to a ZooKeeper session: `session 0x3 (broker 1)`.

ZooKeeper's events name a session only by its number. The history of all processes knows whose
session it is: a broker emits the number when it registers, and in its snapshots.
"""

import re
from typing import Final

from kafka_edu.instruments.sentence import Sentence
from kafka_edu.trace.reader import History

_SESSION: Final = re.compile(r"\bsession (0x[0-9a-f]+)(?! \()")


def with_owners(
    words: str, history: History, at_us: int | None = None, *, brief: bool = False
) -> str:
    """Return the words with the owner of each session added, if it was known at `at_us`.

    If `at_us` is None, an owner that is known at any time is added. With `brief`, the owner's name
    replaces the number of the session.
    """
    if "session 0x" not in words:
        return words

    def named(found: re.Match[str]) -> str:
        owner = history.owner(int(found[1], 16), at_us)
        if owner is None:
            return found[0]
        return f"session of {owner}" if brief else f"{found[0]} ({owner})"

    return _SESSION.sub(named, words)


def naming_owners(said: Sentence, history: History, at_us: int) -> Sentence:
    """Return the sentence with the owner of each session in it, as known at `at_us`.

    The exact form of the sentence keeps the number of the session.
    """
    if "session 0x" not in said.before and "session 0x" not in said.exact:
        return said
    return said._replace(
        before=with_owners(said.before, history, at_us, brief=True),
        exact=with_owners(said.exact or said.line, history, at_us),
    )
