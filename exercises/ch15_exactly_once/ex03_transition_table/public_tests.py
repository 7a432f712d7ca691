"""Public tests of exercise 15-3. `kafka-edu lab check 15-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Iterable
from random import Random

from kafka_edu.common.errors import Errors
from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..table_rules import CHANGES, EVENTS, REQUESTS, STATES, right

NOTHING_OPEN = ("Empty", "CompleteCommit", "CompleteAbort")
PREPARED = ("PrepareCommit", "PrepareAbort")


def ask(made: LearnerObject, state: str, event: str, story: Iterable[str] = ()) -> str | None:
    """Compare the answer for this state and event, and return it. Raises Mismatch."""
    expected = right(state, event)
    came = made.call("next", state, event)
    if came == expected:
        return expected
    raise Mismatch(
        f"next({state!r}, {event!r})",
        expected,
        came,
        _why(state, event, expected),
        drawing=tuple(story),
        read="next",
    )


def _why(state: str, event: str, expected: str | None) -> str:
    if expected is None:
        return f"{event} changes nothing in {state}"
    if event in CHANGES:
        return f"{event} is what {state} waits for" if event != "timeout" else "it is open too long"
    if expected == Errors.CONCURRENT_TRANSACTIONS.name:
        return f"in {state} something is being written, so the producer tries again"
    if expected == Errors.INVALID_TXN_STATE.name:
        if state in NOTHING_OPEN:
            return f"in {state} there is nothing that {event} can end"
        return f"in {state} the other decision was made"
    if expected == state and event != "add":
        return "it has ended like this already, so the producer gets a success"
    return f"{event} in {state} leads to {expected}"


def walk(made: LearnerObject, events: Iterable[str]) -> str:
    """Let these events happen to a new transactional id, and return its state. Raises Mismatch."""
    state, story = "Empty", ["a new id: Empty"]
    for event in events:
        answer = ask(made, state, event, story[-10:])
        if answer in STATES:
            state = str(answer)
        story.append(f"{event}: {answer}")
    return state


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    for state, event in (
        ("Empty", "add"),
        ("Ongoing", "commit"),
        ("PrepareCommit", "commit"),
        ("PrepareCommit", "written"),
        ("CompleteCommit", "commit"),
        ("CompleteCommit", "abort"),
        ("PrepareAbort", "timeout"),
    ):
        ask(made, state, event)


def test_init(learner: Learner) -> None:
    """a producer sends InitProducerId, in each state"""
    made = learner.make()
    for state in STATES:
        ask(made, state, "init")


def test_add(learner: Learner) -> None:
    """partitions are added in each state"""
    made = learner.make()
    for state in STATES:
        ask(made, state, "add")


def test_one_decision(learner: Learner) -> None:
    """commit and abort in the states after the decision"""
    made = learner.make()
    for state in (*PREPARED, "CompleteCommit", "CompleteAbort"):
        for event in ("commit", "abort"):
            ask(made, state, event)


def test_nothing_to_end(learner: Learner) -> None:
    """commit and abort in states without an open or a decided transaction"""
    made = learner.make()
    for state in ("Empty", "PrepareEpochFence", "Dead"):
        for event in ("commit", "abort"):
            ask(made, state, event)


def test_time_out(learner: Learner) -> None:
    """the time-out comes in each state"""
    made = learner.make()
    for state in STATES:
        ask(made, state, "timeout")


def test_what_was_written(learner: Learner) -> None:
    """the epoch is raised, or the markers are written, in each state"""
    made = learner.make()
    for event in ("fenced", "written"):
        for state in STATES:
            ask(made, state, event)


def test_unused(learner: Learner) -> None:
    """an id was not used for seven days, in each state"""
    made = learner.make()
    for state in STATES:
        ask(made, state, "unused")


def test_a_lost_answer(learner: Learner) -> None:
    """commit, commit again, the markers, commit once more, and the next transaction"""
    made = learner.make()
    happens = (
        "init",
        "add",
        "add",
        "commit",
        "commit",
        "add",
        "written",
        "commit",
        "commit",
        "add",
    )
    assert walk(made, happens) == "Ongoing"


def test_a_second_process(learner: Learner) -> None:
    """another producer starts with the same id while a transaction is open"""
    made = learner.make()
    happens = ("init", "add", "init", "init", "add", "fenced", "init", "written", "init", "add")
    assert walk(made, happens) == "Ongoing"


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random events, each time with a new object"""
    random = Random(f"table/{seed}")
    for _ in range(4):
        walk(learner.make(), random.choices((*EVENTS, *REQUESTS), k=100))
