"""Public tests of exercise 18-4. `kafka-edu lab check 18-4` runs them. The learner's class runs in
other processes, each with a different seed for Python's hashes.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch, Words
from ..placing_world import Answer, Call, RightPlacer, answer, random_calls
from .material import runs

WANTED: Final = "(number of the call, number of brokers)"
HASH_SEEDS: Final = (1, 2, 3, 4)
LINES: Final = 10


def with_each_seed(learner: Learner, use: Callable[[Learner], None]) -> None:
    """Use the learner's file in a new process for each of the hash seeds."""
    for hash_seed in HASH_SEEDS:
        other = learner.with_hash_seed(hash_seed)
        try:
            use(other)
        finally:
            other.close()


def check(learner: Learner, calls: Sequence[Call]) -> None:
    """Compare each answer to the calls with the right one. Raises Mismatch."""
    with_each_seed(learner, lambda other: check_once(other, calls))


def check_once(learner: Learner, calls: Sequence[Call]) -> None:
    """Compare each answer with the right one, in one process. Raises Mismatch."""
    made, right = learner.make(), RightPlacer()
    for number, call in enumerate(calls, 1):
        state = [f"{broker} has {', '.join(has) or 'nothing'}" for broker, has in right.rows]
        came, wanted = made.call(call.method, call.name), answer(right, call)
        if came != wanted:
            raise Mismatch(
                str(call),
                wanted if wanted is not None else Words("no answer"),
                came,
                _why(call, wanted, came),
                drawing=(*map(str, calls[max(0, number - LINES) : number]), *state),
                read=call.method,
            )


def _why(call: Call, wanted: Answer, came: object) -> str:
    if call.method == "place":
        return f"of those with the fewest partitions, {wanted} joined first"
    if not isinstance(came, tuple) or not isinstance(wanted, tuple):
        return "README.md says what each call returns"
    if sorted(map(str, came)) == sorted(map(str, wanted)):
        return "the partitions are in the order in which the broker got them"
    return "one after the other, in the order in which the broker got them, each is placed"


def joined(*numbers: int) -> list[Call]:
    """Return the calls with which brokers join."""
    return [Call("join", f"broker-{number}") for number in numbers]


def placed(*numbers: int) -> list[Call]:
    """Return the calls that place partitions."""
    return [Call("place", f"orders-{number}") for number in numbers]


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the first call with two different answers, and the number of brokers"""
    other = learner.with_hash_seed(HASH_SEEDS[0])
    try:
        call, brokers = came = two_numbers(other, WANTED, ())
    finally:
        other.close()
    made = runs(material)
    if call != made.call:
        if not 1 <= call <= made.calls:
            why = f"events.txt has the calls 1 to {made.calls}"
        elif call < made.call:
            why = f"call {call} has the same answer in both runs"
        else:
            why = f"that is too late: they part before call {call}"
        raise wrong_numbers(WANTED, came, why)
    if brokers != made.brokers:
        why = f"count what each broker has before call {call}, without one that leaves"
        raise wrong_numbers(WANTED, came, why)


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    check(learner, [*joined(3, 1, 2), *placed(0, 1, 2, 3), Call("leave", "broker-3")])


def test_equal(learner: Learner) -> None:
    """all brokers have equally many partitions"""
    check(learner, [*joined(5, 8, 1, 7, 3, 2), *placed(*range(6))])


def test_who_joined_first(learner: Learner) -> None:
    """the order in which brokers join is not that of their names"""
    check(learner, [*joined(2, 1), *placed(0, 1), *joined(4, 3), *placed(2, 3, 4)])


def test_leave(learner: Learner) -> None:
    """a broker with many partitions leaves"""
    calls = [*joined(1), *placed(*range(8)), *joined(4, 2, 3), Call("leave", "broker-1")]
    check(learner, calls)


def test_the_order_of_what_it_got(learner: Learner) -> None:
    """a broker gets partitions whose names are in no order"""
    calls = [*joined(1), *placed(7, 3, 10, 9, 1), *joined(2, 3), Call("leave", "broker-1")]
    check(learner, calls)


def test_back_again(learner: Learner) -> None:
    """a broker that left and joins again counts as the last that joined"""
    calls = [*joined(1, 2, 3), Call("leave", "broker-1"), *joined(1), *placed(0, 1, 2)]
    check(learner, calls)


def test_the_same_again(learner: Learner, seed: int) -> None:
    """the same calls have the same answers with each hash seed"""
    calls = random_calls(Random(f"again/{seed}"), 30, 14)
    answers: list[list[object]] = []

    def play(other: Learner) -> None:
        made = other.make()
        answers.append([made.call(call.method, call.name) for call in calls])

    with_each_seed(learner, play)
    for number, came in enumerate(zip(*answers, strict=True)):
        if len(set(came)) > 1:
            raise Mismatch(
                str(calls[number]),
                Words("one answer"),
                Words(" or ".join(sorted({repr(one) for one in came}))),
                "not deterministic: the answer depends on the seed of Python's hashes",
                drawing=tuple(map(str, calls[max(0, number - LINES) : number + 1])),
                read=calls[number].method,
            )


def test_worlds(learner: Learner, seed: int) -> None:
    """ten random worlds, with each hash seed"""
    random = Random(f"worlds/{seed}")
    worlds = [random_calls(random, 30, 14) for _ in range(10)]

    def play(other: Learner) -> None:
        for calls in worlds:
            check_once(other, calls)

    with_each_seed(learner, play)
