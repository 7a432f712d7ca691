"""Exercise 04-1 in a live broker: a learner's tables of states decide the controller's changes.

The tables say which changes of state are allowed. The learner's code is called only once for each
pair of states, and its answer is kept, because a controller changes the states of thousands of
partitions in one step.
"""

from collections.abc import Callable, Mapping, Set
from typing import Final

from kafka_edu.controller import partition_state_machine, replica_state_machine
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.learner.seams import LearnerCode, LearnerError

State = PartitionState | ReplicaState
TABLES: Final[Mapping[str, Mapping[str, Set[str]]]] = {
    machine: {str(after): {*map(str, befores)} for after, befores in table.items()}
    for machine, table in (
        ("partition", partition_state_machine.VALID_PREVIOUS_STATES),
        ("replica", replica_state_machine.VALID_PREVIOUS_STATES),
    )
}
NAME: Final = "web-0"
"""The name that the learner's state machine gets in each call."""


def adapt(code: LearnerCode) -> Callable[[State, State], bool]:
    """Return the function that replaces `may_become` of both state machines.

    If a learner's machine refuses a change, the controller leaves the partition as it is.
    """
    known: dict[tuple[State, State], bool] = {}

    def may_become(before: State, after: State) -> bool:
        if code.retired:
            return _shipped(before, after)
        pair = before, after
        if pair not in known:
            try:
                known[pair] = _ask(code, before, after)
            except LearnerError as error:
                code.failed(error)
                return _shipped(before, after)
        return known[pair]

    return may_become


def _shipped(before: State, after: State) -> bool:
    if isinstance(before, PartitionState) and isinstance(after, PartitionState):
        return partition_state_machine.may_become(before, after)
    assert isinstance(before, ReplicaState)
    assert isinstance(after, ReplicaState)
    return replica_state_machine.may_become(before, after)


def _ask(code: LearnerCode, before: State, after: State) -> bool:
    """Bring a new machine of the learner to the state `before`, and ask whether `after` may follow.

    Raises LearnerError.
    """
    machine = "partition" if isinstance(before, PartitionState) else "replica"
    made = code.make(machine)
    for state in _way(TABLES[machine], before):
        code.ask(made, "handle", [NAME], _short(state))
    answer = code.ask(made, "handle", [NAME], _short(after))
    match answer:
        case (((str(name), str()),), ()) if name == NAME:
            return True
        case ((), ((str(name), str()),)) if name == NAME:
            return False
    raise code.blame(
        f"handle([{NAME!r}], {_short(after)!r}) of a {machine} that is {_short(before)} answered"
        f" {answer!r}; expected (changed, refused), with {NAME} in one of them"
    )


def _way(table: Mapping[str, Set[str]], wanted: str) -> tuple[str, ...]:
    """Return a shortest path of states from NonExistent to `wanted`, using the shipped table."""
    [gone] = [state for state in table if state.startswith("NonExistent")]
    ways: dict[str, tuple[str, ...]] = {gone: ()}
    todo = [gone]
    for state in todo:
        for after, befores in table.items():
            if state in befores and after not in ways:
                ways[after] = (*ways[state], after)
                todo.append(after)
    return ways[wanted]


def _short(state: str) -> str:
    """Return the name that the exercise uses: `Online`, `DeletionStarted`."""
    return state.replace("Partition", "").replace("Replica", "")
