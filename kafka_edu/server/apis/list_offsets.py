"""ListOffsets: find the offset of a time, the first offset, or the last offset (Kafka:
KafkaApis.handleListOffsetRequest; KIP-79, KIP-207).

Timestamp -1 means the end of the log. For a consumer this is the high watermark, or with
read_committed the last stable offset. Timestamp -2 means the start of the log. Any other timestamp
means the first record with this timestamp or a later one. Version 0 is older than Kafka's time
index, so its answer lists base offsets of segments, newest first.
"""

from collections import Counter

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_edu.replication.offset_lookup import OffsetLookup
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class ListOffsetsApi:
    def __init__(self, offset_lookup: OffsetLookup) -> None:
        self._offset_lookup = offset_lookup

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.LIST_OFFSETS, ListOffsetsRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: ListOffsetsRequest) -> None:
        """Look up the offsets. From v1 on, if a partition occurs twice, both results have the error
        INVALID_REQUEST.
        """
        requested = Counter(
            TopicPartition(topic.name, p.partition_index)
            for topic in request.topics
            for p in topic.partitions
        )
        topics = []
        for topic in request.topics:
            results = []
            for partition in topic.partitions:
                tp = TopicPartition(topic.name, partition.partition_index)
                try:
                    if call.version == 0:
                        old = self._offset_lookup.legacy_fetch_offsets(
                            tp, partition.timestamp, partition.max_num_offsets, request.replica_id
                        )
                        results.append(
                            ListOffsetsPartitionResponse(
                                partition_index=tp.partition, old_style_offsets=old
                            )
                        )
                    elif requested[tp] > 1:
                        raise KafkaException(Errors.INVALID_REQUEST)
                    else:
                        results.append(self._by_timestamp(tp, partition, request, call.version))
                except KafkaException as failure:
                    results.append(
                        ListOffsetsPartitionResponse(
                            partition_index=tp.partition,
                            error_code=_error_for(failure.error, call.version),
                        )
                    )
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=results))
        call.respond(ListOffsetsResponse(topics=topics))

    def _by_timestamp(
        self,
        tp: TopicPartition,
        requested: ListOffsetsPartition,
        request: ListOffsetsRequest,
        version: int,
    ) -> ListOffsetsPartitionResponse:
        found = self._offset_lookup.fetch_offset_for_timestamp(
            tp,
            requested.timestamp,
            request.replica_id,
            requested.current_leader_epoch,
            request.isolation_level,
        )
        if found is None:
            return ListOffsetsPartitionResponse(partition_index=tp.partition)
        return ListOffsetsPartitionResponse(
            partition_index=tp.partition,
            timestamp=found.timestamp,
            offset=found.offset,
            leader_epoch=found.leader_epoch if version >= 4 else -1,
        )

    @staticmethod
    def error_response(
        request: ListOffsetsRequest, version: int, error: Errors, _: str
    ) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=p.partition_index, error_code=_error_for(error, version)
                        )
                        for p in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )


def _error_for(error: Errors, version: int) -> Errors:
    """Return an error that clients of this version know. Clients before v5 do not know
    OFFSET_NOT_AVAILABLE. They get LEADER_NOT_AVAILABLE, after which they also retry (KIP-207).
    """
    return (
        Errors.LEADER_NOT_AVAILABLE
        if error is Errors.OFFSET_NOT_AVAILABLE and version < 5
        else error
    )
