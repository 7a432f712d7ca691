"""Search every order of a few events for the shortest order in which something goes wrong.

A space says which events can come next, and what the state is after one of them. The search goes
level by level: all orders of one event, then all of two, and so on. So the first order that it
finds wrong is a shortest one.

    space        events a and b, each once; wrong if b is first
    level 1      a: right, b: wrong → the shortest order is (b)

Orders that lead to the same state go on in the same way, and are followed once. So the events a, b
and c, which do not touch each other, have 6 orders and 15 beginnings of orders, but only 8 states.
A state must therefore hold the events that are still to come, and everything else that matters
later.

Exercise 03-1 searches the steps of threads in this way (exercises/ch03_delayed_operations/orders),
and `election_orders` searches the events of a small cluster. Cost: O(states · events) steps.
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
    """The states that events lead to. Two states are equal if they go on in the same way."""

    def moves(self, state: StateT) -> Sequence[MoveT]:
        """Return the events that can come next; nothing at the end of an order."""
        ...

    def after(self, state: StateT, move: MoveT) -> StateT:
        """Return the state after one of these events."""
        ...

    def fault(self, state: StateT) -> str:
        """Say what is wrong with a state; empty if nothing is."""
        ...


class Limits(NamedTuple):
    """How much is searched at most."""

    states: int = MOST_STATES
    seconds: float = MOST_SECONDS
    """By the clock, because somebody waits."""


LIMITS: Final = Limits()


class Wrong(NamedTuple, Generic[MoveT]):
    """An order that goes wrong."""

    moves: tuple[MoveT, ...]
    fault: str


class Explored(NamedTuple, Generic[MoveT]):
    """What a search has found."""

    orders: int
    """How many whole orders were tried. Each counts, also if it was followed with others."""
    faulty: int
    """How many of them are wrong."""
    states: int
    """How many different states they have."""
    length: int
    """Every order of up to so many events was tried."""
    shortest: Wrong[MoveT] | None
    left_out: str
    """What there was no time or room for, in words; empty if nothing was left out."""


def explore(
    space: Space[StateT, MoveT],
    begin: StateT,
    *,
    limits: Limits = LIMITS,
    counts_all: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Explored[MoveT]:
    """Try every order from `begin` on, and stop at the first that is wrong: it is a shortest one.

    With `counts_all` the other orders are tried too, to count those that are wrong. An order ends
    where it goes wrong.
    """
    came: dict[StateT, tuple[StateT, MoveT] | None] = {begin: None}
    level: dict[StateT, int] = {begin: 1}
    """State → how many orders lead to it."""
    wrong: dict[StateT, str] = {}
    orders = faulty = length = 0
    shortest: Wrong[MoveT] | None = None
    end_s = clock() + limits.seconds

    def found(left_out: str = "") -> Explored[MoveT]:
        return Explored(orders, faulty, len(came), length, shortest, left_out)

    def judge(state: StateT) -> bool:
        """Judge a new state. Return whether the search is at its end."""
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
    """Return the events that lead from the beginning to a state."""
    moves: list[MoveT] = []
    while (step := came[state]) is not None:
        state, move = step
        moves.append(move)
    return tuple(reversed(moves))
