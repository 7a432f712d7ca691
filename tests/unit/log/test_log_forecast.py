"""The forecast of a log agrees with what retention and the next roll really do later."""

import pytest

from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_forecast import LEAST_INTERVAL_MS, NEVER, ForecastSampler, forecast
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.trace.events.log import DoomedSegment
from tests.unit.log.test_log import NOW, batch, filled


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_retention_by_time_takes_the_oldest_segment_at_the_moment_that_was_forecast() -> None:
    log = filled(10, segment_bytes="500", retention_ms="1000")
    expected = forecast(log, ())
    assert (expected.oldest_base, expected.reason) == (0, "retention by time")
    assert log.delete_old_segments(expected.deletes_at_ms - 1) == 0
    assert log.delete_old_segments(expected.deletes_at_ms) == 1
    assert forecast(log, ()).oldest_base == 12


def test_retention_by_size_takes_it_at_the_next_look_once_the_rest_is_large_enough() -> None:
    log = filled(10, segment_bytes="500", retention_bytes="600")
    while (expected := forecast(log, ())).reason == "retention by size":
        assert expected.deletes_at_ms == 0
        before = bases(log)
        assert log.delete_old_segments(NOW) > 0
        assert bases(log) == before[before.index(log.segments.first_base) :]
    assert sum(segment.size for segment in list(log.segments)[1:]) < expected.retention_bytes
    assert log.delete_old_segments(NOW) == 0


def test_a_segment_below_the_log_start_goes_at_the_next_look() -> None:
    log = filled(10, segment_bytes="500", retention_ms="-1")
    assert (forecast(log, ()).deletes_at_ms, forecast(log, ()).reason) == (NEVER, "")
    log.maybe_increment_log_start_offset(12)
    assert (forecast(log, ()).deletes_at_ms, forecast(log, ()).reason) == (0, "log start offset")
    assert log.delete_old_segments(NOW) == 1


@pytest.mark.parametrize("why", ["not committed", "compacted", "empty"])
def test_a_segment_that_must_stay_has_no_moment(why: str) -> None:
    policy = "compact" if why == "compacted" else "delete"
    log = filled(
        0 if why == "empty" else 10,
        segment_bytes="500",
        retention_ms="0",
        retention_bytes="0",
        cleanup_policy=policy,
    )
    if why == "not committed":
        log.update_high_watermark(5)
    assert (forecast(log, ()).deletes_at_ms, forecast(log, ()).reason) == (NEVER, "")
    assert log.delete_old_segments(NOW + 10_000) == 0


def test_a_record_of_the_time_that_was_forecast_makes_the_segment_roll() -> None:
    def append(log: Log, timestamp: int) -> None:
        log.append_as_leader(build_batch([Record(0, timestamp, None, b"v")]), 0, timestamp)

    log = filled(1, segment_ms="1000")
    at_ms = forecast(log, ()).rolls_at_ms
    append(log, at_ms - 1)
    assert len(log.segments) == 1
    append(log, at_ms)
    assert len(log.segments) == 2
    assert forecast(filled(0), ()).rolls_at_ms == NEVER


def test_a_growing_log_is_forecast_once_a_second_and_another_change_at_once() -> None:
    log, sampler = filled(1), ForecastSampler()
    assert sampler.sample(log, (), 0) is not None
    assert sampler.sample(log, (), 10 * LEAST_INTERVAL_MS) is None, "nothing has changed"
    log.append_as_leader(batch(1), 0, NOW)
    assert sampler.sample(log, (), 10 * LEAST_INTERVAL_MS) is not None
    log.append_as_leader(batch(1), 0, NOW)
    assert sampler.sample(log, (), 10 * LEAST_INTERVAL_MS + 1) is None
    assert sampler.sample(log, (), 11 * LEAST_INTERVAL_MS) is not None
    log.append_as_leader(batch(1), 0, NOW)
    log.update_config(LogConfig.parse({"retention.ms": "1"}))
    changed = sampler.sample(log, (), 11 * LEAST_INTERVAL_MS + 1)
    assert changed is not None
    assert changed.deletes_at_ms == NEVER, "the new record is not committed"
    doomed = (DoomedSegment(0, 100, NOW),)
    waiting = sampler.sample(log, doomed, 11 * LEAST_INTERVAL_MS + 2)
    assert waiting is not None
    assert waiting.doomed == doomed
    sampler.forget(log)
    assert sampler.sample(log, doomed, 11 * LEAST_INTERVAL_MS + 3) is not None
