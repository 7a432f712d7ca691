"""Keeps the transactional ids of the `__transaction_state` partitions that this broker leads.

(Kafka: TransactionStateManager.scala.) The ids are in memory and in the log. A broker that becomes
the leader of a partition reads the whole log of the partition. After that it is the coordinator of
the partition's transactional ids. The leader epoch is the coordinator's epoch. Until the partition
is read, requests get COORDINATOR_LOAD_IN_PROGRESS. Requests for ids of other partitions get
NOT_COORDINATOR. When the broker is no longer the leader, it forgets the ids.

Every change is appended with acks=all. The state in memory changes when the whole ISR has the
record. So the next coordinator knows everything that producers learned from responses. If the
coordinator's epoch changes during an append, the state in memory is not changed. The client gets
NOT_COORDINATOR and looks for the new coordinator.

All code runs in the broker's event loop. Times are wall times, because they are written into
records and must mean the same to the next coordinator. Only loading is asynchronous. A separate
task reads a partition (`_load`), and checks at the end whether the load is still needed.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic import TRANSACTION_STATE_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.coordinator_type import partition_for
from kafka_edu.coordinator.log_loading import load_log
from kafka_edu.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from kafka_edu.coordinator.transaction.transaction_records import (
    read_transaction_key,
    read_transaction_value,
    transaction_batch,
)
from kafka_edu.coordinator.transaction.transaction_state import (
    NOTHING_OPEN,
    VALID_PREVIOUS_STATES,
    TransactionState,
)
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.record.record_batch import BatchHeader, read_records
from kafka_edu.replication.append import Append
from kafka_edu.replication.delayed_produce import ProduceResults
from kafka_edu.replication.partitions import Partitions
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.transaction import (
    TransactionalIdExpired,
    TransactionsLoaded,
    TransactionSnapshot,
    TransactionStateChanged,
    TransactionsUnloaded,
)
from kafka_edu.trace.state_machine_table import state_machine_table
from kafka_edu.trace.tracer import Tracer

#: Error of an append → error in the response to the client. All other errors stay the same.
ERROR_FOR_CLIENTS: Final = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.REQUEST_TIMED_OUT: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
}


class TransactionConfig(NamedTuple):
    """The settings of the transaction coordinator. Times are in ms."""

    transactional_id_expiration_ms: int
    """The time after which an unused id is forgotten (transactional.id.expiration.ms)."""
    transaction_max_timeout_ms: int
    """The longest time-out that a producer may request (transaction.max.timeout.ms)."""
    transaction_state_log_load_buffer_size: int
    """The maximum number of bytes that are read at once while a partition is loaded."""
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    request_timeout_ms: int
    """The time-out of the writes of markers and tombstones (request.timeout.ms)."""
    inter_broker_listener_name: str
    write_txn_markers_version: int
    """The version of WriteTxnMarkers requests between brokers.

    It is 1 from inter.broker.protocol.version 2.8 on, and 0 before.
    """


class CoordinatorEpochAndTxnMetadata(NamedTuple):
    coordinator_epoch: int
    metadata: TransactionMetadata


class TxnMetadataCacheEntry:
    """The ids of one partition, and the leader epoch under which this broker coordinates them."""

    __slots__ = ("coordinator_epoch", "metadata")

    def __init__(self, coordinator_epoch: int, metadata: dict[str, TransactionMetadata]) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.metadata = metadata


OnLoaded = Callable[[int, int, list[TransactionMetadata]], None]
"""The function that is called when a partition has been loaded.

Its arguments are (partition, coordinator epoch, all ids that were read). It is called in the same
step in which the ids become known.
"""


class TransactionStateManager:
    """The transactional ids that this broker coordinates.

    Memory: about 1 KB for each id. Look-ups are O(1).
    """

    def __init__(
        self,
        config: TransactionConfig,
        replicas: Partitions,
        append: Append,
        time: Time,
        partitions: Callable[[], int],
        on_failure: OnFailure,
        trace: Tracer | None,
    ) -> None:
        """Create the manager without any partitions.

        The function `partitions` returns how many partitions `__transaction_state` has, or will
        have. `on_failure` is called if a bug ends a load.
        """
        self._config = config
        self._replicas = replicas
        self._append = append
        self._time = time
        self._partitions = partitions
        self._on_failure = on_failure
        self._trace = trace
        self._cache: dict[int, TxnMetadataCacheEntry] = {}
        self._loading: dict[int, int] = {}
        """Partition that is being loaded → the leader epoch of this load."""
        self._tasks: set[asyncio.Task[None]] = set()
        if trace:
            trace.on_snapshot(self._snapshot)

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` to which the id belongs. O(length)."""
        return partition_for(transactional_id, self._partitions())

    def get_transaction_state(self, transactional_id: str) -> CoordinatorEpochAndTxnMetadata | None:
        """Return the state of the transactional id; None if it is unknown. O(1).

        Raises NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        entry = self._entry(transactional_id)
        metadata = entry.metadata.get(transactional_id)
        return (
            None
            if metadata is None
            else CoordinatorEpochAndTxnMetadata(entry.coordinator_epoch, metadata)
        )

    def put_transaction_state_if_not_exists(
        self, metadata: TransactionMetadata
    ) -> CoordinatorEpochAndTxnMetadata:
        """Return the state of the transactional id; if it is unknown, add and return `metadata`.

        Raises the same errors as `get_transaction_state`.
        """
        entry = self._entry(metadata.transactional_id)
        return CoordinatorEpochAndTxnMetadata(
            entry.coordinator_epoch, entry.metadata.setdefault(metadata.transactional_id, metadata)
        )

    def _entry(self, transactional_id: str) -> TxnMetadataCacheEntry:
        partition = self.partition_for(transactional_id)
        if partition in self._loading:
            raise KafkaException(Errors.COORDINATOR_LOAD_IN_PROGRESS)
        entry = self._cache.get(partition)
        if entry is None:
            raise KafkaException(Errors.NOT_COORDINATOR)
        return entry

    def _all(self) -> Iterator[CoordinatorEpochAndTxnMetadata]:
        for entry in self._cache.values():
            for metadata in list(entry.metadata.values()):
                yield CoordinatorEpochAndTxnMetadata(entry.coordinator_epoch, metadata)

    def timed_out_transactions(self) -> list[TransactionMetadata]:
        """Return the transactions that have been open for longer than their time-out. O(ids)."""
        now_ms = self._time.milliseconds()
        return [
            metadata
            for _, metadata in self._all()
            if metadata.state is TransactionState.ONGOING
            and metadata.pending_state is None
            and metadata.txn_start_timestamp + metadata.txn_timeout_ms < now_ms
        ]

    def append_transaction_to_log(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        transit: TxnTransitMetadata,
        respond: Callable[[Errors], None],
        *,
        retry_on_error: Callable[[Errors], bool] = lambda _: False,
    ) -> None:
        """Write a prepared change to the log, and then make it the current state.

        `respond` is called once: with NONE when the ISR has the change and the state in memory is
        changed, otherwise with the error for the client. After an error no change is pending any
        more, unless `retry_on_error` returns True, which means that the caller tries again.
        """
        try:
            known = self.get_transaction_state(transactional_id)
        except KafkaException as refused:
            respond(refused.error)
            return
        if known is None or known.coordinator_epoch != coordinator_epoch:
            respond(Errors.NOT_COORDINATOR)
            return
        metadata = known.metadata
        tp = TopicPartition(TRANSACTION_STATE_TOPIC_NAME, self.partition_for(transactional_id))

        def appended(results: ProduceResults) -> None:
            error = ERROR_FOR_CLIENTS.get(results[tp].error, results[tp].error)
            if not self._still_coordinates(metadata, coordinator_epoch):
                respond(Errors.NOT_COORDINATOR if error is Errors.NONE else error)
                return
            if error is Errors.NONE:
                self._complete(metadata, transit, coordinator_epoch)
            elif not retry_on_error(error):
                metadata.clear_pending()
            respond(error)

        batch = transaction_batch(transactional_id, transit, self._time.milliseconds())
        self._append.append_records(
            transit.txn_timeout_ms, -1, {tp: batch}, appended, origin=AppendOrigin.COORDINATOR
        )

    def _still_coordinates(self, metadata: TransactionMetadata, coordinator_epoch: int) -> bool:
        entry = self._cache.get(self.partition_for(metadata.transactional_id))
        return (
            entry is not None
            and entry.coordinator_epoch == coordinator_epoch
            and entry.metadata.get(metadata.transactional_id) is metadata
        )

    def _complete(
        self, metadata: TransactionMetadata, transit: TxnTransitMetadata, coordinator_epoch: int
    ) -> None:
        """Set the current state to a prepared state that is now in the log.

        No other method changes the state of a transaction.
        """
        before = metadata.state
        metadata.complete_transition_to(transit)
        if self._trace:
            self._trace(
                TransactionStateChanged(
                    transactional_id=metadata.transactional_id,
                    producer_id=metadata.producer_id,
                    producer_epoch=metadata.producer_epoch,
                    before=before,
                    after=metadata.state,
                    partitions=tuple(map(str, sorted(metadata.topic_partitions))),
                    coordinator_epoch=coordinator_epoch,
                    log_partition=self.partition_for(metadata.transactional_id),
                    started_ms=metadata.txn_start_timestamp,
                    timeout_ms=metadata.txn_timeout_ms,
                )
            )

    def on_election(self, partition: int, coordinator_epoch: int, on_loaded: OnLoaded) -> None:
        """Begin to read a partition that this broker now leads."""
        self._cache.pop(partition, None)
        self._loading[partition] = coordinator_epoch
        task = asyncio.get_running_loop().create_task(
            self._load(partition, coordinator_epoch, on_loaded),
            name=f"load {TRANSACTION_STATE_TOPIC_NAME}-{partition}",
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        report_failure(task, self._on_failure)

    async def _load(self, partition: int, coordinator_epoch: int, on_loaded: OnLoaded) -> None:
        began_ms = self._time.hi_res_clock_ms()
        replica = self._replicas.get(TopicPartition(TRANSACTION_STATE_TOPIC_NAME, partition))
        if replica is None or replica.log is None:
            return
        found: dict[str, TransactionMetadata] = {}

        def apply(header: BatchHeader, batch: memoryview) -> None:
            if not header.is_control:
                for record in read_records(batch):
                    _apply_record(found, record.key, record.value)

        def wanted() -> bool:
            return self._loading.get(partition) == coordinator_epoch

        try:
            complete = await load_log(
                replica.log,
                apply,
                self._time,
                self._config.transaction_state_log_load_buffer_size,
                wanted,
            )
        except (
            KafkaException
        ):  # the disk failed: the partition goes offline, and another broker will coordinate
            return
        if complete and wanted():
            del self._loading[partition]
            self._cache[partition] = TxnMetadataCacheEntry(coordinator_epoch, found)
            if self._trace:
                self._trace(
                    TransactionsLoaded(
                        partition=partition,
                        coordinator_epoch=coordinator_epoch,
                        transactional_ids=len(found),
                        took_ms=self._time.hi_res_clock_ms() - began_ms,
                    )
                )
            on_loaded(partition, coordinator_epoch, list(found.values()))

    def on_resignation(self, partition: int) -> None:
        """Forget the ids of a partition that this broker no longer leads."""
        self._loading.pop(partition, None)
        entry = self._cache.pop(partition, None)
        if entry is not None and self._trace:
            self._trace(
                TransactionsUnloaded(
                    partition=partition,
                    coordinator_epoch=entry.coordinator_epoch,
                    transactional_ids=len(entry.metadata),
                )
            )

    def remove_expired_transactional_ids(self) -> None:
        """Write tombstones for the ids that were not used for too long. O(ids).

        Called every transaction.remove.expired.transaction.cleanup.interval.ms.
        """
        oldest = self._time.milliseconds() - self._config.transactional_id_expiration_ms
        for coordinator_epoch, metadata in list(self._all()):
            if (
                metadata.state in NOTHING_OPEN
                and metadata.pending_state is None
                and metadata.txn_last_update_timestamp <= oldest
            ):
                self._expire(metadata, coordinator_epoch)

    def _expire(self, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        transactional_id = metadata.transactional_id
        metadata.prepare_dead()
        partition = self.partition_for(transactional_id)
        tp = TopicPartition(TRANSACTION_STATE_TOPIC_NAME, partition)

        def appended(results: ProduceResults) -> None:
            if not self._still_coordinates(metadata, coordinator_epoch):
                return
            metadata.clear_pending()
            if results[tp].error is Errors.NONE:
                del self._cache[partition].metadata[transactional_id]
                if self._trace:
                    self._trace(
                        TransactionalIdExpired(
                            transactional_id=transactional_id,
                            producer_id=metadata.producer_id,
                            producer_epoch=metadata.producer_epoch,
                            coordinator_epoch=coordinator_epoch,
                        )
                    )

        tombstone = transaction_batch(transactional_id, None, self._time.milliseconds())
        self._append.append_records(
            self._config.request_timeout_ms,
            -1,
            {tp: tombstone},
            appended,
            origin=AppendOrigin.COORDINATOR,
        )

    async def shutdown(self) -> None:
        """Stop the tasks that load partitions."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _snapshot(self) -> Iterable[Event]:
        yield state_machine_table("transaction", VALID_PREVIOUS_STATES)
        for epoch, metadata in self._all():
            yield TransactionSnapshot(
                transactional_id=metadata.transactional_id,
                producer_id=metadata.producer_id,
                producer_epoch=metadata.producer_epoch,
                state=metadata.state,
                pending_state=metadata.pending_state or "",
                partitions=tuple(map(str, sorted(metadata.topic_partitions))),
                coordinator_epoch=epoch,
                log_partition=self.partition_for(metadata.transactional_id),
                started_ms=metadata.txn_start_timestamp,
                timeout_ms=metadata.txn_timeout_ms,
                updated_ms=metadata.txn_last_update_timestamp,
            )


def _apply_record(
    found: dict[str, TransactionMetadata], key: bytes | None, value: bytes | None
) -> None:
    """Apply one record to `found`: set the state of its id; a tombstone removes the id.

    Keys and values of later versions are ignored.
    """
    transactional_id = read_transaction_key(key) if key is not None else None
    if transactional_id is None:
        return
    if value is None:
        found.pop(transactional_id, None)
        return
    stored = read_transaction_value(value)
    if stored is not None:
        metadata = found[transactional_id] = TransactionMetadata(
            transactional_id, stored.producer_id, stored.txn_timeout_ms, 0
        )
        metadata.take_over(stored)
