"""A piece of the log says at which offset it begins. A record found by time says which leader epoch
it has.
"""

from kafka_edu.common.transport import part_bytes
from kafka_edu.log.fetch_data_info import FetchDataInfo, TimestampOffset
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.record.record_batch import parse_header
from tests.unit.log.test_log import NOW, batch, filled, open_log


def test_a_piece_begins_with_the_batch_that_holds_the_offset_and_says_which_was_asked_for() -> None:
    log = filled(batches=3, records=3)
    found = log.read(4, 1 << 20)
    assert isinstance(found, FetchDataInfo)
    assert found.fetch_offset_metadata.message_offset == 4
    assert parse_header(part_bytes(found.records)).base_offset == 3
    assert not found.first_entry_incomplete


def test_at_the_end_of_the_log_there_are_no_bytes_but_a_place() -> None:
    log = filled(batches=2, records=3)
    found = log.read(6, 1 << 20)
    assert part_bytes(found.records) == b""
    assert found.fetch_offset_metadata == LogOffsetMetadata(6, 0, log.size)


def test_a_record_found_by_time_has_the_epoch_of_its_leader() -> None:
    log = open_log()
    log.append_as_leader(batch(2, NOW), 4, NOW)
    log.append_as_leader(batch(2, NOW + 5), 7, NOW)
    assert log.fetch_offset_by_timestamp(NOW + 1) == TimestampOffset(NOW + 5, 2, 7)
    assert log.fetch_offset_by_timestamp(NOW + 6) is None
