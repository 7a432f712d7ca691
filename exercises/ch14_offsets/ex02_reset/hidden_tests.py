"""Hidden tests of exercise 14-2: only `kafka-edu lab grade 14-2` runs them."""

from random import Random

import pytest

from ..reset_rules import EARLIEST, LATEST, POLICIES, ResetWorld
from .public_tests import A, B, Make
from .public_tests import make as make


@pytest.mark.parametrize("policy", POLICIES)
def test_a_long_life(make: Make, policy: str, seed: int) -> None:
    """twelve partitions, and a long time"""
    ResetWorld(make(policy), Random(f"long/{policy}/{seed}"), 12).run(1_500)


def test_two_consumers(make: Make) -> None:
    """two consumers with the same partition, which must not be mixed up"""
    one, two = make(EARLIEST), make(LATEST)
    one.begin(A, None)
    assert two.found(A, EARLIEST, 3) is None
    two.begin(A, None)
    assert one.found(A, EARLIEST, 3) == ("go", 3)
    assert two.found(A, LATEST, 9) == ("go", 9)


def test_large_offsets(make: Make) -> None:
    """offsets that do not fit into 32 bits"""
    made = make(EARLIEST)
    far = 5_000_000_000
    made.begin(A, far)
    made.truncated(A, far + 7, far)
    made.truncated(B, far, far + 1)


def test_the_same_place_twice(make: Make) -> None:
    """the program asks for a place again after it was found, while two partitions wait"""
    made = make(LATEST)
    for offset in (10, 11, 12):
        made.asked(A, 5_000)
        made.asked(B, 5_000)
        assert made.found(B, 5_000, offset) == ("go", offset)
        assert made.found(A, 5_000, offset) == ("go", offset)
        assert made.found(A, 5_000, offset) is None
