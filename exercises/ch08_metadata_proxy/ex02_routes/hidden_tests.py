"""Hidden tests of exercise 08-2: only `kafka-edu lab grade 08-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..routes_rules import Rule
from .public_tests import Asked


def test_names_beside_ascii(learner: Learner) -> None:
    """client ids and names of clusters that are not in ASCII"""
    rules: tuple[Rule, ...] = (("账单-*", None, ("东", "西", "north")),)
    asked = Asked(learner, rules)
    for number in range(30):
        asked.choose(f"账单-{number}", None, ("东", "西", "north"))


def test_two_routes(learner: Learner, seed: int) -> None:
    """two proxies with different rules are asked in turns, and do not affect each other"""
    random = Random(f"two/{seed}")
    both = [
        Asked(learner, (("*", None, ("one", "two", "three")),)),
        Asked(learner, (("a*", "web", ("three",)), ("*", None, ("one",)))),
    ]
    for _ in range(60):
        client = random.choice(("a", "b", "ab"))
        serving = random.sample(("one", "two", "three"), 2)
        random.choice(both).choose(client, random.choice((None, "web")), serving)


def test_one_client_at_many_addresses(learner: Learner) -> None:
    """the client's address counts too, so that many instances of one client are spread"""
    asked = Asked(learner, (("*", None, ("one", "two")),))
    for number in range(60):
        asked.choose("shop", None, ("one", "two"), f"10.0.0.{number}")
