"""Two offsets with their positions in the log tell how many bytes lie between them."""

import pytest

from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from tests.unit.log.test_log import NOW, batch, open_log


def test_the_bytes_between_two_places_of_one_segment() -> None:
    log = open_log()
    begin = log.log_end_offset_metadata
    size = log.append_as_leader(batch(3), 0, NOW).size_in_bytes
    assert log.log_end_offset_metadata.position_diff(begin) == size
    assert begin.position_diff(log.log_end_offset_metadata) == -size


def test_places_in_two_segments_are_older_and_newer_and_have_no_distance() -> None:
    log = open_log()
    log.append_as_leader(batch(3), 0, NOW)
    old = log.log_end_offset_metadata
    log.roll(NOW)
    log.append_as_leader(batch(3), 0, NOW)
    new = log.log_end_offset_metadata
    assert old.on_older_segment(new)
    assert not new.on_older_segment(old)
    assert not old.on_same_segment(new)
    with pytest.raises(ValueError, match="different segments"):
        new.position_diff(old)


def test_an_offset_without_a_place_cannot_be_compared() -> None:
    known, unknown = LogOffsetMetadata(7, 0, 300), LogOffsetMetadata(9)
    assert unknown.message_offset_only
    assert not known.message_offset_only
    for compare in (known.on_older_segment, known.on_same_segment, known.position_diff):
        with pytest.raises(ValueError, match="is not known"):
            compare(unknown)
