"""The interval by which `bench trace-cost` holds its bounds."""

import random

from benchmarks.trace_cost import bootstrap


def test_the_interval_holds_the_median_and_narrows_with_more_pairs() -> None:
    chance = random.Random(5)
    many = [chance.gauss(0.03, 0.02) for _ in range(200)]
    few, wide = bootstrap(many[:20]), bootstrap(many)
    for interval in (few, wide):
        assert interval.low < interval.median < interval.high
        assert interval.low < 0.03 < interval.high
    assert wide.high - wide.low < few.high - few.low


def test_one_odd_pair_does_not_move_the_result() -> None:
    even = [0.01 + 0.0001 * n for n in range(20)]
    assert bootstrap([*even, 3.0]).high < 0.02


def test_noise_as_large_as_the_bound_does_not_hold_it() -> None:
    chance = random.Random(7)
    noisy = [chance.gauss(0.0, 0.1) for _ in range(20)]
    assert bootstrap(noisy).high > 0.02
