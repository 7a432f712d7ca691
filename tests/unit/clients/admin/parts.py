"""The core of an admin client without sockets, and simple brokers for which a test gives the
answers.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_edu.clients.admin.admin_call import AdminCall, Results
from kafka_edu.clients.admin.admin_config import parse_admin_config
from kafka_edu.clients.admin.admin_core import AdminCore
from kafka_edu.clients.client_connections import Close, Connect, Send
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.trace.tracer import Tracer

K = TypeVar("K")
V = TypeVar("V")
M = TypeVar("M", bound=Message)


@dataclass
class Request:
    """A request that the core has sent, not yet answered."""

    node: int
    key: ApiKey
    version: int
    correlation_id: int
    message: Message


class Brokers:
    """An admin client's core and its brokers. `now` is the time, in ms.

    ApiVersions, Metadata and FindCoordinator are answered at once. A test answers all other
    requests.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        newest: Mapping[ApiKey, int] | None = None,
        trace: Tracer | None = None,
    ) -> None:
        """`newest` has the newest version of a request that the brokers serve. -1 means that they
        do not serve the request.
        """
        given = {"bootstrap.servers": "boot:9092", "client.id": "a"} | dict(settings or {})
        self.now = 1_000.0
        self.core = AdminCore(parse_admin_config(given, 1), random.Random(0), trace)
        self.alive = {1, 2, 3}
        self.unreachable: set[int] = set()
        """Brokers that are in the metadata, but nobody can connect to them."""
        self.controller = 1
        self.leaders: dict[TopicPartition, int] = {}
        self.coordinators: dict[str, int | Errors] = {}
        self.held: set[ApiKey] = set()
        """Keys of requests that only the test answers."""
        self.newest = dict(newest or {})
        self.requests: list[Request] = []
        self.seen: list[tuple[int, ApiKey]] = []
        """Broker and key of all requests so far. The bootstrap server is broker -1."""

    def call(self, call: AdminCall[K, V], timeout_ms: float = 60_000) -> list[Results[K, V]]:
        """Start a call and run the core. When the call ends, its results are appended to the
        returned list.
        """
        found: list[Results[K, V]] = []
        self.core.start(call, found.append, timeout_ms, self.now)
        self.run()
        return found

    def run(self) -> None:
        """Run the core until nothing changes."""
        for _ in range(30):
            self.core.run(self.now)
            if not self._perform() and not self._answer_usual():
                return
        raise AssertionError("the core never comes to rest")

    def advance(self, ms: float) -> None:
        self.now += ms
        self.run()

    def _perform(self) -> bool:
        effects = self.core.connections.take_effects()
        for effect in effects:
            match effect:
                case Connect(node=node):
                    if node < 0 or node in self.alive - self.unreachable:
                        self.core.connections.connected(node, f"here:{node}", self.now)
                    else:
                        self.core.connections.disconnected(node, "unreachable", self.now)
                case Close(node=node):
                    self._forget(node)
                case Send(node=node, parts=parts):
                    frame = b"".join(bytes(part_bytes(part)) for part in parts)[4:]
                    header, at = decode_request_header(frame)
                    key = ApiKey(header.api_key)
                    message = REGISTRY[key].request.decode(frame, header.api_version, at)
                    self.seen.append((node, key))
                    self.requests.append(
                        Request(node, key, header.api_version, header.correlation_id, message)
                    )
        return bool(effects)

    def _forget(self, node: int) -> None:
        self.requests = [each for each in self.requests if each.node != node]

    def _answer_usual(self) -> bool:
        answered = False
        oldest: dict[int, Request] = {}
        for request in list(self.requests):
            answer = self._usual(request)
            if oldest.setdefault(request.node, request) is request and answer is not None:
                del oldest[request.node]
                self.answer(request, answer)
                answered = True
        return answered

    def _usual(self, request: Request) -> Message | None:
        if request.key in self.held:
            return None
        match request.message:
            case MetadataRequest(topics=list() as topics):
                return self.metadata([topic.name or "" for topic in topics])
            case FindCoordinatorRequest(key=group):
                found = self.coordinators.get(group, 2)
                node = -1 if isinstance(found, Errors) else found
                return FindCoordinatorResponse(
                    error_code=int(found) if isinstance(found, Errors) else 0,
                    error_message=None,
                    node_id=node,
                    host=f"b{node}",
                    port=9092,
                )
        if request.key is ApiKey.API_VERSIONS:
            return ApiVersionsResponse(
                error_code=0,
                api_keys=[
                    ApiVersion(
                        api_key=key,
                        min_version=pair.min_version,
                        max_version=min(pair.max_version, self.newest.get(key, pair.max_version)),
                    )
                    for key, pair in REGISTRY.items()
                    if self.newest.get(key) != -1
                ],
                throttle_time_ms=0,
                supported_features=[],
                finalized_features=[],
            )
        return None

    def metadata(self, topics: list[str]) -> MetadataResponse:
        known = {tp.topic for tp in self.leaders}
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=b, host=f"b{b}", port=9092, rack=f"r{b}")
                for b in sorted(self.alive)
            ],
            cluster_id="c",
            controller_id=self.controller,
            topics=[
                MetadataResponseTopic(
                    error_code=0 if topic in known else Errors.UNKNOWN_TOPIC_OR_PARTITION,
                    name=topic,
                    is_internal=topic.startswith("__"),
                    partitions=[
                        MetadataResponsePartition(
                            error_code=0,
                            partition_index=tp.partition,
                            leader_id=leader,
                            replica_nodes=[leader, 9],
                            isr_nodes=[leader],
                        )
                        for tp, leader in self.leaders.items()
                        if tp.topic == topic
                    ],
                )
                for topic in topics
            ],
        )

    def answer(self, request: Request, message: Message) -> None:
        """Answer a request, which must be the oldest unanswered request of its connection."""
        self.requests.remove(request)
        parts = encode_response(request.key, request.version, request.correlation_id, message)
        frame = b"".join(bytes(part_bytes(part)) for part in parts)[4:]
        self.core.connections.received(request.node, frame, self.now)

    def reply(self, request: Request, message: Message) -> None:
        """Answer a request, and run."""
        self.answer(request, message)
        self.run()

    def die(self, node: int) -> None:
        """End a broker. Its requests get no answer, and nobody can connect to it."""
        self.alive.discard(node)
        self._forget(node)
        self.core.connections.disconnected(node, f"{node} died", self.now)
        self.run()

    def only(self, kind: type[M]) -> tuple[Request, M]:
        """Return the one request of this kind that waits."""
        [found] = self.all(kind)
        return found

    def all(self, kind: type[M]) -> list[tuple[Request, M]]:
        """Return the requests of this kind that wait, by broker."""
        return [
            (each, each.message)
            for each in sorted(self.requests, key=lambda each: each.node)
            if isinstance(each.message, kind)
        ]


def errors(results: Results[Any, Any]) -> dict[object, str]:
    """Return item → the name of its error."""
    return {item: error.name for item, error in results.errors.items()}
