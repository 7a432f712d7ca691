"""The kinds of pictures, and the function that draws each kind from the events."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import graphviz

from . import facts, states, ways
from .past import Past


class Subject(NamedTuple):
    """A kind of picture."""

    wants: str
    """The words that follow the kind's name, as the help shows them."""
    least: int
    """The minimum number of words that follow its name."""
    shows: str
    draw: Callable[[Past, Sequence[str]], graphviz.Digraph]


SUBJECTS: Final[Mapping[str, Subject]] = {
    "cluster": Subject("", 0, "brokers, links with a fault, leaders and ISRs", states.cluster),
    "log": Subject("TOPIC-N", 1, "a partition's replicas with their LSO, HW and LEO", states.log),
    "partition": Subject(
        "TOPIC-N",
        1,
        "the controller's states of a partition, and its changes of state",
        ways.partition,
    ),
    "replica": Subject(
        "TOPIC-N BROKER",
        2,
        "the controller's states of a replica, and its changes of state",
        ways.replica,
    ),
    "group": Subject(
        "GROUP", 1, "the states of a consumer group, and its changes of state", ways.group
    ),
    "transaction": Subject(
        "ID", 1, "the states of a transactional id, and its changes of state", ways.transaction
    ),
    "znodes": Subject(
        "[PATH]", 0, "znodes, their data, and the session of each ephemeral one", states.znode_tree
    ),
    "chain": Subject("EVENT", 1, "an event's causes and what followed from it", facts.chain),
    "time-space": Subject("EVENT", 1, "the same, as messages between processes", facts.time_space),
}
_NO_FILE_NAME: Final = re.compile(r"[^\w.]+")


def file_name(words: Sequence[str]) -> str:
    """Return a file name for the picture of these words, such as `log-web-1`."""
    return _NO_FILE_NAME.sub("-", "-".join(words)).strip("-.")[:80]
