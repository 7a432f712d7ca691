"""DescribeProducers: return the producers that a partition's leader knows, and their open
transactions (Kafka: KafkaApis.handleDescribeProducersRequest; KIP-664).
"""

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kafka_edu.replication.partitions import Partitions
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class DescribeProducersApi:
    def __init__(self, partitions: Partitions, cache: MetadataCache) -> None:
        self._partitions = partitions
        self._cache = cache

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.DESCRIBE_PRODUCERS, DescribeProducersRequest, self.handle, self.error_response
        )

    def handle(self, call: ApiCall, request: DescribeProducersRequest) -> None:
        """Answer with the producers of each partition. If this broker does not lead a partition,
        this partition gets an error.
        """
        topics = [
            TopicResponse(
                name=topic.name,
                partitions=[
                    self._describe(TopicPartition(topic.name, p)) for p in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
        call.respond(DescribeProducersResponse(topics=topics))

    def _describe(self, tp: TopicPartition) -> PartitionResponse:
        try:
            if not self._cache.contains(tp):
                raise KafkaException(Errors.UNKNOWN_TOPIC_OR_PARTITION)
            log = self._partitions.get_or_raise(tp).log_for_request(-1, only_from_leader=True)
        except KafkaException as failure:
            return _failed(tp.partition, failure.error)
        producers = [
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.current_txn_first_offset,
            )
            for entry in log.producer_state_manager.producers.values()
        ]
        return PartitionResponse(partition_index=tp.partition, active_producers=producers)

    @staticmethod
    def error_response(
        request: DescribeProducersRequest, _: int, error: Errors, __: str
    ) -> DescribeProducersResponse:
        topics = [
            TopicResponse(
                name=topic.name, partitions=[_failed(p, error) for p in topic.partition_indexes]
            )
            for topic in request.topics
        ]
        return DescribeProducersResponse(topics=topics)


def _failed(partition: int, error: Errors) -> PartitionResponse:
    return PartitionResponse(
        partition_index=partition, error_code=error, error_message=None, active_producers=[]
    )
