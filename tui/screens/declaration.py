"""The declaration of a screen: its name and key, the question it answers, and what belongs to it.

A screen declares these once. The jump keys, `--screen`, the texts behind `?`, the palette,
docs/dashboard.md and the tests are made from the declarations (registry.SCREENS).
"""

from typing import NamedTuple

from kafka_edu.trace.event import EVENT_TYPES, Kind

from ..subjects import HEADER, LOAD, Subject


class ScreenDeclaration(NamedTuple):
    """One screen."""

    name: str
    """The name for `--screen`, such as `wheels`."""
    key: str
    """The key that jumps to it."""
    title: str
    question: str
    """The question that the screen answers, as a learner asks it."""
    subjects: tuple[Subject, ...]
    """Its widgets. Together they name its events and classes."""
    acts: tuple[str, ...] = ()
    """The names of the acts that its palette offers."""
    break_: str = ""
    """The act or experiment that makes the screen show its answer."""

    def gauges(self) -> frozenset[str]:
        """Return the types of the gauges that the screen shows, and of those in every head."""
        shown = {event.__name__ for each in (*self.subjects, HEADER, LOAD) for event in each.events}
        return frozenset(
            name for name in shown if name in EVENT_TYPES and EVENT_TYPES[name].kind is Kind.GAUGE
        )
