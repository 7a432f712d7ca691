"""The records that wait to be sent (Kafka: RecordAccumulator.java, BufferPool.java).

Each partition has a queue of batches. New records go into the last batch, and the sender takes the
first. A batch is ready to be sent when it is full, when it has waited for linger.ms, or when other
records need its memory. All batches together hold at most buffer.memory bytes.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafka_edu.clients.metadata import NEVER, NO_LEADER, Metadata
from kafka_edu.clients.producer.producer_batch import Headers, ProducerBatch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.record.compression import CompressionType
from kafka_edu.trace.events.producer import BatchDrained, BatchSplit, RecordAccumulated
from kafka_edu.trace.tracer import Tracer


class MemoryWaiter:
    """A `send()` that waits for memory. A waiter gets all of its memory at once, and the first
    waiter is served first.
    """

    __slots__ = ("granted", "on_granted", "size")

    def __init__(self, size: int, on_granted: Callable[[], None]) -> None:
        self.size = size
        self.on_granted = on_granted
        self.granted = False


class BufferPool:
    """Counts the bytes of buffer.memory (Kafka: BufferPool.java).

    Waiters get memory in their order. So small records cannot keep a large record waiting for ever.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.available = total
        self._waiters: deque[MemoryWaiter] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    def allocate(self, size: int) -> bool:
        """Take `size` bytes if they are free and nobody waits. Return whether they were taken."""
        if self._waiters or size > self.available:
            return False
        self.available -= size
        return True

    def wait(self, size: int, on_granted: Callable[[], None]) -> MemoryWaiter:
        """Wait for `size` bytes, which must not be more than `total`."""
        waiter = MemoryWaiter(size, on_granted)
        self._waiters.append(waiter)
        self._grant()
        return waiter

    def cancel(self, waiter: MemoryWaiter) -> None:
        """Stop waiting. Memory that was already granted becomes free again."""
        if waiter.granted:
            self.free(waiter.size)
        else:
            self._waiters.remove(waiter)
            self._grant()

    def free(self, size: int) -> None:
        """Give `size` bytes back, and serve waiters as long as the free memory is enough."""
        self.available += size
        self._grant()

    def _grant(self) -> None:
        while self._waiters and self._waiters[0].size <= self.available:
            waiter = self._waiters.popleft()
            self.available -= waiter.size
            waiter.granted = True
            waiter.on_granted()


class PartitionQueue:
    """The batches of one partition, oldest first."""

    __slots__ = (
        "batches",
        "last_bytes",
        "last_records",
        "last_waited_ms",
        "muted",
        "sent",
        "sent_records",
        "tp",
    )

    def __init__(self, tp: TopicPartition) -> None:
        self.tp = tp
        self.batches: deque[ProducerBatch] = deque()
        self.muted = False
        """True while no further batch may be sent, because a batch is in flight and no sequence
        numbers keep the order.
        """
        self.sent = self.sent_records = 0
        """The number of batches that were taken out of the queue, and of the records in them."""
        self.last_records = self.last_bytes = self.last_waited_ms = 0
        """The last of these batches: its number of records, its bytes, and its age in ms."""

    def took(self, batch: ProducerBatch, now: float) -> None:
        """Count a batch that was taken out of the queue to be sent."""
        self.sent += 1
        self.sent_records += batch.count
        self.last_records, self.last_bytes = batch.count, batch.size
        self.last_waited_ms = int(now - batch.created_ms)


class Ready(NamedTuple):
    """The brokers for which batches are ready."""

    queues: dict[int, list[PartitionQueue]]
    """Broker → the queues of its partitions that have a ready batch."""
    next_ms: float
    """In how many ms another batch becomes ready."""
    unknown_topics: set[str]
    """Topics with a ready batch whose leader is unknown."""


class RecordAccumulator:
    """The queues of batches. The producer's event loop owns it. Times are monotonic, in ms."""

    def __init__(
        self,
        client_id: str,
        batch_size: int,
        linger_ms: float,
        retry_backoff_ms: float,
        compression: CompressionType,
        pool: BufferPool,
        trace: Tracer | None = None,
    ) -> None:
        self._client_id = client_id
        self._batch_size = batch_size
        self._linger_ms = linger_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._compression = compression
        self.pool = pool
        self._trace = trace
        self._queues: dict[str, dict[int, PartitionQueue]] = {}
        self._filled: dict[TopicPartition, PartitionQueue] = {}
        """The queues that have batches."""
        self.incomplete: dict[ProducerBatch, None] = {}
        """All batches without an outcome, queued or in flight, in the order of their creation."""
        self.flushing = False
        """While true, batches do not wait for linger.ms."""
        self.completing = False
        """Like `flushing`, while a transaction is being committed or aborted."""
        self._numbers = 0
        self._turns: dict[int, int] = {}
        """Broker → the number of requests made for it. This number decides which queue is first."""

    def _queue(self, topic: str, partition: int) -> PartitionQueue:
        by_partition = self._queues.get(topic)
        if by_partition is None:
            by_partition = self._queues[topic] = {}
        queue = by_partition.get(partition)
        if queue is None:
            queue = by_partition[partition] = PartitionQueue(TopicPartition(topic, partition))
        return queue

    def try_append(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> ProducerBatch | None:
        """Append a record to the last batch of its partition, and return the batch. The record is
        the last one in this batch. Return None if the record needs a new batch.
        """
        try:
            batch = self._queues[topic][partition].batches[-1]
        except LookupError:  # no queue yet, or an empty one
            return None
        if batch.data is not None:
            return None
        index = batch.try_append(timestamp, key, value, headers)
        if index < 0:
            return None
        if self._trace and self._trace.hops:
            self._emit_accumulated(batch, index)
        return batch

    def append_to_new_batch(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        reserved: int,
        now: float,
    ) -> ProducerBatch:
        """Begin a batch with a record. The caller has allocated `reserved` bytes for it."""
        queue = self._queue(topic, partition)
        self._numbers += 1
        batch = ProducerBatch(
            self._numbers, queue.tp, min(max(self._batch_size, 1), reserved), reserved, now
        )
        index = batch.try_append(timestamp, key, value, headers)
        queue.batches.append(batch)
        self._filled[queue.tp] = queue
        self.incomplete[batch] = None
        if self._trace and self._trace.hops:
            self._emit_accumulated(batch, index)
        return batch

    def _emit_accumulated(self, batch: ProducerBatch, index: int) -> None:
        assert self._trace is not None
        number = self._trace(
            RecordAccumulated(
                client=self._client_id,
                topic=batch.tp.topic,
                partition=batch.tp.partition,
                batch=batch.number,
                place=index,
            )
        )
        if not batch.cause:
            batch.cause = number

    def ready(self, metadata: Metadata, now: float) -> Ready:
        """Return the brokers for which a batch is ready. O(partitions with batches)."""
        sendable: list[PartitionQueue] = []
        next_ms = NEVER
        at_once = self.at_once
        for queue in self._filled.values():
            if queue.muted:
                continue
            wait = self._wait_ms(queue, at_once, now)
            if wait > 0:
                next_ms = min(next_ms, wait)
            else:
                sendable.append(queue)
        return self._by_leader(sendable, metadata, next_ms)

    @staticmethod
    def _by_leader(sendable: Iterable[PartitionQueue], metadata: Metadata, next_ms: float) -> Ready:
        """Return the brokers that lead the partitions of these queues, each with its queues."""
        queues: dict[int, list[PartitionQueue]] = {}
        unknown: set[str] = set()
        for queue in sendable:
            tp = queue.tp
            leader = metadata.leader(tp.topic, tp.partition)
            if leader == NO_LEADER:
                unknown.add(tp.topic)
            else:
                queues.setdefault(leader, []).append(queue)
        return Ready(queues, next_ms, unknown)

    def drain(
        self,
        node: int,
        queues: Iterable[PartitionQueue],
        max_bytes: int,
        may_drain: Callable[[ProducerBatch], bool],
        assign: Callable[[ProducerBatch], None],
        now: float,
    ) -> list[ProducerBatch]:
        """Take and close one batch of each queue, up to `max_bytes` in total. Only the first batch
        may be larger.

        The broker `node` leads the partitions of all queues. `may_drain` decides whether a batch
        may be sent now. `assign` gives a batch its sequence number. Each request to this broker
        begins with a different queue, so that no partition starves. For this, each broker has its
        own counter. With one counter for two brokers that take turns, half of the partitions would
        never be first.
        """
        waiting = list(queues)
        turn = self._turns[node] = self._turns.get(node, 0) + 1
        start = turn % len(waiting) if waiting else 0
        drained: list[ProducerBatch] = []
        total = 0
        for queue in waiting[start:] + waiting[:start]:
            batch = queue.batches[0]
            if not may_drain(batch):
                continue
            if drained and total + batch.size > max_bytes:
                break
            self._take(queue, assign, now)
            total += batch.size
            drained.append(batch)
        return drained

    def _take(
        self, queue: PartitionQueue, assign: Callable[[ProducerBatch], None], now: float
    ) -> ProducerBatch:
        """Take the first batch out of its queue, and close the batch, because it is sent now."""
        batch = queue.batches[0]
        self._pop(queue)
        assign(batch)
        batch.close(self._compression)
        batch.drained_ms = now
        queue.took(batch, now)
        if self._trace and self._trace.hops:
            with self._trace.because(batch.cause):
                batch.cause = self._trace(
                    BatchDrained(
                        client=self._client_id,
                        topic=batch.tp.topic,
                        partition=batch.tp.partition,
                        batch=batch.number,
                        records=batch.count,
                        bytes=batch.size,
                        waited_ms=int(now - batch.created_ms),
                        base_sequence=batch.base_sequence,
                    )
                )
        return batch

    def _pop(self, queue: PartitionQueue) -> None:
        queue.batches.popleft()
        if not queue.batches:
            del self._filled[queue.tp]

    def mute(self, tp: TopicPartition, muted: bool) -> None:
        """If `muted` is true, hold the partition's next batch back, because a batch is in flight.
        If it is false, let the next batch be sent again.
        """
        self._queue(*tp).muted = muted

    def reenqueue(self, batch: ProducerBatch, now: float) -> None:
        """Put a batch back to be sent again, after retry.backoff.ms."""
        batch.attempts += 1
        batch.in_retry = True
        batch.last_attempt_ms = now
        self._insert(batch)

    def _insert(self, batch: ProducerBatch) -> None:
        """Insert a batch that is sent again into its queue: before all new batches, and in the
        order of the sequence numbers of the batches that are sent again.

        If a batch has no sequence number, the numbers of the batches give the order.
        """
        queue = self._queue(*batch.tp)
        batches = queue.batches
        at = 0
        while at < len(batches) and batches[at].data is not None:
            other = batches[at]
            if batch.has_sequence and other.has_sequence:
                if (other.producer_epoch, other.base_sequence) > (
                    batch.producer_epoch,
                    batch.base_sequence,
                ):
                    break
            elif other.number > batch.number:
                break
            at += 1
        batches.insert(at, batch)
        self._filled[queue.tp] = queue

    def split(self, batch: ProducerBatch, now: float) -> list[ProducerBatch]:
        """Divide a batch that a broker refused as too large. The parts take its place in the
        queue.
        """
        parts = batch.split(self._numbers + 1, now)
        self._numbers += len(parts)
        self.incomplete.pop(batch, None)
        if self._trace:
            with self._trace.because(batch.cause):
                number = self._trace(
                    BatchSplit(
                        client=self._client_id,
                        topic=batch.tp.topic,
                        partition=batch.tp.partition,
                        batch=batch.number,
                        records=batch.count,
                        into=len(parts),
                    )
                )
            for part in parts:
                part.cause = number
        for part in parts:
            part.close(self._compression)
            self.incomplete[part] = None
        queue = self._queue(*batch.tp)
        if batch.has_sequence:
            for part in parts:
                self._insert(part)
        else:
            for part in reversed(parts):
                queue.batches.appendleft(part)
            self._filled[queue.tp] = queue
        return parts

    def expired(self, delivery_timeout_ms: float, now: float) -> list[ProducerBatch]:
        """Remove the queued batches whose time is over, and return them. O(queues)."""
        found: list[ProducerBatch] = []
        for queue in list(self._filled.values()):
            while queue.batches and now - queue.batches[0].created_ms >= delivery_timeout_ms:
                found.append(queue.batches[0])
                self._pop(queue)
        return found

    def take_all(self) -> list[ProducerBatch]:
        """Remove all queued batches and return them, in the order of their creation."""
        found = [batch for queue in self._filled.values() for batch in queue.batches]
        for queue in self._filled.values():
            queue.batches.clear()
        self._filled.clear()
        return sorted(found, key=lambda batch: batch.number)

    def take_unsent(self) -> list[ProducerBatch]:
        """Remove the queued batches without a sequence number, and return them, in the order of
        their creation. These batches were never sent.
        """
        found: list[ProducerBatch] = []
        for queue in list(self._filled.values()):
            unsent = [batch for batch in queue.batches if not batch.has_sequence]
            if not unsent:
                continue
            found += unsent
            queue.batches = deque(batch for batch in queue.batches if batch.has_sequence)
            if not queue.batches:
                del self._filled[queue.tp]
        return sorted(found, key=lambda batch: batch.number)

    def release(self, batch: ProducerBatch) -> None:
        """Free the memory of a batch that has its outcome."""
        self.incomplete.pop(batch, None)
        reserved, batch.reserved = batch.reserved, 0
        if reserved:
            self.pool.free(reserved)

    def queues(self) -> list[PartitionQueue]:
        """Return the queues of all partitions to which records were sent, including empty queues.
        O(partitions).
        """
        return [queue for by_partition in self._queues.values() for queue in by_partition.values()]

    @property
    def at_once(self) -> bool:
        """Whether batches are sent without waiting for linger.ms. True during a flush, at the end
        of a transaction, or if a `send` waits for memory.
        """
        return self.flushing or self.completing or self.pool.waiting > 0

    def wait_ms(self, queue: PartitionQueue, now: float) -> float:
        """Return for how many ms the first batch must still wait. A batch that was sent before
        waits for retry.backoff.ms, and a new batch for linger.ms. The result is at most 0 if the
        batch is ready. O(1).
        """
        return self._wait_ms(queue, self.at_once, now)

    def _wait_ms(self, queue: PartitionQueue, at_once: bool, now: float) -> float:
        batch = queue.batches[0]
        waited = now - batch.last_attempt_ms
        if batch.attempts > 0:
            return self._retry_backoff_ms - waited
        if at_once or len(queue.batches) > 1 or batch.is_full:
            return 0
        return self._linger_ms - waited

    @property
    def queued(self) -> Mapping[TopicPartition, PartitionQueue]:
        """The partitions that have batches in their queues."""
        return self._filled
