"""`kafka-edu chapter 02`: the story first, by the real classes in a time of their own, then the
live broker.
"""

from pathlib import Path

from rich.console import Console

from . import story


def tell(console: Console, figures: Path | None) -> dict[str, object]:
    """The wheel with the book's figures. Returns the numbers told."""
    return story.tell(console, figures)


def watch(console: Console, seconds: float) -> dict[str, object]:
    """The wheel in a live broker. Raises ClusterError."""
    from . import watch as live  # its clients take a moment to import

    return live.watch(console, seconds)
