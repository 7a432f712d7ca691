"""The simulator's random numbers are the same on every version of Python."""

import random

import pytest

from kafka_edu.sim.seeded_random import SeededRandom


def test_a_seed_gives_the_same_numbers_for_ever() -> None:
    """These numbers may never change: seeds in links, tests and files name runs by them."""
    chance = SeededRandom("1/faults")
    assert [chance.randrange(1_000) for _ in range(6)] == [608, 994, 893, 842, 362, 767]
    assert [SeededRandom("1/faults").random() for _ in range(2)] == [0.6996764583258578] * 2


def test_every_method_stays_within_its_limits() -> None:
    chance = SeededRandom("limits")
    assert {chance.randint(1, 3) for _ in range(100)} == {1, 2, 3}
    assert {chance.choice("ab") for _ in range(50)} == {"a", "b"}
    assert {chance.randrange(4, 10, 3) for _ in range(50)} == {4, 7}
    assert all(2 <= chance.uniform(2, 5) < 5 for _ in range(100))
    assert sorted(chance.sample(range(5), 5)) == [0, 1, 2, 3, 4]
    numbers = list(range(20))
    chance.shuffle(numbers)
    assert sorted(numbers) == list(range(20))
    assert numbers != list(range(20))
    assert len(chance.randbytes(11)) == 11
    assert chance.getrandbits(70) < 1 << 70


@pytest.mark.parametrize("impossible", [lambda c: c.randrange(0), lambda c: c.sample([1], 2)])
def test_what_is_impossible_is_an_error(impossible: object) -> None:
    assert callable(impossible)
    with pytest.raises(ValueError, match=r"no number|cannot take"):
        impossible(SeededRandom("x"))


def test_it_can_stand_for_pythons_own() -> None:
    assert isinstance(SeededRandom("x"), random.Random)
    with pytest.raises(NotImplementedError):
        SeededRandom("x").choices([1, 2])
    with pytest.raises(NotImplementedError):
        SeededRandom("x").seed(3)


def test_its_state_can_be_kept() -> None:
    chance = SeededRandom("x")
    state = chance.getstate()
    first = chance.random()
    chance.setstate(state)
    assert chance.random() == first
