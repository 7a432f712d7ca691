"""ZooKeeper sessions by the name of their broker: `session 0x3 (broker 1)`.

An event of ZooKeeper has only the number of a session. Whose it is, the history of all processes
knows: a broker registers with it, and tells it in its snapshot.
"""

import re
from typing import Final

from kafka_edu.instruments.sentence import Sentence
from kafka_edu.trace.reader import History

_SESSION: Final = re.compile(r"\bsession (0x[0-9a-f]+)(?! \()")


def with_owners(
    words: str, history: History, at_us: int | None = None, *, brief: bool = False
) -> str:
    """Name the broker behind each session in these words, if the history knew it at `at_us`; None:
    if it knows it at all. `brief` puts the name in place of the number.
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
    """Return the sentence with the broker of each session that it names, as known at `at_us`. The
    number of a session stays in its exact form.
    """
    if "session 0x" not in said.before and "session 0x" not in said.exact:
        return said
    return said._replace(
        before=with_owners(said.before, history, at_us, brief=True),
        exact=with_owners(said.exact or said.line, history, at_us),
    )
