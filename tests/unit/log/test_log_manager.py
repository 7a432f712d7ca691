import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.leader_epoch_file_cache import LeaderEpochFileCache
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager, LogManagerSettings
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.events.log import (
    ActiveSegment,
    LogDirFailed,
    LogForecast,
    LogLoaded,
    LogRecovered,
    LogState,
    SegmentFilesRemoved,
    SegmentRolled,
)
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import BROKER_DEFAULTS, PRODUCER_ID_EXPIRATION_MS
from tests.waiting import PATIENCE_S

T = TypeVar("T")
A, B, C = (TopicPartition("t", i) for i in range(3))
CONFIG = LogConfig.parse(
    {
        "segment.bytes": "400",
        "segment.index.bytes": "480",
        "retention.bytes": "150",
        "retention.ms": "-1",
        "file.delete.delay.ms": "5000",
    }
)


async def inline(call: Callable[[], T]) -> T:
    await asyncio.sleep(0)
    return call()


class StillTime(MockTime):
    """A clock whose sleepers wake when it is advanced far enough, and not before."""

    async def sleep(self, ms: float) -> None:
        until = self.hi_res_clock_ms() + ms
        while self.hi_res_clock_ms() < until:
            await asyncio.sleep(0)


class Broker:
    def __init__(self, disk: MemoryFileSystem, *dirs: str) -> None:
        self.time = StillTime()
        self.trace = Tracer(Source.of_broker(0), self.time)
        self.ring = RingSink()
        self.trace.add_sink(self.ring)
        self.failed: list[tuple[str, list[TopicPartition]]] = []
        self.logs = LogManager(
            LogManagerSettings(
                dirs or ("/a",),
                CONFIG,
                BROKER_DEFAULTS.num_recovery_threads_per_data_dir,
                PRODUCER_ID_EXPIRATION_MS,
            ),
            disk,
            self.time,
            inline,
            self.trace,
            on_log_dir_failure=lambda log_dir, _, lost: self.failed.append((log_dir, list(lost))),
        )

    def told(self, kind: type[Event]) -> list[Any]:
        return [e.event for e in self.ring.events if isinstance(e.event, kind)]

    def forecast(self) -> LogForecast:
        """Return the only log's forecast."""
        samples = [one.event for one in self.trace.snapshot()]
        (found,) = [one for one in samples if isinstance(one, LogForecast)]
        return found

    def produce(self, tp: TopicPartition, batches: int = 1) -> None:
        log = self.logs.get_log(tp)
        assert log is not None
        for _ in range(batches):
            log.append_as_leader(
                build_batch([Record(0, 5, b"k", b"v" * 20)]), 0, self.time.milliseconds()
            )


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_clean_end_and_a_new_start_find_everything_and_recover_nothing() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        await broker.logs.load_logs()
        for tp in (A, B):
            broker.logs.get_or_create_log(tp)
            broker.produce(tp, 10)
        await broker.logs.shutdown()
        assert disk.exists("/a/.kafka_cleanshutdown")
        assert disk.read("/a/recovery-point-offset-checkpoint") == b"0\n2\nt 0 10\nt 1 10\n"
        again = Broker(disk)
        await again.logs.load_logs({"t": CONFIG})
        assert not disk.exists("/a/.kafka_cleanshutdown"), "so that a crash is noticed next time"
        assert sorted(again.logs.logs) == [A, B]
        assert [e.log_end_offset for e in again.told(LogLoaded)] == [10, 10]
        assert again.told(LogRecovered) == []

    run(scenario)


@pytest.mark.parametrize("workers", [1, 3])
def test_logs_are_flushed_and_closed_by_as_many_workers_as_each_dir_has(workers: int) -> None:
    """The number of workers is num.recovery.threads.per.data.dir. The loop does none of this work,
    because it would be blocked while thousands of logs are closed.
    """

    async def scenario() -> None:
        disk = MemoryFileSystem()
        at_work: list[str] = []
        most = {"flush": 0, "close": 0}
        on_the_loop = True

        async def in_a_worker(call: Callable[[], T]) -> T:
            nonlocal on_the_loop
            owner = getattr(call, "__self__", None)
            kind = (
                "close"
                if isinstance(owner, Log)
                else "flush"
                if "flush" in getattr(call, "__qualname__", "")
                else ""
            )
            at_work.append(kind)
            if kind:
                most[kind] = max(most[kind], at_work.count(kind))
            for _ in range(3):
                await asyncio.sleep(0)
            on_the_loop = False
            try:
                return call()
            finally:
                on_the_loop = True
                at_work.remove(kind)

        logs = LogManager(
            LogManagerSettings(("/a", "/b"), CONFIG, workers, PRODUCER_ID_EXPIRATION_MS),
            disk,
            StillTime(),
            in_a_worker,
            None,
        )
        await logs.load_logs()
        for number in range(10):
            log = logs.get_or_create_log(TopicPartition("t", number))
            log.append_as_leader(build_batch([Record(0, 5, b"k", b"v")]), 0, 1)
        closed = Log.close
        closed_on_loop: list[bool] = []

        def close(self: Log) -> None:
            closed_on_loop.append(on_the_loop)
            closed(self)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Log, "close", close)
            await logs.shutdown()
        assert closed_on_loop == [False] * 10
        assert most == {"flush": 2 * workers, "close": 2 * workers}, "five logs in each of two dirs"
        assert logs.logs == {}
        assert disk.exists("/a/.kafka_cleanshutdown")
        assert disk.exists("/b/.kafka_cleanshutdown")

    run(scenario)


def test_a_disk_that_fails_at_the_end_leaves_its_dir_unclean() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk, "/a", "/b")
        await broker.logs.load_logs()
        for tp in (A, B):
            broker.logs.get_or_create_log(tp)
            broker.produce(tp, 1)
        failing = broker.logs.get_log(A)
        assert failing is not None

        def close() -> None:
            raise OSError(5, "Input/output error")

        failing.close = close  # type: ignore[method-assign]
        await broker.logs.shutdown()
        dirs = {failing.log_dir, "/a" if failing.log_dir == "/b" else "/b"}
        assert len(dirs) == 2
        assert not disk.exists(f"{failing.log_dir}/.kafka_cleanshutdown")
        assert all(
            disk.exists(f"{other}/.kafka_cleanshutdown") for other in dirs - {failing.log_dir}
        )
        assert [event.log_dir for event in broker.told(LogDirFailed)] == [failing.log_dir]

    run(scenario)


def test_after_a_crash_logs_are_recovered_from_their_checkpoints() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        await broker.logs.load_logs()
        broker.logs.get_or_create_log(A)
        broker.produce(A, 10)
        await settle()
        await broker.logs.checkpoint_recovery_point_offsets()
        broker.produce(A)
        again = Broker(disk)
        await again.logs.load_logs()
        (recovered,) = again.told(LogRecovered)
        assert (recovered.recovery_point, recovered.segments, recovered.log_end_offset) == (
            8,
            1,
            11,
        )

    run(scenario)


@pytest.mark.parametrize("content", [b"0\n1\nt 0", b"\0" * 20])
def test_a_torn_checkpoint_means_recovering_all(content: bytes) -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        await broker.logs.load_logs()
        broker.logs.get_or_create_log(A)
        broker.produce(A, 10)
        for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
            disk.write_atomically(f"/a/{name}", content)
        again = Broker(disk)
        await again.logs.load_logs()
        assert again.told(LogRecovered)[0].recovery_point == 0
        assert again.told(LogLoaded)[0].log_end_offset == 10

    run(scenario)


def test_a_rolled_segment_is_flushed_without_being_asked() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        log = broker.logs.get_or_create_log(A)
        broker.produce(A, 10)
        assert log.recovery_point == 0
        await settle()
        assert len(broker.told(SegmentRolled)) == len(log.segments) - 1 > 0
        assert log.recovery_point == log.active_segment.base_offset

    run(scenario)


def test_a_flush_that_meets_a_deleted_log_says_nothing_about_the_new_one_of_that_name() -> None:
    async def gone(call: Callable[[], T]) -> T:
        await settle()
        raise FileNotFoundError(2, "No such file or directory")

    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        for lost in ([], [("/a", [A])]):
            broker.logs._run_blocking = inline
            broker.logs.get_or_create_log(A)
            broker.produce(A)
            await settle()
            broker.logs._run_blocking = gone
            broker.produce(A, 9)
            await asyncio.sleep(0)  # a worker has the segments that were rolled
            if not lost:
                broker.logs._run_blocking = inline
                await broker.logs.delete_logs([A])
                broker.logs.get_or_create_log(A)
            await settle()
            await settle()
            assert broker.failed == lost

    run(scenario)


def test_files_of_epochs_are_written_by_a_worker() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        logs = [broker.logs.get_or_create_log(tp) for tp in (A, B, C)]
        for log in logs:
            log.maybe_assign_epoch_start_offset(4, 0, begins=True)
        files = [f"{log.directory}/leader-epoch-checkpoint" for log in logs]
        assert not any(map(disk.exists, files))
        logs[0].append_as_leader(build_batch([Record(0, 5, b"k", b"v")]), 5, 0)
        assert not any(map(disk.exists, files)), "the loop does not wait for the disk"
        await settle()
        assert disk.read(files[0]) == b"0\n1\n5 0\n", (
            "soon after its first record, without being asked"
        )
        broker.logs.write_leader_epochs()
        await broker.logs.delete_logs([B])
        await settle()
        assert disk.read(files[2]) == b"0\n1\n4 0\n"
        logs[2].maybe_assign_epoch_start_offset(6, 0, begins=True)
        broker.logs.write_leader_epochs()
        await asyncio.sleep(0)
        await broker.logs.delete_logs([C])  # when the worker has it already
        broker.logs.get_or_create_log(C)
        await settle()
        assert not disk.exists(files[2]), "the new log of that name is not the old one's"
        assert broker.failed == []

    run(scenario)


@pytest.mark.parametrize("turns", range(6))
def test_the_file_of_an_epoch_is_written_at_whatever_turn_of_the_loop_the_epoch_begins(
    turns: int,
) -> None:
    """The file is written even if the epoch begins in the turn in which the previous write ends."""

    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        logs = [broker.logs.get_or_create_log(tp) for tp in (A, B)]
        broker.produce(A)
        for _ in range(turns):
            await asyncio.sleep(0)
        broker.produce(B)
        await settle()
        assert [disk.read(f"{log.directory}/leader-epoch-checkpoint") for log in logs] == [
            b"0\n1\n0 0\n"
        ] * 2

    run(scenario)


def test_a_disk_that_refuses_the_file_of_an_epoch_takes_its_dir_offline() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem(capacity=0)
        broker = Broker(disk)
        log = broker.logs.get_or_create_log(A)
        log.maybe_assign_epoch_start_offset(4, 0, begins=True)
        broker.logs.write_leader_epochs()
        await settle()
        assert broker.failed == [("/a", [A])]

    run(scenario)


def test_a_deleted_log_leaves_the_memory_without_the_garbage_collector() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        broker.logs.get_or_create_log(A)
        broker.produce(A, 10)
        await settle()
        log = weakref.ref(broker.logs.logs[A])
        await broker.logs.delete_logs([A])
        broker.time.advance(5000)
        await settle()
        assert log() is None

    gc.collect()
    gc.disable()
    try:
        run(scenario)
    finally:
        gc.enable()


def test_what_retention_deletes_is_gone_from_the_disk_after_the_delay() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        log = broker.logs.get_or_create_log(A)
        broker.produce(A, 10)
        log.update_high_watermark(10)
        await broker.logs.cleanup_logs(broker.time.milliseconds())
        assert log.log_start_offset == 8
        assert not any(n.endswith(".deleted") for n in disk.list("/a/t-0")), (
            "the loop does not wait for the disk"
        )
        await settle()
        gone = [n for n in disk.list("/a/t-0") if n.endswith(".log.deleted")]
        assert len(gone) == 2
        due_ms = broker.time.milliseconds() + 5000
        doomed = [(one.base_offset, one.at_ms) for one in broker.forecast().doomed]
        assert doomed == [(0, due_ms), (4, due_ms)], "the log screen counts down to it"
        broker.time.advance(4999)
        await settle()
        assert [n for n in disk.list("/a/t-0") if n.endswith(".log.deleted")] == gone
        broker.time.advance(1)
        await settle()
        assert [n for n in disk.list("/a/t-0") if n.endswith(".deleted")] == []
        assert [e.base_offset for e in broker.told(SegmentFilesRemoved)] == [0, 4]
        assert broker.forecast().doomed == ()
        await broker.logs.checkpoint_log_start_offsets()
        assert disk.read("/a/log-start-offset-checkpoint") == b"0\n0\n", "the first segment says it"
        log.maybe_increment_log_start_offset(9)
        await broker.logs.checkpoint_log_start_offsets()
        assert disk.read("/a/log-start-offset-checkpoint") == b"0\n1\nt 0 9\n"

    run(scenario)


def test_until_a_worker_has_renamed_it_a_kill_brings_back_no_record_that_was_given_up() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        log = broker.logs.get_or_create_log(A)
        broker.produce(A, 10)
        await settle()
        log.update_high_watermark(10)
        log.maybe_increment_log_start_offset(4)
        log.delete_old_segments(broker.time.milliseconds())
        checkpoint = broker.logs.checkpoint_log_start_offsets()
        names = disk.list("/a/t-0")
        await checkpoint
        assert not any(name.endswith(".deleted") for name in names), "the worker is still to come"
        assert disk.read("/a/log-start-offset-checkpoint") == b"0\n1\nt 0 8\n"

    run(scenario)


@pytest.mark.parametrize("turns", range(5))
@pytest.mark.parametrize("act", ["begin again", "delete", "shut down", "truncate"])
def test_whatever_comes_while_a_worker_renames_old_segments(act: str, turns: int) -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        await broker.logs.load_logs()
        log = broker.logs.get_or_create_log(A)
        broker.produce(A, 10)
        await settle()
        log.update_high_watermark(10)
        assert log.delete_old_segments(broker.time.milliseconds()) == 2
        for _ in range(turns):
            await asyncio.sleep(0)
        match act:
            case "begin again":
                log.truncate_fully_and_start_at(0)
                assert (log.size, log.log_end_offset) == (0, 0), "not the old file of that name"
                broker.produce(A)
            case "delete":
                await broker.logs.delete_logs([A])
                log = broker.logs.get_or_create_log(A)
                broker.produce(A)
            case "truncate":
                log.update_high_watermark(8)
                log.truncate_to(8)
            case "shut down":
                await broker.logs.shutdown()
        await settle()
        assert broker.failed == []
        begins = {"truncate": 8, "shut down": 8}.get(act, 0)
        assert [n for n in disk.list("/a/t-0") if n.endswith(".log")] == [f"{begins:020d}.log"]
        broker.time.advance(5000)
        await settle()
        deleted = [name for name in disk.list("/a/t-0") if name.endswith(".deleted")]
        assert act == "shut down" or deleted == []
        again = Broker(disk)
        await again.logs.load_logs()
        assert again.logs.logs[A].log_start_offset == begins
        assert again.logs.logs[A].log_end_offset == {"truncate": 8, "shut down": 10}.get(act, 1)

    run(scenario)


def test_a_deleted_log_makes_room_at_once_and_its_folder_goes_later() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        broker.logs.get_or_create_log(A)
        broker.produce(A, 3)
        await broker.logs.delete_logs([A])
        assert broker.logs.get_log(A) is None
        assert broker.logs.get_or_create_log(A).log_end_offset == 0
        assert len(disk.list("/a")) == 2
        broker.time.advance(5000)
        await settle()
        assert disk.list("/a") == ["t-0"]
        await broker.logs.delete_logs([A])
        again = Broker(disk)
        await again.logs.load_logs()
        await settle()
        assert disk.list("/a") == [], "a folder that a crash left is removed at the start"

    run(scenario)


def test_new_logs_go_where_the_fewest_are() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem(), "/a", "/b")
        await broker.logs.load_logs()
        assert [broker.logs.get_or_create_log(tp).log_dir for tp in (A, B, C)] == ["/a", "/b", "/a"]

    run(scenario)


def test_a_new_log_goes_once_where_it_is_wished_and_nowhere_else_if_that_dir_has_failed() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem(), "/a", "/b")
        await broker.logs.load_logs()
        for tp in (A, B):
            broker.logs.prefer_log_dir(tp, "/b")
        assert broker.logs.get_or_create_log(A).log_dir == "/b"
        await broker.logs.delete_logs([A])
        assert broker.logs.get_or_create_log(A).log_dir == "/a", (
            "the wish was for the log that is gone"
        )
        broker.logs.handle_log_dir_failure("/b", OSError(5, "Input/output error"))
        with pytest.raises(KafkaException) as refused:
            broker.logs.get_or_create_log(B)
        assert refused.value.error is Errors.KAFKA_STORAGE_ERROR
        assert broker.logs.get_log(B) is None

    run(scenario)


def test_a_failed_dir_takes_only_its_own_logs_offline() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk, "/a", "/b")
        await broker.logs.load_logs()
        for tp in (A, B):
            broker.logs.get_or_create_log(tp)
        disk.capacity = disk.used()
        with pytest.raises(KafkaException) as refused:
            broker.produce(A)
        assert refused.value.error is Errors.KAFKA_STORAGE_ERROR
        assert broker.failed == [("/a", [A])]
        assert len(broker.told(LogDirFailed)) == 1
        assert broker.logs.live_log_dirs == ["/b"]
        disk.capacity = None
        broker.produce(B)
        assert broker.logs.get_log(A) is None
        with pytest.raises(KafkaException) as refused:
            broker.logs.get_or_create_log(A, is_new=False)
        assert refused.value.error is Errors.KAFKA_STORAGE_ERROR
        assert broker.logs.get_or_create_log(C).log_dir == "/b"

    run(scenario)


@pytest.mark.parametrize("held", ["/a", "/b"])
def test_log_dirs_are_recovered_side_by_side(held: str) -> None:
    """The recovery of one dir is held until the other dir is done. If dirs were recovered one after
    the other, this would never end.
    """

    async def scenario() -> None:
        disk = MemoryFileSystem()
        crashed = Broker(disk, "/a", "/b")
        await crashed.logs.load_logs()
        for tp in (A, B):
            crashed.logs.get_or_create_log(tp)
            crashed.produce(tp, 3)
        other_done = asyncio.Event()

        async def in_a_worker(call: Callable[[], T]) -> T:
            result = call()
            if isinstance(result, tuple) and isinstance(result[0], Log):
                if result[0].log_dir == held:
                    await other_done.wait()
                else:
                    other_done.set()
            return result

        logs = LogManager(
            LogManagerSettings(
                ("/a", "/b"),
                CONFIG,
                BROKER_DEFAULTS.num_recovery_threads_per_data_dir,
                PRODUCER_ID_EXPIRATION_MS,
            ),
            disk,
            StillTime(),
            in_a_worker,
        )
        await logs.load_logs()
        assert {tp: (log.log_dir, log.log_end_offset) for tp, log in logs.logs.items()} == {
            A: ("/a", 3),
            B: ("/b", 3),
        }

    run(scenario)


@pytest.mark.parametrize("workers", [1, 2])
def test_each_dir_has_its_own_recovery_threads(workers: int) -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        crashed = Broker(disk, "/a", "/b")
        await crashed.logs.load_logs()
        for number in range(10):
            crashed.logs.get_or_create_log(TopicPartition("t", number))
        at_work = most = 0

        async def in_a_worker(call: Callable[[], T]) -> T:
            nonlocal at_work, most
            at_work += 1
            result = call()
            if isinstance(result, tuple) and isinstance(result[0], Log):
                most = max(most, at_work)
            for _ in range(5):
                await asyncio.sleep(0)
            at_work -= 1
            return result

        await LogManager(
            LogManagerSettings(("/a", "/b"), CONFIG, workers, PRODUCER_ID_EXPIRATION_MS),
            disk,
            StillTime(),
            in_a_worker,
        ).load_logs()
        assert most == 2 * workers

    run(scenario)


def test_a_partition_in_two_dirs_is_an_error_that_names_both() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        for folder in ("/a/t-0", "/b/t-0"):
            disk.make_dirs(folder)
        found = "Duplicate log directories for t-0 are found in both /b/t-0 and /a/t-0"
        with pytest.raises(KafkaException, match=found):
            await Broker(disk, "/a", "/b").logs.load_logs()

    run(scenario)


def test_a_dir_that_fails_while_its_logs_are_removed_goes_offline_and_is_touched_no_more() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk, "/a", "/b")
        await broker.logs.load_logs()
        for tp in (A, B, C):
            broker.logs.get_or_create_log(tp)
            broker.produce(tp)
        await broker.logs.delete_logs([A])
        await broker.logs.delete_logs([C])
        disk.break_folder("/a")
        broker.time.advance(5000)
        await settle()
        assert broker.failed == [("/a", [])]
        assert list(broker.logs.logs) == [B]

    run(scenario)


def test_no_dir_left_is_an_error() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        disk.open("/a").append([b"a file where a folder should be"])
        with pytest.raises(KafkaException) as refused:
            await Broker(disk).logs.load_logs()
        assert refused.value.error is Errors.KAFKA_STORAGE_ERROR

    run(scenario)


def test_flush_ms_and_truncation_reach_every_log() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        log = broker.logs.get_or_create_log(A, CONFIG.with_overrides({"flush.ms": "1000"}))
        broker.produce(A, 3)
        await broker.logs.flush_dirty_logs(log.last_flushed_ms + 999)
        assert log.recovery_point == 0
        await broker.logs.flush_dirty_logs(log.last_flushed_ms + 1000)
        assert log.recovery_point == 3
        broker.logs.truncate_to({A: 2, B: 1})
        assert log.log_end_offset == 2
        broker.logs.truncate_fully_and_start_at(A, 7)
        assert log.log_end_offset == 7
        broker.logs.update_topic_config("t", CONFIG)
        assert log.config is CONFIG

    run(scenario)


def test_a_snapshot_tells_every_log() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        broker.logs.get_or_create_log(A)
        broker.produce(A, 5)
        state, expected = [e.event for e in broker.trace.snapshot()]
        assert isinstance(state, LogState)
        assert isinstance(expected, LogForecast)
        assert (expected.oldest_base, expected.doomed) == (0, ())
        assert (
            state.topic,
            state.partition,
            state.log_end_offset,
            [s.base_offset for s in state.segments],
        ) == ("t", 0, 5, [0, 4])
        samples = [type(e.event) for e in broker.trace.gauges()]
        assert samples == [ActiveSegment, LogForecast]
        assert len(broker.trace.gauges()) == 0, "nothing has changed since"

    run(scenario)


@pytest.mark.parametrize("work", ["flush", "epochs"])
def test_a_worker_that_looks_into_a_folder_just_renamed_does_its_work_again(
    work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop renames the folder of a moved replica while a worker forces or writes its files."""

    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        await broker.logs.load_logs()
        log = broker.logs.get_or_create_log(A)
        broker.produce(A)
        calls: list[str] = []
        of, name = (LogSegment, "flush") if work == "flush" else (LeaderEpochFileCache, "write")
        plain = getattr(of, name)

        def renamed_meanwhile(self: object) -> None:
            calls.append(log.directory)
            if len(calls) == 1:
                log.rename_dir("/a/renamed-0")
                raise FileNotFoundError(2, "no such file", "/a/t-0")
            plain(self)

        monkeypatch.setattr(of, name, renamed_meanwhile)
        if work == "flush":
            await broker.logs.flush_dirty_logs(1 << 64)
            assert log.recovery_point == log.log_end_offset
        else:
            log.maybe_assign_epoch_start_offset(7, log.log_end_offset)
            broker.logs.write_leader_epochs()
            await settle()
            assert b"7 1" in disk.read("/a/renamed-0/leader-epoch-checkpoint")
        assert calls[:2] == ["/a/t-0", "/a/renamed-0"]
        assert broker.failed == []

    run(scenario)


def test_a_renamed_log_writes_all_its_files_into_the_new_folder() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        await broker.logs.load_logs()
        log = broker.logs.get_or_create_log(A)
        broker.produce(A, 10)
        before = disk.list("/a/t-0")
        log.rename_dir("/a/renamed-0")
        assert not disk.exists("/a/t-0")
        assert log.active_segment.log.path.startswith("/a/renamed-0/")
        broker.produce(A, 10)
        await settle()
        assert not disk.exists("/a/t-0")
        assert len(disk.list("/a/renamed-0")) > len(before) > 3
        await broker.logs.shutdown()
        assert not disk.exists("/a/t-0")

    run(scenario)
