"""Try every order in which the steps of several threads can happen, and draw one of the orders.

A learner's thread is a generator: it yields a step, and gets the step's answer. Its next step
depends only on the answers so far, so each history of answers is tried only once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, NamedTuple, Protocol, Self, TypeVar

from kafka_edu.learner.learner import LearnerObject
from kafka_edu.sim.all_orders import Limits, explore

STEPS_LIMIT: Final = 60
"""The maximum number of steps. A thread with more steps is regarded as endless."""
NO_LIMITS: Final = Limits(10**9, math.inf)
COLUMN: Final = 38
COLUMNS_LIMIT: Final = 4
"""With up to this number of threads, each thread has a column in a picture. If there are more
threads, all share one column.
"""

Step = object
History = tuple[object, ...]


class NextStep(NamedTuple):
    """The next step of a thread, after the answers that it got so far."""

    step: Step
    """The step; for a thread that has ended, the value that it returned."""
    line: int = 0
    """The line number in the learner's file; 0 if the step is not the learner's."""
    ended: bool = False


class Thread(Protocol):
    """A thread. The search mixes its steps with the steps of the other threads, in every order."""

    @property
    def title(self) -> str:
        """Return the title of the thread's column in a picture."""
        ...

    def next_step(self, history: History) -> NextStep:
        """Return the step that follows these answers."""
        ...


class World(Protocol):
    """The state that all threads share. A step does not change it, but returns a new state."""

    def do(self, thread: int, step: Step) -> tuple[Self, object]:
        """Return the state after a thread's step, and the step's answer. Raises ValueError, whose
        message says what is wrong with the step.
        """
        ...

    def end(self, thread: int, returned: object) -> Self:
        """Return the state after a thread has returned a value."""
        ...


WorldT = TypeVar("WorldT", bound=World)


class ScriptedThread(NamedTuple):
    """A thread with a fixed list of steps, which do not depend on the answers."""

    title: str
    steps: tuple[Step, ...]

    def next_step(self, history: History) -> NextStep:
        done = len(history)
        if done == len(self.steps):
            return NextStep(None, ended=True)
        return NextStep(self.steps[done])


class LearnersThread:
    """A thread that does some fixed steps, and then the steps of the learner's generator."""

    def __init__(
        self,
        title: str,
        made: LearnerObject,
        arguments: Sequence[object] = (),
        first: Sequence[Step] = (),
    ) -> None:
        """The call `made.play(*arguments, answers)` returns a tuple: "step" or "end", the
        step or the returned value, and the line number.
        """
        self.title = title
        self._made = made
        self._arguments = tuple(arguments)
        self._first = tuple(first)
        self._known: dict[History, NextStep] = {}

    def next_step(self, history: History) -> NextStep:
        """Return the step that follows these answers. Raises LearnerFailure."""
        if len(history) < len(self._first):
            return NextStep(self._first[len(history)])
        answers = history[len(self._first) :]
        known = self._known.get(answers)
        if known is None:
            if len(answers) > STEPS_LIMIT:
                raise EndlessThreadError(
                    f"your generator is not at its end after {STEPS_LIMIT} steps: is there a loop"
                    " that never ends, while the other threads stand still?"
                )
            known = self._known[answers] = self._ask(answers)
        return known

    def _ask(self, answers: History) -> NextStep:
        match self._made.call("play", *self._arguments, list(answers)):
            case ("step", step, int(line)):
                return NextStep(step, line)
            case ("end", returned, int(line)):
                return NextStep(returned, line, ended=True)
            case other:
                raise AssertionError(
                    f"play returned {other!r}. It is given with the starter: put it back as it was"
                )


class Row(NamedTuple):
    """One step in an order of steps."""

    thread: int
    step: Step
    answer: object
    line: int
    ended: bool


class Order(NamedTuple, Generic[WorldT]):
    """One order of all steps: its steps, the state at the end, and the fault."""

    rows: tuple[Row, ...]
    world: WorldT
    fault: str


class Found(NamedTuple, Generic[WorldT]):
    """The result of a search through all orders of the threads' steps."""

    orders: int
    faulty: int
    first: Order[WorldT] | None
    """One of the shortest wrong orders: the one in which the first thread steps earliest."""
    left_out: str = ""
    """A sentence about the orders that a limit left out; empty if all were tried."""


class EndlessThreadError(AssertionError):
    """The learner's generator has more steps than allowed, so it seems to be endless."""


class BadStepError(Exception):
    """The learner's generator yielded a value that is not a valid step."""

    def __init__(self, step: Step, line: int, why: str) -> None:
        super().__init__(why)
        self.step = step
        self.line = line


class _Moment(NamedTuple, Generic[WorldT]):
    """The state between two steps. If two orders of steps reach the same state with the same
    answers, the same steps can follow in both.
    """

    world: WorldT
    histories: tuple[History, ...]
    ended: frozenset[int]


class _Interleavings(Generic[WorldT]):
    """The search space of all orders of the threads' steps (implements `all_orders.Space`). A move
    is the number of the thread that does the next step.
    """

    def __init__(self, threads: Sequence[Thread], fault_of: Callable[[WorldT], str]) -> None:
        self._threads = threads
        self._fault_of = fault_of

    def moves(self, state: _Moment[WorldT]) -> Sequence[int]:
        going = [number for number in range(len(self._threads)) if number not in state.ended]
        # No other thread sees when a thread returns. So a thread that can return does it at once,
        # before the other threads continue.
        returns = [n for n in going if self._threads[n].next_step(state.histories[n]).ended]
        return returns[:1] or going

    def after(self, state: _Moment[WorldT], move: int) -> _Moment[WorldT]:
        row, world, histories = _do(state.world, move, self._threads[move], state.histories)
        return _Moment(world, histories, state.ended | {move} if row.ended else state.ended)

    def fault(self, state: _Moment[WorldT]) -> str:
        return self._fault_of(state.world) if len(state.ended) == len(self._threads) else ""


def try_all_orders(
    world: WorldT,
    threads: Sequence[Thread],
    fault_of: Callable[[WorldT], str],
    *,
    limits: Limits = NO_LIMITS,
    counts_all: bool = True,
) -> Found[WorldT]:
    """Try every order of the threads' steps. `fault_of` returns the fault of a final state, or an
    empty text. If `counts_all` is False, the search ends at the first wrong order.

    If two orders reach the same state with the same answers, the steps after this state are
    searched only once. Raises BadStepError and LearnerFailure.
    """
    begin = _Moment(world, ((),) * len(threads), frozenset())
    space = _Interleavings(threads, fault_of)
    explored = explore(space, begin, limits=limits, counts_all=counts_all)
    first: Order[WorldT] | None = None
    if explored.shortest is not None:
        moves = iter(explored.shortest.moves)
        first = one_order(world, threads, lambda _: next(moves), fault_of)
    return Found(explored.orders, explored.faulty, first, explored.left_out)


def one_order(
    world: WorldT,
    threads: Sequence[Thread],
    choose: Callable[[Sequence[int]], int],
    fault_of: Callable[[WorldT], str],
) -> Order[WorldT]:
    """Do all steps in one order. `choose` gets the threads that still have steps, and picks the
    thread that does the next step.
    """
    histories: tuple[History, ...] = ((),) * len(threads)
    rows: list[Row] = []
    left = list(range(len(threads)))
    while left:
        number = choose(left)
        row, world, histories = _do(world, number, threads[number], histories)
        rows.append(row)
        if row.ended:
            left.remove(number)
    return Order(tuple(rows), world, fault_of(world))


def _do(
    world: WorldT, number: int, thread: Thread, histories: tuple[History, ...]
) -> tuple[Row, WorldT, tuple[History, ...]]:
    """Do one step of a thread. Return the step, the state after it, and all histories after it."""
    step, line, ended = thread.next_step(histories[number])
    if ended:
        return Row(number, step, None, line, True), world.end(number, step), histories
    try:
        after, answer = world.do(number, step)
    except ValueError as error:
        raise BadStepError(step, line, str(error)) from None
    longer = (*histories[number], answer)
    return (
        Row(number, step, answer, line, False),
        after,
        (*histories[:number], longer, *histories[number + 1 :]),
    )


def draw(
    order: Order[WorldT], threads: Sequence[Thread], words: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Draw the threads side by side, with one line for each step and the fault at the end.

    No line has more than 80 columns if keys have at most six characters.

    `words` maps some steps to a different text. They are steps of threads that are not the
    learner's.
    """
    width = COLUMN * 2 // max(len(threads), 2)
    in_columns = len(threads) <= COLUMNS_LIMIT
    lines = []
    if in_columns:
        lines.append(("    " + "".join(f"{one.title:<{width}}" for one in threads)).rstrip())
    number = 0
    for row in order.rows:
        if row.ended and row.step is None:
            continue  # a scripted thread has no more steps to show
        number += 1
        left = " " * (width * row.thread) if in_columns else f"{threads[row.thread].title:<18}"
        lines.append(f"{number:>2}  {left}{shown(row, words or {})}")
    lines.append(f"    ✗ {order.fault}")
    return tuple(lines)


def shown(row: Row, words: Mapping[str, str]) -> str:
    """Return a step, its answer and its line number as text."""
    if row.ended:
        return f"returns {row.step!r}"
    step = (
        " ".join(str(part) for part in row.step) if isinstance(row.step, tuple) else str(row.step)
    )
    text = words.get(step, step)
    if isinstance(row.answer, bool):
        text += f" → {row.answer}"
    elif row.answer is not None:
        text += f": {row.answer}"
    return text + (f"  (line {row.line})" if row.line else "")
