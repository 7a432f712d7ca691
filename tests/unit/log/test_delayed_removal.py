"""The segments and folders that wait for their removal. The log manager's tests check the
removal.
"""

from collections.abc import Callable
from typing import TypeVar

from kafka_edu.common.time import MockTime
from kafka_edu.log.delayed_removal import DelayedRemoval
from kafka_edu.log.log import Log
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.unit.log.test_log import filled

T = TypeVar("T")
BOOT_MS = 1_599_999_000_000


class TwoClocks(MockTime):
    """A clock with two readings, whose milliseconds do not begin at the same moment."""

    def milliseconds(self) -> int:
        return (self._now_ns + 700_000) // 1_000_000

    def hi_res_clock_ms(self) -> int:
        return self._now_ns // 1_000_000 - BOOT_MS


async def inline(call: Callable[[], T]) -> T:
    return call()


def removal(time: MockTime) -> DelayedRemoval:
    return DelayedRemoval(
        MemoryFileSystem(),
        time,
        inline,
        None,
        is_offline=lambda log_dir: False,
        on_disk_failure=lambda log_dir, error: None,
    )


def with_deleted_segments() -> Log:
    log = filled(10, segment_bytes="500", retention_ms="-1")
    log.truncate_fully_and_start_at(7)
    assert log.deleted_segments
    return log


def test_the_moment_of_a_removal_is_the_same_whenever_it_is_read() -> None:
    """If the moment changed, the log screen would get a new forecast up to ten times a second."""
    time, log = TwoClocks(), with_deleted_segments()
    waiting = removal(time)
    assert waiting.add_segments(log)
    before = waiting.segments()
    (segments,) = before.values()
    assert segments[0].at_ms == time.milliseconds() + log.config.file_delete_delay_ms
    for _ in range(4):
        time.advance(0.25)
        assert waiting.segments() == before


def test_segments_are_found_by_the_folder_of_their_log_also_after_it_was_renamed() -> None:
    """A replica and its copy in another log dir have the same partition, so only the folder tells
    them apart.
    """
    time, log = TwoClocks(), with_deleted_segments()
    waiting = removal(time)
    waiting.add_segments(log)
    (segments,) = waiting.segments().values()
    assert waiting.segments() == {log.directory: segments}
    waiting.moved(log.directory, "/other/t-0")
    assert waiting.segments() == {"/other/t-0": segments}
    assert not waiting.add_segments(log), "each is taken once"


def test_a_file_that_replaced_another_of_its_name_counts_once_and_goes_with_the_first() -> None:
    """The cleaner may replace the segment at an offset twice within file.delete.delay.ms."""
    time, log = TwoClocks(), with_deleted_segments()
    waiting = removal(time)
    twice = log.deleted_segments[0]
    waiting.add_segments(log)
    before = waiting.segments()
    time.advance(1)
    log.deleted_segments.append(twice)
    waiting.add_segments(log)
    assert waiting.segments() == before
