"""Search every order of a few events for the shortest order in which something goes wrong.

A `Space` returns the events that can come next, and the state after one of them. The search first
tries all orders of one event, then all orders of two events, and so on. So the first wrong order
that it finds is one of the shortest wrong orders.

    space        events a and b, each once; an order is wrong if b is first
    level 1      a: right, b: wrong → the shortest order is (b)

If several orders lead to the same state, they continue in the same way, so the search follows only
one of them. For example, three independent events a, b and c have 6 orders, but only 8 states: one
for each set of events that have happened. A state must therefore contain the events that can still
come, and everything else that matters later.

Exercise 03-1 searches the orders of threads' steps in this way
(exercises/ch03_delayed_operations/orders). `election_orders` searches the orders of a small
cluster's events. The cost is O(states · events).
"""

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from kafka_edu.common.words import plural

MOST_STATES: Final = 100_000
MOST_SECONDS: Final = 30.0

StateT = TypeVar("StateT", bound=Hashable)
MoveT = TypeVar("MoveT")


class Space(Protocol[StateT, MoveT]):
    """The states and events that a search tries. Two states must be equal if the same events have
    the same effects after them.
    """

    def moves(self, state: StateT) -> Sequence[MoveT]:
        """Return the events that can come next. At the end of an order there are none."""
        ...

    def after(self, state: StateT, move: MoveT) -> StateT:
        """Return the state that `state` becomes when the event `move` happens."""
        ...

    def fault(self, state: StateT) -> str:
        """Return in words what is wrong with a state, or "" if nothing is wrong."""
        ...


class Limits(NamedTuple):
    """The limits at which a search ends: the number of states, and the time."""

    states: int = MOST_STATES
    seconds: float = MOST_SECONDS
    """The limit of real time, because a user waits for the result."""


LIMITS: Final = Limits()


class Wrong(NamedTuple, Generic[MoveT]):
    """An order of events that leads to a wrong state."""

    moves: tuple[MoveT, ...]
    fault: str


class Explored(NamedTuple, Generic[MoveT]):
    """The result of a search."""

    orders: int
    """The number of complete orders that were tried. Orders with the same state were tried
    together, but each of them counts.
    """
    faulty: int
    """The number of orders that are wrong."""
    states: int
    """The number of different states that were found."""
    length: int
    """Every order of up to `length` events was tried."""
    shortest: Wrong[MoveT] | None
    left_out: str
    """The part that the search left out because of its limits, in words. "" if there is none."""


def explore(
    space: Space[StateT, MoveT],
    begin: StateT,
    *,
    limits: Limits = LIMITS,
    counts_all: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Explored[MoveT]:
    """Try every order of events from the state `begin` on. Stop at the first wrong order, which is
    a shortest one.

    With `counts_all`, continue with the other orders, to count the wrong ones. A wrong order is not
    continued after the event that made it wrong.
    """
    came: dict[StateT, tuple[StateT, MoveT] | None] = {begin: None}
    level: dict[StateT, int] = {begin: 1}
    """State → the number of orders that lead to it."""
    wrong: dict[StateT, str] = {}
    orders = faulty = length = 0
    shortest: Wrong[MoveT] | None = None
    end_s = clock() + limits.seconds

    def found(left_out: str = "") -> Explored[MoveT]:
        return Explored(orders, faulty, len(came), length, shortest, left_out)

    def judge(state: StateT) -> bool:
        """Check a new state. Return whether the search can end."""
        nonlocal shortest
        if fault := space.fault(state):
            wrong[state] = fault
            shortest = shortest or Wrong(_way_to(state, came), fault)
        return bool(wrong) and not counts_all

    if judge(begin):
        return found()
    while level:
        following: dict[StateT, int] = {}
        for tried, (state, ways) in enumerate(level.items()):
            moves = () if state in wrong else space.moves(state)
            orders += ways * (not moves)
            faulty += ways * (state in wrong)
            for move in moves:
                if reason := _reason_to_stop(len(came), clock() - end_s, limits):
                    return found(
                        f"{reason}. Every order of up to {plural(length, 'event')} was tried, and"
                        f" {plural(len(level) - tried, 'state')} of {len(level):,} after"
                        f" {plural(length, 'event')} were not followed"
                    )
                after = space.after(state, move)
                if after not in came:
                    came[after] = state, move
                    if judge(after):
                        return found()
                following[after] = following.get(after, 0) + ways
        level = following
        length += bool(level)
    return found()


def _reason_to_stop(states: int, late_s: float, limits: Limits) -> str:
    if late_s >= 0:
        return f"the time of {limits.seconds:g} s is up"
    if states >= limits.states:
        return f"there are {limits.states:,} states"
    return ""


def _way_to(state: StateT, came: dict[StateT, tuple[StateT, MoveT] | None]) -> tuple[MoveT, ...]:
    """Return the events that lead from the first state to `state`."""
    moves: list[MoveT] = []
    while (step := came[state]) is not None:
        state, move = step
        moves.append(move)
    return tuple(reversed(moves))
