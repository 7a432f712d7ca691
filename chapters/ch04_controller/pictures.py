"""The pictures of chapter 04, made by real controllers.

The controllers run in two small simulations that count watches, and in a simulated cluster of three
brokers. The pictures read their events. Time is virtual and everything follows from a seed, so each
picture is the same each time.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from html import escape
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller import partition_state_machine, replica_state_machine
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    YELLOW,
    html,
    new_figure,
    table,
    wrapped,
)
from kafka_edu.instruments.drawings.machines import Machine, machine_figure
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.instruments.sentences.words import api_name
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.watches_exhibit import ControllerWorld, HerdWorld
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import (
    ControllerEventProcessed,
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerRequestSent,
    LeaderElected,
    PartitionStateChanged,
    ReplicaStateChanged,
    TopicDeletionChanged,
)
from kafka_edu.trace.events.reassignment import (
    ReassignmentCaughtUp,
    ReassignmentCompleted,
    ReassignmentReplicasStopped,
    ReassignmentStarted,
    ReassignmentWaits,
)

from ..drawing import picture

BROKERS: Final = 5
PARTITIONS: Final = 50
SEED: Final = 4
QUIET_MS: Final = 3_000
CONTROLLER: Final = 0
"""The id of the broker that starts first and so becomes the controller."""


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "figure-6-14": _queue_figure(),
        "partition-states": machine_figure(
            Machine("The states of a partition", _partition_table(), partition_way(), "t-0")
        ),
        "replica-states": machine_figure(
            Machine("The states of a replica", _replica_table(), replica_way(), "t-0 on broker 2")
        ),
        "who-gets-what": _requests_figure(),
        "reassignment": _reassignment_figure(),
    }


# Who watches the znodes.


def herd() -> Picture:
    """Let a broker die in two designs: every broker watches everything, or one controller does.

    Show what the death costs in each design.
    """
    everybody, one = HerdWorld(BROKERS, PARTITIONS), ControllerWorld(BROKERS, PARTITIONS)
    dies = next(b for b in range(1, BROKERS) if b != one.controller_id)
    table = Table(
        "who watches", "watches set", "fire", "brokers woken", "reads", "requests", box=None
    )
    names: dict[str, object] = {"brokers": BROKERS, "partitions": PARTITIONS}
    for name, word, world in (
        ("herd", "everybody", everybody),
        ("one", "the controller", one),
    ):
        watches = world.watches
        cost = world.measure(lambda world: world.kill(dies))
        table.add_row(
            word,
            str(watches),
            str(cost.watches_fired),
            str(cost.brokers_woken),
            str(cost.reads),
            str(cost.requests_to_brokers),
        )
        names |= {
            f"{name}_watches": watches,
            f"{name}_fired": cost.watches_fired,
            f"{name}_woken": cost.brokers_woken,
            f"{name}_reads": cost.reads,
            f"{name}_requests": cost.requests_to_brokers,
        }
        world.loop.close()
    head_line = Text(f"{BROKERS} brokers, {PARTITIONS} partitions; one broker dies")
    return picture(names, head_line, table)


# One simulated cluster, and what its controller did.


class Story(NamedTuple):
    """The events of one run, and the position where each part of the run begins."""

    events: Sequence[Envelope]
    begins: Mapping[str, int]

    def part(self, name: str) -> Sequence[Envelope]:
        """Return the events from the beginning of this part to the beginning of the next part."""
        begin = self.begins[name]
        end = min((at for at in self.begins.values() if at > begin), default=len(self.events))
        return self.events[begin:end]


@cache
def story() -> Story:
    """Create a topic, move it, stop a broker, delete the topic, and start the broker again.

    The run takes about a second, so all pictures share it.
    """
    cluster = SimCluster(SEED, (0, 1, 2), {"auto.leader.rebalance.enable": "false"})
    cluster.start_all()
    tool = cluster.brokers[0].process
    admin = cluster.admin(tool)
    begins = {}

    def begin(name: str) -> None:
        cluster.advance(QUIET_MS)
        begins[name] = len(cluster.sink.events)

    t0 = TopicPartition("t", 0)
    begin("create")
    assignment = TopicAssignment.of({0: [0, 1]})
    cluster.run_as(tool, admin.create_topic_assignment("t", assignment))
    begin("move")
    cluster.run_as(tool, admin.create_partition_reassignment({t0: [1, 2]}))
    begin("delete")
    cluster.stop(2)
    cluster.advance(QUIET_MS)
    cluster.run_as(tool, admin.create_delete_topic_path("t"))
    begin("back")
    cluster.start(2)
    begin("end")
    events = list(cluster.sink.events)
    cluster.close()
    return Story(events, begins)


def _of_controller(part: str) -> list[Envelope]:
    return [each for each in story().part(part) if each.broker == CONTROLLER]


def event_queue() -> Picture:
    """List how the controller's events were queued and processed while a broker came back."""
    begin_us = 0
    lines = Text()
    deepest = handled = 0
    for envelope in _of_controller("back"):
        event = envelope.event
        if isinstance(event, ControllerEventQueued | ControllerEventStarted):
            begin_us = begin_us or envelope.mono_us
        at = f"{(envelope.mono_us - begin_us) / 1000:>7.1f} ms  "
        match event:
            case ControllerEventQueued(name=name, queue_size=size):
                deepest = max(deepest, size)
                lines.append(f"{at}queued  {name} (place {size})\n")
            case ControllerEventStarted(name=name, queued_us=queued_us):
                lines.append(f"{at}begins  {name}, after {queued_us / 1000:.1f} ms\n", "bold")
            case ControllerEventProcessed(name=name, took_us=took_us):
                handled += 1
                lines.append(f"{at}done    {name}, {took_us / 1000:.1f} ms\n", "dim")
    lines.right_crop(1)
    return picture({"deepest": deepest, "handled": handled}, lines)


def _sent(part: str) -> dict[int, list[str]]:
    """Return broker id → the names of the requests that it got from the controller, in order."""
    sent: dict[int, list[str]] = {broker: [] for broker in range(3)}
    for envelope in _of_controller(part):
        if isinstance(envelope.event, ControllerRequestSent):
            sent[envelope.event.broker_id].append(api_name(envelope.event.api_key))
    return sent


def who_gets_what() -> Picture:
    """Show which broker got which request when a topic with replicas on 0 and 1 was created."""
    sent = _sent("create")
    table = Table("broker", "has a replica", "requests of the controller", box=None)
    for broker, requests in sent.items():
        table.add_row(str(broker), "yes" if broker < 2 else "no", ", ".join(requests))
    kinds = Counter(name for requests in sent.values() for name in requests)
    names = {f"sent_{broker}": len(requests) for broker, requests in sent.items()}
    return picture(
        names
        | {"leader_and_isrs": kinds["LeaderAndIsr"], "update_metadatas": kinds["UpdateMetadata"]},
        Text("topic t is created: one partition, replicas on brokers 0 and 1"),
        table,
    )


def machines() -> Picture:
    """Show both state machines as tables, and the states that the story's topic went through."""
    partitions, replicas = _partition_table(), _replica_table()
    names: dict[str, object] = {
        "partition_states": len(partitions),
        "partition_allowed": sum(map(len, partitions.values())),
        "replica_states": len(replicas),
        "replica_allowed": sum(map(len, replicas.values())),
    }
    table = Table("a", "may become", "from", box=None)
    for owner, machine in (("partition", partitions), ("replica", replicas)):
        for after, befores in machine.items():
            table.add_row(owner, after, ", ".join(sorted(befores)))
    way = Text("partition t-0 went: ", "bold").append(" → ".join(partition_way()), "not bold")
    names |= {"way": " → ".join(partition_way()), "way_end": partition_way()[-1]}
    return picture(names, table, way)


def _partition_table() -> dict[str, list[str]]:
    table = partition_state_machine.VALID_PREVIOUS_STATES
    return {_short(after): [*map(_short, befores)] for after, befores in table.items()}


def _replica_table() -> dict[str, list[str]]:
    table = replica_state_machine.VALID_PREVIOUS_STATES
    return {_short(after): [*map(_short, befores)] for after, befores in table.items()}


def _short(state: PartitionState | ReplicaState) -> str:
    """Return the short name of the state: `Online`, `DeletionStarted`."""
    return state.value.replace("Partition", "").replace("Replica", "")


def partition_way() -> list[str]:
    """Return the states of partition t-0 from its creation to its deletion, in order."""
    changes = [
        envelope.event
        for envelope in story().events
        if isinstance(envelope.event, PartitionStateChanged)
        and envelope.event.topic == "t"
        and envelope.event.before != envelope.event.after
    ]
    states = [changes[0].before, *(change.after for change in changes)]
    return [_short(PartitionState(state)) for state in states]


def deletion() -> Picture:
    """Show how a topic's deletion waits for a broker that is down."""
    lines = Text()
    seen: list[str] = []
    for part, words in (("delete", "broker 2 is down"), ("back", "broker 2 is back")):
        lines.append(f"{words}\n", "bold")
        for envelope in _of_controller(part):
            match envelope.event:
                case TopicDeletionChanged(topic="t", step=step, reason=reason):
                    seen.append(step)
                    lines.append(f"  {step}{': ' + reason if reason else ''}\n")
                case ReplicaStateChanged(topic="t", replica=replica, after=after) if (
                    "Deletion" in after
                ):
                    lines.append(f"  replica {replica}: {_short(ReplicaState(after))}\n", "dim")
    lines.right_crop(1)
    return picture({"deletion_steps": ", ".join(seen), "last_step": seen[-1]}, lines)


class Phase(NamedTuple):
    """One phase of the reassignment: its letter, what happened, and the partition's replicas."""

    name: str
    words: str
    replicas: tuple[int, ...]
    leader: int


@cache
def phases() -> list[Phase]:
    """Return the phases in which t-0 is moved from brokers 0, 1 to brokers 1, 2."""
    found: list[Phase] = []
    leader = 0
    replicas: tuple[int, ...] = (0, 1)
    for envelope in _of_controller("move"):
        match envelope.event:
            case ReassignmentStarted() as e:
                replicas = e.replicas
                words = f"adding {_ids(e.adding)}, removing {_ids(e.removing)}"
                found.append(Phase("U", words, replicas, leader))
            case ReassignmentWaits(missing=missing) if missing:
                waits = Phase("A", f"waits for {_ids(missing)}", replicas, leader)
                if waits not in found:
                    found.append(waits)
            case ReassignmentCaughtUp(isr=isr):
                found.append(Phase("B", f"ISR {_ids(isr)}: all have it", replicas, leader))
            case LeaderElected(topic="t", strategy=strategy, new_leader=new):
                leader = new
                words = f"broker {new} leads ({strategy})"
                found.append(Phase("B3", words, replicas, leader))
            case ReassignmentReplicasStopped(replicas=stopped):
                words = f"{_ids(stopped)} stops and deletes its log"
                found.append(Phase("B5", words, replicas, leader))
            case ReassignmentCompleted() as e:
                replicas = e.replicas
                found.append(Phase("B6–B8", "written, and all are told", replicas, e.leader))
    return found


def _ids(brokers: Collection[int]) -> str:
    return ", ".join(map(str, brokers))


def move() -> Picture:
    """Show the phases of a reassignment."""
    table = Table("phase", "what happens", "replicas", "leader", box=None)
    for phase in phases():
        table.add_row(phase.name, phase.words, _ids(phase.replicas), str(phase.leader))
    return picture(
        {
            "most_replicas": max(len(phase.replicas) for phase in phases()),
            "leader_before": phases()[0].leader,
            "leader_after": phases()[-1].leader,
        },
        Text("t-0 moves from brokers 0, 1 to brokers 1, 2"),
        table,
    )


# The figures.


def _queue_figure() -> graphviz.Digraph:
    """Draw figure 6-14: who puts events into the queue, and the one task that takes them out."""
    sources = (
        "watches of ZooKeeper: BrokerChange, TopicChange",
        "timers: the 10 % rule",
        "clients' requests: reassignments, AlterIsr",
        "brokers: ControlledShutdown, and their answers",
    )
    effects = ("ControllerContext: only this task changes it", "the three requests to the brokers")
    queue = ("event 3", "event 2", "event 1")
    legend = [(BLUE, "puts events in"), (YELLOW, "the queue"), (GREEN, "takes them out")]
    figure = new_figure("queue", "Figure 6-14: one queue, one task", legend, rankdir="TB")
    figure.attr("node", shape="plaintext")
    figure.node("sources", label=_cells(sources, BLUE))
    figure.node("queue", label=_cells(queue, YELLOW, below=False))
    figure.node("task", label=_cells(("one event at a time, to its end",), GREEN))
    figure.node("effects", label=_cells(effects, GREEN))
    figure.edges([("sources", "queue"), ("queue", "task"), ("task", "effects")])
    return figure


def _cells(texts: Sequence[str], colour: str, *, below: bool = True) -> str:
    """Return an HTML table of texts, one below the other or side by side."""
    cells = [
        f'<td bgcolor="{colour}" align="left" cellpadding="6">{wrapped(text, 34)}</td>'
        for text in texts
    ]
    return table(cells if below else ["".join(cells)])


def replica_way() -> list[str]:
    """Return the states of one replica: t-0 on broker 2, which was down during the deletion."""
    changes = [
        envelope.event
        for envelope in story().events
        if isinstance(envelope.event, ReplicaStateChanged)
        and (envelope.event.topic, envelope.event.replica) == ("t", 2)
        and envelope.event.before != envelope.event.after
    ]
    states = [changes[0].before, *(change.after for change in changes)]
    return [_short(ReplicaState(state)) for state in states]


def _requests_figure() -> graphviz.Digraph:
    """Draw which broker gets which request when topic t is created."""
    legend = [(YELLOW, "controller"), (BLUE, "has a replica"), (GREY, "has none")]
    figure = new_figure("requests", "Topic t is created, with replicas on 0 and 1", legend)
    figure.attr("node", shape="box", style="filled")
    figure.node("c", label="controller (broker 0)", fillcolor=YELLOW)
    for broker, requests in _sent("create").items():
        words = "".join(f"<br/>{escape(each)}" for each in requests)
        label = html(f"<b>broker {broker}</b>{words}")
        figure.node(f"b{broker}", label=label, fillcolor=BLUE if broker < 2 else GREY)
        figure.edge("c", f"b{broker}")
    return figure


def _reassignment_figure() -> graphviz.Digraph:
    """Draw the phases of the reassignment, one row for each phase."""
    rows = []
    for phase in phases():
        cells = "".join(
            f'<td bgcolor="{_cell(broker, phase)}" width="34">'
            f"{f'<b>{broker}</b>' if broker == phase.leader else broker}</td>"
            for broker in range(3)
        )
        rows.append(
            f'<td border="0" align="left"><b>{phase.name}</b></td>{cells}'
            f'<td border="0" align="left">{wrapped(phase.words, 26)}</td>'
        )
    legend = [(BLUE, "holds it"), (GREY, "does not")]
    figure = new_figure("reassignment", "t-0 moves from 0, 1 to 1, 2 (bold: leads)", legend)
    figure.node("move", shape="plaintext", label=table(rows))
    return figure


def _cell(broker: int, phase: Phase) -> str:
    return BLUE if broker in phase.replicas else GREY


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "herd": herd,
    "event-queue": event_queue,
    "who-gets-what": who_gets_what,
    "machines": machines,
    "move": move,
    "deletion": deletion,
}
