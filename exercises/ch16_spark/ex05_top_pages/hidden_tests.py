"""Hidden tests of exercise 16-5: only `kafka-edu lab grade 16-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..mix import Hit, random_parts
from .public_tests import Checked


def test_thousands_of_pages(learner: Learner, seed: int) -> None:
    """thousands of pages: a part must not leave any of them out"""
    random = Random(f"pages/{seed}")
    pages = [f"/p{number}" for number in range(3_000)]
    parts = []
    for _ in range(3):
        random.shuffle(pages)
        parts.append([Hit("a", page, 200, "curl") for page in pages])
    parts[0].append(Hit("a", "/p2999", 200, "curl"))
    Checked(learner, 5).agrees(*parts, random=random)


def test_forty_parts(learner: Learner, seed: int) -> None:
    """forty parts, merged in a random order"""
    random = Random(f"parts/{seed}")
    for n in (1, 3, 50):
        Checked(learner, n).agrees(*random_parts(random, 40), random=random)


def test_many_bots(learner: Learner, seed: int) -> None:
    """hundreds of bots, many of them in several parts, and no other client"""
    random = Random(f"bots/{seed}")
    parts = [
        [
            Hit(f"10.0.{random.randrange(4)}.{random.randrange(250)}", "/", 503, "ExampleBot")
            for _ in range(700)
        ]
        for _ in range(4)
    ]
    Checked(learner, 3).agrees(*parts, random=random)
