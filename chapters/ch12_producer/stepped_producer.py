"""A producer in virtual time. Its brokers answer Produce only when a picture says so.

The accumulator, the sender and the connections are those of `Producer`, without its sockets and its
event loop. All other requests are answered at once.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.client_connections import Close, Connect, Send
from kafka_edu.clients.producer.producer_batch import ProducerBatch, largest_size
from kafka_edu.clients.producer.producer_config import parse_producer_config
from kafka_edu.clients.producer.producer_core import build_core
from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import Part, part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_edu.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record_batch import read_records

START_MS: Final = 1_600_000_000_000


class Sent(NamedTuple):
    """A Produce request that has no answer yet."""

    broker: int
    version: int
    correlation_id: int
    request: ProduceRequest

    def batches(self) -> dict[tuple[str, int], list[str]]:
        """Return topic and partition → the values of the batch."""
        return {
            (topic.name, data.index): [
                (record.value or b"").decode()
                for record in read_records(bytes(part_bytes(data.records or b"")))
            ]
            for topic in self.request.topic_data
            for data in topic.partition_data
        }


class SteppedProducer:
    """The core of a producer, and brokers that lead the partitions of its topics."""

    def __init__(
        self, leaders: Mapping[str, Sequence[int]], settings: Mapping[str, object] | None = None
    ) -> None:
        """Build the core. `leaders` has the leader of each partition of each topic."""
        given = {"bootstrap.servers": "boot:9092", "client.id": "p"} | dict(settings or {})
        self.config = parse_producer_config(given, 1)
        core = build_core(self.config, random.Random(1))
        self.metadata = core.metadata
        self.accumulator = core.accumulator
        self.pool = core.accumulator.pool
        self.connections = core.connections
        self.sender = core.sender
        self.now = 0.0
        self.waiting: list[Sent] = []
        """The Produce requests without an answer, oldest first."""
        self._leaders = leaders
        for topic in leaders:
            self.metadata.use(topic, self.now)
        self.metadata.update(self._metadata(), self.now)

    def append(self, topic: str, partition: int, value: str) -> ProducerBatch | None:
        """Append a record as `send` does. Return None if there is no memory for it."""
        stamp, data = START_MS + int(self.now), value.encode()
        batch = self.accumulator.try_append(topic, partition, stamp, None, data, ())
        if batch is None:
            size = max(self.config.batch_size, largest_size(None, data, ()))
            if not self.pool.allocate(size):
                return None
            batch = self.accumulator.append_to_new_batch(
                topic, partition, stamp, None, data, (), size, self.now
            )
        return batch

    def run(self) -> None:
        """Let the sender run until it has nothing to do at this moment."""
        while self.sender.run(self.now) or self._perform():
            self._perform()

    def advance(self, ms: float) -> None:
        """Move the clock, and run."""
        self.now += ms
        self.run()

    def _perform(self) -> bool:
        """Perform the effects of the core. Return whether there were any."""
        effects = self.connections.take_effects()
        for effect in effects:
            match effect:
                case Connect(node=node):
                    self.connections.connected(node, f"here:{node}", self.now)
                case Close(node=node):
                    self.waiting = [sent for sent in self.waiting if sent.broker != node]
                case Send(node=node, parts=parts):
                    self._sent(node, parts)
        return bool(effects)

    def _sent(self, node: int, parts: Sequence[Part]) -> None:
        frame = b"".join(bytes(part_bytes(part)) for part in parts)[4:]
        header, at = decode_request_header(frame)
        key = ApiKey(header.api_key)
        request = REGISTRY[key].request.decode(frame, header.api_version, at)
        if isinstance(request, ProduceRequest):
            self.waiting.append(Sent(node, header.api_version, header.correlation_id, request))
            return
        answers: Mapping[ApiKey, Message] = {
            ApiKey.API_VERSIONS: _versions(),
            ApiKey.METADATA: self._metadata(),
            ApiKey.INIT_PRODUCER_ID: InitProducerIdResponse(
                throttle_time_ms=0, error_code=0, producer_id=7, producer_epoch=0
            ),
        }
        self._answer(node, key, header.api_version, header.correlation_id, answers[key])

    def _answer(
        self, node: int, key: ApiKey, version: int, correlation_id: int, answer: Message
    ) -> None:
        parts = encode_response(key, version, correlation_id, answer)
        frame = b"".join(bytes(part_bytes(part)) for part in parts)
        self.connections.received(node, frame[4:], self.now)

    def answer(self, error: Errors = Errors.NONE, base_offset: int = 0) -> None:
        """Answer the oldest Produce request, and run."""
        sent = self.waiting.pop(0)
        by_topic: dict[str, list[PartitionProduceResponse]] = {}
        for topic, partition in sent.batches():
            by_topic.setdefault(topic, []).append(
                PartitionProduceResponse(
                    index=partition,
                    error_code=int(error),
                    base_offset=base_offset if error is Errors.NONE else -1,
                    log_start_offset=0,
                    record_errors=[],
                )
            )
        responses = [
            TopicProduceResponse(name=topic, partition_responses=each)
            for topic, each in by_topic.items()
        ]
        response = ProduceResponse(responses=responses, throttle_time_ms=0)
        self._answer(sent.broker, ApiKey.PRODUCE, sent.version, sent.correlation_id, response)
        self.run()

    def _metadata(self) -> MetadataResponse:
        brokers = sorted({leader for leaders in self._leaders.values() for leader in leaders})
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=[MetadataResponseBroker(node_id=b, host=f"b{b}", port=9092) for b in brokers],
            topics=[
                MetadataResponseTopic(
                    error_code=0,
                    name=topic,
                    is_internal=False,
                    partitions=[
                        MetadataResponsePartition(
                            error_code=0,
                            partition_index=partition,
                            leader_id=leader,
                            leader_epoch=0,
                            replica_nodes=[],
                            isr_nodes=[],
                            offline_replicas=[],
                        )
                        for partition, leader in enumerate(leaders)
                    ],
                )
                for topic, leaders in self._leaders.items()
            ],
        )


def _versions() -> ApiVersionsResponse:
    """Return the answer of a broker that knows all versions."""
    return ApiVersionsResponse(
        error_code=0,
        api_keys=[
            ApiVersion(api_key=key, min_version=each.min_version, max_version=each.max_version)
            for key, each in REGISTRY.items()
        ],
        throttle_time_ms=0,
        supported_features=[],
        finalized_features=[],
    )
