"""One call of the admin client, as data: its items, their routes, and its requests and responses.

A call has items, such as the topics to delete. Each item has a route, and gets its own result or
its own error. The core groups the items by broker and sends one request to each broker. If an error
is temporary, only the items with this error are sent again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.client_errors import (
    BrokerException,
    ClientException,
    UnsupportedVersionException,
)
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError

K = TypeVar("K")
V = TypeVar("V")
M = TypeVar("M", bound=Message)
G = TypeVar("G")


@dataclass(frozen=True, slots=True)
class AnyBroker:
    """Route: the broker with the fewest requests in flight."""

    def __str__(self) -> str:
        return "a broker"


@dataclass(frozen=True, slots=True)
class Controller:
    """Route: the controller."""

    def __str__(self) -> str:
        return "the controller"


@dataclass(frozen=True, slots=True)
class Broker:
    """Route: one broker, by its id."""

    id: int

    def __str__(self) -> str:
        return f"broker {self.id}"


@dataclass(frozen=True, slots=True)
class LeaderOf:
    """Route: the leader of a partition."""

    partition: TopicPartition

    def __str__(self) -> str:
        return f"the leader of {self.partition}"


@dataclass(frozen=True, slots=True)
class CoordinatorOf:
    """Route: the coordinator of a group."""

    group: str

    def __str__(self) -> str:
        return f"the coordinator of group {self.group}"


Route = AnyBroker | Controller | Broker | LeaderOf | CoordinatorOf

ANY_BROKER: Final = AnyBroker()
CONTROLLER: Final = Controller()


class Form(NamedTuple):
    """The key, the version and the time limit of a request that must be written."""

    key: ApiKey
    version: int
    timeout_ms: int
    """How long the broker may take. Only some requests contain it."""


class Requested(NamedTuple, Generic[K]):
    """The items of a request, and the broker to which it was sent."""

    items: Sequence[K]
    node: Node


@dataclass(frozen=True, slots=True)
class AdminCall(Generic[K, V]):
    """One call. `K` is the type of its items, and `V` the type of a result."""

    name: str
    """Kafka's name, in snake_case."""
    keys: tuple[ApiKey, ...]
    """The API keys of the request: the newest API first, then older APIs for brokers without it."""
    routes: Mapping[K, Route]
    """Each item, and where it goes."""
    write: Callable[[Sequence[K], Form], Message]
    """Return the request for these items. If this raises ClientException, all items get that error.
    """
    read: Callable[[Requested[K], Message], Mapping[K, V | ClientException]]
    """Return the result or the error of each of these items, from the response."""


class Results(Generic[K, V]):
    """The result or the error of each item of a call (Kafka: values() and all() of its results).

    `results[item]` returns a result or raises the item's error.
    """

    def __init__(self) -> None:
        self.values: dict[K, V] = {}
        """Item → its result, for the items that succeeded."""
        self.errors: dict[K, ClientException] = {}
        """Item → its error, for the items that failed."""

    def put(self, item: K, outcome: V | ClientException) -> None:
        if isinstance(outcome, ClientException):
            self.errors[item] = outcome
        else:
            self.values[item] = outcome

    def __getitem__(self, item: K) -> V:
        if item in self.errors:
            raise self.errors[item]
        return self.values[item]

    def __iter__(self) -> Iterator[K]:
        yield from self.values
        yield from self.errors

    def __len__(self) -> int:
        return len(self.values) + len(self.errors)

    def all(self) -> dict[K, V]:
        """Return all results. Raises the first error if an item has one."""
        for error in self.errors.values():
            raise error
        return self.values

    def existing(self) -> dict[K, V]:
        """Return the results of the items that exist.

        Items with the error UNKNOWN_TOPIC_OR_PARTITION do not exist. Raises the first other error,
        because such an item may exist.
        """
        for error in self.errors.values():
            if error.error is not Errors.UNKNOWN_TOPIC_OR_PARTITION:
                raise error
        return self.values

    def __repr__(self) -> str:
        return f"Results(values={self.values!r}, errors={self.errors!r})"


def results_of(outcomes: Iterable[tuple[K, V | ClientException]]) -> Results[K, V]:
    results: Results[K, V] = Results()
    for item, outcome in outcomes:
        results.put(item, outcome)
    return results


def failed(error_code: int, message: str | None = None) -> BrokerException | None:
    """Return the error of a broker's code, or None for code 0."""
    return BrokerException(Errors.of(error_code), message or "") if error_code else None


def need_version(form: Form, oldest: int, what: str) -> None:
    """Raise UnsupportedVersionException if the broker's version is older than `what` needs."""
    if form.version < oldest:
        raise UnsupportedVersionException(
            f"The broker knows {form.key.name} only up to version {form.version}, but {what} needs"
            f" version {oldest}.",
            "Use a newer broker.",
        )


def expect(kind: type[M], answer: Message) -> M:
    """Return the answer if it is a message of this type."""
    if not isinstance(answer, kind):
        raise ProtocolError(f"{type(answer).__name__} came instead of {kind.__name__}")
    return answer


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return topic → its partitions, in the given order."""
    grouped: dict[str, list[int]] = {}
    for tp in partitions:
        grouped.setdefault(tp.topic, []).append(tp.partition)
    return grouped
