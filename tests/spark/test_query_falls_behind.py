"""Exercise 16-18s: a real query of Spark falls behind, and an operator lets it catch up."""

from pathlib import Path

import pytest

from exercises.ch16_spark.ex18s_falls_behind import trouble
from exercises.ch16_spark.ex18s_falls_behind.material import FETCH, KEY, LIMIT, PARTITION, plan

pytestmark = pytest.mark.spark

Acts = list[list[object]]
FALLS = "the lag falls to zero, and stays there"
LARGER: Acts = [["set", "maxOffsetsPerTrigger", 1_000]]
MORE_TASKS: Acts = [["set", "minPartitions", 8], *LARGER]
#: With minPartitions=8, none of 8 partitions would be divided.
DIVIDED: Acts = [["set", "minPartitions", 16], *LARGER]


@pytest.mark.timeout(1_800)  # a busy machine needs 300 s for the shortest one
@pytest.mark.parametrize(
    ("cause", "wrong", "right"),
    [
        pytest.param(LIMIT, None, LARGER, id=LIMIT),
        # CI's time is short: one cause shows there that the lab works
        pytest.param(PARTITION, LARGER, MORE_TASKS, id=PARTITION, marks=pytest.mark.long),
        pytest.param(KEY, [["partitions", 8]], DIVIDED, id=KEY, marks=pytest.mark.long),
        pytest.param(
            FETCH,
            [["set", "minPartitions", 12]],
            [["set", "kafka.fetch.min.bytes", 1], *LARGER],
            id=FETCH,
            marks=pytest.mark.long,
        ),
    ],
)
@pytest.mark.rotated
def test_an_operator_lets_the_query_of_16_18s_catch_up(
    cause: str, wrong: Acts | None, right: Acts, tmp_path: Path
) -> None:
    """`lab check 16-18s --wrong --live` proves the ways to cheat."""
    seed = next(seed for seed in range(50) if plan(seed).cause == cause)

    def faults() -> list[str]:
        steps = trouble.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says for step in steps if not step.passed]

    trouble.begin(seed, tmp_path, lambda _: None, tmp_path)
    try:
        if wrong is not None:
            trouble.perform(wrong, tmp_path)
            assert faults() == [FALLS]
        trouble.perform(right, tmp_path)
        assert faults() == []
    finally:
        assert trouble.end(tmp_path)
