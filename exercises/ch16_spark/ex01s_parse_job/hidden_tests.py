"""Hidden tests of exercise 16-1s: only `kafka-edu lab grade 16-1s` runs them."""

from random import Random

from ...runner.spark_learner import SparkLearner
from ..log_lines import Parts, spoilt
from .public_tests import GOOD, Checked


def test_long_fields(learner: SparkLearner) -> None:
    """an agent of many thousand characters, with backslashes"""
    Checked(learner).agrees(
        Parts(agent="x" * 20_000).line("a field may be long"),
        Parts(agent='a"' * 6_000).line("a field may be long, and full of quotes"),
        Parts(agent="\\" * 5_000).line("a field may be long, and full of backslashes"),
    )


def test_huge_numbers(learner: SparkLearner, seed: int) -> None:
    """sizes of terabytes, and durations of years"""
    random = Random(f"huge/{seed}")
    Checked(learner).agrees(
        *(
            Parts(size=random.randrange(10**17), duration_us=random.randrange(10**17)).line()
            for _ in range(40)
        )
    )


def test_years_and_zones(learner: SparkLearner, seed: int) -> None:
    """times from 1970 to the year 9998, in any time zone"""
    random = Random(f"years/{seed}")
    Checked(learner).agrees(
        *(
            Parts(
                time_s=random.randrange(86_400, 253_000_000_000),
                zone_minutes=random.randint(-840, 840),
            ).line()
            for _ in range(60)
        )
    )


def test_all_bad(learner: SparkLearner) -> None:
    """a topic without a single good line"""
    Checked(learner).agrees(
        *(spoilt(GOOD, "duration", f"{number}us", "not digits alone") for number in range(12))
    )
