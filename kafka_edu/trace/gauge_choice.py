"""Which samples a subscriber gets, and how often.

Gauges are sampled ten times a second. Most samples say what the one before said, and most are about
something that nobody looks at. A broker with 62 partitions and ten records a second sampled 450
events a second: half of them were wheels on which nothing moved. So a subscriber gets a sample

- at once, if the thing has changed since the last sample that was sent;
- twice a second, if it has not, so that the subscriber knows how old its knowledge is;
- once a second and only the newest of each thing, if the subscriber has said what it looks at and
  it is something else.
"""

from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Final, get_type_hints

from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event

UNCHANGED_TICKS: Final = 5
UNSEEN_TICKS: Final = 10

Thing = tuple[type[Event], tuple[object, ...]]
"""The type of a gauge, and the values of the fields that name its thing."""


def thing_of_event(event: Event) -> Thing:
    """Return what a gauge is a sample of. O(fields that name it)."""
    cls = type(event)
    return cls, _named_by(cls)(event)


@cache
def _named_by(cls: type[Event]) -> Callable[[Event], tuple[object, ...]]:
    """Return how to read the values that name the thing: the first ones, at any depth."""
    count = len(EVENT_TYPES[cls.__name__].thing)
    depth, of = 0, cls
    while count and hasattr(first := next(iter(get_type_hints(of).values())), "_fields"):
        depth, of = depth + 1, first

    def named(event: Event) -> tuple[object, ...]:
        values: object = event
        for _ in range(depth):
            assert isinstance(values, tuple)
            values = values[0]
        assert isinstance(values, tuple)
        return values[:count]

    return named


class GaugeChoice:
    """Chooses samples for one subscriber, ten times a second."""

    def __init__(self) -> None:
        self._often: frozenset[str] | None = None
        self._ticks = 0
        self._sent: dict[Thing, Event] = {}
        """The last sample that was sent of each thing, of those sampled in the last half second."""
        self._unseen: dict[Thing, Envelope] = {}
        """The newest sample of each thing that the subscriber does not look at."""

    def look_at(self, names: Collection[str] | None) -> None:
        """From now on the subscriber looks at gauges of these types. None: at all."""
        self._often = None if names is None else frozenset(names)
        self._ticks = 0

    def choose(self, samples: Iterable[Envelope]) -> list[Envelope]:
        """Return the samples to send now. O(samples)."""
        if self._ticks % UNCHANGED_TICKS == 0:
            self._sent = {}
        flush = self._ticks % UNSEEN_TICKS == 0
        self._ticks += 1
        often, sent, unseen = self._often, self._sent, self._unseen
        chosen = []
        for sample in samples:
            event = sample.event
            thing = thing_of_event(event)
            if often is not None and sample.name not in often:
                unseen[thing] = sample
            elif sent.get(thing) != event:
                sent[thing] = event
                chosen.append(sample)
        if flush and unseen:
            chosen = [*unseen.values(), *chosen]
            self._unseen = {}
        return chosen
