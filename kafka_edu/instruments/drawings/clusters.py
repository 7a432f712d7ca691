"""Draw a cluster at one moment: brokers, ZooKeeper, broken or slow links, leaders and ISRs."""

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import graphviz

from .figure import (
    BLUE,
    GREEN,
    GREY,
    LOUD,
    RED,
    WHITE,
    YELLOW,
    cell,
    html,
    new_figure,
    table,
)

SHOWN_PARTITIONS: Final = 24
UNKNOWN_WIDTH: Final = 48
ZOOKEEPER: Final = "zookeeper"
CLIENTS: Final = "clients"


class Broker(NamedTuple):
    """One broker in the picture."""

    id: int
    trouble: str = ""
    """Why the broker does not serve, for example `killed (SIGKILL)`. Empty if it serves."""
    controller: bool = False


class Fault(NamedTuple):
    """A link between a broker and another process that is cut or slow."""

    broker: int
    other: str
    """The other end of the link: a broker's id, ZOOKEEPER or CLIENTS."""
    words: str
    """The fault of the link: `cut`, `40 ms late`."""


class Replicas(NamedTuple):
    """The replicas of one partition."""

    name: str
    leader: int
    """The id of the leader. -1 if there is no leader."""
    isr: tuple[int, ...]
    """The ids of the brokers in the ISR. Empty if the ISR is not known."""
    replicas: tuple[int, ...]


class ClusterAt(NamedTuple):
    """The state of a cluster at one moment, as it is drawn."""

    caption: str
    """The moment in words. Empty if the figure shows only one moment."""
    brokers: Sequence[Broker]
    partitions: Sequence[Replicas]
    faults: Sequence[Fault] = ()
    zookeeper: str = ""
    """Why ZooKeeper does not serve. Empty if it serves."""
    left_out: int = 0
    """The number of partitions that are not drawn."""
    unknown: str = ""
    """A sentence that says what is unknown at this moment. Empty if everything is known."""


def cluster_figure(title: str, moments: Sequence[ClusterAt]) -> graphviz.Digraph:
    """Draw the cluster at each of the moments, one drawing below another. Every broker has a box,
    and a column in the table.
    """
    legend = [(BLUE, "leads"), (GREEN, "in the ISR"), (RED, "out of it"), (YELLOW, "controller")]
    figure = new_figure("cluster", title, legend, rankdir="TB", ranksep="0.35", nodesep="0.3")
    figure.attr("node", shape="box", style="filled")
    for number, at in enumerate(moments):
        _moment(figure, f"m{number}", at)
    for before, after in pairwise(range(len(moments))):
        figure.edge(f"m{before} table", f"m{after} when", style="bold", arrowhead="normal")
    return figure


def _moment(figure: graphviz.Digraph, prefix: str, at: ClusterAt) -> None:
    zookeeper = f"{prefix} {ZOOKEEPER}"
    words = "ZooKeeper" + (f"\n{at.zookeeper}" if at.zookeeper else "")
    figure.node(zookeeper, label=words, fillcolor=RED if at.zookeeper else GREY)
    lines = [at.caption, *textwrap.wrap(at.unknown, UNKNOWN_WIDTH)]
    if any(lines):
        when = "\n".join(line for line in lines if line)
        figure.node(f"{prefix} when", label=when, shape="plaintext", style="")
        figure.edge(f"{prefix} when", zookeeper, style="invis")
    with figure.subgraph() as rank:
        rank.attr(rank="same")
        for broker in at.brokers:
            rank.node(f"{prefix} b{broker.id}", **_look(broker))
    cut = {(fault.broker, fault.other): fault for fault in at.faults}
    for broker in at.brokers:
        fault = cut.get((broker.id, ZOOKEEPER))
        dead = bool(broker.trouble)
        look = _broken(fault.words) if fault else {"style": "dotted" if dead else "solid"}
        figure.edge(zookeeper, f"{prefix} b{broker.id}", arrowhead="none", **look)
        figure.edge(f"{prefix} b{broker.id}", f"{prefix} table", style="invis")
        if clients := cut.get((broker.id, CLIENTS)):
            name = f"{prefix} clients of {broker.id}"
            figure.node(name, label="clients", shape="ellipse", fillcolor=WHITE)
            figure.edge(name, f"{prefix} b{broker.id}", arrowhead="none", **_broken(clients.words))
    for fault in at.faults:
        if fault.other.isdecimal():
            ends = f"{prefix} b{fault.broker}", f"{prefix} b{fault.other}"
            look = _broken(fault.words)
            figure.edge(*ends, constraint="false", arrowhead="none", **look)
    figure.node(f"{prefix} table", shape="plaintext", style="", label=_table(at))


def _look(broker: Broker) -> dict[str, str]:
    words = f"<b>broker {broker.id}</b>"
    if broker.controller:
        words += "<br/>controller"
    if broker.trouble:
        words += f"<br/>{broker.trouble}"
    colour = RED if broker.trouble else YELLOW if broker.controller else WHITE
    return {"label": html(words), "fillcolor": colour}


def _broken(words: str) -> dict[str, str]:
    return {"style": "dashed", "color": LOUD, "penwidth": "2", "label": words, "fontcolor": LOUD}


def _table(at: ClusterAt) -> str:
    ids = [broker.id for broker in at.brokers]
    rows = []
    if at.partitions:
        rows.append(
            cell("partition", plain=True)
            + "".join(cell(f"{broker}", GREY, bold=True) for broker in ids)
        )
    for partition in at.partitions:
        cells = "".join(_cell(partition, broker) for broker in ids)
        trouble = cell("no leader", plain=True) if partition.leader not in ids else ""
        rows.append(cell(partition.name, plain=True) + cells + trouble)
    if at.left_out:
        rows.append(cell(f"… {at.left_out:,} more", plain=True))
    return table(rows or [cell("no partitions", plain=True)])


def _cell(partition: Replicas, broker: int) -> str:
    if broker not in partition.replicas:
        return cell("", WHITE)
    if broker == partition.leader:
        return cell("leads", BLUE, bold=True)
    if not partition.isr:
        return cell("?", GREY)
    return cell("ISR", GREEN) if broker in partition.isr else cell("out", RED)
