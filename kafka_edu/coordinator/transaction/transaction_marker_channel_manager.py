"""Requests the leaders of partitions to write the markers of decided transactions.

(Kafka: TransactionMarkerChannelManager.scala.) A transaction in PrepareCommit or PrepareAbort needs
one marker in each of its partitions. The markers are queued by leader. For each broker, a task
sends the content of its queue as one WriteTxnMarkers, one request at a time. Markers for partitions
that this broker leads are written directly. Markers that fail are sent again 100 ms later, perhaps
to another leader. After the last marker, the last record of the transaction is appended:
CompleteCommit or CompleteAbort.

The manager gives up a marker for only three reasons. The topic is deleted. This broker no longer
coordinates the transaction. Or a partition has a newer coordinator epoch or producer epoch, which
means that another coordinator has ended the transaction.

`_route`, `_on_result` and `_maybe_complete` decide and never wait; the tasks wait. Decisions and
tasks share the queues. A decision fills a queue, a task empties the queue, and the response that
the task gets leads to the next decision.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Final, NamedTuple

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.coordinator.transaction.marker_writer import MarkerWriter, TxnMarker
from kafka_edu.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
    TxnTransitMetadata,
)
from kafka_edu.coordinator.transaction.transaction_state import TransactionState
from kafka_edu.coordinator.transaction.transaction_state_manager import (
    TransactionConfig,
    TransactionStateManager,
)
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.transaction import (
    TransactionMarkerAnswered,
    TransactionMarkersSent,
    TransactionMarkersSnapshot,
)
from kafka_edu.trace.tracer import Tracer

RETRY_BACKOFF_MS: Final = 100
#: Errors that mean that another coordinator has taken over, so this broker must stop.
STOP: Final = frozenset({Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED})
#: Results after which a partition needs no marker any more: success, or a log that cannot have
#: markers.
AS_GOOD_AS_WRITTEN: Final = frozenset(
    {Errors.NONE, Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, Errors.UNSUPPORTED_VERSION}
)


def marker_version(inter_broker_protocol: tuple[int, int]) -> int:
    """Return the version of WriteTxnMarkers for this inter.broker.protocol.version."""
    return 1 if inter_broker_protocol >= (2, 8) else 0


class PendingCompleteTxn:
    """A decided transaction, and the partitions that still need its marker."""

    __slots__ = ("completing", "coordinator_epoch", "metadata", "remaining", "transit")

    def __init__(
        self, coordinator_epoch: int, metadata: TransactionMetadata, transit: TxnTransitMetadata
    ) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.metadata = metadata
        self.transit = transit
        """The final state, which is written to the log after the markers."""
        self.remaining = set(metadata.topic_partitions)
        self.completing = False
        """Whether the transaction's final state is being written to the log now."""

    def marker(self, partitions: Iterable[TopicPartition]) -> TxnMarker:
        committed = self.transit.state is TransactionState.COMPLETE_COMMIT
        return TxnMarker(
            self.transit.producer_id,
            self.transit.producer_epoch,
            self.coordinator_epoch,
            committed,
            tuple(sorted(partitions)),
        )


class _Queued(NamedTuple):
    pending: PendingCompleteTxn
    partitions: tuple[TopicPartition, ...]


class TransactionMarkerChannelManager:
    """Sends markers to the leaders of partitions; used only in the broker's event loop.

    Memory O(partitions of decided transactions).
    """

    def __init__(
        self,
        broker_id: int,
        config: TransactionConfig,
        cache: MetadataCache,
        states: TransactionStateManager,
        writer: MarkerWriter,
        exists: Callable[[TopicPartition], Awaitable[bool]],
        transport: Transport,
        time: Time,
        on_failure: OnFailure,
        trace: Tracer | None,
    ) -> None:
        """Create the manager without any decided transactions.

        The function `exists` returns whether ZooKeeper has a partition, and True if ZooKeeper
        cannot be asked now. The metadata cache cannot answer this question: a broker that has just
        started may already be a coordinator before its cache has all partitions.
        """
        self._broker_id = broker_id
        self._config = config
        self._cache = cache
        self._states = states
        self._writer = writer
        self._exists = exists
        self._transport = transport
        self._time = time
        self._on_failure = on_failure
        self._trace = trace
        self._pending: dict[str, PendingCompleteTxn] = {}
        self._queues: dict[int, deque[_Queued]] = {}
        self._filled: dict[int, asyncio.Event] = {}
        self._later: list[_Queued] = []
        self._retry: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False
        if trace:
            trace.on_snapshot(self._snapshot)

    def add_txn_markers_to_send(
        self, coordinator_epoch: int, metadata: TransactionMetadata, transit: TxnTransitMetadata
    ) -> None:
        """Complete a decided transaction: write its markers, then its final state `transit`.

        The caller has already prepared the transaction for `transit`.
        """
        pending = self._pending[metadata.transactional_id] = PendingCompleteTxn(
            coordinator_epoch, metadata, transit
        )
        self._route(pending, pending.remaining)
        self._maybe_complete(pending)

    def remove_markers_for_txn_topic_partition(self, partition: int) -> None:
        """Forget the transactions that belong to a partition of `__transaction_state`.

        Either this broker no longer coordinates them, or it loads them again under a later epoch.
        """
        for transactional_id in [
            t for t in self._pending if self._states.partition_for(t) == partition
        ]:
            del self._pending[transactional_id]

    def _stands(self, pending: PendingCompleteTxn) -> bool:
        return self._pending.get(pending.metadata.transactional_id) is pending

    def _route(self, pending: PendingCompleteTxn, partitions: Iterable[TopicPartition]) -> None:
        """Queue markers for the leaders; if no leader is known, try again later."""
        by_leader: dict[int, list[TopicPartition]] = {}
        waiting = []
        for tp in sorted(partitions):
            state = self._cache.get_partition_state(tp)
            if (
                state is not None
                and self._cache.get_alive_end_point(
                    state.leader, self._config.inter_broker_listener_name
                )
                is not None
            ):
                by_leader.setdefault(state.leader, []).append(tp)
            else:
                waiting.append(tp)
        if waiting:
            self._look_again(pending, waiting)
        for leader, led in by_leader.items():
            if leader == self._broker_id:
                self._write_here(pending, led)
            else:
                self._queue(leader).append(_Queued(pending, tuple(led)))
                self._filled[leader].set()

    def _write_here(self, pending: PendingCompleteTxn, partitions: list[TopicPartition]) -> None:
        self._tell_sent(self._broker_id, [pending], len(partitions))
        self._writer.write(
            pending.marker(partitions), partial(self._on_result, pending, self._broker_id)
        )

    def _on_result(
        self, pending: PendingCompleteTxn, broker_id: int, results: dict[TopicPartition, Errors]
    ) -> None:
        """Process a leader's results for some of a transaction's partitions."""
        if not self._stands(pending):
            return
        transactional_id = pending.metadata.transactional_id
        again = []
        for tp, error in results.items():
            if self._trace:
                self._trace(
                    TransactionMarkerAnswered(
                        transactional_id=transactional_id,
                        topic=tp.topic,
                        partition=tp.partition,
                        broker=broker_id,
                        error=error.name,
                    )
                )
            if error in AS_GOOD_AS_WRITTEN:
                pending.remaining.discard(tp)
            elif error in STOP:
                del self._pending[transactional_id]
                return
            else:
                again.append(tp)
        if again:
            self._look_again(pending, again)
        self._maybe_complete(pending)

    def _maybe_complete(self, pending: PendingCompleteTxn) -> None:
        if pending.remaining or pending.completing or not self._stands(pending):
            return
        pending.completing = True

        def appended(error: Errors) -> None:
            pending.completing = False
            if error is Errors.COORDINATOR_NOT_AVAILABLE and self._stands(pending):
                self._look_again(pending, ())
            elif self._stands(pending):
                del self._pending[transactional_id]

        transactional_id = pending.metadata.transactional_id
        self._states.append_transaction_to_log(
            transactional_id,
            pending.coordinator_epoch,
            pending.transit,
            appended,
            retry_on_error=lambda error: error is Errors.COORDINATOR_NOT_AVAILABLE,
        )

    def _tell_sent(
        self, broker_id: int, pending: list[PendingCompleteTxn], partitions: int
    ) -> None:
        if self._trace:
            self._trace(
                TransactionMarkersSent(
                    broker=broker_id,
                    transactional_ids=tuple(p.metadata.transactional_id for p in pending),
                    partitions=partitions,
                )
            )

    def _queue(self, broker_id: int) -> deque[_Queued]:
        queue = self._queues.get(broker_id)
        if queue is None:
            queue = self._queues[broker_id] = (
                deque()
            )  # bounded by the number of decided transactions
            self._filled[broker_id] = asyncio.Event()
            self._spawn(f"txn-marker-sender-{broker_id}", self._send_to(broker_id))
        return queue

    def _spawn(self, name: str, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)
        report_failure(task, self._on_failure)
        return task

    def _look_again(
        self, pending: PendingCompleteTxn, partitions: Iterable[TopicPartition]
    ) -> None:
        self._later.append(_Queued(pending, tuple(partitions)))
        if self._retry is None and not self._closed:
            self._retry = self._spawn("txn-marker-retry", self._retry_later())

    async def _retry_later(self) -> None:
        await self._time.sleep(RETRY_BACKOFF_MS)
        self._retry = None
        later, self._later = self._later, []
        for pending, partitions in later:
            gone = {
                tp
                for tp in partitions
                if self._cache.get_partition_state(tp) is None and not await self._exists(tp)
            }
            if self._stands(pending):
                pending.remaining -= gone
                self._route(pending, [tp for tp in partitions if tp not in gone])
                self._maybe_complete(pending)

    async def _send_to(self, broker_id: int) -> None:
        """Send the markers in one broker's queue, one request at a time."""
        client = NetworkClient(self._transport, f"txn-coordinator-{self._broker_id}")
        queue, filled = self._queues[broker_id], self._filled[broker_id]
        address = None
        try:
            while True:
                await filled.wait()
                filled.clear()
                markers = self._drain(queue)
                if not markers:
                    continue
                end_point = self._cache.get_alive_end_point(
                    broker_id, self._config.inter_broker_listener_name
                )
                try:
                    if end_point is None:
                        raise ConnectionError("the broker is gone")
                    if not client.connected or address != (end_point.host, end_point.port):
                        address = (end_point.host, end_point.port)
                        await client.connect(*address, self._config.request_timeout_ms)
                    self._tell_sent(broker_id, list(markers), sum(map(len, markers.values())))
                    version, timeout_ms = (
                        self._config.write_txn_markers_version,
                        self._config.request_timeout_ms,
                    )
                    response = await client.ask(
                        _request(markers), version, WriteTxnMarkersResponse, timeout_ms
                    )
                except (
                    OSError,
                    ProtocolError,
                ):  # ConnectionError and TimeoutError are subclasses of OSError
                    client.close()
                    for pending, partitions in markers.items():
                        self._look_again(pending, partitions)
                else:
                    self._on_response(broker_id, markers, response)
        finally:
            client.close()

    def _drain(self, queue: deque[_Queued]) -> dict[PendingCompleteTxn, list[TopicPartition]]:
        markers: dict[PendingCompleteTxn, list[TopicPartition]] = {}
        while queue:
            pending, partitions = queue.popleft()
            if self._stands(pending):
                markers.setdefault(pending, []).extend(partitions)
        return markers

    def _on_response(
        self,
        broker_id: int,
        markers: dict[PendingCompleteTxn, list[TopicPartition]],
        response: WriteTxnMarkersResponse,
    ) -> None:
        answered = {
            marker.producer_id: {
                TopicPartition(topic.name, p.partition_index): Errors.of(p.error_code)
                for topic in marker.topics
                for p in topic.partitions
            }
            for marker in response.markers
        }
        for pending, partitions in markers.items():
            results = answered.get(pending.transit.producer_id, {})
            self._on_result(
                pending,
                broker_id,
                {tp: results.get(tp, Errors.UNKNOWN_SERVER_ERROR) for tp in partitions},
            )

    def _snapshot(self) -> Iterable[Event]:
        for transactional_id, pending in self._pending.items():
            yield TransactionMarkersSnapshot(
                transactional_id=transactional_id,
                waits_for=tuple(map(str, sorted(pending.remaining))),
                coordinator_epoch=pending.coordinator_epoch,
            )

    async def shutdown(self) -> None:
        """Stop all tasks; the next coordinator writes the markers that are missing."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _request(markers: dict[PendingCompleteTxn, list[TopicPartition]]) -> WriteTxnMarkersRequest:
    entries = []
    for pending, partitions in markers.items():
        marker = pending.marker(partitions)
        topics: dict[str, list[int]] = {}
        for topic, partition in marker.partitions:
            topics.setdefault(topic, []).append(partition)
        entries.append(
            WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.committed,
                topics=[
                    WritableTxnMarkerTopic(name=topic, partition_indexes=indexes)
                    for topic, indexes in topics.items()
                ],
                coordinator_epoch=marker.coordinator_epoch,
            )
        )
    return WriteTxnMarkersRequest(markers=entries)
