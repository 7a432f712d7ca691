"""The refusal of an answer to exercise 07-4 or 07-5, with the last events of its two brokers."""

from ..runner.mismatch import Mismatch, Words
from .two_brokers import TwoBrokers

LINES = 12


def refusal(world: TwoBrokers, expected: str, came: str, why: str) -> Mismatch:
    """Return it."""
    events = list(enumerate(world.events, 1))[-LINES:]
    return Mismatch(
        "two brokers and one partition",
        Words(expected),
        Words(came),
        why,
        drawing=tuple(f"{number:>3}  {event.text}" for number, event in events),
    )
