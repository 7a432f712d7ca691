"""A client for scripts of the simulator. It prints each request and its result. The client is a
separate simulated process.

Like every Kafka client, it finds a partition's leader with a Metadata request to any broker that
answers. It has no buffer and makes no hidden retries, so each step is visible. Our own clients have
a buffer and hidden retries, so scripts do not use them.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import API_LEVELS
from kafka_edu.protocol.messages.create_topics import (
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers, read_records
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess

REQUEST_TIMEOUT_MS = 120_000
PRODUCE_TIMEOUT_MS = 30_000


class Acked(NamedTuple):
    """A broker's answer to a Produce request."""

    value: str
    error: Errors
    offset: int


class Answer:
    """The result of one Produce request. It may come later, while the script continues."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.acked: Acked | None = None
        self.failed = ""


class SimClient:
    """One simulated client process."""

    def __init__(self, cluster: SimCluster, name: str = "client") -> None:
        self._cluster = cluster
        self.process = SimProcess(name)
        self._served = {
            broker_id: API_LEVELS[cluster.config(broker_id).api_level]
            for broker_id in cluster.brokers
        }

    def _version(self, broker_id: int, key: ApiKey, newest: int) -> int:
        """Return the version to use for requests to that broker: `newest`, or the newest version
        that the broker's API level has.
        """
        return min(newest, self._served[broker_id][key][1])

    async def _connect(self, broker_id: int) -> NetworkClient:
        client = NetworkClient(self._cluster.network.transport(), self.process.name)
        await client.connect("127.0.0.1", self._cluster.port(broker_id), 1000)
        return client

    async def metadata(self, topic: str) -> MetadataResponse:
        """Return the metadata from the first broker that answers. Raises ConnectionError if no
        broker answers.
        """
        for broker_id in self._cluster.brokers:
            try:
                client = await self._connect(broker_id)
            except (OSError, TimeoutError):
                continue
            try:
                request = MetadataRequest(
                    topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
                )
                return await client.ask(
                    request, self._version(broker_id, ApiKey.METADATA, 8), MetadataResponse, 1000
                )
            except (OSError, TimeoutError):
                continue
            finally:
                client.close()
        raise ConnectionError("no broker answers")

    async def leader_of(self, tp: TopicPartition) -> int:
        """Return the broker id of the partition's leader, or -1 if there is none."""
        for topic in (await self.metadata(tp.topic)).topics:
            for partition in topic.partitions:
                if partition.partition_index == tp.partition:
                    return partition.leader_id
        return -1

    async def create_topic(
        self, topic: str, partitions: int, rf: int, configs: Mapping[str, str] | None = None
    ) -> Errors:
        """Request a new topic from the controller, which chooses the replicas. Return the error
        code.
        """
        controller = (await self.metadata(topic)).controller_id
        client = await self._connect(controller)
        try:
            request = CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=topic,
                        num_partitions=partitions,
                        replication_factor=rf,
                        assignments=[],
                        configs=[
                            CreateableTopicConfig(name=name, value=value)
                            for name, value in (configs or {}).items()
                        ],
                    )
                ],
                timeout_ms=30_000,
            )
            response = await client.ask(
                request,
                self._version(controller, ApiKey.CREATE_TOPICS, 4),
                CreateTopicsResponse,
                REQUEST_TIMEOUT_MS,
            )
            return Errors.of(response.topics[0].error_code)
        finally:
            client.close()

    async def delete_topic(self, topic: str) -> Errors:
        """Request the deletion of a topic from the controller. Return the error code when the
        controller's metadata no longer has the topic.
        """
        controller = (await self.metadata(topic)).controller_id
        client = await self._connect(controller)
        try:
            request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=REQUEST_TIMEOUT_MS)
            answer = await client.ask(request, 3, DeleteTopicsResponse, REQUEST_TIMEOUT_MS)
            return Errors.of(answer.responses[0].error_code)
        finally:
            client.close()

    async def _produce(self, tp: TopicPartition, value: str, acks: int, timeout_ms: int) -> Acked:
        leader = await self.leader_of(tp)
        if leader < 0:
            return Acked(value, Errors.LEADER_NOT_AVAILABLE, -1)
        client = await self._connect(leader)
        try:
            now_ms = self._cluster.time.milliseconds()
            batch = build_batch([Record(0, now_ms, None, value.encode(), ())])
            data = TopicProduceData(
                name=tp.topic,
                partition_data=[PartitionProduceData(index=tp.partition, records=batch)],
            )
            request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[data])
            response = await client.ask(
                request,
                self._version(leader, ApiKey.PRODUCE, 7),
                ProduceResponse,
                REQUEST_TIMEOUT_MS,
            )
            answer = response.responses[0].partition_responses[0]
            return Acked(value, Errors.of(answer.error_code), answer.base_offset)
        finally:
            client.close()

    def produce(
        self, tp: TopicPartition, value: str, acks: int, timeout_ms: int = PRODUCE_TIMEOUT_MS
    ) -> Answer:
        """Send one record to the leader. The script continues at once, and can look at the result
        later.
        """
        answer = Answer(value)

        async def body() -> None:
            try:
                answer.acked = await self._produce(tp, value, acks, timeout_ms)
            except (OSError, TimeoutError) as error:
                answer.failed = str(error) or type(error).__name__

        self._cluster.loop.spawn(self.process, body())
        return answer

    async def consume(self, tp: TopicPartition, offset: int = 0) -> list[tuple[int, str]]:
        """Return all committed records from `offset` on, as (offset, value)."""
        leader = await self.leader_of(tp)
        client = await self._connect(leader)
        found: list[tuple[int, str]] = []
        try:
            while True:
                wanted = FetchTopic(
                    topic=tp.topic,
                    partitions=[
                        FetchPartition(
                            partition=tp.partition, fetch_offset=offset, partition_max_bytes=1 << 20
                        )
                    ],
                )
                request = FetchRequest(
                    replica_id=-1,
                    max_wait_ms=0,
                    min_bytes=0,
                    max_bytes=1 << 20,
                    topics=[wanted],
                    forgotten_topics_data=[],
                )
                response = await client.ask(
                    request,
                    self._version(leader, ApiKey.FETCH, 11),
                    FetchResponse,
                    REQUEST_TIMEOUT_MS,
                )
                data = response.responses[0].partition_responses[0]
                records = data.record_set
                if (
                    not isinstance(records, memoryview)
                    or not records
                    or offset >= data.high_watermark
                ):
                    return found
                for position, header in iter_headers(records):
                    batch = records[position : position + header.size_in_bytes]
                    for record in read_records(batch):
                        if record.offset >= offset:
                            found.append((record.offset, (record.value or b"").decode()))
                    offset = header.next_offset
                await asyncio.sleep(0)
        finally:
            client.close()
