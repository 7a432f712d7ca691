"""OffsetForLeaderEpoch: return the offset at which an epoch ends in the leader's log (Kafka:
KafkaApis.handleOffsetForLeaderEpochRequest; KIP-101, KIP-279, KIP-320).
"""

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from kafka_edu.replication.offset_lookup import OffsetLookup
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class OffsetForLeaderEpochApi:
    """Answers followers and consumers. A follower sends this request before it fetches. Then it
    truncates its log to the offset in the answer, because the leader does not have the records
    after this offset.
    """

    def __init__(self, offset_lookup: OffsetLookup) -> None:
        self._offset_lookup = offset_lookup

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.OFFSET_FOR_LEADER_EPOCH,
            OffsetForLeaderEpochRequest,
            self.handle,
            self.error_response,
        )

    def handle(self, call: ApiCall, request: OffsetForLeaderEpochRequest) -> None:
        topics = [
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    self._look_up(TopicPartition(topic.topic, p.partition), p)
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        call.respond(OffsetForLeaderEpochResponse(topics=topics))

    def _look_up(self, tp: TopicPartition, requested: OffsetForLeaderPartition) -> EpochEndOffset:
        try:
            found = self._offset_lookup.last_offset_for_leader_epoch(
                tp, requested.leader_epoch, requested.current_leader_epoch
            )
        except KafkaException as failure:
            return EpochEndOffset(error_code=failure.error, partition=tp.partition)
        return EpochEndOffset(
            partition=tp.partition, leader_epoch=found.epoch, end_offset=found.end_offset
        )

    @staticmethod
    def error_response(
        request: OffsetForLeaderEpochRequest, _: int, error: Errors, __: str
    ) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[
                        EpochEndOffset(error_code=error, partition=p.partition)
                        for p in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )
