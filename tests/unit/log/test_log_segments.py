"""The segments of a log, and where an offset lies among them."""

from kafka_edu.common.transport import part_bytes
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    build_batch,
    parse_header,
)
from tests.unit.log.test_log import NOW, filled, offsets, open_log


def test_every_offset_is_found_in_every_segment_with_and_without_memory_of_recent_batches() -> None:
    log = filled(60, segment_bytes="1000", index_interval_bytes="150")
    assert len(log.segments) > 5
    for segment in log.segments:
        segment._positions.clear()
    for offset in range(180):
        place = log.convert_to_offset_metadata(offset)
        header = parse_header(part_bytes(log.read(offset, 1 << 20).records))
        assert header.base_offset == offset // 3 * 3
        assert (
            place.segment_base_offset
            == log.read(offset, 1).fetch_offset_metadata.segment_base_offset
        )
    assert offsets(log) == list(range(180))


def test_records_are_found_by_time() -> None:
    log = open_log(segment_bytes="1000", index_interval_bytes="150")
    for i in range(40):
        log.append_as_leader(
            build_batch([Record(j, NOW + 10 * i + j, None, b"v" * 30) for j in range(3)]), 7, NOW
        )
    for i in (0, 1, 17, 39):
        for j in range(3):
            assert log.fetch_offset_by_timestamp(NOW + 10 * i + j) == (
                NOW + 10 * i + j,
                3 * i + j,
                7,
            )
    assert log.fetch_offset_by_timestamp(NOW + 5) == (NOW + 10, 3, 7)
    assert log.fetch_offset_by_timestamp(0) == (NOW, 0, 7)
    assert log.fetch_offset_by_timestamp(-3) == (NOW, 0, 7)
    assert log.fetch_offset_by_timestamp(NOW + 1000) is None
    assert log.fetch_offset_by_timestamp(-2) == (-1, 0, 7)
    assert log.fetch_offset_by_timestamp(-1) == (-1, 120, 7)
    log.update_high_watermark(120)
    log.maybe_increment_log_start_offset(50)
    assert log.fetch_offset_by_timestamp(NOW) == (NOW + 162, 50, 7)
