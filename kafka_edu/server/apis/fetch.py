"""Fetch: read records for consumers and followers (Kafka: KafkaApis.handleFetchRequest; book §6.1,
§6.3).

    v0–2    the response ends at the byte limits, perhaps in the middle of a record
    v3+     the response has at least one whole batch, of any size (KIP-74)
    v0–1    records of message format v0
    v2–3    records of message format v1
    v4+     records as they are in the log; sendfile sends them, the broker does not read them
    v4+     isolation level, last stable offset
    v7+     fetch sessions (KIP-227)
    v9+     fenced by leader epoch (KIP-320)
    v11+    a consumer may read from a follower, and the leader may send it there (KIP-392)
    v12     diverging epochs (KIP-595)

Only the old formats need much processor time: the records are unpacked and built again
(down_conversion). The request comes from KafkaApis. The class Fetch reads the records.
"""

from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_size
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.down_conversion import lazily_down_converted
from kafka_edu.replication.fetch import Fetch
from kafka_edu.replication.fetch_manager import FetchContext, FetchManager
from kafka_edu.replication.fetch_params import (
    FIRST_VERSION_FROM_FOLLOWERS,
    NO_LEADER_EPOCH,
    FetchParams,
    PartitionFetch,
    check_isolation_level,
)
from kafka_edu.replication.log_read_result import FetchResults, LogReadResult, failed_read
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_selector import ClientMetadata
from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

FIRST_VERSION_WITH_SESSIONS: Final = 7
FIRST_VERSION_OF_V2_BATCHES: Final = 4
FIRST_VERSION_OF_V1_MESSAGES: Final = 2
FIRST_VERSION_WITH_ZSTD: Final = 10
NO_SESSION_EPOCH: Final = -1


class FetchApi:
    def __init__(
        self,
        fetch: Fetch,
        partitions: Partitions,
        fetch_manager: FetchManager,
        time: Time,
        fetch_max_bytes: int,
        quota: ReplicationQuotaManager,
    ) -> None:
        """`quota` counts what this broker sends to followers."""
        self._quota = quota
        self._fetch = fetch
        self._partitions = partitions
        self._fetch_manager = fetch_manager
        self._time = time
        self._fetch_max_bytes = fetch_max_bytes

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.FETCH, FetchRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: FetchRequest) -> None:
        """Find the partitions that the client's fetch session needs, read them, and answer when
        there are enough bytes or the wait is over.

        If a partition is named twice, its last entry counts. In Fetch, any negative leader epoch
        means that the request has no epoch. In all other requests only -1 has this meaning.
        """
        fetch_data: dict[TopicPartition, PartitionFetch] = {}
        for topic in request.topics:
            for p in topic.partitions:
                epoch = p.current_leader_epoch if p.current_leader_epoch >= 0 else NO_LEADER_EPOCH
                wanted = PartitionFetch(
                    p.fetch_offset,
                    p.log_start_offset,
                    p.partition_max_bytes,
                    epoch,
                    p.last_fetched_epoch,
                )
                fetch_data[TopicPartition(topic.topic, p.partition)] = wanted
        context = self._fetch_manager.new_context(
            request.session_id,
            (
                request.session_epoch
                if call.version >= FIRST_VERSION_WITH_SESSIONS
                else NO_SESSION_EPOCH
            ),
            fetch_data,
            [
                TopicPartition(topic.topic, partition)
                for topic in request.forgotten_topics_data
                for partition in topic.partitions
            ],
            follower=(f"{request.replica_id} {call.client_id}" if request.replica_id >= 0 else ""),
            now_ms=self._time.hi_res_clock_ms(),
        )
        infos = context.infos()
        if context.error is not Errors.NONE or not (infos or context.session):
            self._respond(call, request, context, [])
            return
        check_isolation_level(request.isolation_level)
        max_bytes = min(request.max_bytes, self._fetch_max_bytes)
        params = FetchParams(
            request.replica_id,
            request.max_wait_ms,
            min(request.min_bytes, max_bytes),
            max_bytes,
            call.version,
            request.isolation_level,
            self._client_of(call, request),
        )
        self._fetch.fetch_messages(
            params,
            infos,
            lambda results: self._respond(call, request, context, results),
            context.session,
            call.fail,
            call,
        )
        if not call.answered:
            call.waits()

    @staticmethod
    def _client_of(call: ApiCall, request: FetchRequest) -> ClientMetadata | None:
        """Return the reader if it is a consumer with a rack. Otherwise return None.

        Only such a consumer can be sent to a follower, because a selector needs the rack to choose
        one.
        """
        if (
            call.version < FIRST_VERSION_FROM_FOLLOWERS
            or request.replica_id >= 0
            or not request.rack_id
        ):
            return None
        return ClientMetadata(request.rack_id, call.client_id, call.request.listener_name)

    def _respond(
        self, call: ApiCall, request: FetchRequest, context: FetchContext, results: FetchResults
    ) -> None:
        if call.version < FIRST_VERSION_WITH_ZSTD and request.replica_id < 0:
            wanted = dict(context.infos())
            results = [
                (tp, self._for_old_client(tp, read, wanted[tp].fetch_offset, call.version))
                for tp, read in results
            ]
        response = context.response(results, self._time.hi_res_clock_ms())
        if request.replica_id >= 0 and self._quota.active:
            self._record_throttled(response)
        call.respond(response)

    def _record_throttled(self, response: FetchResponse) -> None:
        """Count the record bytes that a follower gets from throttled partitions.

        As in Kafka, the bytes for followers in sync count too. Kafka also counts the other bytes of
        the response, a few dozen for each partition.
        """
        sent = sum(
            part_size(partition.record_set)
            for topic in response.responses
            for partition in topic.partition_responses
            if partition.record_set is not None
            and self._quota.is_throttled(TopicPartition(topic.topic, partition.partition))
        )
        self._quota.record(sent, self._time.hi_res_clock_ms())

    def _for_old_client(
        self, tp: TopicPartition, read: LogReadResult, fetch_offset: int, version: int
    ) -> LogReadResult:
        """Return the records in a format that an old client can read. The conversion itself happens
        while the response is sent (down_conversion).

        The result is UNSUPPORTED_COMPRESSION_TYPE if the topic has compression.type zstd, or if a
        zstd batch would need conversion. The result is UNSUPPORTED_VERSION if the topic forbids
        conversion (message.downconversion.enable).
        """
        partition = self._partitions.get(tp)
        if partition is None or partition.log is None or read.error is not Errors.NONE:
            return read
        config = partition.log.config
        if config.compression is CompressionType.ZSTD:
            return failed_read(Errors.UNSUPPORTED_COMPRESSION_TYPE)
        magic = (
            2
            if version >= FIRST_VERSION_OF_V2_BATCHES
            else 1
            if version >= FIRST_VERSION_OF_V1_MESSAGES
            else 0
        )
        if config.record_version <= magic:
            return read
        if not config.message_downconversion_enable:
            return failed_read(Errors.UNSUPPORTED_VERSION)
        try:
            records = lazily_down_converted(read.records, magic, fetch_offset)
        except KafkaException as failure:
            return failed_read(failure.error)
        return read._replace(records=records, size_in_bytes=part_size(records))

    @staticmethod
    def error_response(request: FetchRequest, _: int, error: Errors, __: str) -> FetchResponse:
        topics = [
            FetchableTopicResponse(
                topic=topic.topic,
                partition_responses=[
                    FetchablePartitionResponse(
                        partition=p.partition,
                        error_code=error,
                        high_watermark=-1,
                        aborted_transactions=None,
                        record_set=b"",
                    )
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return FetchResponse(error_code=error, session_id=request.session_id, responses=topics)
