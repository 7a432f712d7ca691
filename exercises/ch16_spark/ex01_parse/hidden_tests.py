"""Hidden tests of exercise 16-1: only `kafka-edu lab grade 16-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..log_lines import Parts, spoilt
from .public_tests import Checked

WRONG = (
    ("time", "[]", "it is empty"),
    ("request", '"GET /"', "it has no protocol"),
    ("status", "1000", "not from 100 to 599"),
    ("size", "0x10", "neither digits nor -"),
    ("referrer", '"', "it is not closed by a quote"),
    ("agent", "-", "it is not in quotes"),
    ("duration", "-1", "not digits alone"),
)


def test_eight_thousand_years(learner: Learner, seed: int) -> None:
    """times from 1970 to the year 9998, in any time zone"""
    random = Random(f"years/{seed}")
    parser = Checked(learner)
    for _ in range(150):
        time_s = random.randrange(86_400, 253_000_000_000)
        parser.agrees(Parts(time_s=time_s, zone_minutes=random.randint(-840, 840)).line())


def test_huge_numbers(learner: Learner, seed: int) -> None:
    """sizes of terabytes, and durations of years"""
    random = Random(f"huge/{seed}")
    parser = Checked(learner)
    for _ in range(60):
        parser.agrees(
            Parts(size=random.randrange(10**16), duration_us=random.randrange(10**16)).line()
        )


def test_several_wrong_fields(learner: Learner, seed: int) -> None:
    """three fields are wrong: the answer names the first one from the left"""
    random = Random(f"several/{seed}")
    parser = Checked(learner)
    for _ in range(80):
        line = Parts(agent="x" * random.randint(1, 300)).line()
        chosen = sorted(random.sample(range(len(WRONG)), 3), reverse=True)
        for index in chosen:
            line = spoilt(line, *WRONG[index])
        parser.agrees(line)
