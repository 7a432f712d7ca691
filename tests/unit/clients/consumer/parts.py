"""The core of a consumer without sockets, and simple brokers for which a test gives the answers."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kafka_edu.clients.client_connections import ClientConnections, Close, Connect, Send
from kafka_edu.clients.consumer.consumer_config import parse_consumer_config
from kafka_edu.clients.consumer.consumer_core import ConsumerCore
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchResponse,
)
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

M = TypeVar("M", bound=Message)


@dataclass
class Request:
    """A request that the core has sent, not yet answered."""

    connections: ClientConnections
    node: int
    key: ApiKey
    version: int
    correlation_id: int
    message: Message


class Core:
    """A consumer's core and its brokers, which lead topic t. `now` is the time, in ms.

    ApiVersions, Metadata, FindCoordinator and OffsetFetch are answered at once; OffsetFetch gets no
    committed offset. A test answers all other requests.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        partitions: int = 2,
        brokers: tuple[int, ...] = (1,),
    ) -> None:
        given = {"bootstrap.servers": "boot:9092", "client.id": "c"} | dict(settings or {})
        self.now = 1_000.0
        self.core = ConsumerCore(parse_consumer_config(given, 1), random.Random(0))
        self.brokers = brokers
        self.leaders = {p: (brokers[p % len(brokers)], 0) for p in range(partitions)}
        self.newest: dict[ApiKey, int] = {}
        """The newest version of a request that the brokers serve, if they are old."""
        self.topics = ["t"]
        """The topics that exist, each with the same leaders."""
        self.requests: list[Request] = []
        self.seen: list[ApiKey] = []
        """The keys of all requests so far."""

    def run(self) -> None:
        """Run the core until nothing changes."""
        for _ in range(20):
            self.core.run(self.now)
            both = self.core.connections, self.core.coordinator_connections
            performed = [self._perform(each) for each in both]
            if not self._answer_usual() and not any(performed):
                return
        raise AssertionError("the core never comes to rest")

    def poll(self) -> None:
        """Do what `Consumer.poll` does in the core, for a program without a rebalance listener."""
        for _ in range(20):
            self.core.poll(self.now)
            self.run()
            if self.core.coordinator.callback is None:
                return
            self.core.coordinator.callback_done(self.now)
        raise AssertionError("the rebalance never comes to rest")

    def advance(self, ms: float) -> None:
        self.now += ms
        self.run()

    def _perform(self, connections: ClientConnections) -> bool:
        effects = connections.take_effects()
        for effect in effects:
            match effect:
                case Connect(node=node):
                    connections.connected(node, f"here:{node}", self.now)
                case Close(node=node):
                    self._forget(connections, node)
                case Send(node=node, parts=parts):
                    frame = b"".join(bytes(part_bytes(part)) for part in parts)
                    self._sent(connections, node, frame[4:])
        return bool(effects)

    def _forget(self, connections: ClientConnections, node: int) -> None:
        self.requests = [
            each for each in self.requests if (each.connections, each.node) != (connections, node)
        ]

    def _sent(self, connections: ClientConnections, node: int, frame: bytes) -> None:
        header, at = decode_request_header(frame)
        key = ApiKey(header.api_key)
        message = REGISTRY[key].request.decode(frame, header.api_version, at)
        request = Request(
            connections, node, key, header.api_version, header.correlation_id, message
        )
        self.seen.append(key)
        self.requests.append(request)

    def _answer_usual(self) -> bool:
        """Answer the usual requests, such as Metadata, for which no test gives an answer. A request
        must wait if its connection has an older request without an answer.
        """
        answered = False
        oldest: dict[tuple[int, int], Request] = {}
        for request in list(self.requests):
            place = id(request.connections), request.node
            if oldest.setdefault(place, request) is request and request.key in _USUAL:
                del oldest[place]
                self.answer(request, _USUAL[request.key](self, request))
                answered = True
        return answered

    def answer(self, request: Request, message: Message) -> None:
        """Answer a request, which must be the oldest unanswered request of its connection."""
        self.requests.remove(request)
        parts = encode_response(request.key, request.version, request.correlation_id, message)
        frame = b"".join(bytes(part_bytes(part)) for part in parts)
        request.connections.received(request.node, frame[4:], self.now)

    def lose(self, request: Request) -> None:
        """End the connection of a request. No request on this connection gets an answer."""
        self._forget(request.connections, request.node)
        request.connections.disconnected(request.node, "cut by the test", self.now)

    def only(self, key: ApiKey, kind: type[M]) -> tuple[Request, M]:
        """Return the one request of this kind that waits."""
        [request] = [each for each in self.requests if each.key is key]
        assert isinstance(request.message, kind)
        return request, request.message

    def metadata_answer(self) -> MetadataResponse:
        partitions = [
            MetadataResponsePartition(
                error_code=0,
                partition_index=p,
                leader_id=leader,
                leader_epoch=epoch,
                replica_nodes=[],
                isr_nodes=[],
                offline_replicas=[],
            )
            for p, (leader, epoch) in self.leaders.items()
        ]
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=[
                MetadataResponseBroker(node_id=b, host=f"b{b}", port=9092) for b in self.brokers
            ],
            topics=[
                MetadataResponseTopic(
                    error_code=0, name=topic, is_internal=False, partitions=partitions
                )
                for topic in self.topics
            ],
        )


def _no_offsets(request: Request) -> OffsetFetchResponse:
    assert isinstance(request.message, OffsetFetchRequest)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=partition, committed_offset=-1, metadata="", error_code=0
                    )
                    for partition in topic.partition_indexes
                ],
            )
            for topic in request.message.topics or []
        ],
        error_code=0,
    )


_USUAL: Mapping[ApiKey, Callable[[Core, Request], Message]] = {
    ApiKey.API_VERSIONS: lambda core, request: ApiVersionsResponse(
        error_code=0,
        api_keys=[
            ApiVersion(
                api_key=key,
                min_version=pair.min_version,
                max_version=core.newest.get(key, pair.max_version),
            )
            for key, pair in REGISTRY.items()
        ],
        throttle_time_ms=0,
        supported_features=[],
        finalized_features=[],
    ),
    ApiKey.METADATA: lambda core, request: core.metadata_answer(),
    ApiKey.OFFSET_FETCH: lambda core, request: _no_offsets(request),
    ApiKey.FIND_COORDINATOR: lambda core, request: FindCoordinatorResponse(
        throttle_time_ms=0, error_code=0, node_id=core.brokers[0], host="b", port=9092
    ),
}


def fetch_answer(
    records: Mapping[TopicPartition, bytes],
    errors: Mapping[TopicPartition, Errors] | None = None,
    *,
    session_id: int = 5,
    error: Errors = Errors.NONE,
    read_from: int = -1,
    high_watermark: int = 100,
) -> FetchResponse:
    """Return an answer to Fetch with the batches and errors of these partitions."""
    wrong = dict(errors or {})
    return FetchResponse(
        throttle_time_ms=0,
        error_code=int(error),
        session_id=session_id,
        responses=[
            FetchableTopicResponse(
                topic=tp.topic,
                partition_responses=[
                    FetchablePartitionResponse(
                        partition=tp.partition,
                        error_code=int(wrong.get(tp, Errors.NONE)),
                        high_watermark=high_watermark,
                        aborted_transactions=None,
                        preferred_read_replica=read_from,
                        record_set=records.get(tp, b""),
                    )
                ],
            )
            for tp in [*records, *wrong]
        ],
    )


def batch(first: int, end: int, epoch: int = -1) -> bytes:
    """Return one batch with the offsets from `first` up to, but not including, `end`."""
    records = [Record(n, 0, None, b"%d" % n) for n in range(first, end)]
    return build_batch(records, partition_leader_epoch=epoch)


def listed(offset: int, error: Errors = Errors.NONE) -> ListOffsetsResponse:
    """Return an answer to ListOffsets for t-0."""
    return ListOffsetsResponse(
        throttle_time_ms=0,
        topics=[
            ListOffsetsTopicResponse(
                name="t",
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=0, error_code=error, old_style_offsets=[], offset=offset
                    )
                ],
            )
        ],
    )
