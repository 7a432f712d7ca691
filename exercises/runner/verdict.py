"""The findings of a check, step by step."""

from typing import NamedTuple


class Step(NamedTuple):
    """One thing that was tried: what it says, whether it held, and what was seen."""

    says: str
    passed: bool
    seen: str
    late: bool = False
    """Whether it failed only because something did not come in time, or came late."""
