"""Writes transaction markers into the logs of partitions that this broker leads.

(Kafka: KafkaApis.handleWriteTxnMarkersRequest.) Transaction coordinators on other brokers request
markers by WriteTxnMarkers; this broker's own coordinator calls `MarkerWriter.write` directly. A
marker is appended with acks=all. If a marker is for a partition of `__consumer_offsets`, the group
coordinator is notified. The group coordinator makes the offsets of the transaction valid, or drops
them.
"""

from collections.abc import Callable
from typing import NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.files import Buffer
from kafka_edu.common.time import Time
from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.replication.append import Append
from kafka_edu.replication.delayed_produce import ProduceResults
from kafka_edu.replication.partitions import Partitions

OnTransactionCompleted = Callable[[int, list[int], bool], None]
"""The function that is called after markers were written to `__consumer_offsets`.

Its arguments are (producer id, partitions of `__consumer_offsets`, whether committed).
"""


class TxnMarker(NamedTuple):
    """The marker that ends one transaction, for the partitions of one leader."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    partitions: tuple[TopicPartition, ...]


class MarkerWriter:
    """Appends markers to logs; used only in the broker's event loop."""

    def __init__(
        self,
        partitions: Partitions,
        append: Append,
        time: Time,
        timeout_ms: int,
        on_completed: OnTransactionCompleted,
    ) -> None:
        """Create a writer.

        `timeout_ms` is request.timeout.ms: how long to wait until the whole ISR has a marker.
        """
        self._partitions = partitions
        self._append = append
        self._time = time
        self._timeout_ms = timeout_ms
        self._on_completed = on_completed

    def write(
        self, marker: TxnMarker, respond: Callable[[dict[TopicPartition, Errors]], None]
    ) -> None:
        """Append the marker to each partition; call `respond` once with each partition's error.

        A partition that is not on this broker gets UNKNOWN_TOPIC_OR_PARTITION.
        """
        results = dict.fromkeys(marker.partitions, Errors.UNKNOWN_TOPIC_OR_PARTITION)
        kind = ControlRecordType.COMMIT if marker.committed else ControlRecordType.ABORT
        end = EndTransactionMarker(kind, marker.coordinator_epoch)
        batch = build_end_transaction_marker(
            end, marker.producer_id, marker.producer_epoch, self._time.milliseconds()
        )
        entries: dict[TopicPartition, Buffer] = {
            tp: batch for tp in marker.partitions if self._partitions.get(tp) is not None
        }

        def appended(statuses: ProduceResults) -> None:
            results.update({tp: status.error for tp, status in statuses.items()})
            offsets = [
                tp.partition
                for tp, error in results.items()
                if error is Errors.NONE and tp.topic == GROUP_METADATA_TOPIC_NAME
            ]
            if offsets:
                self._on_completed(marker.producer_id, offsets, marker.committed)
            respond(results)

        if entries:
            self._append.append_records(
                self._timeout_ms, -1, entries, appended, origin=AppendOrigin.COORDINATOR
            )
        else:
            respond(results)
