"""Which old segments go."""

from tests.unit.log.test_log import NOW, filled


def test_retention_by_time_by_size_and_by_start_offset() -> None:
    by_time = filled(10, segment_bytes="500", retention_ms="1000")
    by_time.delete_old_segments(NOW + 1003)
    assert [s.base_offset for s in by_time.segments] == [0, 12, 24]
    by_time.delete_old_segments(NOW + 1004)
    assert [s.base_offset for s in by_time.segments] == [12, 24]
    assert by_time.log_start_offset == 12
    by_time.delete_old_segments(NOW + 5000)
    assert [s.base_offset for s in by_time.segments] == [30], (
        "all are too old: an empty one takes their place"
    )
    by_size = filled(10, segment_bytes="500", retention_bytes="600")
    by_size.delete_old_segments(NOW)
    assert [s.base_offset for s in by_size.segments] == [12, 24]
    by_start = filled(10, segment_bytes="500")
    by_start.maybe_increment_log_start_offset(23)
    by_start.delete_old_segments(NOW)
    assert [s.base_offset for s in by_start.segments] == [12, 24]
    by_start.maybe_increment_log_start_offset(24)
    by_start.delete_old_segments(NOW)
    assert [s.base_offset for s in by_start.segments] == [24]


def test_retention_keeps_what_is_not_committed_and_what_is_compacted() -> None:
    log = filled(10, segment_bytes="500", retention_bytes="0")
    log.update_high_watermark(20)
    log.delete_old_segments(NOW)
    assert log.log_start_offset == 12
    compacted = filled(10, segment_bytes="500", retention_bytes="0", cleanup_policy="compact")
    compacted.delete_old_segments(NOW)
    assert compacted.log_start_offset == 0
