"""Judge the answer of a learner who had to find two numbers in the events of a run."""

from collections.abc import Sequence

from kafka_edu.learner.learner import Learner

from .mismatch import Mismatch, Words

ASKED = "diagnosis()"


def two_numbers(
    learner: Learner, wanted: str, arguments: Sequence[object] = (0,)
) -> tuple[int, int]:
    """Return the two numbers that the learner's method `diagnosis` returns. `wanted` describes
    these numbers in words. The learner's class is called with `arguments`. Raises Mismatch if the
    answer is not two numbers.
    """
    came = learner.make(*arguments).call("diagnosis")
    match came:
        case (int(first), int(second)):
            return first, second
    raise Mismatch(ASKED, Words(wanted), came, "the answer has two numbers")


def wrong_numbers(wanted: str, came: tuple[int, int], why: str) -> Mismatch:
    """Return the Mismatch for two numbers of which at least one is wrong. `why` says what is
    wrong.
    """
    return Mismatch(ASKED, Words(wanted), came, why, read="events.txt")
