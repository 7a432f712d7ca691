"""The search of every order: shorter orders come first, equal states are followed once, and the
search says what it left out.
"""

from collections.abc import Sequence
from itertools import pairwise, permutations
from math import factorial

from kafka_edu.sim.all_orders import Limits, explore


class Letters:
    """Orders of letters, in which each letter comes once. A state is the text so far, or only the
    set of its letters.
    """

    def __init__(self, letters: str, wrong: Sequence[str], *, ordered: bool) -> None:
        self._letters = letters
        self._wrong = set(wrong)
        self._ordered = ordered
        self.asked: list[str] = []

    def moves(self, state: str) -> Sequence[str]:
        return [letter for letter in self._letters if letter not in state]

    def after(self, state: str, move: str) -> str:
        self.asked.append(state + move)
        return state + move if self._ordered else "".join(sorted(state + move))

    def fault(self, state: str) -> str:
        return f"{state} is wrong" if state in self._wrong else ""


def test_without_a_fault_every_order_is_tried() -> None:
    found = explore(Letters("abcd", (), ordered=True), "")
    assert (found.orders, found.faulty, found.length) == (factorial(4), 0, 4)
    assert found.states == 1 + 4 + 12 + 24 + 24
    assert found.shortest is None
    assert not found.left_out


def test_orders_that_lead_to_the_same_state_are_followed_once_and_all_counted() -> None:
    space = Letters("abcdefgh", (), ordered=False)
    found = explore(space, "")
    assert (found.orders, found.states) == (factorial(8), 2**8)
    assert len(space.asked) == 8 * 2**7, "each event of each state once"


def test_the_order_that_is_found_is_a_shortest_one() -> None:
    wrong = ("abcd", "dcb", "bda")
    found = explore(Letters("abcd", wrong, ordered=True), "")
    assert found.shortest is not None
    assert found.shortest.moves == ("b", "d", "a")
    assert found.shortest.fault == "bda is wrong"
    assert found.length == 2, "every order of two letters is right"
    by_hand = min(
        (
            "".join(order)[:length]
            for order in permutations("abcd")
            for length in range(5)
            if "".join(order)[:length] in wrong
        ),
        key=len,
    )
    assert len(by_hand) == len(found.shortest.moves)


def test_all_wrong_orders_are_counted_on_request() -> None:
    """The order ab is wrong, and nothing is tried after it. The orders cdab and dcab are wrong at
    their end.
    """
    wrong = ("ab", "cdab", "dcab")
    found = explore(Letters("abcd", wrong, ordered=True), "", counts_all=True)
    assert found.faulty == 3
    assert found.orders == factorial(4) - 1, "the two orders that begin with ab end there"
    assert found.shortest is not None
    assert found.shortest.moves == ("a", "b")


def test_a_wrong_beginning_needs_no_event() -> None:
    found = explore(Letters("ab", ("",), ordered=True), "")
    assert found.shortest is not None
    assert found.shortest.moves == ()


def test_what_there_was_no_room_for_is_said() -> None:
    found = explore(Letters("abcd", (), ordered=True), "", limits=Limits(states=10))
    assert found.states == 10
    assert found.left_out == (
        "there are 10 states. Every order of up to 1 event was tried, and 3 states of 4 after"
        " 1 event were not followed"
    )


def test_what_there_was_no_time_for_is_said() -> None:
    seconds = iter(range(1000))
    found = explore(
        Letters("abcd", (), ordered=True),
        "",
        limits=Limits(seconds=20),
        clock=lambda: next(seconds),
    )
    assert found.left_out.startswith("the time of 20 s is up. Every order of up to 2 events was")
    assert found.length == 2
    assert found.shortest is None


def test_letters_are_asked_level_by_level() -> None:
    space = Letters("abc", (), ordered=True)
    explore(space, "")
    assert all(len(one) <= len(other) for one, other in pairwise(space.asked))
