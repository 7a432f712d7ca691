"""Choose which samples of gauges a subscriber gets, and how often.

Gauges are sampled ten times a second. Most samples have not changed since the last one, and most
describe something that no viewer looks at. An example: a broker with 62 partitions and ten records
a second made 450 sample events a second, and half of them were about wheels on which nothing moved.
Therefore a subscriber gets a sample

- at once, if it differs from the last sample that the subscriber got of the same thing;
- twice a second, if it has not changed, so that the subscriber knows how old its knowledge is;
- once a second, and only the newest one, if the subscriber has said which gauges it looks at and
  this gauge is not one of them.
"""

from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Final, get_type_hints

from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Source

UNCHANGED_TICKS: Final = 5
UNSEEN_TICKS: Final = 10

Thing = tuple[type[Event], tuple[object, ...]]
"""Identifies what is sampled: the gauge's event class, and the values of the fields that name the
thing, for example topic and partition.
"""


def thing_of_event(event: Event) -> Thing:
    """Return the class of a gauge, and the values that name the sampled thing. O(fields that name
    it).
    """
    cls = type(event)
    return cls, _named_by(cls)(event)


@cache
def _named_by(cls: type[Event]) -> Callable[[Event], tuple[object, ...]]:
    """Return a function that reads, from an event of this class, the values that name the sampled
    thing. These are the event's first values. If the first field is itself a value with fields,
    they are that value's first values.
    """
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
    """Chooses the samples for one subscriber, ten times a second."""

    def __init__(self) -> None:
        self._often: frozenset[str] | None = None
        self._ticks = 0
        self._sent: dict[tuple[Source, Thing], Event] = {}
        """The last sample that was sent of each thing, for things that were sampled in the last
        half second.
        """
        self._unseen: dict[tuple[Source, Thing], Envelope] = {}
        """The newest sample of each thing at which the subscriber does not look."""

    def forget(self) -> None:
        """Forget all samples up to now. The next sample of each thing is sent."""
        self._ticks = 0
        self._unseen = {}

    def look_at(self, names: Collection[str] | None) -> None:
        """Set the gauges at which the subscriber looks, by the names of their types. None means all
        gauges.
        """
        self._often = None if names is None else frozenset(names)
        self._ticks = 0

    def choose(self, samples: Iterable[Envelope]) -> list[Envelope]:
        """Return those of `samples` that must be sent now. O(samples)."""
        if self._ticks % UNCHANGED_TICKS == 0:
            self._sent = {}
        flush = self._ticks % UNSEEN_TICKS == 0
        self._ticks += 1
        often, sent, unseen = self._often, self._sent, self._unseen
        chosen = []
        for sample in samples:
            event = sample.event
            thing = sample.source, thing_of_event(event)
            if often is not None and sample.name not in often:
                unseen[thing] = sample
            elif sent.get(thing) != event:
                sent[thing] = event
                chosen.append(sample)
        if flush and unseen:
            chosen = [*unseen.values(), *chosen]
            self._unseen = {}
        return chosen
