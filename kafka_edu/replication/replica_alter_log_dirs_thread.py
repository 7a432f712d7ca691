"""Copy replicas from one log dir of this broker to another (Kafka: ReplicaAlterLogDirsThread.scala;
KIP-113).

    add ──> marked ──> truncating ──> copying ── a piece, a piece … ──> both logs end at the same
                          ^              │                              offset: swapped, done
                          └──────────────┘
                     the current log was cut back

The copy is a separate log, the *future log*. It follows the *current log* as a follower follows its
leader. First it is truncated where the two logs begin to differ, according to leader epochs. Then
the records that it lacks are appended unchanged, byte for byte. Nothing goes over the network,
because both logs are on this broker.

One replica is copied at a time, so that each move is short. Replicas are copied in order of topic
and partition. A piece is at most 1 MiB, and at most replica.fetch.max.bytes. A worker thread reads
a piece from the disk, and the event loop appends it to the future log. Then other tasks can run. If
only a few bytes are left to copy, the event loop reads them itself, from the page cache. Nobody can
append to the current log between this read and the swap, so the copy catches up even under load.

At first the copy is only in the page cache. So it is flushed before the swap, unless the current
log itself was not flushed that far. So a power failure cannot lose a record that was on the disk
before the move. Kafka does not flush here.

In Kafka this is a thread, here it is a task. The swap itself is
`LogManager.replace_current_with_future_log`.
"""

import asyncio
import errno
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes, part_size
from kafka_edu.log.leader_epoch_file_cache import UNDEFINED_EPOCH
from kafka_edu.log.log import Log
from kafka_edu.log.log_manager import LogManager
from kafka_edu.replication.high_watermark import raise_high_watermark_of_copy
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager
from kafka_edu.replication.truncation import offset_truncation_state
from kafka_edu.trace.events.replication import FetcherPartitionDelayed, FutureLogTruncated
from kafka_edu.trace.tracer import Tracer

MAX_PIECE_BYTES: Final = 1 << 20
SHORT_REST_BYTES: Final = 1 << 16
"""If at most this number of bytes is left to copy, the event loop reads them itself.

From the page cache this takes about 30 µs. After a worker's flush the loop also flushes them.
"""


class ReplicaMove:
    """One replica that moves to another log dir, and its progress.

    Each new order to move creates a new object, so work for an old order is dropped.
    """

    __slots__ = (
        "began_ms",
        "copied_bytes",
        "current",
        "delayed_until_ms",
        "event",
        "fetch_offset",
        "future",
        "is_marked",
        "partition",
        "throttled",
        "truncating",
        "unflushed_bytes",
    )

    def __init__(self, partition: Partition, current: Log, future: Log, now_ms: int) -> None:
        self.partition = partition
        self.current = current
        self.future = future
        self.fetch_offset = future.high_watermark
        """The offset up to which the two logs are the same, for logs without leader epochs.

        At first it is the future log's high watermark, later the offset to which the current log
        was truncated.
        """
        self.truncating = True
        self.is_marked = False
        self.delayed_until_ms = -1
        """The monotonic ms until which the replica is not copied after an error; -1 without an
        error.
        """
        self.throttled = False
        self.copied_bytes = 0
        self.unflushed_bytes: int | None = None
        """Bytes that were copied since the last flush of this move. None before its first flush,
        because it is not known how much of the copy is on the disk.
        """
        self.began_ms = now_ms
        self.event = 0
        """The number of the move's ReplicaMoveStarted event; 0 without a tracer."""

    @property
    def topic_partition(self) -> TopicPartition:
        return self.partition.topic_partition

    @property
    def from_dir(self) -> str:
        return self.current.log_dir

    @property
    def to_dir(self) -> str:
        return self.future.log_dir


class ReplicaAlterLogDirsThread:
    """The replicas that one task moves. `on_swapped` is called with each move that is done."""

    def __init__(
        self,
        broker_id: int,
        fetch_max_bytes: int,
        backoff_ms: int,
        log_manager: LogManager,
        quota: ReplicationQuotaManager,
        time: Time,
        run_blocking: RunBlocking,
        on_swapped: Callable[[ReplicaMove], None],
        trace: Tracer | None = None,
    ) -> None:
        self._broker_id = broker_id
        self._piece_bytes = min(fetch_max_bytes, MAX_PIECE_BYTES)
        self._backoff_ms = backoff_ms
        self._logs = log_manager
        self._quota = quota
        self._time = time
        self._run_blocking = run_blocking
        self._on_swapped = on_swapped
        self._trace = trace
        self._moves: dict[TopicPartition, ReplicaMove] = {}
        self._in_progress: ReplicaMove | None = None
        self._work = asyncio.Event()

    def __len__(self) -> int:
        return len(self._moves)

    @property
    def moves(self) -> Iterable[ReplicaMove]:
        return self._moves.values()

    def add(self, move: ReplicaMove) -> None:
        """Copy a replica from now on. The first step is truncation."""
        self._moves[move.topic_partition] = move
        self._work.set()

    def remove(self, topic_partition: TopicPartition) -> ReplicaMove | None:
        """Stop copying a replica.

        Return its move if this task had it, else None. A piece that is being read is dropped.
        """
        self._work.set()
        move = self._moves.pop(topic_partition, None)
        if move is self._in_progress:
            self._in_progress = None  # it holds the logs
        return move

    def mark_for_truncation(self, topic_partition: TopicPartition, offset: int) -> None:
        """Record that the current log was truncated to `offset`.

        The future log is truncated too before more is copied.
        """
        move = self._moves.get(topic_partition)
        if move is not None:
            alike = move.fetch_offset if move.truncating else move.future.log_end_offset
            move.fetch_offset = min(offset, alike)
            move.truncating = True

    async def run(self) -> None:
        """Copy until cancelled. Pause when there is nothing to do, or the quota is exceeded."""
        while True:
            move = self.next_move(self._now_ms())
            if move is None:
                await self._pause()
                continue
            move.throttled = self._quota.is_quota_exceeded(self._now_ms())
            if move.throttled:
                await self._pause()
                continue
            await self.step(move)
            await asyncio.sleep(0)  # a piece is a turn

    def next_move(self, now_ms: int) -> ReplicaMove | None:
        """Return the move to continue, or None.

        A move that is in progress continues. Otherwise the first move that does not wait after an
        error is returned; moves are in the order of their partitions.
        """
        current = self._in_progress
        if current is not None and self._is_current(current) and current.delayed_until_ms <= now_ms:
            return current
        ready = [tp for tp, move in self._moves.items() if move.delayed_until_ms <= now_ms]
        self._in_progress = self._moves[min(ready)] if ready else None
        return self._in_progress

    async def step(self, move: ReplicaMove) -> None:
        """Do the next step of a move: mark it, truncate, or copy a piece and perhaps swap."""
        try:
            if not move.is_marked:
                move.is_marked = await self._logs.mark_move(move.topic_partition)
                if not move.is_marked and self._is_current(move):
                    self._delay(move, Errors.KAFKA_STORAGE_ERROR)
            elif move.truncating:
                self._truncate(move)
            else:
                await self._copy_piece(move)
        except KafkaException as failure:
            if self._is_current(move):  # a failed dir may have removed the move
                self._delay(move, failure.error)

    def _now_ms(self) -> int:
        return self._time.hi_res_clock_ms()

    def _is_current(self, move: ReplicaMove) -> bool:
        return self._moves.get(move.topic_partition) is move

    def _delay(self, move: ReplicaMove, error: Errors) -> None:
        """Do not copy a replica for replica.fetch.backoff.ms."""
        move.delayed_until_ms = self._now_ms() + self._backoff_ms
        if self._trace:
            topic, partition = move.topic_partition
            self._trace(
                FetcherPartitionDelayed(
                    topic=topic,
                    partition=partition,
                    leader=self._broker_id,
                    error=error.name,
                    delay_ms=self._backoff_ms,
                )
            )

    def _truncate(self, move: ReplicaMove) -> None:
        """Truncate the future log where it begins to differ from the current log (KIP-101).

        The offset is where the future log's last epoch ends in the current log. So the result is
        right even if records of the current log were cut off and others written while the future
        log was not open.
        """
        current, future = move.current, move.future
        before, complete = future.log_end_offset, False
        while not complete:
            offset = min(move.fetch_offset, future.log_end_offset)
            complete = True
            epoch = future.latest_epoch
            if epoch != UNDEFINED_EPOCH:
                offset, complete = offset_truncation_state(
                    *current.end_offset_for_epoch(epoch),
                    move.fetch_offset,
                    future.log_end_offset,
                    future.leader_epoch_cache.entries,
                )
            self._logs.truncate_future_to(move.topic_partition, offset)
        move.truncating = False
        self._tell_truncated(move, before, "the replica's log parts from it there")

    async def _copy_piece(self, move: ReplicaMove) -> None:
        """Copy the next piece, and swap the logs if it was the last one."""
        current, future = move.current, move.future
        offset = future.log_end_offset
        try:
            found = current.read(offset, self._piece_bytes, min_one_message=True).records
        except KafkaException as failure:
            if failure.error is not Errors.OFFSET_OUT_OF_RANGE:
                raise
            self._out_of_range(move)
            return
        size = part_size(found)
        try:
            if size <= SHORT_REST_BYTES:
                records = part_bytes(found)
            else:
                records = await self._run_blocking(partial(part_bytes, found))
        except OSError as error:
            self._read_failed(move, error)
            return
        if not self._is_current(move) or move.truncating or future.log_end_offset != offset:
            return  # the piece was read from a log that has changed
        if size:
            self._begin_at_first_batch(move, records)
        copied = append_records_to_future(move.partition, records, self._time.milliseconds())
        self._quota.record(copied, self._now_ms())
        move.copied_bytes += copied
        if move.unflushed_bytes is not None:
            move.unflushed_bytes += copied
        if (
            current.log_end_offset == future.log_end_offset
            and future.recovery_point < current.recovery_point
            and not await self._flush(move)
        ):
            return
        if move.partition.maybe_replace_current_with_future_replica(self._logs):
            del self._moves[move.topic_partition]
            self._in_progress = None  # it holds the old log
            self._on_swapped(move)

    async def _flush(self, move: ReplicaMove) -> bool:
        """Flush the copy to the disk. Return whether the logs may be swapped now.

        If more than SHORT_REST_BYTES are not flushed, or their number is not known, a worker
        flushes them, so that the loop does not wait for the disk. The result is then False:
        meanwhile the current log may have got more records, and the next step copies them. If the
        current log has flushed these records too, for example because of flush.messages, the copy
        needs one more flush. A small rest (at most SHORT_REST_BYTES) is flushed by the loop itself,
        because nothing can be appended meanwhile. If a worker flushed each small rest, new records
        could make this go on for ever.
        """
        future, unflushed = move.future, move.unflushed_bytes
        move.unflushed_bytes = 0
        if unflushed is not None and unflushed <= SHORT_REST_BYTES:
            future.flush(self._time.milliseconds())
            return True
        await self._logs.flush_future_log(move.topic_partition)
        return False

    def _begin_at_first_batch(self, move: ReplicaMove, records: Buffer) -> None:
        """Let an empty future log begin where the first batch begins.

        DeleteRecords may have moved the current log's start into a batch. The whole batch is
        copied, and the future log's start is set to the same offset later.
        """
        future = move.future
        first = int.from_bytes(records[:8], "big")
        if first < future.log_end_offset == future.log_start_offset:
            self._logs.truncate_future_fully_and_start_at(move.topic_partition, first)

    def _read_failed(self, move: ReplicaMove, error: OSError) -> None:
        """Handle an error when a piece was read from the disk.

        If the file was closed meanwhile, its segment was deleted, and the next read finds another
        segment. Otherwise the disk has failed.
        """
        if self._is_current(move) and error.errno != errno.EBADF:
            self._logs.handle_log_dir_failure(move.from_dir, error)

    def _out_of_range(self, move: ReplicaMove) -> None:
        """Truncate the future log to the end of the current log.

        If the future log ends before the current log starts, empty it and begin at that start
        (Kafka: fetchOffsetAndTruncate).
        """
        current, future, tp = move.current, move.future, move.topic_partition
        before = future.log_end_offset
        if current.log_end_offset < before:
            self._logs.truncate_future_to(tp, current.log_end_offset)
            self._tell_truncated(move, before, "the replica's log ends there")
        elif current.log_start_offset > before:
            self._logs.truncate_future_fully_and_start_at(tp, current.log_start_offset)
            self._tell_truncated(move, before, "the replica's log starts there")

    def _tell_truncated(self, move: ReplicaMove, before: int, reason: str) -> None:
        after = move.future.log_end_offset
        if self._trace and after != before:
            topic, partition = move.topic_partition
            self._trace(
                FutureLogTruncated(
                    topic=topic, partition=partition, before=before, after=after, reason=reason
                )
            )

    async def _pause(self) -> None:
        """Pause for replica.fetch.backoff.ms; less if replicas come or go."""
        self._work.clear()
        sleep = asyncio.ensure_future(self._time.sleep(self._backoff_ms))
        work = asyncio.ensure_future(self._work.wait())
        try:
            await asyncio.wait([sleep, work], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            work.cancel()


def append_records_to_future(partition: Partition, records: Buffer, wall_ms: int) -> int:
    """Append a piece of the local log to its copy.

    Return the number of bytes appended. The copy also takes over the HW and the log start, as
    far as the copy reaches. Raises the errors of the log.
    """
    log, future = partition.local_log(), partition.future_log
    assert future is not None, partition.topic_partition
    size = future.append_as_follower(records, wall_ms).size_in_bytes if len(records) else 0
    raise_high_watermark_of_copy(log, future)
    if future.log_start_offset < log.log_start_offset <= future.high_watermark:
        future.maybe_increment_log_start_offset(log.log_start_offset)
    return size
