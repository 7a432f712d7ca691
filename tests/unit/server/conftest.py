"""A request's way through KafkaApis and back without a network: encode, handle, decode."""

import asyncio
import inspect
from collections.abc import Callable

import pytest

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.time import MockTime
from kafka_edu.common.transport import Part, part_bytes
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.protocol.api_versions_table import API_LEVELS
from kafka_edu.protocol.headers import decode_request_header, decode_response, encode_request
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.server.kafka_apis import KafkaApis
from kafka_edu.trace.event import Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import NETWORK_DEFAULTS


class FakeConnection:
    """Stands in for KafkaChannel and its Processor."""

    connection_id = "here-there-0"
    client_address = "127.0.0.1"
    listener_name = "PLAINTEXT"
    max_pipelined_requests = 1

    def __init__(self) -> None:
        self.answers: list[list[Part] | None] = []
        self.closed = ""

    def enqueue_response(self, _: Request, parts: list[Part] | None) -> None:
        self.answers.append(parts)

    def close(self, reason: str) -> None:
        self.closed = reason

    def refuse(self, rule: str, came: str) -> None:
        self.closed = rule


class Harness:
    """One broker's KafkaApis at API level 2.8. `ask` sends it a request as a client would."""

    def __init__(self, level: str = "2.8") -> None:
        self.time = MockTime()
        self.trace = Tracer(Source.of_broker(1), self.time)
        self.ring = RingSink()
        self.trace.add_sink(self.ring)
        self.channel = RequestChannel(self.time, NETWORK_DEFAULTS.queued_max_requests)
        self.apis = KafkaApis(self.channel, API_LEVELS[level], self.time, self.trace)
        self.cache = MetadataCache(1, self.trace)

    def events(self, name: str) -> list[tuple[object, ...]]:
        return [envelope.event for envelope in self.ring.events if envelope.name == name]

    def send_frame(self, frame: bytes) -> FakeConnection:
        connection = FakeConnection()
        header, body_offset = decode_request_header(frame)
        waiting = self.apis.handle(Request(connection, header, frame, body_offset, 0))  # type: ignore[arg-type]
        if waiting is not None:
            assert inspect.isawaitable(waiting)

            async def finish() -> None:
                await waiting

            asyncio.run(finish())
        return connection

    def send(self, request: Message, version: int, client_id: str = "test") -> FakeConnection:
        return self.send_frame(
            b"".join(map(part_bytes, encode_request(request, version, 7, client_id)))[4:]
        )

    def ask(self, request: Message, version: int, client_id: str = "test") -> Message:
        connection = self.send(request, version, client_id)
        assert not connection.closed
        return self.read(connection, request, version)

    def read(self, connection: FakeConnection, request: Message, version: int) -> Message:
        (parts,) = connection.answers
        assert parts is not None
        correlation_id, response = decode_response(
            request.KEY, version, b"".join(map(part_bytes, parts))[4:]
        )
        assert correlation_id == 7
        return response

    def learn(
        self,
        brokers: dict[int, int],
        partitions: dict[tuple[str, int], tuple[int, list[int]]],
        controller_id: int = 1,
    ) -> None:
        """Fill the metadata cache: broker → port, partition → (leader, replicas)."""
        topics: dict[str, UpdateMetadataTopicState] = {}
        for (topic, partition), (leader, replicas) in partitions.items():
            state = UpdateMetadataPartitionState(
                partition_index=partition,
                controller_epoch=1,
                leader=leader,
                leader_epoch=3,
                isr=replicas,
                zk_version=0,
                replicas=replicas,
            )
            topics.setdefault(
                topic, UpdateMetadataTopicState(topic_name=topic, partition_states=[])
            ).partition_states.append(state)
        live = [
            UpdateMetadataBroker(
                id=b,
                endpoints=[
                    UpdateMetadataEndpoint(
                        port=port, host="localhost", listener="PLAINTEXT", security_protocol=0
                    )
                ],
            )
            for b, port in brokers.items()
        ]
        self.cache.update(
            UpdateMetadataRequest(
                controller_id=controller_id,
                controller_epoch=1,
                topic_states=list(topics.values()),
                live_brokers=live,
            )
        )


@pytest.fixture
def harness() -> Harness:
    return Harness()


@pytest.fixture
def harness_at() -> Callable[[str], Harness]:
    return Harness
