"""Only a limited number of hops of slow requests go to everybody; the others are counted."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.trace.slow_budget import BURST, SLOW_HOPS_PER_S, SlowBudget

SECOND_NS = 1_000_000_000


def test_a_burst_passes_and_then_so_many_a_second() -> None:
    budget = SlowBudget()
    assert [budget.take(0) for _ in range(BURST + 1)] == [True] * BURST + [False]
    assert budget.left_out == 1
    assert sum(budget.take(SECOND_NS) for _ in range(100)) == SLOW_HOPS_PER_S
    assert budget.left_out == 1 + 100 - SLOW_HOPS_PER_S


def test_a_quiet_hour_gives_one_burst_and_no_more() -> None:
    budget = SlowBudget()
    assert sum(budget.take(3600 * SECOND_NS) for _ in range(BURST * 2)) == BURST


@given(st.lists(st.integers(0, SECOND_NS // 5), min_size=1, max_size=300))
def test_never_more_than_the_burst_and_the_rate(steps: list[int]) -> None:
    budget, now, taken = SlowBudget(), 0, 0
    for step in steps:
        now += step
        taken += budget.take(now)
        assert taken <= BURST + now * SLOW_HOPS_PER_S / SECOND_NS
    assert taken + budget.left_out == len(steps)
