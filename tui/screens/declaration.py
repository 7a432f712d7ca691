"""The declaration of a screen: its name and key, the question it answers, and what belongs to it.

A screen declares these once. The jump keys, `--screen`, the texts behind `?`, the palette,
docs/dashboard.md and the tests are made from the declarations (registry.SCREENS).
"""

from typing import NamedTuple

from ..subjects import Subject


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
