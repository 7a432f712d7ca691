"""Which log is cleaned next, and from where to where."""

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.record.control_record import ControlRecordType
from tests.unit.log.cleaner.world import NOW, compacted, write
from tests.unit.log.test_producer_state_manager import end, send

T = TopicPartition("t", 0)


def three_segments(**config: str) -> Log:
    """Offsets 0 to 2 in frozen segments of one record each, 3 in the active one."""
    log = compacted(**config)
    for number in range(3):
        write(log, (f"k{number}", "x" * 50))
        log.roll(NOW)
    write(log, ("k3", "1"))
    return log


def test_a_log_that_was_never_cleaned_is_dirty_up_to_its_active_segment() -> None:
    found = LogCleanerManager({}).look_at(three_segments(), NOW)
    assert (found.first_dirty, found.first_uncleanable) == (0, 3)
    assert [segment.base_offset for segment in found.segments] == [0, 1, 2]
    assert (found.clean_bytes, found.dirty_ratio, found.is_due) == (0, 1.0, True)


@pytest.mark.parametrize(("ratio", "due"), [("0.3", True), ("0.5", False)])
def test_it_is_due_when_the_dirty_share_is_large_enough(ratio: str, due: bool) -> None:
    log = three_segments(min_cleanable_dirty_ratio=ratio)
    found = LogCleanerManager({T: 2}).look_at(log, NOW)
    assert found.dirty_ratio == pytest.approx(1 / 3)
    assert found.is_due is due


def test_a_clean_log_is_not_due() -> None:
    found = LogCleanerManager({T: 3}).look_at(three_segments(), NOW)
    assert (found.dirty_bytes, found.is_due) == (0, False)


@pytest.mark.parametrize("checkpoint", [-5, 1_000])
def test_a_checkpoint_outside_of_the_log_counts_for_nothing(checkpoint: int) -> None:
    assert LogCleanerManager({T: checkpoint}).look_at(three_segments(), NOW).first_dirty == 0


def test_an_open_transaction_holds_the_cleaner_back() -> None:
    log = compacted()
    write(log, ("a", "1"))
    log.roll(NOW)
    send(log, 0, producer=5, transactional=True)
    log.roll(NOW)
    log.update_high_watermark(log.log_end_offset)
    manager = LogCleanerManager({})
    assert manager.look_at(log, NOW).first_uncleanable == 1
    end(log, 5, ControlRecordType.COMMIT)
    log.update_high_watermark(log.log_end_offset)
    assert manager.look_at(log, NOW).first_uncleanable == 2


def test_young_records_wait_for_min_compaction_lag_ms() -> None:
    log = three_segments(min_compaction_lag_ms="1000")
    manager = LogCleanerManager({})
    assert manager.look_at(log, NOW + 500).segments == ()
    assert len(manager.look_at(log, NOW + 1_500).segments) == 3


def test_old_records_make_a_log_overdue_whatever_its_share() -> None:
    log = three_segments(min_cleanable_dirty_ratio="1.0", max_compaction_lag_ms="1000")
    manager = LogCleanerManager({T: 2})
    assert not manager.look_at(log, NOW + 500).is_due
    assert manager.look_at(log, NOW + 1_500).is_due


def test_the_filthiest_log_comes_first_and_none_twice_at_a_time() -> None:
    first, second = three_segments(), three_segments()
    second.topic_partition = TopicPartition("u", 0)
    other = three_segments()
    other.topic_partition = TopicPartition("v", 0)
    other.config = LogConfig.parse({})
    manager = LogCleanerManager({T: 2})
    logs = [first, second, other]
    grabbed = manager.grab(logs, NOW)
    assert grabbed is not None
    assert grabbed.log is second
    assert manager.grab(logs, NOW) is None, "the first one is a third dirty, and `v` not compacted"
    manager.done(second.topic_partition, 3)
    assert manager.grab([second], NOW) is None


def test_a_log_that_cannot_be_read_is_left_alone() -> None:
    log = three_segments()
    manager = LogCleanerManager({})
    assert manager.grab([log], NOW) is not None
    manager.given_up(T, "a flipped bit")
    assert manager.grab([log], NOW) is None
    manager.forget(T)
    assert manager.grab([log], NOW) is not None


def test_what_comes_after_a_truncation_is_dirty() -> None:
    manager = LogCleanerManager({T: 90})
    manager.truncated(T, 100)
    assert manager.first_dirty[T] == 90
    manager.truncated(T, 50)
    assert manager.first_dirty[T] == 50
