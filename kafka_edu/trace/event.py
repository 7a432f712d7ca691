"""Events: their classes, the registry of these classes, and the envelope around each event (spec
M1).

An event is a value: a NamedTuple of ints, strings, bools, None and tuples of these. It never holds
a live object. Making an event costs about as much as making a tuple. A frozen dataclass would cost
four times as much, on every hop of every request.

There are two main kinds. A *fact* says that a state changed. Every fact is emitted, in order, with
a sequence number. A *gauge* is a sample. Gauges are taken ten times a second, and only while
somebody watches. A gauge has the number of the last fact before it.

Each process numbers its own facts from 1. `cause` is the number of the fact, in the same process,
that caused this one, or 0. Kafka's messages cannot carry a cause from one process to another.
Therefore events have fields that both processes know, the join fields: connection and correlation
id; session, path and a range of zxids; topic, partition and leader epoch; follower and fetch
offset. With these fields, `reader` links the events of several processes (docs/chains.md).
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import (
    Final,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_type_hints,
    runtime_checkable,
)

SLOW_MS: Final = 100
"""A request that waited longer than this, in ms, is slow. Its hops are emitted at every level."""

Scalar = int | str | bool | float | None
Event = tuple[object, ...]


class Level(StrEnum):
    """How many events a sink gets. Each level includes the levels before it."""

    STATE = "state"
    """Only state changes. They are few, and a sink always gets them."""
    HOPS = "hops"
    """Also the hops of requests, and what a broker does every few seconds. Most hops are emitted
    only while a sink wants this level.

    The hops of three kinds of requests have level `state`: requests of the control plane, requests
    that waited longer than SLOW_MS (in an overload only some of them, see Tracer.tells_slow), and
    requests that another fact completes.
    """
    ALL = "all"
    """All events. This includes an event for each task that is put into a timer."""


class Kind(StrEnum):
    FACT = "fact"
    GAUGE = "gauge"
    SNAPSHOT = "snapshot"
    """A part of the current state. A new subscriber gets the whole state as a snapshot."""


class EventType(NamedTuple):
    """One event class, as the registry describes it. docs/events.md is generated from the
    registry.
    """

    cls: type[Event]
    area: str
    level: Level
    kind: Kind
    joins: tuple[str, ...]
    """The join fields, which link the event to events of other processes. They are fields of the
    event or of a value in it.
    """
    fields: tuple[str, ...]
    make: Callable[[Iterable[object]], Event]
    """Function that makes an event from its values, in the order of `fields`."""
    defaults: Mapping[str, object] = MappingProxyType({})
    """Default values of fields that were added later. They are used for older recordings."""
    thing: tuple[str, ...] = ()
    """For a gauge: the fields that name what is sampled, such as the topic and partition. A newer
    sample of the same thing, from the same process, replaces the older sample. Empty if each
    process has only one such thing.
    """


#: The event types by name. The decorator `event` fills this dict when `kafka_edu.trace.events` is
#: imported. After that it does not change.
EVENT_TYPES: Final[dict[str, EventType]] = {}

E = TypeVar("E", bound=type[tuple[object, ...]])


@cache
def value_types(annotation: object) -> tuple[type[Event], ...]:
    """Return all NamedTuple classes in a type hint, including those inside tuples. A class that is
    itself a NamedTuple comes first.
    """
    found: dict[type[Event], None] = {}
    parts: Iterable[object] = get_args(annotation)
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        found[annotation] = None
        parts = get_type_hints(annotation).values()
    for part in parts:
        found.update(dict.fromkeys(value_types(part)))
    return tuple(found)


def leaves(cls: type[Event]) -> Iterator[tuple[str, object]]:
    """Yield the names and types of an event's fields, in the order in which they are written. For a
    value within the event, the value's own fields are yielded.
    """
    for name, hint in get_type_hints(cls).items():
        if isinstance(hint, type) and hasattr(hint, "_fields"):
            yield from leaves(hint)
        else:
            yield name, hint


def event(
    *,
    level: Level = Level.STATE,
    kind: Kind = Kind.FACT,
    joins: tuple[str, ...] = (),
    thing: tuple[str, ...] = (),
) -> Callable[[E], E]:
    """Return a decorator that registers a NamedTuple class as an event.

    `thing` is for gauges only. It lists the fields that name what is sampled. They must be the
    first fields, and each must be an int, str or bool. So a reader finds these fields in a line
    without decoding the line.

    Raises ValueError if the name is already registered, if there is no docstring, if a join field
    is unknown, or if `thing` does not list the first fields.
    """

    def register(cls: E) -> E:
        name = cls.__name__
        fields: tuple[str, ...] = getattr(cls, "_fields")  # noqa: B009 - NamedTuple's own; mypy sees only a tuple here
        if name in EVENT_TYPES:
            raise ValueError(f"two events are called {name}")
        if not cls.__doc__ or cls.__doc__.startswith(f"{name}("):
            raise ValueError(f"event {name} has no docstring")
        inner = {name for value in value_types(cls) for name in get_type_hints(value)}
        if unknown := set(joins) - inner:
            raise ValueError(f"event {name} joins by {sorted(unknown)}, which it does not have")
        first = [*islice(leaves(cls), len(thing))]
        if [name for name, _ in first] != [*thing] or any(
            hint not in (int, str, bool) for _, hint in first
        ):
            raise ValueError(f"event {name} must begin with the fields that name its thing")
        if thing and kind is not Kind.GAUGE:
            raise ValueError(f"event {name} is not a gauge, so it samples nothing")
        make, defaults = getattr(cls, "_make"), getattr(cls, "_field_defaults")  # noqa: B009 - as above
        area = cls.__module__.rsplit(".", 1)[-1]
        EVENT_TYPES[name] = EventType(cls, area, level, kind, joins, fields, make, defaults, thing)
        return cls

    return register


def meaning(cls: type[Event]) -> str:
    """Return the meaning of an event: the first paragraph of its class's docstring, as one line."""
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


@runtime_checkable
class _Named(Protocol):
    """Any NamedTuple. It is needed because mypy knows an event only as a tuple."""

    def _asdict(self) -> dict[str, object]: ...


def fields_of(event: Event) -> dict[str, object]:
    """Return a dict of the event's field names and values, in the order of the fields."""
    if not isinstance(event, _Named):
        raise TypeError(f"{event!r} is not an event: an event is a NamedTuple")
    return event._asdict()


def plain(value: object) -> object:
    """Return an event, or a value in an event, in the form in which JSON shows it: a NamedTuple
    becomes a dict.
    """
    if not isinstance(value, tuple):
        return value
    names: tuple[str, ...] = getattr(value, "_fields", ())
    if names:
        return dict(zip(names, map(plain, value), strict=True))
    return [plain(one) for one in value]


class SourceKind(StrEnum):
    """The kinds of processes that emit events, such as a broker or the supervisor."""

    BROKER = "broker"
    ZOOKEEPER = "zookeeper"
    SUPERVISOR = "supervisor"
    CLIENT = "client"
    PROXY = "proxy"


class Source(NamedTuple):
    """One process of a cluster. It emits events, or an event is about it."""

    kind: SourceKind
    id: int
    """For a broker, its id. For a ZooKeeper server, its number from 1. For a kind with only one
    process (the supervisor, a client, a proxy), 0.
    """

    @staticmethod
    def of_broker(broker_id: int) -> "Source":
        return Source(SourceKind.BROKER, broker_id)

    @property
    def broker(self) -> int | None:
        """The broker's id, or None if this process is not a broker."""
        return self.id if self.kind is SourceKind.BROKER else None

    def __str__(self) -> str:
        return f"{self.kind} {self.id}" if self.id or self.broker == 0 else self.kind.value


SUPERVISOR: Final = Source(SourceKind.SUPERVISOR, 0)
"""The supervisor. In an event about an action, it stands for the whole cluster."""
ZOOKEEPER: Final = Source(SourceKind.ZOOKEEPER, 1)
"""The first or only ZooKeeper server."""
CLIENT: Final = Source(SourceKind.CLIENT, 0)
PROXY: Final = Source(SourceKind.PROXY, 0)
"""The metadata proxy. In the supervisor's events about its child processes, it is the relay of the
cluster.
"""


class Envelope(NamedTuple):
    """One event with its context: the process that emitted it, its number, its time and its
    cause.
    """

    source: Source
    seq: int
    cause: int
    wall_ms: int
    mono_us: int
    event: Event

    @property
    def broker(self) -> int | None:
        """The id of the broker that emitted the event, or None if a different kind of process
        emitted it.
        """
        return self.source.broker

    @property
    def name(self) -> str:
        return type(self.event).__name__
