"""DeleteRecords: delete the oldest records of partitions (Kafka:
KafkaApis.handleDeleteRecordsRequest; KIP-107).

Clients send this request to the leader of each partition. The class DeleteRecords does the work.
"""

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kafka_edu.replication.delayed_delete_records import DeleteRecordsStatus
from kafka_edu.replication.delete_records import DeleteRecords
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class DeleteRecordsApi:
    def __init__(self, delete_records: DeleteRecords, cache: MetadataCache) -> None:
        self._delete_records = delete_records
        self._cache = cache

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.DELETE_RECORDS, DeleteRecordsRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: DeleteRecordsRequest) -> None:
        """Delete the records below the requested offsets. If the request contains a partition
        twice, the last offset counts.
        """
        wanted = {
            TopicPartition(t.name, p.partition_index): p.offset
            for t in request.topics
            for p in t.partitions
        }
        statuses = {
            tp: DeleteRecordsStatus.failed(Errors.UNKNOWN_TOPIC_OR_PARTITION)
            for tp in wanted
            if not self._cache.contains(tp)
        }
        known = {tp: offset for tp, offset in wanted.items() if tp not in statuses}
        self._delete_records.delete_records(
            request.timeout_ms,
            known,
            lambda results: call.respond(_response(statuses | results)),
            call.fail,
            call,
        )
        if not call.answered:
            call.waits()

    @staticmethod
    def error_response(
        request: DeleteRecordsRequest, _: int, error: Errors, __: str
    ) -> DeleteRecordsResponse:
        partitions = [
            TopicPartition(t.name, p.partition_index) for t in request.topics for p in t.partitions
        ]
        return _response({tp: DeleteRecordsStatus.failed(error) for tp in partitions})


def _response(statuses: dict[TopicPartition, DeleteRecordsStatus]) -> DeleteRecordsResponse:
    topics: dict[str, DeleteRecordsTopicResult] = {}
    for tp, status in statuses.items():
        topic = topics.setdefault(tp.topic, DeleteRecordsTopicResult(name=tp.topic, partitions=[]))
        topic.partitions.append(
            DeleteRecordsPartitionResult(
                partition_index=tp.partition,
                low_watermark=status.low_watermark,
                error_code=status.error,
            )
        )
    return DeleteRecordsResponse(topics=list(topics.values()))
