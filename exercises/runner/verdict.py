"""The result of one step of a check."""

from typing import NamedTuple


class Step(NamedTuple):
    """One step of a check: what was tried, whether it passed, and what was seen."""

    says: str
    passed: bool
    seen: str
    late: bool = False
    """Whether the step failed only because something came too late or not at all."""
