"""Events: their form, their registry, and the envelope around each (spec M1).

An event is a value: a NamedTuple of ints, strings, bools, None and tuples of these, never a live
object. Making one costs about as much as making a tuple; a frozen dataclass would cost four times
as much, on every hop of every request.

There are two kinds. A *fact* says that a state changed. Every fact is emitted, in order, with a
sequence number. A *gauge* is a sample, taken ten times a second, and only while somebody watches.
It carries the number of the last fact before it.

Each process numbers its own facts from 1. `cause` is the number of the fact, in the same process,
that caused this one, or 0. Kafka's wire cannot carry a cause from one process to another, so
events carry natural join keys instead: connection and correlation id; session, path and a range of
zxids; topic, partition and leader epoch; follower and fetch offset. By these `reader` links the
events of several processes (docs/chains.md).
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
"""A request that waited for so long is a fact at every level."""

Scalar = int | str | bool | float | None
Event = tuple[object, ...]


class Level(StrEnum):
    """The amount of events that a sink gets. Each level includes those before it."""

    STATE = "state"
    """State changes: few, always kept."""
    HOPS = "hops"
    """The hops of a request, and what a broker does every few seconds. Most hops are emitted only
    while a sink wants this level.

    At level `state` three kinds of requests have hops too: those of the control plane, those that
    waited longer than SLOW_MS (in an overload not all of them: Tracer.tells_slow), and those that
    another fact completes.
    """
    ALL = "all"
    """Everything, including each timer insert."""


class Kind(StrEnum):
    FACT = "fact"
    GAUGE = "gauge"
    SNAPSHOT = "snapshot"
    """Part of a snapshot: the present state, sent to a new subscriber."""


class EventType(NamedTuple):
    """One event class in the registry. docs/events.md is generated from these."""

    cls: type[Event]
    area: str
    level: Level
    kind: Kind
    joins: tuple[str, ...]
    """Fields, of the event or of a value in it, that link it to events of other processes."""
    fields: tuple[str, ...]
    make: Callable[[Iterable[object]], Event]
    """The event of these values, in the order of `fields`."""
    defaults: Mapping[str, object] = MappingProxyType({})
    """Fields that were added later, with their values in older recordings."""
    thing: tuple[str, ...] = ()
    """Of a gauge: the fields that name what is sampled. A newer sample of the same thing, from the
    same process, replaces an older one. Empty: the process has one such thing.
    """


#: name → type. Filled by the decorator when `kafka_edu.trace.events` is imported, and not changed
#: after.
EVENT_TYPES: Final[dict[str, EventType]] = {}

E = TypeVar("E", bound=type[tuple[object, ...]])


@cache
def value_types(annotation: object) -> tuple[type[Event], ...]:
    """Return the NamedTuple classes that a type holds at any depth, itself first if it is one."""
    found: dict[type[Event], None] = {}
    parts: Iterable[object] = get_args(annotation)
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        found[annotation] = None
        parts = get_type_hints(annotation).values()
    for part in parts:
        found.update(dict.fromkeys(value_types(part)))
    return tuple(found)


def leaves(cls: type[Event]) -> Iterator[tuple[str, object]]:
    """Yield the fields of an event with their types, in the order in which they are written. A
    value within an event stands for its own fields.
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
    """Register a NamedTuple class as an event.

    `thing` is for gauges: the fields that name what is sampled. They must be the first ones, each
    an int, str or bool, so that a reader finds them in a line without decoding it.

    Raises ValueError on a name taken, a missing docstring, an unknown join field, or a thing that
    is not named by the first fields.
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
            raise ValueError(f"event {name} is no gauge, so it samples no thing")
        make, defaults = getattr(cls, "_make"), getattr(cls, "_field_defaults")  # noqa: B009 - as above
        area = cls.__module__.rsplit(".", 1)[-1]
        EVENT_TYPES[name] = EventType(cls, area, level, kind, joins, fields, make, defaults, thing)
        return cls

    return register


def meaning(cls: type[Event]) -> str:
    """Return what an event says: the first paragraph of its class's docstring, as one line."""
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


@runtime_checkable
class _Named(Protocol):
    """A NamedTuple. To mypy an event is only a tuple."""

    def _asdict(self) -> dict[str, object]: ...


def fields_of(event: Event) -> dict[str, object]:
    """Return the event's values by the names of its fields, in their order."""
    if not isinstance(event, _Named):
        raise TypeError(f"{event!r} is no event: an event is a NamedTuple")
    return event._asdict()


def plain(value: object) -> object:
    """Return an event, or a value in one, as JSON has it: named fields become an object."""
    if not isinstance(value, tuple):
        return value
    names: tuple[str, ...] = getattr(value, "_fields", ())
    if names:
        return dict(zip(names, map(plain, value), strict=True))
    return [plain(one) for one in value]


class SourceKind(StrEnum):
    """The kinds of processes that emit events."""

    BROKER = "broker"
    ZOOKEEPER = "zookeeper"
    SUPERVISOR = "supervisor"
    CLIENT = "client"
    PROXY = "proxy"


class Source(NamedTuple):
    """One process of a cluster: it emits events, or an event is about it."""

    kind: SourceKind
    id: int
    """A broker's id. The number of a ZooKeeper server: 1 for the first, or the only one. 0 where
    there is one process of its kind: the supervisor, a client, a proxy.
    """

    @staticmethod
    def of_broker(broker_id: int) -> "Source":
        return Source(SourceKind.BROKER, broker_id)

    @property
    def broker(self) -> int | None:
        """The broker's id; None if this is not a broker."""
        return self.id if self.kind is SourceKind.BROKER else None

    def __str__(self) -> str:
        return f"{self.kind} {self.id}" if self.id or self.broker == 0 else self.kind.value


SUPERVISOR: Final = Source(SourceKind.SUPERVISOR, 0)
"""In an event about an action: the whole cluster."""
ZOOKEEPER: Final = Source(SourceKind.ZOOKEEPER, 1)
"""The first ZooKeeper server, or the only one."""
CLIENT: Final = Source(SourceKind.CLIENT, 0)
PROXY: Final = Source(SourceKind.PROXY, 0)
"""The metadata proxy. As a child of a supervisor: the relay of its cluster."""


class Envelope(NamedTuple):
    """One event as it was emitted: by which process, as which number, when, and because of what."""

    source: Source
    seq: int
    cause: int
    wall_ms: int
    mono_us: int
    event: Event

    @property
    def broker(self) -> int | None:
        """The id of the broker that emitted it; None if another kind of process did."""
        return self.source.broker

    @property
    def name(self) -> str:
        return type(self.event).__name__
