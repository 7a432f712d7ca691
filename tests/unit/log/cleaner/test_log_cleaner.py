"""The cleaner of a broker: dirty logs are cleaned, put in place, and remembered."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.cleaner.clean_job import CleanJob, CleanResult
from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle
from kafka_edu.log.cleaner.log_cleaner import (
    LOG_CHANGED,
    SAMPLE_INTERVAL_MS,
    CleanerConfig,
    LogCleaner,
)
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager, LogManagerSettings
from kafka_edu.log.offset_checkpoint_file import CLEANER_OFFSET_FILE
from kafka_edu.sim.memory_file_system import MemoryFileSystem, SimulatedCrash
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.log import CleanerForecast
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import PRODUCER_ID_EXPIRATION_MS
from tests.unit.log.cleaner.world import NOW, rows, write
from tests.unit.log.test_log_manager import StillTime

T = TopicPartition("t", 0)
Result = TypeVar("Result")
CONFIG = LogConfig.parse(
    {
        "cleanup.policy": "compact",
        "segment.index.bytes": "4096",
        "min.cleanable.dirty.ratio": "0.01",
    }
)
SETTINGS = CleanerConfig(True, 1, 1 << 20, 0.9, 1e18, 15_000)
LIVE = [(1, "b", "1"), (2, "a", "2"), (3, "c", "1")]
WHOLE = [(0, "a", "1"), *LIVE]


async def inline(call: Callable[[], Result]) -> Result:
    return call()


class Broker:
    """A log manager with its cleaner. The cleaner's passes run at once, in the same process."""

    def __init__(self, disk: MemoryFileSystem) -> None:
        self.disk = disk
        self.time = StillTime()
        self.trace = Tracer(Source.of_broker(0), self.time)
        self.ring = RingSink()
        self.trace.add_sink(self.ring)
        self.logs = LogManager(
            LogManagerSettings(("/a",), CONFIG, 1, PRODUCER_ID_EXPIRATION_MS),
            disk,
            self.time,
            inline,
            self.trace,
        )
        self.jobs: list[CleanJob] = []
        self.meanwhile: Callable[[], object] = lambda: None
        """Called while a pass runs."""
        self.cleaner = LogCleaner(
            SETTINGS,
            self.logs,
            disk,
            self.time,
            self._run,
            inline,
            lambda name, error: None,
            self.trace,
        )

    async def _run(self, job: CleanJob) -> CleanResult:
        self.jobs.append(job)
        result = Cleaner(job, self.disk, no_throttle).clean()
        self.meanwhile()
        return result

    def log(self) -> Log:
        return self.logs.get_or_create_log(T, CONFIG)

    def dirty_log(self) -> Log:
        """Offsets 0 to 3 in two frozen segments; 0 is superseded."""
        log = self.log()
        write(log, ("a", "1"), ("b", "1"))
        log.roll(NOW)
        write(log, ("a", "2"), ("c", "1"))
        log.roll(NOW)
        return log

    def told(self, name: str) -> list[Any]:
        return [envelope.event for envelope in self.ring.events if envelope.name == name]


def run(
    scenario: Callable[[Broker], Awaitable[None]], disk: MemoryFileSystem | None = None
) -> None:
    async def main() -> None:
        made = disk or MemoryFileSystem()
        made.make_dirs("/a")
        broker = Broker(made)
        await broker.logs.load_logs()
        await scenario(broker)

    asyncio.run(main())


def test_a_dirty_log_is_cleaned_once_and_is_read_at_the_same_offsets() -> None:
    async def scenario(broker: Broker) -> None:
        log = broker.dirty_log()
        assert rows(log) == WHOLE
        assert await broker.cleaner.clean_filthiest()
        assert rows(log) == LIVE
        assert [segment.base_offset for segment in log.segments] == [0, 4]
        assert not await broker.cleaner.clean_filthiest()
        write(log, ("d", "1"))
        assert rows(log)[-1] == (4, "d", "1")
        assert broker.disk.read(f"/a/{CLEANER_OFFSET_FILE}") == b"0\n1\nt 0 4\n"
        (done,) = broker.told("LogCleaned")
        assert (done.from_offset, done.to_offset, done.segments_before) == (0, 4, 2)
        (group,) = broker.told("SegmentsCleaned")
        assert (group.superseded, group.records_before) == (1, 4)

    run(scenario)


def test_new_segments_are_told_although_the_disk_then_fails() -> None:
    async def scenario(broker: Broker) -> None:
        log = broker.dirty_log()

        def fail(*_: object) -> None:
            raise OSError(5, "the disk is broken")

        log.settle_replaced_segments = fail  # type: ignore[method-assign]
        assert not await broker.cleaner.clean_filthiest()
        (group,) = broker.told("SegmentsCleaned")
        assert (group.base_offset, group.segments) == (0, 2)
        assert broker.told("LogCleaned") == []
        assert len(broker.told("LogDirFailed")) == 1

    run(scenario)


def test_a_checkpoint_that_cannot_be_read_is_told_and_costs_one_pass() -> None:
    async def scenario(broker: Broker) -> None:
        log = broker.dirty_log()
        path = f"/a/{CLEANER_OFFSET_FILE}"
        broker.disk.write_atomically(path, b"0\nnonsense\n")
        await broker.cleaner.start()
        await broker.cleaner.shutdown()
        (told,) = broker.told("CheckpointUnreadable")
        assert (told.log_dir, told.file) == ("/a", CLEANER_OFFSET_FILE)
        assert told.reason.startswith("it ")
        assert await broker.cleaner.clean_filthiest()
        assert rows(log) == LIVE

    run(scenario)


def test_old_files_are_deleted_later_and_no_other_is_left() -> None:
    async def scenario(broker: Broker) -> None:
        broker.dirty_log()
        await broker.cleaner.clean_filthiest()
        names = broker.disk.list("/a/t-0")
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
        assert f"{2:020d}.log.deleted" in names
        assert f"{0:020d}.log" in names

    run(scenario)


def test_the_next_start_goes_on_where_this_one_ended() -> None:
    disk = MemoryFileSystem()

    async def before(broker: Broker) -> None:
        broker.dirty_log()
        await broker.cleaner.clean_filthiest()
        await broker.logs.shutdown()

    async def after(broker: Broker) -> None:
        await broker.cleaner.start()
        log = broker.log()
        assert rows(log) == LIVE
        assert broker.cleaner.manager.first_dirty == {T: 4}
        assert not await broker.cleaner.clean_filthiest()
        await broker.cleaner.shutdown()

    run(before, disk)
    run(after, disk)


@pytest.mark.parametrize("act", ["truncate", "delete", "retention"])
def test_a_log_that_changes_meanwhile_keeps_its_own_segments(act: str) -> None:
    async def scenario(broker: Broker) -> None:
        log = broker.dirty_log()

        def change() -> None:
            if act == "truncate":
                broker.logs.truncate_to({T: 2})
            elif act == "retention":
                log.maybe_increment_log_start_offset(2)
                log.delete_old_segments(NOW)
            else:
                broker.logs._give_up(T)

        broker.meanwhile = change
        assert not await broker.cleaner.clean_filthiest()
        (started,), (given_up,) = broker.told("CleaningStarted"), broker.told("CleaningGivenUp")
        assert (started.from_offset, started.to_offset, started.segments) == (0, 4, 2)
        assert given_up.reason == LOG_CHANGED
        assert broker.told("LogCleaned") == []
        assert not [n for n in broker.disk.list("/a/t-0") if n.endswith(".cleaned")]
        if act == "truncate":
            assert rows(log) == WHOLE[:2]
        elif act == "retention":
            assert rows(log) == WHOLE[2:]

    run(scenario)


def test_the_forecast_says_what_the_cleaner_would_do_and_what_it_does() -> None:
    def sampled(samples: list[Envelope]) -> list[CleanerForecast]:
        return [one.event for one in samples if isinstance(one.event, CleanerForecast)]

    async def scenario(broker: Broker) -> None:
        log = broker.dirty_log()
        (dirty,) = sampled(broker.trace.gauges())
        assert (dirty.first_dirty, dirty.first_uncleanable, dirty.state) == (0, 4, "due")
        assert (dirty.clean_bytes, dirty.due_above_bytes) == (0, int(dirty.dirty_bytes * 0.01))
        assert sampled(broker.trace.gauges()) == [], "at most once a second"
        broker.meanwhile = lambda: states.append(sampled(broker.trace.snapshot())[0].state)
        states: list[str] = []
        assert await broker.cleaner.clean_filthiest()
        assert states == ["being cleaned"]
        broker.time.advance(SAMPLE_INTERVAL_MS)
        (clean,) = sampled(broker.trace.gauges())
        assert (clean.first_dirty, clean.dirty_bytes, clean.state) == (4, 0, "nothing to clean")
        broker.time.advance(SAMPLE_INTERVAL_MS)
        assert sampled(broker.trace.gauges()) == [], "it is as it was"
        log.update_config(
            LogConfig.parse({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.99"})
        )
        write(log, ("a", "3"))
        log.roll(NOW)
        assert sampled(broker.trace.snapshot())[0].state == "not dirty enough"

    run(scenario)


def test_a_log_that_cannot_be_read_is_named_and_left_alone() -> None:
    async def scenario(broker: Broker) -> None:
        broker.dirty_log()
        broker.disk.open(f"/a/t-0/{0:020d}.log").pwrite(b"\xff", 65)
        assert not await broker.cleaner.clean_filthiest()
        assert not await broker.cleaner.clean_filthiest()
        assert len(broker.jobs) == 1
        (told,) = broker.told("LogNotCleanable")
        assert "corrupt" in told.reason.lower()

    run(scenario)


@pytest.mark.parametrize("after", range(1, 60))
def test_a_kill_anywhere_leaves_the_old_segments_or_the_new_one(after: int) -> None:
    """The process dies at the n-th change of the disk while a log is cleaned. The next start finds
    every key's last value, each offset at most once, and no file of the cleaner.
    """
    disk = MemoryFileSystem()
    crashed = False

    async def before(broker: Broker) -> None:
        nonlocal crashed
        broker.dirty_log()
        for _ in range(20):  # what rolling has begun is done
            await asyncio.sleep(0)
        disk.crash_after(after)
        try:
            await broker.cleaner.clean_filthiest()
        except SimulatedCrash:
            crashed = True

    async def restarted(broker: Broker) -> None:
        found = rows(broker.log())
        assert found in (WHOLE, LIVE), found
        names = disk.list("/a/t-0")
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
        log = broker.log()
        log.update_high_watermark(log.log_end_offset)
        await broker.cleaner.clean_filthiest()
        assert rows(log) == LIVE

    run(before, disk)
    disk.restart()
    run(restarted, disk)
    assert crashed or after > 20, "the kills reach into the pass"


def test_a_segment_that_retention_takes_while_it_is_read_ends_the_pass_and_no_more() -> None:
    async def scenario(broker: Broker) -> None:
        log = broker.dirty_log()
        told = broker.cleaner.manager

        async def gone(job: CleanJob) -> CleanResult:
            raise FileNotFoundError("no such file")

        broker.cleaner._run_job = gone
        assert not await broker.cleaner.clean_filthiest()
        assert (told.uncleanable, broker.told("LogNotCleanable")) == ({}, [])
        broker.cleaner._run_job = broker._run
        assert await broker.cleaner.clean_filthiest()
        assert rows(log) == LIVE

    run(scenario)


def test_a_worker_that_dies_leaves_the_log_alone() -> None:
    async def scenario(broker: Broker) -> None:
        broker.dirty_log()

        async def dies(job: CleanJob) -> CleanResult:
            raise RuntimeError("Killed")

        broker.cleaner._run_job = dies
        assert not await broker.cleaner.clean_filthiest()
        assert broker.cleaner.manager.uncleanable == {T: "Killed"}
        assert rows(broker.log()) == WHOLE

    run(scenario)


def test_the_tasks_clean_and_wait() -> None:
    async def scenario(broker: Broker) -> None:
        broker.dirty_log()
        await broker.cleaner.start()
        for _ in range(200):
            if broker.told("LogCleaned"):
                break
            await asyncio.sleep(0)
        assert broker.told("LogCleaned")
        await broker.cleaner.shutdown()

    run(scenario)
