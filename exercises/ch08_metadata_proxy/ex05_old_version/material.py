"""The five answers of exercise 08-5, sent by a proxy with the starter's code. A client reads one of
them wrongly.
"""

from functools import cache
from random import Random
from typing import Final, NamedTuple

from ..layout_rules import encoded, first_flag, response
from .starter import Layout

ROW: Final = 16
RIGHT_VERSIONS: Final = (0, 4, 5, 6, 7, 8)
WRONG_VERSIONS: Final = (1, 2, 3)


class Answer(NamedTuple):
    """An answer to Metadata, as the proxy has sent it."""

    version: int
    sent: bytes
    flag: int
    """The position in `sent` where the first topic's is_internal is, or where it should be."""

    @property
    def is_wrong(self) -> bool:
        """Whether a client reads this answer wrongly."""
        return self.version in WRONG_VERSIONS


@cache
def answers(seed: int) -> tuple[Answer, ...]:
    """Return the five answers for this seed. Exactly one of them is written wrongly, because of its
    version.
    """
    random = Random(f"layout/{seed}")
    versions = [*random.sample(RIGHT_VERSIONS, 4), random.choice(WRONG_VERSIONS)]
    random.shuffle(versions)
    found = []
    for version in versions:
        made = response(random)
        sent = encoded(made, version, Layout().fields)
        found.append(Answer(version, sent, first_flag(made, version)))
    return tuple(found)


def wrong(seed: int) -> tuple[int, int]:
    """Return the number of the answer that is read wrongly (the first answer has the number 1), and
    the byte position of the error.
    """
    found = [(number, one.flag) for number, one in enumerate(answers(seed), 1) if one.is_wrong]
    return found[0]


def make(seed: int) -> dict[str, str]:
    """Return the learner's file answers.txt, as a dict from its name to its text."""
    blocks = []
    for number, one in enumerate(answers(seed), 1):
        rows = [
            f"  {at:>4}  {one.sent[at : at + ROW].hex(' ')}" for at in range(0, len(one.sent), ROW)
        ]
        head = f"answer {number}, version {one.version}, {len(one.sent)} bytes"
        blocks.append("\n".join((head, *rows)))
    return {"answers.txt": "\n\n".join(blocks) + "\n"}
