"""WriteTxnMarkers: write the markers of finished transactions (Kafka: KafkaApis.scala; KIP-98).

A transaction coordinator sends this request to the leaders of the partitions to which the
transactions wrote. Each marker is appended separately, with acks=all. The response is sent when the
last append is complete. The sender is the TransactionMarkerChannelManager of a broker. MarkerWriter
does the work.
"""

from functools import partial

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.marker_writer import MarkerWriter, TxnMarker
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

Results = dict[int, dict[TopicPartition, Errors]]
"""Producer id → partition → the error of this partition's marker."""


class WriteTxnMarkersApi:
    def __init__(self, writer: MarkerWriter) -> None:
        self._writer = writer

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.WRITE_TXN_MARKERS, WriteTxnMarkersRequest, self.handle, self.error_response
        )

    def handle(self, call: ApiCall, request: WriteTxnMarkersRequest) -> None:
        """Write the markers. If two markers belong to the same producer, they share one entry of
        the response, as in Kafka.
        """
        results: Results = {}
        waiting = len(request.markers)
        if not waiting:
            call.respond(_response(results))

        def written(producer_id: int, errors: dict[TopicPartition, Errors]) -> None:
            nonlocal waiting
            results.setdefault(producer_id, {}).update(errors)
            waiting -= 1
            if not waiting:
                call.respond(_response(results))

        for marker in request.markers:
            txn = TxnMarker(
                marker.producer_id,
                marker.producer_epoch,
                marker.coordinator_epoch,
                marker.transaction_result,
                _partitions(marker),
            )
            self._writer.write(txn, partial(written, marker.producer_id))
        if not call.answered:
            call.waits()

    @staticmethod
    def error_response(
        request: WriteTxnMarkersRequest, _: int, error: Errors, __: str
    ) -> WriteTxnMarkersResponse:
        return _response(
            {
                marker.producer_id: dict.fromkeys(_partitions(marker), error)
                for marker in request.markers
            }
        )


def _partitions(marker: WritableTxnMarker) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.name, p) for topic in marker.topics for p in topic.partition_indexes
    )


def _response(results: Results) -> WriteTxnMarkersResponse:
    markers = []
    for producer_id, errors in results.items():
        topics: dict[str, WritableTxnMarkerTopicResult] = {}
        for tp, error in errors.items():
            topic = topics.setdefault(
                tp.topic, WritableTxnMarkerTopicResult(name=tp.topic, partitions=[])
            )
            topic.partitions.append(
                WritableTxnMarkerPartitionResult(partition_index=tp.partition, error_code=error)
            )
        markers.append(
            WritableTxnMarkerResult(producer_id=producer_id, topics=list(topics.values()))
        )
    return WriteTxnMarkersResponse(markers=markers)
