"""Copying a replica to another log dir: pieces, truncation, log start, epochs, producers, and the
swap.
"""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.record.control_record import ControlRecordType
from kafka_edu.replication.delete_records import delete_records_on_leader
from kafka_edu.replication.offset_lookup import last_offset_for_leader_epoch
from kafka_edu.replication.replica_alter_log_dirs_thread import ReplicaMove
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.events.replication import (
    FutureLogTruncated,
    ReplicaMoveCompleted,
    ReplicaMoveStarted,
)
from tests.unit.log.test_producer_state_manager import end, send
from tests.unit.replication.moving import Broker, T, run


def test_a_replica_moves_with_all_its_records_and_its_old_folder_goes() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        values = broker.fill()
        old = broker.log
        assert broker.folders() == ["/a/t-0"]
        assert await broker.order("/b") is Errors.NONE
        assert broker.folders() == ["/a/t-0", "/b/t-0-future"]
        await broker.moved("/b")
        assert broker.folders() == ["/b/t-0"]
        assert broker.values() == values
        assert broker.log is not old
        assert (broker.log.directory, broker.log.log_end_offset) == ("/b/t-0", 40)
        assert broker.log.high_watermark == old.high_watermark == 40
        assert len(broker.log.segments) > 2
        version = broker.partition.version.value
        assert broker.produce("the next one") == 40
        assert broker.partition.high_watermark.offset == 41
        assert broker.partition.version.value > version, "sessions see the change"
        assert broker.values() == [*values, "the next one"]
        (begun,) = broker.told(ReplicaMoveStarted)
        assert (begun.from_dir, begun.to_dir, begun.log_end_offset) == ("/a", "/b", 40)
        (done,) = broker.told(ReplicaMoveCompleted)
        assert (done.log_end_offset, done.copied_bytes) == (40, begun.size)
        assert broker.bugs == []
        await broker.stop()

    run(scenario)


def test_what_has_moved_is_found_at_the_next_start() -> None:
    disk = MemoryFileSystem()
    values: list[str] = []

    async def before() -> None:
        broker = Broker(disk)
        await broker.start()
        values.extend(broker.fill())
        await broker.order("/b")
        await broker.moved("/b")
        await broker.stop()

    async def after() -> None:
        broker = Broker(disk)
        await broker.start()
        assert broker.log.directory == "/b/t-0"
        assert broker.values() == values
        assert broker.log.high_watermark == 40
        assert broker.folders() == ["/b/t-0"]

    run(before)
    run(after)


def test_it_catches_up_although_records_come_all_the_time() -> None:
    """A batch arrives in every turn of the loop. The swap happens between two batches."""

    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        values = broker.fill(100)
        await broker.order("/b")
        for number in itertools.count():
            values.append(f"new {number}")
            broker.produce(values[-1])
            await asyncio.sleep(0)
            if broker.log.log_dir == "/b":
                break
        for number in range(20):
            values.append(f"later {number}")
            broker.produce(values[-1])
            await asyncio.sleep(0)
        assert broker.values() == values
        await broker.moved("/b")

    run(scenario)


SHORT, LONG = ["meanwhile"], ["." * 30_000] * 3


@pytest.mark.parametrize(
    ("records", "meanwhile", "by_worker", "by_loop"),
    [
        (2, [], [2], []),
        (60, [SHORT], [60], [61]),
        (60, [LONG, SHORT], [60, 63], [64]),
        (2, [LONG, LONG], [2, 5, 8], []),
    ],
    ids=["a small copy", "and a record more", "and many more", "and many more again"],
)
def test_a_worker_flushes_the_copy_and_the_loop_only_a_short_rest_that_was_flushed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
    records: int,
    meanwhile: list[list[str]],
    by_worker: list[int],
    by_loop: list[int],
) -> None:
    """While the worker flushes the copy, the replica gets more records, which are flushed too."""
    disk, values = MemoryFileSystem(), [f"{number} {'.' * 3000}" for number in range(records)]
    flushed_by_loop: list[int] = []
    flush = Log.flush

    def noted(log: Log, *arguments: int) -> None:
        if log.directory.endswith("-future"):
            flushed_by_loop.append(log.log_end_offset)
        flush(log, *arguments)

    async def before() -> None:
        flushed_by_worker: list[int] = []
        more = iter(meanwhile)

        async def worker(call: Callable[[], object]) -> object:
            result = call()
            future = broker.logs.get_future_log(T)
            if future is not None and getattr(call, "__name__", "") == "flush":
                flushed_by_worker.append(future.log_end_offset)
                for value in next(more, []):
                    values.append(value)
                    broker.produce(value)
                broker.log.flush()
            return result

        broker = Broker(
            disk,
            {"segment.bytes": "10000000"},
            run_blocking=worker,
            fetch_max_bytes=1 << 20,
        )
        await broker.start()
        for value in values:
            broker.produce(value)
        broker.log.flush()
        monkeypatch.setattr(Log, "flush", noted)
        await broker.order("/b")
        await broker.moved("/b")
        assert (flushed_by_worker, flushed_by_loop) == (by_worker, by_loop)
        assert broker.log.recovery_point == len(values)

    async def after() -> None:
        broker = Broker(disk)
        await broker.start()
        assert broker.folders() == ["/b/t-0"]
        assert broker.values() == values

    run(before)
    disk.lose_power()
    disk.restart()
    run(after)


def test_the_log_start_moves_with_it_also_into_a_batch() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        broker.fill(20)
        broker.produce("x", "y", "z")
        broker.produce("end")
        delete_records_on_leader(broker.partition, 21)
        await broker.order("/b")
        await broker.moved("/b")
        log = broker.log
        assert (log.log_start_offset, log.segments.first_base) == (21, 20)
        assert broker.values() == ["y", "z", "end"]
        await broker.stop()

    run(scenario)


@pytest.mark.parametrize("copied", [5, 35])
def test_records_that_are_deleted_meanwhile_do_not_come_back(copied: int) -> None:
    """It does not matter whether the deleted records were copied already, or whether the broker is
    killed after the swap.
    """
    disk = MemoryFileSystem()

    async def scenario() -> None:
        broker = Broker(disk)
        await broker.start()
        values = broker.fill()
        await broker.order("/b")
        await broker.until(lambda: _copied(broker) >= copied)
        assert _copied(broker) < copied + 5
        delete_records_on_leader(broker.partition, 30)
        await broker.moved("/b")
        assert broker.values() == values[30:]  # and then it is killed

    async def after() -> None:
        broker = Broker(disk)
        await broker.start()
        assert (broker.log.log_start_offset, broker.log.log_end_offset) == (30, 40)

    run(scenario)
    run(after)


def _copied(broker: Broker) -> int:
    future = broker.partition.future_log
    return future.log_end_offset if future is not None else -1


def test_a_producers_retry_after_the_swap_is_known() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        first = broker.produce("a", producer_id=7, sequence=0)
        broker.produce("b", producer_id=7, sequence=1)
        await broker.order("/c")
        await broker.moved("/c")
        assert broker.produce("a", producer_id=7, sequence=0) == first, "a duplicate"
        assert broker.produce("c", producer_id=7, sequence=2) == 2
        with pytest.raises(KafkaException) as refused:
            broker.produce("e", producer_id=7, sequence=4)
        assert refused.value.error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert broker.values() == ["a", "b", "c"]

    run(scenario)


def test_the_epochs_move_with_it_also_one_without_records() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        broker.produce("of the first epoch")
        await broker.elect()
        broker.produce("of the second")
        await broker.elect()
        wanted = broker.log.leader_epoch_cache.entries
        assert [entry.epoch for entry in wanted] == [1, 2, 3]
        await broker.order("/b")
        await broker.moved("/b")
        assert broker.log.leader_epoch_cache.entries == wanted
        assert last_offset_for_leader_epoch(broker.partition, 3, 1, True) == (1, 1)

    run(scenario)


def test_truncation_of_the_replica_truncates_the_copy() -> None:
    """A follower truncates its log, and gets other records in place of the old ones."""

    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        values = broker.fill()
        await broker.order("/b")
        await broker.until(lambda: _copied(broker) >= 30)
        await broker.elect(leader=1)
        broker.partition.truncate_to(12, broker.logs)
        await broker.elect()
        broker.produce("another")
        await broker.moved("/b")
        assert broker.values() == [*values[:12], "another"]
        told = broker.told(FutureLogTruncated)
        assert [event.after for event in told] == [12]
        assert [entry.epoch for entry in broker.log.leader_epoch_cache.entries] == [1, 3]

    run(scenario)


def test_a_replica_that_is_emptied_meanwhile_begins_its_copy_again() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        broker.fill()
        await broker.order("/b")
        await broker.until(lambda: _copied(broker) >= 30)
        await broker.elect(leader=1)
        broker.partition.truncate_fully_and_start_at(100, broker.logs)
        await broker.elect()
        broker.produce("far away")
        await broker.moved("/b")
        assert broker.values() == ["far away"]
        assert broker.log.log_start_offset == 100

    run(scenario)


def test_a_piece_that_was_read_from_a_log_that_changed_is_dropped() -> None:
    """A worker reads a piece while the replica is truncated and gets other records."""

    async def scenario() -> None:
        held, reads = asyncio.Event(), []

        async def slow(call):  # type: ignore[no-untyped-def]
            result = call()
            if isinstance(call, partial) and call.func is part_bytes:
                reads.append(call)
                await held.wait()
            return result

        broker = Broker(
            MemoryFileSystem(),
            {"segment.bytes": "10000000"},
            run_blocking=slow,
            fetch_max_bytes=1 << 20,
        )
        await broker.start()
        for number in range(4):
            broker.produce(f"{number}" * 40_000)
        await broker.order("/b")
        await broker.until(lambda: len(reads) == 1)
        await broker.elect(leader=1)
        broker.partition.truncate_to(1, broker.logs)
        await broker.elect()
        for _ in range(3):
            broker.produce("new" * 40_000)
        held.set()
        await broker.moved("/b")
        assert broker.values() == ["0" * 40_000, *["new" * 40_000] * 3]

    run(scenario)


def test_one_replica_at_a_time_in_the_order_of_partitions() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        broker.fill()
        await broker.order("/b")
        thread = broker.moves._of[T]
        (move,) = thread.moves
        assert thread.next_move(0) is move
        new_partition = broker.manager.controller_orders._new_partition
        earlier, later = (
            ReplicaMove(new_partition(T._replace(topic=topic)), move.current, move.future, 0)
            for topic in ("a", "z")
        )
        thread.add(later)
        thread.add(earlier)
        assert thread.next_move(0) is move, "it is copied to its end first"
        assert thread.remove(later.topic_partition) is later
        assert thread.next_move(0) is move, "another one was stopped"
        move.delayed_until_ms = 100
        assert thread.next_move(99) is earlier
        thread.remove(earlier.topic_partition)
        assert thread.next_move(99) is None
        thread.add(later)
        assert thread.next_move(100) is move, "t comes before z"

    run(scenario)


def test_a_log_of_an_old_format_has_no_epochs_and_moves_too() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem(), {"message.format.version": "0.10.2"})
        await broker.start()
        for number in range(10):
            broker.produce(f"{number}")
        assert broker.log.latest_epoch == -1
        await broker.order("/b")
        await broker.until(lambda: _copied(broker) >= 4)
        await broker.elect(leader=1)
        broker.partition.truncate_to(2, broker.logs)
        await broker.elect()
        broker.produce("new")
        await broker.moved("/b")
        assert broker.values() == ["0", "1", "new"]
        assert [event.after for event in broker.told(FutureLogTruncated)] == [2]

    run(scenario)


def test_open_and_aborted_transactions_move_with_it() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        send(broker.log, 0, producer=1, transactional=True)
        end(broker.log, 1)
        send(broker.log, 0, producer=2, transactional=True)
        broker.produce("plain")
        wanted = broker.log.last_stable_offset
        assert (wanted, broker.log.log_end_offset) == (2, 4)
        await broker.order("/b")
        await broker.moved("/b")
        log = broker.log
        assert log.last_stable_offset == wanted
        aborted = [entry for segment in log.segments for entry in segment.txn_index.entries()]
        assert [(one.producer_id, one.first_offset, one.last_offset) for one in aborted] == [
            (1, 0, 1)
        ]
        end(log, 2, ControlRecordType.COMMIT)
        broker.produce("later")
        assert log.last_stable_offset == log.high_watermark == 6

    run(scenario)


def test_followers_and_the_high_watermark_know_their_place_in_the_new_log() -> None:
    """The first segment of the copy begins at another offset, because the log start has moved."""

    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        broker.fill(10)
        delete_records_on_leader(broker.partition, 5)
        follower = broker.partition.follower(1)
        assert follower is not None
        follower.log_end_offset = broker.log.convert_to_offset_metadata(8)
        before = follower.log_end_offset, broker.log.high_watermark_metadata
        assert [place.segment_base_offset for place in before] == [0, 0]
        await broker.order("/b")
        await broker.moved("/b")
        log = broker.log
        assert follower.log_end_offset == log.convert_to_offset_metadata(8)
        assert follower.log_end_offset.segment_base_offset == 5
        assert log.high_watermark_metadata == log.log_end_offset_metadata
        broker.produce("more")
        assert log.high_watermark == 11

    run(scenario)


def test_segments_that_the_copy_has_dropped_are_removed_from_its_new_folder() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem(), {"file.delete.delay.ms": "1000"})
        await broker.start()
        broker.fill()
        await broker.order("/b")
        await broker.until(lambda: _copied(broker) >= 35)
        await broker.elect(leader=1)
        broker.partition.truncate_to(2, broker.logs)
        await broker.elect()
        await broker.until(lambda: broker.log.log_dir == "/b")
        assert [name for name in broker.disk.list("/b/t-0") if name.endswith(".deleted")]
        for _ in range(5):
            broker.time.advance(1000)
            await asyncio.sleep(0)
        await broker.until(
            lambda: not [n for n in broker.disk.list("/b/t-0") if n.endswith(".deleted")]
        )

    run(scenario)
