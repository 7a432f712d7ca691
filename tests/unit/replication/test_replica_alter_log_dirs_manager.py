"""Moves between log dirs: begun, given up and resumed moves, dirs that fail, and a kill at each
change of the disk.
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.cleaner.clean_job import CleanJob, CleanResult
from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle
from kafka_edu.log.cleaner.log_cleaner import (
    CleanerConfig,
    LogCleaner,
)
from kafka_edu.log.log_file_names import MOVING_TO_FILE
from kafka_edu.log.offset_checkpoint_file import CLEANER_OFFSET_FILE
from kafka_edu.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaTopicV1
from kafka_edu.replication.replication_quota_manager import UNLIMITED
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.events.log import LogDeleted
from kafka_edu.trace.events.replication import (
    ReplicaMoveCompleted,
    ReplicaMoveEnded,
    ReplicaMoveProgress,
    ReplicaMoveStarted,
)
from tests.unit.log.cleaner.world import rows, write
from tests.unit.log.test_log import NOW
from tests.unit.log.test_log_manager import inline
from tests.unit.replication.killed_move import CHANGES, KilledMove
from tests.unit.replication.logs import stop_replicas
from tests.unit.replication.moving import Broker, T, run


def copied(broker: Broker) -> int:
    future = broker.partition.future_log
    return future.log_end_offset if future is not None else -1


async def begun(broker: Broker, log_dir: str = "/b") -> list[str]:
    """Start the broker, and have half of its replica copied."""
    await broker.start()
    values = broker.fill()
    assert await broker.order(log_dir) is Errors.NONE
    await broker.until(lambda: copied(broker) > 15)
    assert copied(broker) < 30
    return values


async def no_copies_left(broker: Broker, *folders: str) -> None:
    await broker.until(lambda: broker.folders() == list(folders))
    assert broker.logs.future_logs == {}
    assert not broker.moves.is_moving(T)
    assert not broker.logs.is_cleaning_paused(T)


def test_an_order_for_the_present_dir_cancels_the_move() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        values = await begun(broker)
        assert broker.disk.read(f"/a/t-0/{MOVING_TO_FILE}") == b"/b\n"
        assert await broker.order("/a") is Errors.NONE
        assert not broker.disk.exists(f"/a/t-0/{MOVING_TO_FILE}")
        await no_copies_left(broker, "/a/t-0")
        (ended,) = broker.told(ReplicaMoveEnded)
        assert ended.reason == "the replica is wanted in /a now"
        assert broker.values() == values
        assert broker.told(LogDeleted) == [], "the replica has its log"

    run(scenario)


def test_an_order_for_a_third_dir_gives_up_the_first_copy() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        values = await begun(broker)
        assert await broker.order("/c") is Errors.NONE
        await broker.moved("/c")
        await no_copies_left(broker, "/c/t-0")
        assert broker.values() == values
        assert [move.to_dir for move in broker.told(ReplicaMoveStarted)] == ["/b", "/c"]
        assert len(broker.told(ReplicaMoveEnded)) == len(broker.told(ReplicaMoveCompleted)) == 1

    run(scenario)


def test_the_same_order_again_changes_nothing() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await begun(broker)
        future = broker.partition.future_log
        assert await broker.order("/b") is Errors.NONE
        assert broker.partition.future_log is future
        await broker.moved("/b")
        assert await broker.order("/b") is Errors.NONE
        assert len(broker.told(ReplicaMoveStarted)) == 1

    run(scenario)


def test_to_and_fro() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        values = broker.fill()
        for log_dir in ("/b", "/a", "/c", "/a"):
            assert await broker.order(log_dir) is Errors.NONE
            await broker.until(lambda log_dir=log_dir: broker.log.log_dir == log_dir)  # type: ignore[misc]
            values.append(f"in {log_dir}")
            broker.produce(values[-1])
        await broker.moved("/a")
        assert broker.values() == values
        assert broker.bugs == []

    run(scenario)


def test_each_error_of_an_order() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        assert await broker.order("/nowhere") is Errors.LOG_DIR_NOT_FOUND
        long = TopicPartition("x" * 249, 0)
        assert await broker.order("/b", long) is Errors.INVALID_TOPIC_EXCEPTION
        unknown = TopicPartition("unknown", 0)
        assert await broker.order("/b", unknown) is Errors.UNKNOWN_TOPIC_OR_PARTITION
        broker.logs.handle_log_dir_failure("/c", OSError("broken"))
        assert await broker.order("/c") is Errors.KAFKA_STORAGE_ERROR
        assert await broker.order("/b") is Errors.KAFKA_STORAGE_ERROR, "/c may hold a copy too"
        assert await broker.order("/a") is Errors.NONE, "it is there"
        broker.logs.handle_log_dir_failure("/a", OSError("broken"))
        assert await broker.order("/b") is Errors.KAFKA_STORAGE_ERROR
        assert broker.logs.future_logs == {}

    run(scenario)


def test_the_dir_of_the_copy_fails() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        values = await begun(broker)
        broker.disk.break_folder("/b")
        await broker.until(lambda: not broker.moves.is_moving(T))
        assert broker.logs.live_log_dirs == ["/a", "/c"]
        assert broker.partition.future_log is None
        assert not broker.logs.is_cleaning_paused(T)
        assert broker.values() == values
        broker.produce("it goes on")
        (ended,) = broker.told(ReplicaMoveEnded)
        assert ended.reason.startswith("the log dir of the copy has failed")
        assert broker.bugs == []

    run(scenario)


def test_the_dir_of_the_replica_fails() -> None:
    """The copy cannot replace the replica, because it may lack records. It stays on the disk for
    the next start.
    """
    disk = MemoryFileSystem()
    values: list[str] = []

    async def scenario() -> None:
        broker = Broker(disk)
        values.extend(await begun(broker))
        disk.break_folder("/a")
        await broker.until(lambda: not broker.moves.is_moving(T))
        assert broker.partitions.is_offline(T)
        assert broker.partitions.get(T) is None
        (ended,) = broker.told(ReplicaMoveEnded)
        assert ended.reason == "the log dir of the replica has failed"
        assert broker.dirs.describe(None)["/b"][1]["t"][0][2:] == (-1, True)
        assert broker.bugs == []

    async def repaired() -> None:
        broker = Broker(disk)
        await broker.start()
        await broker.moved("/b")
        assert broker.values() == values

    run(scenario)
    disk.mend_folder("/a")
    run(repaired)


def test_the_dir_of_the_replica_is_bad_at_the_next_start() -> None:
    """No new log is made for the replica in another dir, and the copy is not used as the
    replica.
    """
    disk = MemoryFileSystem()

    async def scenario() -> None:
        await begun(Broker(disk))

    async def after() -> None:
        broker = Broker(disk, failed={"/a": OSError("broken")})
        await broker.start()
        assert broker.partitions.is_offline(T) or broker.partitions.get(T) is None
        assert broker.folders() == ["/a/t-0", "/b/t-0-future"]

    run(scenario)
    run(after)


def test_the_topic_is_deleted_while_it_moves() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await begun(broker)
        request = StopReplicaRequest(
            controller_id=1,
            controller_epoch=1,
            delete_partitions=True,
            topics=[StopReplicaTopicV1(name=T.topic, partition_indexes=[T.partition])],
        )
        answer = await stop_replicas(broker.manager.controller_orders, broker.logs, request, 1)
        assert answer.error_code == Errors.NONE
        assert broker.partitions.get(T) is None
        await no_copies_left(broker)
        (ended,) = broker.told(ReplicaMoveEnded)
        assert ended.reason == "the replica is deleted, because the controller said so"
        assert len(broker.told(LogDeleted)) == 1
        assert broker.bugs == []

    run(scenario)


def test_the_topic_is_deleted_and_made_again_right_after_the_swap() -> None:
    """The old folder is renamed before another log can take its name."""

    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await begun(broker)
        await broker.until(lambda: broker.log.log_dir == "/b")
        assert broker.disk.exists("/a/t-0")
        await broker.logs.delete_logs([T])
        assert not broker.disk.exists("/a/t-0")
        broker.partitions.remove(T)
        broker.logs.prefer_log_dir(T, "/a")
        await broker.elect()
        assert (broker.log.directory, broker.values()) == ("/a/t-0", [])

    run(scenario)


def test_a_stopped_replica_goes_on_when_the_controller_names_it_again() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        values = await begun(broker)
        request = StopReplicaRequest(
            controller_id=1,
            controller_epoch=1,
            topics=[StopReplicaTopicV1(name=T.topic, partition_indexes=[T.partition])],
        )
        await stop_replicas(broker.manager.controller_orders, broker.logs, request, 1)
        assert not broker.moves.is_moving(T)
        assert broker.folders() == ["/a/t-0", "/b/t-0-future"]
        await broker.elect()
        await broker.moved("/b")
        assert broker.values() == values
        assert [move.resumed for move in broker.told(ReplicaMoveStarted)] == [False, True]

    run(scenario)


@pytest.mark.parametrize("clean", [True, False])
def test_a_move_goes_on_after_a_start(clean: bool) -> None:
    disk = MemoryFileSystem()
    values: list[str] = []

    async def before() -> None:
        broker = Broker(disk)
        values.extend(await begun(broker))
        if clean:
            await broker.stop()

    async def after() -> None:
        broker = Broker(disk)
        await broker.start()
        (resumed,) = broker.told(ReplicaMoveStarted)
        assert resumed.resumed
        assert resumed.future_log_end_offset > 15
        await broker.moved("/b")
        assert broker.values() == values
        (done,) = broker.told(ReplicaMoveCompleted)
        assert 0 < done.copied_bytes < resumed.size * 3 // 4, "not all of it again"

    run(before)
    run(after)


def test_a_copy_in_the_replicas_own_dir_is_given_up() -> None:
    """So it looks when somebody has moved folders by hand."""
    disk = MemoryFileSystem()

    async def before() -> None:
        broker = Broker(disk)
        await begun(broker)
        await broker.stop()

    async def after() -> None:
        (name,) = [name for name in disk.list("/b") if name.endswith("-future")]
        disk.rename(f"/b/{name}", f"/a/{name}")
        broker = Broker(disk)
        await broker.start()
        await no_copies_left(broker, "/a/t-0")
        assert len(broker.values()) == 40

    run(before)
    run(after)


def test_retention_rests_while_a_replica_moves_if_there_is_a_cleaner() -> None:
    """As in Kafka: abortAndPauseCleaning keeps both from the log."""

    async def scenario() -> None:
        broker = Broker(MemoryFileSystem(), {"retention.bytes": "100"})
        broker.logs.cleaner_runs = True
        await begun(broker)
        before = broker.log.segments.first_base
        await broker.logs.cleanup_logs(5)
        assert broker.log.segments.first_base == before
        await broker.moved("/b")
        await broker.logs.cleanup_logs(5)
        assert broker.log.segments.first_base > before

    run(scenario)


def test_without_a_cleaner_retention_goes_on_for_both_logs() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem(), {"retention.bytes": "500"})
        values = await begun(broker)
        await broker.logs.cleanup_logs(5)
        start = broker.log.log_start_offset
        assert start > 20
        await broker.moved("/b")
        assert broker.log.log_start_offset == start
        assert broker.values() == values[start:]

    run(scenario)


def test_the_throttle_holds_the_copy_back_and_a_changed_one_lets_it_go() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await broker.start()
        broker.fill()
        broker.quotas.log_dirs.update_quota(40, broker.time.hi_res_clock_ms())
        await broker.order("/b")
        for _ in range(200):
            await asyncio.sleep(0)
        (sample,) = [e for e in broker.moves._progress() if isinstance(e, ReplicaMoveProgress)]
        assert sample.throttled
        assert 0 < sample.copied_bytes < 500, "one piece or two, then the rate is above 40 B/s"
        seen = sample.copied_bytes
        for _ in range(60):
            broker.time.advance(1000)
            for _ in range(5):
                await asyncio.sleep(0)
        (sample,) = [e for e in broker.moves._progress() if isinstance(e, ReplicaMoveProgress)]
        assert seen < sample.copied_bytes <= 60 * 40 + 500
        assert broker.log.log_dir == "/a"
        broker.quotas.log_dirs.update_quota(UNLIMITED, broker.time.hi_res_clock_ms())
        broker.time.advance(1000)
        await broker.moved("/b")

    run(scenario)


def test_describe_shows_the_copy_with_its_lag() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await begun(broker)
        future = broker.partition.future_log
        assert future is not None
        described = broker.dirs.describe(None)
        assert described["/a"] == (Errors.NONE, {"t": [(0, broker.log.size, 0, False)]})
        lag = 40 - future.log_end_offset
        assert described["/b"] == (Errors.NONE, {"t": [(0, future.size, lag, True)]})
        assert broker.dirs.describe(set())["/b"] == (Errors.NONE, {"t": []})

    run(scenario)


def test_high_watermarks_of_both_are_in_the_checkpoints_of_their_dirs() -> None:
    async def scenario() -> None:
        broker = Broker(MemoryFileSystem())
        await begun(broker)
        await broker.checkpoints.write(broker.partitions, broker.logs.handle_log_dir_failure)
        assert broker.checkpoints.read("/a") == {T: 40}
        assert 15 < broker.checkpoints.read("/b")[T] <= copied(broker)

    run(scenario)


def test_two_folders_of_one_replica_without_a_mark_are_an_error_and_nothing_is_touched() -> None:
    async def scenario() -> None:
        disk = MemoryFileSystem()
        broker = Broker(disk)
        await broker.start()
        broker.fill()
        await broker.stop()
        disk.make_dirs("/b/t-0")
        with pytest.raises(Exception, match="Duplicate log directories for t-0"):
            await Broker(disk).start()
        assert Broker(disk).folders() == ["/a/t-0", "/b/t-0"]

    run(scenario)


COMPACTED = {
    "cleanup.policy": "compact",
    "segment.index.bytes": "4096",
    "min.cleanable.dirty.ratio": "0.01",
}
LIVE = [(1, "b", "1"), (2, "a", "2"), (3, "c", "1")]
WHOLE = [(0, "a", "1"), *LIVE]


class Compacted(Broker):
    """A broker with a compacted log and a cleaner. The test starts each pass of the cleaner."""

    def __init__(self, disk: MemoryFileSystem) -> None:
        super().__init__(disk, COMPACTED)
        self.meanwhile: Callable[[], Awaitable[object]] = self._nothing
        """Called while a pass runs."""
        config = CleanerConfig(True, 0, 1 << 20, 0.9, 1e18, 15_000)
        self.cleaner = LogCleaner(
            config, self.logs, disk, self.time, self._run_job, inline, self._bug, self.trace
        )

    async def _nothing(self) -> None: ...

    async def _run_job(self, job: CleanJob) -> CleanResult:
        result = Cleaner(job, self.disk, no_throttle).clean()
        await self.meanwhile()
        return result

    async def dirty(self) -> None:
        """Offsets 0 to 3 in two frozen segments; 0 is superseded."""
        await self.start()
        await self.cleaner.start()
        for rows_of_segment in ((("a", "1"), ("b", "1")), (("a", "2"), ("c", "1"))):
            write(self.log, *rows_of_segment)
            self.log.roll(NOW)
        self.log.update_high_watermark(4)


def test_a_log_is_not_cleaned_while_it_moves_but_afterwards() -> None:
    async def scenario() -> None:
        broker = Compacted(MemoryFileSystem())
        await broker.dirty()
        await broker.order("/b")
        assert broker.logs.is_cleaning_paused(T)
        assert not await broker.cleaner.clean_filthiest()
        await broker.moved("/b")
        assert rows(broker.log) == WHOLE
        broker.log.roll(NOW)
        assert await broker.cleaner.clean_filthiest()
        assert rows(broker.log) == LIVE
        assert broker.bugs == []

    run(scenario)


def test_a_pass_that_is_under_way_when_a_move_begins_counts_for_nothing() -> None:
    async def scenario() -> None:
        broker = Compacted(MemoryFileSystem())
        await broker.dirty()
        broker.meanwhile = lambda: broker.order("/b")
        assert not await broker.cleaner.clean_filthiest()
        assert rows(broker.log) == WHOLE
        await broker.moved("/b")
        assert rows(broker.log) == WHOLE

    run(scenario)


def test_a_clean_log_moves_with_its_gaps_and_its_checkpoint() -> None:
    disk = MemoryFileSystem()

    async def scenario() -> None:
        broker = Compacted(disk)
        await broker.dirty()
        assert await broker.cleaner.clean_filthiest()
        write(broker.log, ("d", "1"))
        await broker.order("/b")
        await broker.moved("/b")
        assert rows(broker.log) == [*LIVE, (4, "d", "1")]
        assert broker.cleaner.manager.first_dirty == {T: 4}
        await broker.cleaner.write_checkpoints_of_moves()
        assert disk.read(f"/b/{CLEANER_OFFSET_FILE}") == b"0\n1\nt 0 4\n"
        assert disk.read(f"/a/{CLEANER_OFFSET_FILE}") == b"0\n0\n"

    run(scenario)


def test_a_checkpoint_of_a_dir_that_the_log_has_left_does_not_count() -> None:
    disk = MemoryFileSystem()

    async def before() -> None:
        broker = Compacted(disk)
        await broker.dirty()
        await broker.cleaner.clean_filthiest()
        await broker.order("/b")
        await broker.moved("/b")

    async def after() -> None:
        broker = Compacted(disk)
        await broker.start()
        await broker.cleaner.start()
        assert broker.cleaner.manager.first_dirty == {}, "one more pass, and no harm"

    run(before)
    run(after)


@pytest.mark.parametrize("follower", [False, True])
@pytest.mark.parametrize("orders", ["/b", "/b then /c", "/b then /a"])
@pytest.mark.rotated
def test_a_kill_at_any_change_of_the_disk_loses_nothing(orders: str, follower: bool) -> None:
    """After the next start every record is there once and in order. The move goes on, has never
    begun, or is done. Nothing else is left on the disk.
    """
    killed = [KilledMove(change, orders, follower=follower) for change in range(CHANGES)]
    assert killed[0].crashed
    assert not killed[-1].crashed, "the last kills come after the end of the move"
    if orders == "/b":
        assert {(*kill.found, kill.ended_in) for kill in killed} >= {
            ("/a/t-0", "/a"),
            ("/a/t-0", "/b/t-0-future", "/b"),
            ("/a/t-0", "/b/t-0", "/b"),
            ("/a/t-0-delete", "/b/t-0", "/b"),
            ("/b/t-0", "/b"),
        }


@pytest.mark.parametrize(
    ("orders", "follower", "flush_messages"),
    [
        ("/b", False, 0),
        ("/b", True, 0),
        ("/b", False, 1),
        ("/b then /c", False, 0),
        ("/b then /c", True, 1),
        ("/b then /a", True, 0),
    ],
)
def test_a_power_failure_at_any_change_of_the_disk_loses_nothing_that_was_flushed(
    orders: str, follower: bool, flush_messages: int
) -> None:
    """The copy is in the page cache at first. It replaces the log only when it is on the disk."""
    for change in range(CHANGES):
        killed = KilledMove(
            change,
            orders,
            follower=follower,
            power_fails=True,
            flush_messages=flush_messages,
        )
        if not killed.crashed:  # the power has failed after the end of the move
            break
    assert not killed.crashed
    assert change > 20
