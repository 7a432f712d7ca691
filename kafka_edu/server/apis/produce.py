"""Produce: append a producer's records to the log (Kafka: KafkaApis.handleProduceRequest,
ProduceRequest.validateRecords; book §6.1, §6.3).

This module checks only what depends on the request's version. The log checks the records themselves
(LogValidator).

    v0–2   any message format; the message set may end in the middle of a message;
           the log converts the messages to its own format
    v3+    exactly one batch of format v2 for each partition; zstd is allowed from v7 on

The request comes from KafkaApis. The class Append writes the records to the log.
"""

from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.topic import INTERNAL_TOPICS
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record_batch import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_MASK,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    MIN_LEGACY_BYTES,
    TRANSACTIONAL_BIT,
)
from kafka_edu.replication.append import Append
from kafka_edu.replication.delayed_produce import ProducePartitionStatus, ProduceResults
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis
from kafka_edu.trace.events.server import ProduceAnswered
from kafka_edu.trace.tracer import Tracer, because

ADMIN_CLIENT_ID: Final = "__admin_client"
"""The client id whose producer may write to internal topics (Kafka: AdminUtils.AdminClientId)."""
FIRST_VERSION_OF_V2_BATCHES: Final = 3
FIRST_VERSION_WITH_ZSTD: Final = 7
INVALID_OFFSET: Final = -1


class ProduceApi:
    def __init__(self, append: Append, cache: MetadataCache, trace: Tracer | None = None) -> None:
        self._trace = trace
        self._append = append
        self._cache = cache

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.PRODUCE, ProduceRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: ProduceRequest) -> None:
        """Append the valid records. With acks=0 no response is sent. With acks=1 the response is
        sent when the leader has the records. With acks=-1 it is sent when the whole ISR has them,
        or after the time-out.
        """
        version = call.version
        entries: dict[TopicPartition, Buffer] = {}
        failed: ProduceResults = {}
        for topic in request.topic_data:
            internal = topic.name in INTERNAL_TOPICS and call.client_id != ADMIN_CLIENT_ID
            for partition in topic.partition_data:
                tp = TopicPartition(topic.name, partition.index)
                records = part_bytes(partition.records) if partition.records is not None else b""
                if request.transactional_id is None and is_transactional(records):
                    call.respond_error(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
                    return
                error, message = Errors.NONE, ""
                if not self._cache.contains(tp):
                    error = Errors.UNKNOWN_TOPIC_OR_PARTITION
                elif internal:
                    error, message = (
                        Errors.INVALID_TOPIC_EXCEPTION,
                        f"clients do not write to the internal topic {topic.name}",
                    )
                elif version >= FIRST_VERSION_OF_V2_BATCHES:
                    try:
                        check_one_batch(records, version)
                    except KafkaException as refused:
                        error, message = refused.error, refused.message
                if error is Errors.NONE:
                    entries[tp] = records
                else:
                    failed[tp] = ProducePartitionStatus.failed(error, message)
        if not entries:
            self._respond(call, request, failed)
            return
        self._append.append_records(
            request.timeout_ms,
            request.acks,
            entries,
            lambda results: self._respond(call, request, failed | results),
            on_failure=call.fail,
            requester=call,
        )
        if not call.answered:
            call.waits()
            call.let_next_start()

    def _respond(self, call: ApiCall, request: ProduceRequest, results: ProduceResults) -> None:
        """Send the response. With acks=0 there is no response. If an error occurred, the connection
        is then closed, so that the producer notices the error.
        """
        if request.acks == 0:
            errors = [
                f"{tp}: {status.error.name}"
                for tp, status in results.items()
                if status.error is not Errors.NONE
            ]
            if errors:
                call.close(f"a produce with acks=0 failed: {', '.join(errors)}")
            else:
                call.respond_nothing()
            return
        topics: dict[str, TopicProduceResponse] = {}
        for tp, status in results.items():
            topic = topics.get(tp.topic)
            if topic is None:
                topic = topics[tp.topic] = TopicProduceResponse(
                    name=tp.topic, partition_responses=[]
                )
            topic.partition_responses.append(
                PartitionProduceResponse(
                    index=tp.partition,
                    error_code=status.error,
                    base_offset=status.base_offset,
                    log_append_time_ms=status.log_append_time,
                    log_start_offset=status.log_start_offset,
                    record_errors=[
                        BatchIndexAndErrorMessage(
                            batch_index=refused.batch_index,
                            batch_index_error_message=refused.message,
                        )
                        for refused in status.record_errors
                    ],
                    error_message=status.message or None,
                )
            )
        answered = 0
        if self._trace is not None and self._trace.cause:
            header = call.request.header
            answered = self._trace(
                ProduceAnswered(
                    connection_id=call.request.connection_id,
                    correlation_id=header.correlation_id,
                    acks=request.acks,
                    partitions=tuple(
                        (
                            tp.topic,
                            tp.partition,
                            status.base_offset,
                            status.required_offset,
                            status.error.name,
                        )
                        for tp, status in results.items()
                    ),
                ),
                self._trace.level_of_cause,
            )
        response = ProduceResponse(responses=list(topics.values()))
        if not answered:
            call.respond(response)
            return
        with because(self._trace, answered):
            call.respond(response)

    @staticmethod
    def error_response(
        request: ProduceRequest, _: int, error: Errors, message: str
    ) -> ProduceResponse | None:
        """Return a response with this error for every partition. With acks=0 return None. The
        caller then closes the connection.
        """
        if request.acks == 0:
            return None
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=[
                        PartitionProduceResponse(
                            index=partition.index,
                            error_code=error,
                            base_offset=INVALID_OFFSET,
                            error_message=message or None,
                        )
                        for partition in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )


def is_transactional(records: Buffer) -> bool:
    """Return whether the first batch in `records` belongs to a transaction. O(1)."""
    return (
        len(records) >= HEADER_BYTES
        and records[MAGIC_OFFSET] == MAGIC_V2
        and records[ATTRIBUTES_OFFSET + 1] & TRANSACTIONAL_BIT != 0
    )


def check_one_batch(records: Buffer, version: int) -> None:
    """Raise KafkaException unless `records` is exactly one v2 batch. An incomplete second batch may
    follow, and is ignored. O(1).

    The error is INVALID_RECORD for no batch, several batches, or an older format. It is
    CORRUPT_MESSAGE for an impossible length or magic byte. It is UNSUPPORTED_COMPRESSION_TYPE for
    zstd before v7.
    """
    size = _batch_size(records, 0)
    if size is None:
        raise KafkaException(
            Errors.INVALID_RECORD,
            f"Produce v{version} carries exactly one batch for each partition; here there is none",
        )
    if records[MAGIC_OFFSET] != MAGIC_V2:
        raise KafkaException(
            Errors.INVALID_RECORD,
            f"Produce v{version} carries batches of format v2 only, not v{records[MAGIC_OFFSET]}",
        )
    if size < HEADER_BYTES:
        raise KafkaException(
            Errors.CORRUPT_MESSAGE, f"a v2 batch of {size} bytes is shorter than its header"
        )
    if (
        version < FIRST_VERSION_WITH_ZSTD
        and records[ATTRIBUTES_OFFSET + 1] & COMPRESSION_MASK == CompressionType.ZSTD
    ):
        raise KafkaException(
            Errors.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce v{version} does not carry zstd; v{FIRST_VERSION_WITH_ZSTD} does",
        )
    if len(records) > size and _batch_size(records, size) is not None:
        raise KafkaException(
            Errors.INVALID_RECORD,
            f"Produce v{version} carries exactly one batch for each partition; here there are more",
        )


def _batch_size(records: Buffer, position: int) -> int | None:
    """Return the size in bytes of the batch at `position`, or None if the batch is incomplete.
    Raises CORRUPT_MESSAGE if the length or the magic byte is impossible.
    """
    if len(records) - position < MAGIC_OFFSET + 1:
        return None
    length = int.from_bytes(records[position + 8 : position + 12], "big", signed=True)
    if length < MIN_LEGACY_BYTES:
        raise KafkaException(Errors.CORRUPT_MESSAGE, f"a batch cannot be {length} bytes long")
    if records[position + MAGIC_OFFSET] > MAGIC_V2:
        raise KafkaException(
            Errors.CORRUPT_MESSAGE, f"there is no format v{records[position + MAGIC_OFFSET]}"
        )
    return None if position + LOG_OVERHEAD + length > len(records) else LOG_OVERHEAD + length
