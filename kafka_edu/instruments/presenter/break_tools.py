"""Offer commands with which a learner may break a presentation's cluster by hand.

A script may say `cluster pause {follower of ch02-0}`. The presenter shows the command with the id
of the present broker instead of the role. The learner can type it in a second terminal:
`./kafka-edu cluster pause 2 --cluster chapter-02`.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_edu.common.python_process import DEFAULT_CLUSTER, command_line
from kafka_edu.instruments.presenter.presentation import Knows, UnknownTargetError, find_target
from kafka_edu.instruments.presenter.script import Break

SERVERS: Final = "servers"
"""The word in braces that stands for the brokers' addresses, as Kafka's own tools take them."""
ZOOKEEPER: Final = "zookeeper"
"""The word in braces that stands for ZooKeeper's address."""
TAKE_CLUSTER: Final = frozenset({"cluster", "dashboard", "load", "trace", "why", "why-rebalance"})
"""The commands that need the option --cluster to know which cluster is meant."""
UNKNOWN: Final = "ID"
_IN_BRACES: Final = re.compile(r"\{([^{}]+)\}")


class Place(NamedTuple):
    """The cluster of the presentation: its name and addresses."""

    name: str
    servers: str
    zookeeper: str


class Idea(NamedTuple):
    """A suggestion to the learner: what to try and why, and the commands to type."""

    say: str
    commands: tuple[str, ...]


def ideas(
    breaks: tuple[Break, ...], names: Mapping[str, str], knows: Knows, place: Place
) -> list[Idea]:
    """Return all suggestions of a script, with the present brokers' ids in the commands.

    If no broker has a role at the moment, its place in the command shows `ID`.
    """
    return [
        Idea(one.say, tuple(_command(words, names, knows, place) for words in one.commands))
        for one in breaks
    ]


def in_braces(words: str) -> list[str]:
    """Return the words of a text that are in braces."""
    return _IN_BRACES.findall(words)


def _command(words: str, names: Mapping[str, str], knows: Knows, place: Place) -> str:
    """Return a command to type: with the braces replaced by values, and with --cluster if
    needed.
    """

    def value(found: re.Match[str]) -> str:
        what = found[1]
        known = {**names, SERVERS: place.servers, ZOOKEEPER: place.zookeeper}
        if what in known:
            return known[what]
        try:
            return str(find_target(what, knows))
        except UnknownTargetError:
            return UNKNOWN

    command, note, why = words.partition("  # ")
    cluster = place.name if command.split()[0] in TAKE_CLUSTER else DEFAULT_CLUSTER
    return command_line(_IN_BRACES.sub(value, command), cluster) + note + why


def as_lines(found: list[Idea]) -> list[str]:
    """Return the suggestions as lines to read: what to try, and below it the commands."""
    lines = []
    for number, idea in enumerate(found, 1):
        lines += [f"{number} {idea.say}", *(f"    {command}" for command in idea.commands)]
    return lines
