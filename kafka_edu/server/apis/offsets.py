"""OffsetCommit and OffsetFetch: store and return how far a group has read (Kafka: KafkaApis.scala;
book 000 §6.1, 001).

There are two independent stores. Requests of v1 and later use the group's coordinator, which keeps
offsets in its log. Requests of v0 are older than coordinators. Any broker handles a request of v0:
it writes the offset to ZooKeeper, at /consumers/<group>/offsets/<topic>/<partition>, and reads it
from there (spec Z2).
"""

from collections.abc import Awaitable, Iterable, Mapping
from typing import Final, Protocol

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.config_def import MAX_LONG
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_coordinator import GroupCoordinator, Member
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_edu.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.apis.groups import check_instance_id
from kafka_edu.server.kafka_apis import KafkaApis
from kafka_edu.zk.zk_client import ZkError

NO_OFFSET: Final = OffsetAndMetadata(-1)
FIRST_VERSION_WITH_ONE_ERROR: Final = 2
"""The first OffsetFetch version whose response has one field for the group's error. Up to v1 this
error is repeated for each partition.
"""
DEFAULT: Final = -1
LATEST_EXPIRY_MS: Final = MAX_LONG
"""The latest time (ms since 1970) at which a stored offset can expire."""


class ConsumerOffsets(Protocol):
    """Reads and writes committed offsets in ZooKeeper. KafkaZkClient implements it."""

    async def set_or_create_consumer_offset(
        self, group: str, tp: TopicPartition, offset: int
    ) -> None: ...

    async def get_consumer_offset(self, group: str, tp: TopicPartition) -> int | None: ...


class OffsetsApi:
    def __init__(
        self,
        coordinator: GroupCoordinator,
        cache: MetadataCache,
        zk: ConsumerOffsets,
        time: Time,
        *,
        offset_metadata_max_size: int,
        inter_broker_protocol: tuple[int, int],
    ) -> None:
        self._coordinator = coordinator
        self._cache = cache
        self._zk = zk
        self._time = time
        self._max_metadata_size = offset_metadata_max_size
        self._protocol = inter_broker_protocol

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.OFFSET_COMMIT, OffsetCommitRequest, self.handle_offset_commit, self._commit_error
        )
        apis.serve(
            ApiKey.OFFSET_FETCH, OffsetFetchRequest, self.handle_offset_fetch, self._fetch_error
        )

    def handle_offset_commit(
        self, call: ApiCall, request: OffsetCommitRequest
    ) -> Awaitable[None] | None:
        """Commit the offsets of existing partitions. The other partitions get an error."""
        check_instance_id(request.group_instance_id, self._protocol)
        wanted = {
            TopicPartition(topic.name, p.partition_index): p
            for topic in request.topics
            for p in topic.partitions
        }
        known = {tp: partition for tp, partition in wanted.items() if self._cache.contains(tp)}
        errors = {tp: Errors.UNKNOWN_TOPIC_OR_PARTITION for tp in wanted if tp not in known}
        if not known:
            call.respond(commit_response(errors))
            return None
        if call.version == 0:
            return self._commit_in_zookeeper(call, request.group_id, known, wanted)
        now_ms = self._time.milliseconds()
        retention_ms = request.retention_time_ms
        expire = None if retention_ms == DEFAULT else min(now_ms + retention_ms, LATEST_EXPIRY_MS)
        offsets = {
            tp: OffsetAndMetadata(
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata or "",
                now_ms if partition.commit_timestamp == DEFAULT else partition.commit_timestamp,
                expire,
            )
            for tp, partition in known.items()
        }
        member = Member(request.member_id, request.group_instance_id, request.generation_id)
        self._coordinator.handle_commit_offsets(
            request.group_id,
            member,
            offsets,
            lambda answered: call.respond(
                commit_response({tp: errors[tp] if tp in errors else answered[tp] for tp in wanted})
            ),
        )
        if not call.answered:
            call.waits()
        return None

    async def _commit_in_zookeeper(
        self,
        call: ApiCall,
        group_id: str,
        known: Mapping[TopicPartition, OffsetCommitRequestPartition],
        wanted: Iterable[TopicPartition],
    ) -> None:
        errors = dict.fromkeys(wanted, Errors.UNKNOWN_TOPIC_OR_PARTITION)
        for tp, partition in known.items():
            if len(partition.committed_metadata or "") > self._max_metadata_size:
                errors[tp] = Errors.OFFSET_METADATA_TOO_LARGE
                continue
            try:
                await self._zk.set_or_create_consumer_offset(
                    group_id, tp, partition.committed_offset
                )
                errors[tp] = Errors.NONE
            except ZkError:
                errors[tp] = Errors.UNKNOWN_SERVER_ERROR
        call.respond(commit_response(errors))

    @staticmethod
    def _commit_error(
        request: OffsetCommitRequest, _: int, error: Errors, __: str
    ) -> OffsetCommitResponse:
        return commit_response(
            {
                TopicPartition(topic.name, p.partition_index): error
                for topic in request.topics
                for p in topic.partitions
            }
        )

    def handle_offset_fetch(
        self, call: ApiCall, request: OffsetFetchRequest
    ) -> Awaitable[None] | None:
        """Answer with the committed offsets. If nothing is committed for a partition, its offset is
        -1. In v0 this partition also gets an error, because its znode is missing.
        """
        topics = request.topics
        wanted = (
            None
            if topics is None
            else [
                TopicPartition(topic.name, index)
                for topic in topics
                for index in topic.partition_indexes
            ]
        )
        if call.version == 0:
            return self._fetch_from_zookeeper(call, request.group_id, wanted or [])
        error, found = self._coordinator.handle_fetch_offsets(
            request.group_id, wanted, require_stable=request.require_stable
        )
        if error is not Errors.NONE:
            call.respond_error(error)
        else:
            call.respond(
                fetch_response(
                    {tp: (refused, value or NO_OFFSET) for tp, (refused, value) in found.items()}
                )
            )
        return None

    async def _fetch_from_zookeeper(
        self, call: ApiCall, group_id: str, wanted: Iterable[TopicPartition]
    ) -> None:
        found: dict[TopicPartition, tuple[Errors, OffsetAndMetadata]] = {}
        for tp in wanted:
            found[tp] = Errors.UNKNOWN_TOPIC_OR_PARTITION, NO_OFFSET
            if self._cache.contains(tp):
                try:
                    offset = await self._zk.get_consumer_offset(group_id, tp)
                except ZkError:
                    found[tp] = Errors.UNKNOWN_SERVER_ERROR, NO_OFFSET
                else:
                    if offset is not None:
                        found[tp] = Errors.NONE, OffsetAndMetadata(offset)
        call.respond(fetch_response(found))

    @staticmethod
    def _fetch_error(
        request: OffsetFetchRequest, version: int, error: Errors, _: str
    ) -> OffsetFetchResponse:
        """Return a response with the error. Up to v1 each partition has the error. From v2 on the
        response has one field for it.
        """
        if version >= FIRST_VERSION_WITH_ONE_ERROR:
            return OffsetFetchResponse(error_code=error)
        return fetch_response(
            {
                TopicPartition(t.name, i): (error, NO_OFFSET)
                for t in request.topics or []
                for i in t.partition_indexes
            }
        )


def commit_response(errors: Mapping[TopicPartition, Errors]) -> OffsetCommitResponse:
    topics: dict[str, OffsetCommitResponseTopic] = {}
    for tp, error in errors.items():
        topic = topics.setdefault(tp.topic, OffsetCommitResponseTopic(name=tp.topic))
        topic.partitions.append(
            OffsetCommitResponsePartition(partition_index=tp.partition, error_code=error)
        )
    return OffsetCommitResponse(topics=list(topics.values()))


def fetch_response(
    found: Mapping[TopicPartition, tuple[Errors, OffsetAndMetadata]],
) -> OffsetFetchResponse:
    topics: dict[str, OffsetFetchResponseTopic] = {}
    for tp, (error, value) in found.items():
        topic = topics.setdefault(tp.topic, OffsetFetchResponseTopic(name=tp.topic))
        topic.partitions.append(
            OffsetFetchResponsePartition(
                partition_index=tp.partition,
                committed_offset=value.offset,
                committed_leader_epoch=value.leader_epoch,
                metadata=value.metadata,
                error_code=error,
            )
        )
    return OffsetFetchResponse(topics=list(topics.values()))
