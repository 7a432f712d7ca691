"""The transaction coordinator: it handles the requests of transactional producers.

(Kafka: TransactionCoordinator.scala; KIP-98, KIP-360.)

    InitProducerId      Give the producer an id or the next epoch; abort an open transaction
                        of an earlier producer with the same transactional id.
    AddPartitions       Record the partitions that the transaction will write. They are in the log
                        before their first record, so that an abort finds all of them.
    AddOffsets          Record the group's partition of `__consumer_offsets` in the same way.
    EndTxn              Write the decision, PrepareCommit or PrepareAbort, into the log.
                        Then write the markers, and the final state.

A request must name the producer id that belongs to the transactional id. Otherwise it gets
INVALID_PRODUCER_ID_MAPPING. The request must also have the current epoch. Otherwise it gets
PRODUCER_FENCED (INVALID_PRODUCER_EPOCH in older versions of the requests). While another change of
the same transactional id is in progress, the request gets CONCURRENT_TRANSACTIONS.

The function `respond` of a request is called once, when the log has the decision. All code runs in
the broker's event loop.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.transaction_marker_channel_manager import (
    TransactionMarkerChannelManager,
)
from kafka_edu.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
    is_epoch_exhausted,
)
from kafka_edu.coordinator.transaction.transaction_state import (
    NOTHING_OPEN,
    PREPARED,
    TransactionState,
)
from kafka_edu.coordinator.transaction.transaction_state_manager import (
    CoordinatorEpochAndTxnMetadata,
    TransactionConfig,
    TransactionStateManager,
)
from kafka_edu.coordinator.transaction.transaction_table import TransactionRequest, decide
from kafka_edu.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafka_edu.trace.events.transaction import (
    BY_ANOTHER,
    ProducerFenced,
    TransactionalIdInitialised,
    TransactionResumed,
    TransactionTimedOut,
)
from kafka_edu.trace.tracer import Tracer


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    epoch: int


class Requester(NamedTuple):
    """The client that sent a request, for events."""

    client_id: str
    connection_id: str


NOBODY: Final = Requester("", "")
"""The coordinator itself acts, and no client has sent a request."""


class InitProducerIdResult(NamedTuple):
    """A producer id and an epoch for the producer; both are -1 if there is an error."""

    producer_id: int
    producer_epoch: int
    error: Errors


Respond = Callable[[Errors], None]
RespondInit = Callable[[InitProducerIdResult], None]


def _failed(error: Errors) -> InitProducerIdResult:
    return InitProducerIdResult(NO_PRODUCER_ID, NO_PRODUCER_EPOCH, error)


class TransactionCoordinator:
    """The coordinator of all transactional ids whose partition this broker leads.

    The function `generate_producer_id` returns an id that was never used; it may raise
    KafkaException.
    """

    def __init__(
        self,
        config: TransactionConfig,
        states: TransactionStateManager,
        markers: TransactionMarkerChannelManager,
        generate_producer_id: Callable[[], Awaitable[int]],
        time: Time,
        trace: Tracer | None,
    ) -> None:
        self._config = config
        self._states = states
        self._markers = markers
        self._generate_producer_id = generate_producer_id
        self._time = time
        self._trace = trace

    async def handle_init_producer_id(
        self,
        transactional_id: str | None,
        txn_timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
        respond: RespondInit,
        requester: Requester = NOBODY,
    ) -> None:
        """Handle InitProducerId; wait only if a new block of producer ids is needed.

        `expected` is the id and epoch that the producer already has, if any (KIP-360).
        """
        if transactional_id is None:
            respond(InitProducerIdResult(await self._generate_producer_id(), 0, Errors.NONE))
        elif not transactional_id:
            respond(_failed(Errors.INVALID_REQUEST))
        elif not 0 < txn_timeout_ms <= self._config.transaction_max_timeout_ms:
            respond(_failed(Errors.INVALID_TRANSACTION_TIMEOUT))
        else:
            new_id = None
            if self._needs_producer_id(
                self._states.get_transaction_state(transactional_id), expected
            ):
                new_id = await self._generate_producer_id()
            self._initialise(transactional_id, txn_timeout_ms, expected, new_id, respond, requester)

    @staticmethod
    def _needs_producer_id(
        known: CoordinatorEpochAndTxnMetadata | None, expected: ProducerIdAndEpoch | None
    ) -> bool:
        """Return whether a new producer id is needed.

        A new producer id is needed if this coordinator does not know the transactional id yet. It
        is also needed if the epochs are used up, no transaction is open, and the request names the
        current epoch or no epoch.
        """
        return known is None or (
            known.metadata.state in NOTHING_OPEN and _needs_rotation(known.metadata, expected)
        )

    def _initialise(
        self,
        transactional_id: str,
        txn_timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
        new_id: int | None,
        respond: RespondInit,
        requester: Requester,
    ) -> None:
        known = self._states.get_transaction_state(transactional_id)
        now_ms = self._time.milliseconds()
        if known is None:
            assert new_id is not None, transactional_id
            known = self._states.put_transaction_state_if_not_exists(
                TransactionMetadata(transactional_id, new_id, txn_timeout_ms, now_ms)
            )
        epoch, metadata = known
        transit = self._prepare_initialisation(
            metadata, txn_timeout_ms, expected, new_id, now_ms, requester
        )
        if transit.state is TransactionState.PREPARE_EPOCH_FENCE:

            def aborted(error: Errors) -> None:
                respond(_failed(Errors.CONCURRENT_TRANSACTIONS if error is Errors.NONE else error))

            self._tell_fenced(
                metadata,
                metadata.producer_epoch,
                transit.producer_epoch,
                BY_ANOTHER,
                requester,
            )
            self._end_transaction(
                transactional_id,
                ProducerIdAndEpoch(transit.producer_id, transit.producer_epoch),
                False,
                aborted,
                from_client=False,
            )
            return

        def appended(error: Errors) -> None:
            if error is Errors.NONE and self._trace:
                self._trace(
                    TransactionalIdInitialised(
                        transactional_id=transactional_id,
                        producer_id=transit.producer_id,
                        producer_epoch=transit.producer_epoch,
                        timeout_ms=transit.txn_timeout_ms,
                        client_id=requester.client_id,
                        connection_id=requester.connection_id,
                    )
                )
            done = InitProducerIdResult(transit.producer_id, transit.producer_epoch, Errors.NONE)
            respond(done if error is Errors.NONE else _failed(error))

        self._states.append_transaction_to_log(transactional_id, epoch, transit, appended)

    def _prepare_initialisation(
        self,
        metadata: TransactionMetadata,
        txn_timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
        new_id: int | None,
        now_ms: int,
        requester: Requester,
    ) -> TxnTransitMetadata:
        """Return the state after the initialisation, which the caller then writes to the log.

        Raises CONCURRENT_TRANSACTIONS, PRODUCER_FENCED.
        """
        if metadata.pending_state is not None:
            raise KafkaException(Errors.CONCURRENT_TRANSACTIONS)
        if expected is not None and not _may_be(metadata, expected):
            self._tell_fenced(
                metadata, expected.epoch, metadata.producer_epoch, "InitProducerId", requester
            )
            raise KafkaException(Errors.PRODUCER_FENCED)
        decision = decide(metadata.state, TransactionRequest.INIT)
        if isinstance(decision, Errors):
            raise KafkaException(decision)
        if decision is TransactionState.PREPARE_EPOCH_FENCE:
            return metadata.prepare_fence_producer_epoch()
        if new_id is not None and _needs_rotation(metadata, expected):
            return metadata.prepare_producer_id_rotation(
                new_id, txn_timeout_ms, now_ms, expected is not None
            )
        if metadata.is_producer_epoch_exhausted:
            raise KafkaException(Errors.PRODUCER_FENCED)
        return metadata.prepare_increment_producer_epoch(
            txn_timeout_ms, expected.epoch if expected else None, now_ms
        )

    def handle_add_partitions_to_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        respond: Respond,
        requester: Requester = NOBODY,
    ) -> None:
        """Handle AddPartitionsToTxn: respond when the log has the partitions.

        If the transaction already has all these partitions, respond at once.
        """
        if not transactional_id:
            respond(Errors.INVALID_REQUEST)
            return
        try:
            epoch, metadata = self._known(transactional_id, producer.producer_id)
            if producer.epoch != metadata.producer_epoch:
                self._tell_fenced(
                    metadata,
                    producer.epoch,
                    metadata.producer_epoch,
                    "AddPartitionsToTxn",
                    requester,
                )
                raise KafkaException(Errors.PRODUCER_FENCED)
            if metadata.pending_state is not None:
                raise KafkaException(Errors.CONCURRENT_TRANSACTIONS)
            decision = decide(metadata.state, TransactionRequest.ADD)
            if isinstance(decision, Errors):
                raise KafkaException(decision)
        except KafkaException as refused:
            respond(refused.error)
            return
        added = frozenset(partitions)
        if metadata.state is TransactionState.ONGOING and added <= metadata.topic_partitions:
            respond(Errors.NONE)
            return
        self._states.append_transaction_to_log(
            transactional_id,
            epoch,
            metadata.prepare_add_partitions(added, self._time.milliseconds()),
            respond,
        )

    def _known(self, transactional_id: str, producer_id: int) -> CoordinatorEpochAndTxnMetadata:
        """Return the state of the transactional id, if the producer id belongs to it.

        Raises INVALID_PRODUCER_ID_MAPPING, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        known = self._states.get_transaction_state(transactional_id)
        if known is None or known.metadata.producer_id != producer_id:
            raise KafkaException(Errors.INVALID_PRODUCER_ID_MAPPING)
        return known

    def handle_end_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        commit: bool,
        respond: Respond,
        requester: Requester = NOBODY,
    ) -> None:
        """Handle EndTxn: respond when the log has the decision; then write the markers."""
        self._end_transaction(
            transactional_id, producer, commit, respond, requester, from_client=True
        )

    def _end_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        commit: bool,
        respond: Respond,
        requester: Requester = NOBODY,
        *,
        from_client: bool,
    ) -> None:
        """Commit or abort a transaction.

        `from_client` is False if the coordinator itself aborts the transaction. In that case the
        coordinator has just fenced the producer, and `producer` has the raised epoch.
        """
        if not transactional_id:
            respond(Errors.INVALID_REQUEST)
            return
        try:
            epoch, metadata = self._known(transactional_id, producer.producer_id)
            fencing = metadata.pending_state is TransactionState.PREPARE_EPOCH_FENCE
            transit = self._prepare_end(metadata, producer, commit, requester, from_client)
        except KafkaException as refused:
            respond(refused.error)
            return
        if transit is None:
            respond(Errors.NONE)
            return

        def decided(error: Errors) -> None:
            if error is not Errors.NONE:
                if fencing:
                    metadata.has_failed_epoch_fence = True
                respond(error)
                return
            # The state is still PrepareCommit or PrepareAbort, because this function is called when
            # that state has just become the current one.
            last = metadata.prepare_complete(self._time.milliseconds())
            respond(Errors.NONE)
            self._markers.add_txn_markers_to_send(epoch, metadata, last)

        self._states.append_transaction_to_log(transactional_id, epoch, transit, decided)

    def _prepare_end(
        self,
        metadata: TransactionMetadata,
        producer: ProducerIdAndEpoch,
        commit: bool,
        requester: Requester,
        from_client: bool,
    ) -> TxnTransitMetadata | None:
        """Return the state to write to the log; None if the transaction has already ended with the
        same decision.

        Raises KafkaException with the error for the client.
        """
        current = metadata.producer_epoch
        if (from_client and producer.epoch != current) or producer.epoch < current:
            self._tell_fenced(metadata, producer.epoch, current, "EndTxn", requester)
            raise KafkaException(Errors.PRODUCER_FENCED)
        fencing = metadata.pending_state is TransactionState.PREPARE_EPOCH_FENCE
        if metadata.pending_state is not None and not (fencing and not from_client):
            raise KafkaException(Errors.CONCURRENT_TRANSACTIONS)
        now_ms = self._time.milliseconds()
        if fencing:
            return metadata.begin_abort_of_fenced(producer.epoch, now_ms)
        request = TransactionRequest.COMMIT if commit else TransactionRequest.ABORT
        decision = decide(metadata.state, request)
        if isinstance(decision, Errors):
            raise KafkaException(decision)
        if decision is metadata.state:
            return None
        return metadata.prepare_abort_or_commit(decision, now_ms)

    def abort_timed_out_transactions(self) -> None:
        """Abort the transactions that are open for too long, and fence their producers. O(ids).

        Called every transaction.abort.timed.out.transaction.cleanup.interval.ms.
        """
        for metadata in self._states.timed_out_transactions():
            if self._trace:
                open_ms = self._time.milliseconds() - metadata.txn_start_timestamp
                self._trace(
                    TransactionTimedOut(
                        transactional_id=metadata.transactional_id,
                        producer_id=metadata.producer_id,
                        producer_epoch=metadata.producer_epoch,
                        open_ms=open_ms,
                        timeout_ms=metadata.txn_timeout_ms,
                    )
                )
            fence = metadata.prepare_fence_producer_epoch()
            fenced = ProducerIdAndEpoch(fence.producer_id, fence.producer_epoch)
            self._end_transaction(
                metadata.transactional_id, fenced, False, lambda _: None, from_client=False
            )  # after a failure, the next call tries again

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """Load a partition of `__transaction_state` that this broker now leads."""
        self._markers.remove_markers_for_txn_topic_partition(partition)
        self._states.on_election(partition, leader_epoch, self._on_loaded)

    def on_resignation(self, partition: int, _: int | None) -> None:
        """Forget a partition of `__transaction_state` that this broker no longer leads."""
        self._states.on_resignation(partition)
        self._markers.remove_markers_for_txn_topic_partition(partition)

    def _on_loaded(self, _: int, coordinator_epoch: int, found: list[TransactionMetadata]) -> None:
        """Write the markers of loaded transactions that are decided but not complete."""
        for metadata in found:
            if metadata.state in PREPARED:
                if self._trace:
                    self._trace(
                        TransactionResumed(
                            transactional_id=metadata.transactional_id,
                            producer_id=metadata.producer_id,
                            producer_epoch=metadata.producer_epoch,
                            state=metadata.state,
                            partitions=tuple(map(str, sorted(metadata.topic_partitions))),
                            coordinator_epoch=coordinator_epoch,
                        )
                    )
                self._markers.add_txn_markers_to_send(
                    coordinator_epoch,
                    metadata,
                    metadata.prepare_complete(self._time.milliseconds()),
                )

    def _tell_fenced(
        self,
        metadata: TransactionMetadata,
        epoch: int,
        current: int,
        asked: str,
        requester: Requester,
    ) -> None:
        if self._trace:
            self._trace(
                ProducerFenced(
                    transactional_id=metadata.transactional_id,
                    producer_id=metadata.producer_id,
                    producer_epoch=epoch,
                    current_epoch=current,
                    asked=asked,
                    client_id=requester.client_id,
                    connection_id=requester.connection_id,
                )
            )


def _needs_rotation(metadata: TransactionMetadata, expected: ProducerIdAndEpoch | None) -> bool:
    return metadata.is_producer_epoch_exhausted and (
        expected is None or expected.epoch == metadata.producer_epoch
    )


def _may_be(metadata: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    """Return whether a producer with `expected` may own the transactional id (KIP-360).

    The producer's epoch is checked later. The result is True in three cases. First, the
    transactional id had expired and was created again just now. Second, the producer has the
    current producer id. Third, the producer has the previous producer id, which was replaced
    because its epochs were used up.
    """
    return (
        metadata.producer_epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == metadata.producer_id
        or (
            expected.producer_id == metadata.last_producer_id and is_epoch_exhausted(expected.epoch)
        )
    )
