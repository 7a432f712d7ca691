"""Makes the Mismatch for a wrong answer to exercise 07-4 or 07-5. It shows the last events."""

from ..runner.mismatch import Mismatch, Words
from .two_brokers import TwoBrokers

LINES = 12


def refusal(world: TwoBrokers, expected: str, came: str, why: str) -> Mismatch:
    """Return a Mismatch that shows the last events of the run."""
    events = list(enumerate(world.events, 1))[-LINES:]
    return Mismatch(
        "two brokers and one partition",
        Words(expected),
        Words(came),
        why,
        drawing=tuple(f"{number:>3}  {event.text}" for number, event in events),
    )
