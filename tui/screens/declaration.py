"""The declaration of a screen: its name, its key, the question it answers, and its parts.

A screen declares them once. The jump keys, `--screen`, the texts behind `?`, the palette,
docs/dashboard.md and the tests are made from these declarations (registry.SCREENS).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from textual.binding import Binding

from kafka_edu.trace.event import EVENT_TYPES, Kind

from ..subjects import HEADER, LOAD, Subject

KEYS_OF_ACTS: Final[Mapping[str, str]] = {
    "kill": "k",
    "stop": "x",
    "start": "s",
    "pause": "p",
    "resume": "r",
}
"""The acts on the process of a broker, and their keys, which are the same on all screens."""


class ScreenDeclaration(NamedTuple):
    """The declaration of one screen."""

    name: str
    """The name of the screen for `--screen`, such as `wheels`."""
    key: str
    """The key that jumps to this screen."""
    title: str
    question: str
    """The learner's question that this screen answers."""
    subjects: tuple[Subject, ...]
    """The descriptions of the screen's widgets. Together they name the screen's events and
    classes.
    """
    acts: tuple[str, ...] = ()
    """The names of the acts that the palette offers on this screen."""
    break_: str = ""
    """An experiment for the reader, after which the screen answers its question."""

    def act_keys(self) -> list[Binding]:
        """Return the bindings of the acts that have a key, in the order of `acts`."""
        return [
            Binding(KEYS_OF_ACTS[act], f"act('{act}')", act)
            for act in self.acts
            if act in KEYS_OF_ACTS
        ]

    def gauges(self) -> frozenset[str]:
        """Return the names of the gauges that the screen and every top line show."""
        shown = {event.__name__ for each in (*self.subjects, HEADER, LOAD) for event in each.events}
        return frozenset(
            name for name in shown if name in EVENT_TYPES and EVENT_TYPES[name].kind is Kind.GAUGE
        )
