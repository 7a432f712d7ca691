"""Pictures of state machines, with the states that one object has gone through."""

from collections.abc import Callable, Sequence, Set

import graphviz

from kafka_edu.instruments.drawings.machines import Machine, machine_figure
from kafka_edu.trace.events.controller import (
    ControllerPartitionSnapshot,
    PartitionStateChanged,
    ReplicaStateChanged,
    StateMachineSnapshot,
)
from kafka_edu.trace.events.group import GroupSnapshot, GroupStateChanged
from kafka_edu.trace.events.transaction import TransactionSnapshot, TransactionStateChanged

from .past import NothingToDrawError, Past, partition_of

Step = tuple[str, str]
"""The state before a change, and the state after it."""


def partition(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    of = partition_of(past, words[0])

    def told(event: object) -> Step | str | None:
        match event:
            case PartitionStateChanged() as e if (e.topic, e.partition) == of:
                return e.before, e.after
            case ControllerPartitionSnapshot() as e if (e.topic, e.partition) == of:
                return e.state
        return None

    return _machine(past, "partition", words[0], told)


def replica(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    of = partition_of(past, words[0])
    if not words[1].isdecimal():
        raise NothingToDrawError(f"'{words[1]}' names no broker: write its number")
    replica = int(words[1])

    def told(event: object) -> Step | str | None:
        match event:
            case ReplicaStateChanged() as e if (e.topic, e.partition, e.replica) == (*of, replica):
                return e.before, e.after
            case ControllerPartitionSnapshot() as e if (e.topic, e.partition) == of:
                return dict(zip(e.replicas, e.replica_states, strict=False)).get(replica)
        return None

    return _machine(past, "replica", f"{words[0]} on broker {replica}", told)


def group(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    known: set[str] = set()

    def told(event: object) -> Step | str | None:
        match event:
            case GroupStateChanged() as e:
                known.add(e.group)
                return (e.before, e.after) if e.group == words[0] else None
            case GroupSnapshot(group=group):
                known.add(group.group)
                return group.state if group.group == words[0] else None
        return None

    return _machine(past, "group", words[0], told, known)


def transaction(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    known: set[str] = set()

    def told(event: object) -> Step | str | None:
        match event:
            case TransactionStateChanged() as e:
                known.add(e.transactional_id)
                return (e.before, e.after) if e.transactional_id == words[0] else None
            case TransactionSnapshot() as e:
                known.add(e.transactional_id)
                return e.state if e.transactional_id == words[0] else None
        return None

    return _machine(past, "transaction", words[0], told, known)


def _machine(
    past: Past,
    machine: str,
    of: str,
    told: Callable[[object], Step | str | None],
    known: Set[str] = frozenset(),
) -> graphviz.Digraph:
    """Draw a state machine, with the states that the object `of` has gone through.

    If the object has not changed, only its current state is marked. The table of states comes from
    the brokers' events. `told` returns what an event reports about the object: a change, the
    current state, or None. `told` may add the names of all such objects to `known`.
    """
    begin = past.begin.events if past.begin else 0
    way: list[str] = []
    now = ""
    table: StateMachineSnapshot | None = None
    for at, envelope in enumerate(past.envelopes):
        event = envelope.event
        if isinstance(event, StateMachineSnapshot):
            table = event if event.machine == machine else table
            continue
        step = told(event) if at < past.at.events else None
        if isinstance(step, str):
            now = step
        elif step is not None:
            now = step[1]
            if at >= begin:
                way += step if not way else step[1:]
    if not now:
        there = ", ".join(sorted(known)[:8])
        words = f"no state of {machine} {of} is known in this time"
        raise NothingToDrawError(words + (f"; known: {there}" if there else ""))
    befores: dict[str, list[str]] = {}
    if table is not None:
        befores = {_short(state, machine): [] for state in table.states}
        for before, after in table.transitions:
            if before != after:
                befores[_short(after, machine)].append(_short(before, machine))
    title = f"The states of a {machine}, {past.when}"
    steps = [_short(state, machine) for state in way or [now]]
    return machine_figure(Machine(title, befores, steps, of))


def _short(state: str, machine: str) -> str:
    """Return a state without the machine's name: `OnlinePartition` becomes `Online`."""
    return state.replace(machine.capitalize(), "") or state
