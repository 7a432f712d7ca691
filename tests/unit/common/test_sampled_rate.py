"""Our rate over the last seconds is the same as the rate that Kafka's own class measures."""

import json
from pathlib import Path

from kafka_edu.common.sampled_rate import SampledRate

GOLDEN = Path(__file__).parents[2] / "golden/quota/simple-rate-2.8.2.json"


def test_it_measures_what_kafkas_simple_rate_measures() -> None:
    rate, compared = SampledRate(11, 1000), 0
    for now_ms, value, measured in json.loads(GOLDEN.read_text()):
        if value is not None:
            rate.record(value, now_ms)
        else:
            compared += 1
            assert abs(rate.measure(now_ms) - measured) <= 1e-9 * measured, now_ms
    assert compared == 151


def test_nothing_recorded_is_a_rate_of_nothing() -> None:
    assert SampledRate(11, 1000).measure(123) == 0.0


def test_a_burst_counts_as_if_it_took_a_whole_sample() -> None:
    rate = SampledRate(11, 1000)
    rate.record(500, 7_000)
    assert rate.measure(7_000) == rate.measure(8_000) == 500.0
    assert rate.measure(12_000) == 100.0
    assert rate.measure(17_999) == 500 * 1000 / 10_999
    assert rate.measure(18_000) == 0.0, "the sample is as old as the whole window"
