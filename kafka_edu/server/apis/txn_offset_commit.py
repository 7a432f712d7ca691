"""TxnOffsetCommit: store how far a group has read, as part of a transaction (Kafka:
KafkaApis.handleTxnOffsetCommitRequest; KIP-98, KIP-447).

Clients send this request to the group's coordinator. The coordinator writes the offsets as
transactional records of the producer. The offsets become valid when the transaction's commit marker
arrives.

From v3 on the request contains the consumer's member id and generation. So a consumer that has lost
its partitions cannot commit offsets for them. The coordinator does not check that the producer has
sent AddOffsetsToTxn before, as in Kafka. GroupCoordinator does the work.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_coordinator import Member
from kafka_edu.coordinator.group.group_metadata_manager import CommitErrors
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

FIRST_VERSION_THAT_KNOWS_LOADING: Final = 2

StoreOffsets = Callable[
    [
        str,
        int,
        int,
        Member,
        Mapping[TopicPartition, OffsetAndMetadata],
        Callable[[CommitErrors], None],
    ],
    None,
]
"""A function that stores the offsets. Its arguments are the group, the producer id, the producer
epoch, the group's member, the offsets, and a callback for the errors.
"""


class TxnOffsetCommitApi:
    def __init__(self, store: StoreOffsets, cache: MetadataCache, time: Time) -> None:
        self._store = store
        self._cache = cache
        self._time = time

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.TXN_OFFSET_COMMIT, TxnOffsetCommitRequest, self.handle, self.error_response
        )

    def handle(self, call: ApiCall, request: TxnOffsetCommitRequest) -> None:
        """Write the offsets of existing partitions. The other partitions get an error."""
        now_ms = self._time.milliseconds()
        wanted = {
            TopicPartition(topic.name, p.partition_index): p
            for topic in request.topics
            for p in topic.partitions
        }
        offsets = {
            tp: OffsetAndMetadata(
                p.committed_offset, p.committed_leader_epoch, p.committed_metadata or "", now_ms
            )
            for tp, p in wanted.items()
            if self._cache.contains(tp)
        }

        def respond(errors: CommitErrors) -> None:
            known_errors = {
                tp: (
                    _as_known_to(call.version, errors[tp])
                    if tp in offsets
                    else Errors.UNKNOWN_TOPIC_OR_PARTITION
                )
                for tp in wanted
            }
            call.respond(_response(known_errors))

        if not offsets:
            respond({})
            return
        member = Member(request.member_id, request.group_instance_id, request.generation_id)
        self._store(
            request.group_id, request.producer_id, request.producer_epoch, member, offsets, respond
        )
        if not call.answered:
            call.waits()

    @staticmethod
    def error_response(
        request: TxnOffsetCommitRequest, version: int, error: Errors, _: str
    ) -> TxnOffsetCommitResponse:
        return _response(dict.fromkeys(_partitions(request), _as_known_to(version, error)))


def _as_known_to(version: int, error: Errors) -> Errors:
    """Return an error that clients of this version know. Producers before 2.0 fail on
    COORDINATOR_LOAD_IN_PROGRESS, so they get COORDINATOR_NOT_AVAILABLE.
    """
    loading = (
        error is Errors.COORDINATOR_LOAD_IN_PROGRESS and version < FIRST_VERSION_THAT_KNOWS_LOADING
    )
    return Errors.COORDINATOR_NOT_AVAILABLE if loading else error


def _partitions(request: TxnOffsetCommitRequest) -> Iterable[TopicPartition]:
    return (
        TopicPartition(topic.name, p.partition_index)
        for topic in request.topics
        for p in topic.partitions
    )


def _response(errors: Mapping[TopicPartition, Errors]) -> TxnOffsetCommitResponse:
    topics: dict[str, TxnOffsetCommitResponseTopic] = {}
    for tp, error in errors.items():
        topic = topics.setdefault(
            tp.topic, TxnOffsetCommitResponseTopic(name=tp.topic, partitions=[])
        )
        topic.partitions.append(
            TxnOffsetCommitResponsePartition(partition_index=tp.partition, error_code=error)
        )
    return TxnOffsetCommitResponse(topics=list(topics.values()))
