"""Public tests of exercise 08-7. `kafka-edu lab check 08-7` runs them."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import BROKERS, NOBODY, PROXY, TOPIC, Situation, World, situations, world

NUMBERS = tuple(range(1, 11))


class Compared:
    """The situations, and the learner's answers to them."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.situations = situations(material)
        self.world = world(material)
        self._answers = learner.make()

    def answer(self, name: str) -> object:
        """Return the learner's answer `name`. Raises AssertionError if it is not written yet."""
        came = self._answers.call("get", name)
        if came is None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        return came


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers to the situations that were made for this learner."""
    return Compared(learner, material)


@pytest.mark.parametrize("number", NUMBERS)
def test_to(compared: Compared, number: int) -> None:
    """who receives these bytes first"""
    situation = compared.situations[number - 1]
    came = compared.answer(f"to_{number}")
    if came != situation.to or isinstance(came, bool):
        raise Mismatch(
            f"to_{number}",
            situation.to,
            came,
            _why(situation, came),
            drawing=(situation.words, *_leaders(compared.world)),
        )


def _why(situation: Situation, came: object) -> str:
    if came != PROXY and (
        not isinstance(came, int) or isinstance(came, bool) or not NOBODY <= came < BROKERS
    ):
        return f'the answer is the number of a broker, "{PROXY}", or {NOBODY}'
    return situation.why


def _leaders(here: World) -> tuple[str, ...]:
    return tuple(f"{TOPIC}-{number}: leader {leader}" for number, leader in enumerate(here.leaders))


def test_asked(compared: Compared) -> None:
    """the size of the Metadata request in bytes"""
    came, expected = compared.answer("asked"), compared.world.asked()
    if came != expected or isinstance(came, bool):
        raise Mismatch(
            "asked",
            expected,
            came,
            "size 4, api key 2, version 2, correlation id 4, client id 2 and its length; the"
            " number of topics 4, and 2 and the length for the name",
        )


def test_told(compared: Compared) -> None:
    """the size of the Metadata response in bytes"""
    came, expected = compared.answer("told"), compared.world.told()
    if came != expected or isinstance(came, bool):
        raise Mismatch(
            "told",
            expected,
            came,
            "size 4, correlation id 4; a broker: 4, host 2 and its length, port 4, no rack 2; the"
            " controller 4; a topic: error 2, name 2 and its length, internal 1; a partition: 2,"
            " 4, 4, and two lists of 4 for the number and 4 for each; each list has its number, 4",
        )
