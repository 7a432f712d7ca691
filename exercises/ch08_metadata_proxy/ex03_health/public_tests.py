"""Public tests of exercise 08-3. `kafka-edu lab check 08-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from itertools import product
from random import Random

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..health_rules import right_states


def look(learner: Learner, down_after: int, up_after: int, looks: Sequence[bool]) -> None:
    """Call `saw` for each check in `looks` (True: the target answered). Raises Mismatch if a state
    is wrong.
    """
    made = learner.make(down_after, up_after)
    expected = right_states(down_after, up_after, looks)
    for number, right in enumerate(expected):
        got = made.call("saw", looks[number])
        if got != right:
            before = expected[number - 1] if number else ""
            raise Mismatch(
                f"saw({looks[number]}), look {number + 1}",
                right,
                got,
                _why(before, right, got, down_after, up_after, number),
                drawing=(
                    f"down_after={down_after}, up_after={up_after}",
                    "looks   " + " ".join("+" if one else "-" for one in looks[: number + 1]),
                    "states  " + " ".join(one[0] for one in expected[: number + 1]),
                ),
                read="saw",
            )


def _why(before: str, right: str, got: object, down_after: int, up_after: int, number: int) -> str:
    if got not in ("Up", "Down"):
        return "the states are 'Up' and 'Down'"
    if not number:
        return "nothing was known: the first look decides"
    if right == before == "Up":
        return f"it takes {down_after} failures in a row"
    if right == before:
        return f"it takes {up_after} answers in a row"
    if right == "Down":
        return f"it has failed {down_after} times in a row"
    return f"it has answered {up_after} times in a row"


UP, OFF = True, False


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    look(learner, 3, 2, (UP, OFF, OFF, UP, OFF, OFF, OFF, UP, UP))


def test_the_first_look(learner: Learner) -> None:
    """the first check decides the state, whatever the limits are"""
    for answered in (UP, OFF):
        look(learner, 5, 5, (answered,))
        look(learner, 5, 5, (answered, not answered))


def test_at_once(learner: Learner) -> None:
    """with limits of one each check decides the state"""
    look(learner, 1, 1, (UP, OFF, UP, OFF, OFF, UP))


def test_in_a_row(learner: Learner) -> None:
    """only checks in a row count: a different result starts the count again"""
    look(learner, 2, 1, (UP, OFF, UP, OFF, UP, OFF, OFF, UP))
    look(learner, 1, 3, (OFF, UP, UP, OFF, UP, UP, OFF, UP, UP, UP, OFF))


def test_again_and_again(learner: Learner) -> None:
    """down, up, and down again: each change needs new checks"""
    look(learner, 2, 2, (UP, OFF, OFF, UP, UP, OFF, OFF, UP, UP, OFF, UP, OFF, OFF, OFF, UP, UP))


def test_all_short_lives(learner: Learner) -> None:
    """all possible results of six checks, with the limits 2 and 3"""
    for looks in product((UP, OFF), repeat=6):
        look(learner, 2, 3, looks)


def test_random(learner: Learner, seed: int) -> None:
    """twenty random targets"""
    random = Random(f"health/{seed}")
    for _ in range(20):
        often = random.random()
        looks = [random.random() < often for _ in range(60)]
        look(learner, random.randint(1, 5), random.randint(1, 5), looks)
