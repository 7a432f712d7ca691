"""Copy replicas from one log dir of this broker to another (Kafka: ReplicaAlterLogDirsThread.scala;
KIP-113).

    add ──> marked ──> truncating ──> copying ── a piece, a piece … ──> both logs end at the same
                          ^              │                              offset: swapped, done
                          └──────────────┘
                     the current log was cut back

The copy is a log of its own, the *future log*. It follows the *current log* as a follower follows
its leader: first it is cut back to where the two part, by leader epochs. Then it appends what it
lacks, byte by byte the same. But nothing goes over the network, because both logs are here.

One replica is copied at a time, so that each move is short. The order is that of topics and
partitions. A piece has at most 1 MiB and replica.fetch.max.bytes. A worker reads it from the disk,
and the loop appends it to the future log. Then other tasks have their turn. A short rest, which was
just written and lies in the page cache, is read on the loop: under load that is how the copy
catches up, because nobody appends to the current log between this read and the swap.

The copy lies in the page cache at first. So before the swap it is flushed, unless less of the
current log was flushed. After a power failure no record is missing that was on the disk before the
move. Kafka does not flush here.

This is shell: in Kafka a thread, here a task. The swap itself is
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
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.replication_quota_manager import ReplicationQuotaManager
from kafka_edu.replication.truncation import offset_truncation_state
from kafka_edu.trace.events.replication import FetcherPartitionDelayed, FutureLogTruncated
from kafka_edu.trace.tracer import Tracer

MAX_PIECE_BYTES: Final = 1 << 20
SHORT_REST_BYTES: Final = 1 << 16
"""A rest of at most so many bytes is read on the loop: some 30 µs from the page cache. After a
worker's flush the loop also flushes such a rest.
"""


class ReplicaMove:
    """One replica that moves, and its progress. A new order makes a new object, so that what was
    begun for an old one is dropped.
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
        """Up to where the two logs are alike, where epochs do not say it: the future log's high
        watermark at first, later the offset to which the current log was cut.
        """
        self.truncating = True
        self.is_marked = False
        self.delayed_until_ms = -1
        """Monotonic ms until which the replica is left aside after an error; -1: it is not."""
        self.throttled = False
        self.copied_bytes = 0
        self.unflushed_bytes: int | None = None
        """Bytes that were copied since the last flush of this move. None before its first flush:
        nobody knows how much of the copy is on the disk.
        """
        self.began_ms = now_ms
        self.event = 0
        """The number of its ReplicaMoveStarted, 0 without a tracer."""

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
        """Copy a replica from now on. It begins with truncation."""
        self._moves[move.topic_partition] = move
        self._work.set()

    def remove(self, topic_partition: TopicPartition) -> ReplicaMove | None:
        """Stop copying; return the move, if it was one of ours. A piece that is being read is
        dropped.
        """
        self._work.set()
        move = self._moves.pop(topic_partition, None)
        if move is self._in_progress:
            self._in_progress = None  # it holds the logs
        return move

    def mark_for_truncation(self, topic_partition: TopicPartition, offset: int) -> None:
        """Note that the current log was cut back to `offset`. The future log follows before it
        copies more.
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
        """Return the replica to go on with: the same as before, or else the first in order that is
        not left aside. None if there is none.
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
            if self._is_current(move):  # a dir that failed has taken the move away
                self._delay(move, failure.error)

    def _now_ms(self) -> int:
        return self._time.hi_res_clock_ms()

    def _is_current(self, move: ReplicaMove) -> bool:
        return self._moves.get(move.topic_partition) is move

    def _delay(self, move: ReplicaMove, error: Errors) -> None:
        """Leave a replica aside for replica.fetch.backoff.ms."""
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
        """Cut the future log back to where it and the current log part (KIP-101).

        The current log answers where the last epoch of the future log ends. That covers also what
        was cut off and written again while the future log was not open.
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
        copied = move.partition.append_records_to_future(records, self._time.milliseconds())
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
        """Force the copy to the disk. Return whether the logs may be swapped now.

        A worker flushes it, so that the loop does not wait for the disk. Meanwhile the current log
        may get more records, and the next step copies them. If these were flushed there too, for
        example because of flush.messages, they need a flush here. If they have at most
        SHORT_REST_BYTES, the loop flushes them, as it did there. With a worker that could go on for
        ever.
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

        DeleteRecords may have moved the current log's start into a batch. The batch is copied
        whole, and the start follows.
        """
        future = move.future
        first = int.from_bytes(records[:8], "big")
        if first < future.log_end_offset == future.log_start_offset:
            self._logs.truncate_future_fully_and_start_at(move.topic_partition, first)

    def _read_failed(self, move: ReplicaMove, error: OSError) -> None:
        """Handle an error of the disk that a piece was read from. If the file was closed meanwhile,
        the segment was deleted, and the next read finds another. Else the disk has failed.
        """
        if self._is_current(move) and error.errno != errno.EBADF:
            self._logs.handle_log_dir_failure(move.from_dir, error)

    def _out_of_range(self, move: ReplicaMove) -> None:
        """Cut the future log back to the end of the current one. If it ends before the current one
        starts, drop it and begin there (Kafka: fetchOffsetAndTruncate).
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
