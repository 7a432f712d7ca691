"""The kinds of pictures, and how each one is made of the events."""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final, NamedTuple

import graphviz

from kafka_edu.common.link_faults import Link
from kafka_edu.instruments.drawings import clusters, partition_logs, processes, znodes
from kafka_edu.instruments.drawings.machines import Machine, machine_figure
from kafka_edu.instruments.event_name import UnknownEventError, event_name, find_event
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import (
    ControllerPartitionSnapshot,
    PartitionStateChanged,
    ReplicaStateChanged,
    StateMachineSnapshot,
)
from kafka_edu.trace.events.group import GroupSnapshot, GroupStateChanged
from kafka_edu.trace.events.replication import (
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
)
from kafka_edu.trace.events.transaction import TransactionSnapshot, TransactionStateChanged
from kafka_edu.trace.reader import History

from ..model import Model
from ..view_model.znode_tree import ROOT, Znode
from ..view_model.zookeeper_view import ZookeeperView
from .moments import Moment

MOST_EFFECTS: Final = 12
DEPTH: Final = 2
"""The number of levels of znodes that are drawn below the first. Deeper ones are counted."""


class NothingToDrawError(Exception):
    """The wanted thing is not there. The message says what there is."""


class Past:
    """The history from which a picture is made."""

    def __init__(
        self, name: str, envelopes: Sequence[Envelope], at: Moment, begin: Moment | None = None
    ) -> None:
        self.name = name
        """The cluster's name."""
        self.envelopes = envelopes
        self.at = at
        self.begin = begin
        """The earlier moment: a state is drawn at both, of a way only what lies between."""
        self._models: dict[Moment, Model] = {}

    @property
    def until(self) -> Sequence[Envelope]:
        return self.envelopes[: self.at.events]

    @property
    def moments(self) -> list[Moment]:
        return [self.begin, self.at] if self.begin else [self.at]

    @property
    def when(self) -> str:
        return self.at.words if self.begin is None else f"{self.begin.words} to {self.at.words}"

    def model(self, moment: Moment) -> Model:
        """Return all that is known at a moment. O(events up to it), once."""
        model = self._models.get(moment)
        if model is None:
            model = self._models[moment] = Model(self.name)
            model.apply(self.envelopes[: moment.events])
            model.advance(moment.mono_us)
        return model


class Subject(NamedTuple):
    """A kind of picture."""

    wants: str
    """The words behind its name, as the help shows them."""
    least: int
    """The number of words that it needs."""
    shows: str
    draw: Callable[[Past, Sequence[str]], graphviz.Digraph]


# A cluster.


def _cluster(past: Past, _: Sequence[str]) -> graphviz.Digraph:
    several = past.begin is not None
    moments = [
        _cluster_at(past.model(moment), moment.words if several else "") for moment in past.moments
    ]
    if not any(at.brokers for at in moments):
        raise NothingToDrawError("no broker has told anything up to that moment")
    title = f"Cluster {past.name}" if several else f"Cluster {past.name} at {past.at.words}"
    return clusters.cluster_figure(title, moments)


def _cluster_at(model: Model, caption: str) -> clusters.ClusterAt:
    view = model.cluster
    brokers = []
    for broker in sorted(view.brokers.by_id.values(), key=lambda one: one.id):
        head, _ = broker.status(view.glow.now_us)
        trouble = head if broker.dead or broker.process == "paused" else ""
        brokers.append(
            clusters.Broker(broker.id, trouble.lstrip("✕‖ "), view.controller == broker.id)
        )
    partitions = [
        clusters.Replicas(str(p.key), p.leader, p.isr, p.replicas)
        for p in view.partitions.by_key.values()
    ]
    shown = [p for p in partitions if not p.name.startswith("__")] or partitions
    shown = shown[: clusters.SHOWN_PARTITIONS]
    servers = view.zookeepers
    dead = [str(server) for server, runs in sorted(servers.items()) if not runs]
    ended = "ended" if dead and len(dead) == len(servers) else ""
    if dead and not ended:
        ended = f"server {', '.join(dead)} ended"
    return clusters.ClusterAt(
        caption=caption,
        brokers=brokers,
        partitions=shown,
        faults=[_fault(link, str(fault)) for link, fault in view.links.items()],
        zookeeper=ended,
        left_out=len(partitions) - len(shown),
        unknown=view.unknown(),
    )


def _fault(link: Link, words: str) -> clusters.Fault:
    other = link.side or str(link.other)
    return clusters.Fault(link.broker, other, words)


# A log.


def _log(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    topic, partition = _partition(past, words[0])
    several = past.begin is not None
    moments = []
    for moment in past.moments:
        told = _progress(past.envelopes[: moment.events], topic, partition)
        known = past.model(moment).cluster.partitions.by_key
        p = next((p for key, p in known.items() if key == (topic, partition)), None)
        replicas = p.replicas if p is not None else tuple(sorted(told))
        leader, isr = (p.leader, p.isr) if p is not None else (-1, ())
        logs = []
        for broker in replicas:
            role = "leads" if broker == leader else "in ISR" if broker in isr else "out of ISR"
            who = f"broker {broker}, {role}"
            one = told.get(broker)
            logs.append(
                partition_logs.ReplicaLog(
                    who, one.hw, one.leo, one.log_start, one.last_stable if broker == leader else -1
                )
                if one is not None
                else partition_logs.ReplicaLog(who, -1, -1)
            )
        moments.append(partition_logs.LogsAt(moment.words if several else "", logs))
    title = f"{topic}-{partition}" + ("" if several else f" at {past.at.words}")
    return partition_logs.logs_figure(title, moments)


def _progress(
    envelopes: Sequence[Envelope], topic: str, partition: int
) -> Mapping[int, PartitionProgress]:
    """Return broker → what it last told of its replica."""
    told: dict[int, PartitionProgress] = {}
    for envelope in envelopes:
        event = envelope.event
        if (
            isinstance(event, PartitionSnapshot | PartitionOffsets)
            and event.partition == partition
            and event.topic == topic
            and envelope.broker is not None
        ):
            told[envelope.broker] = event.progress
    return told


def _partition(past: Past, word: str) -> tuple[str, int]:
    """Return the topic and the partition of a word such as `web-1`. Raises NothingToDrawError."""
    topic, _, number = word.rpartition("-")
    known = past.model(past.at).cluster.partitions.by_key
    found = next((key for key in known if str(key) == word), None)
    if found is not None:
        return found.topic, found.partition
    names = sorted(str(key) for key in known if not key.topic.startswith("__"))
    there = ", ".join(names[:8]) + (" …" if len(names) > 8 else "") if names else "none"
    if not topic or not number.isdecimal():
        raise NothingToDrawError(f"'{word}' names no partition: write one as web-1; known: {there}")
    raise NothingToDrawError(f"there is no partition {word}; known: {there}")


# State machines.


Step = tuple[str, str]
"""A state before and after."""


def _partition_machine(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    of = _partition(past, words[0])

    def told(event: object) -> Step | str | None:
        match event:
            case PartitionStateChanged() as e if (e.topic, e.partition) == of:
                return e.before, e.after
            case ControllerPartitionSnapshot() as e if (e.topic, e.partition) == of:
                return e.state
        return None

    return _machine(past, "partition", words[0], told)


def _replica_machine(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    of = _partition(past, words[0])
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


def _group_machine(past: Past, words: Sequence[str]) -> graphviz.Digraph:
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


def _transaction_machine(past: Past, words: Sequence[str]) -> graphviz.Digraph:
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
    """Draw the table that the brokers told, with the way of one thing; without a way its state.

    `told` says what an event tells of it: a step, its state, or nothing. It may fill `known`, the
    things of this kind that there are.
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
    """Return a state without the machine's name: `OnlinePartition` is `Online`."""
    return state.replace(machine.capitalize(), "") or state


# Znodes.


def _znodes(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    top = words[0] if words else ROOT
    if not top.startswith("/"):
        raise NothingToDrawError(f"'{top}' is no path: it begins with /")
    states = [_tree(past.model(moment).zookeeper, top) for moment in past.moments]
    if not states[-1] and not states[0]:
        raise NothingToDrawError(
            f"no znode {top} is known. ZooKeeper's znodes are known only if the cluster's own,"
            " embedded ZooKeeper tells of them"
        )
    drawn = znodes.changes(states[0], states[-1]) if past.begin else list(states[-1].values())
    return znodes.znodes_figure(f"Znodes, {past.when}", drawn)


def _tree(view: ZookeeperView, top: str) -> Mapping[str, znodes.Znode]:
    first = view.tree.by_path.get(top)
    found: dict[str, znodes.Znode] = {}
    waiting = [(first, 0)] if first is not None and not first.deleted_us else []
    while waiting:
        node, depth = waiting.pop()
        below = view.tree.living_children(node)
        data = node.data
        if depth == DEPTH and below:
            data = f"{data} … {len(below):,} below".strip()
        found[node.path] = znodes.Znode(node.path, data, _owner(view, node))
        if depth < DEPTH:
            waiting += [(child, depth + 1) for child in below]
    return found


def _owner(view: ZookeeperView, node: Znode) -> str:
    if not node.owner:
        return ""
    broker = view.owner(node.owner)
    return f"session of broker {broker}" if broker is not None else f"session {node.owner:#x}"


# Events.


def _chain(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    history, found, shown, left = _around(past, words)
    more = f", {left:,} effects not drawn" if left else ""
    title = f"Why {event_name(found)} {found.name}{more}"
    return processes.causes_figure(title, shown, history, found)


def _time_space(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    history, found, shown, _ = _around(past, words)
    title = f"{event_name(found)} {found.name}, its causes and effects"
    return processes.time_space_figure(title, shown, history, found)


def _around(
    past: Past, words: Sequence[str]
) -> tuple[History, Envelope, list[processes.Shown], int]:
    try:
        found = find_event(past.until, words)
    except UnknownEventError as error:
        raise NothingToDrawError(str(error)) from error
    history = History(past.until)
    shown, left = processes.facts_around(history, found, MOST_EFFECTS)
    return history, found, shown, left


SUBJECTS: Final[Mapping[str, Subject]] = {
    "cluster": Subject("", 0, "brokers, links that are not whole, leaders and ISRs", _cluster),
    "log": Subject("TOPIC-N", 1, "a partition's replicas with their LSO, HW and LEO", _log),
    "partition": Subject(
        "TOPIC-N",
        1,
        "the controller's states of a partition, and the way",
        _partition_machine,
    ),
    "replica": Subject(
        "TOPIC-N BROKER", 2, "the controller's states of a replica, and the way", _replica_machine
    ),
    "group": Subject("GROUP", 1, "the states of a consumer group, and the way", _group_machine),
    "transaction": Subject(
        "ID", 1, "the states of a transactional id, and the way", _transaction_machine
    ),
    "znodes": Subject("[PATH]", 0, "znodes: their data, and whose session they need", _znodes),
    "chain": Subject("EVENT", 1, "an event's causes and what followed from it", _chain),
    "time-space": Subject("EVENT", 1, "the same, as messages between processes", _time_space),
}
_NO_FILE_NAME: Final = re.compile(r"[^\w.]+")


def file_name(words: Sequence[str]) -> str:
    """Return a name for the picture of these words: `log-web-1`."""
    return _NO_FILE_NAME.sub("-", "-".join(words)).strip("-.")[:80]
