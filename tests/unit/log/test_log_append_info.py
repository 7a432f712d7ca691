"""The result of an append: where the records are, or where their first copy is."""

from kafka_edu.log.log_append_info import UNKNOWN_OFFSET
from tests.unit.log.test_log import NOW, batch, open_log


def test_it_has_the_offsets_the_latest_time_and_the_bytes() -> None:
    log = open_log()
    log.append_as_leader(batch(4), 0, NOW)
    sent = batch(3, NOW + 7)
    info = log.append_as_leader(sent, 0, NOW)
    assert (info.first_offset, info.last_offset) == (4, 6)
    assert (info.max_timestamp, info.log_append_time) == (NOW + 7, -1)
    assert info.size_in_bytes == len(sent)
    assert (info.log_start_offset, info.duplicate) == (0, False)


def test_a_duplicate_has_the_offsets_of_the_first_copy_and_writes_nothing() -> None:
    log = open_log()
    sent = batch(3, producer_id=9, producer_epoch=0, base_sequence=0)
    first = log.append_as_leader(sent, 0, NOW)
    log.append_as_leader(batch(1), 0, NOW)
    size = log.size
    again = log.append_as_leader(sent, 0, NOW)
    assert again.duplicate
    assert (again.first_offset, again.last_offset) == (first.first_offset, first.last_offset)
    assert log.size == size


def test_without_a_whole_batch_there_are_no_offsets() -> None:
    info = open_log().append_as_leader(batch(3)[:40], 0, NOW)
    assert (info.first_offset, info.last_offset) == (UNKNOWN_OFFSET, UNKNOWN_OFFSET)
