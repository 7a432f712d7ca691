"""A committed offset, and which of two is the later one."""

import pytest

from kafka_edu.coordinator.group.offset_and_metadata import (
    CommittedOffset,
    OffsetAndMetadata,
    offset_of,
)
from kafka_edu.protocol.messages.group_metadata_log import OffsetCommitValue


def test_the_place_in_the_log_decides_and_not_the_offset() -> None:
    first = CommittedOffset(OffsetAndMetadata(50), 7)
    second = CommittedOffset(OffsetAndMetadata(10), 8)
    assert first.older_than(second)
    assert not second.older_than(first)


def test_an_offset_that_is_being_written_has_no_place_to_compare() -> None:
    unwritten = CommittedOffset(OffsetAndMetadata(50), None)
    with pytest.raises(AssertionError):
        unwritten.older_than(CommittedOffset(OffsetAndMetadata(50), 1))


@pytest.mark.parametrize(("stored", "expire"), [(-1, None), (0, 0), (1_600, 1_600)])
def test_an_expire_time_of_minus_one_in_the_log_means_none(stored: int, expire: int | None) -> None:
    value = OffsetCommitValue(
        offset=4, leader_epoch=2, metadata="m", commit_timestamp=9, expire_timestamp=stored
    )
    assert offset_of(value) == OffsetAndMetadata(4, 2, "m", 9, expire)
