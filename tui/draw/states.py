"""Pictures of a state at one or two moments: a cluster, a log, znodes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import graphviz

from kafka_edu.common.link_faults import Link
from kafka_edu.instruments.drawings import clusters, partition_logs, znodes
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.replication import (
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
)

from ..model import Model
from ..view_model.znode_tree import ROOT, Znode
from ..view_model.zookeeper_view import ZookeeperView
from .past import NothingToDrawError, Past, partition_of

DEPTH: Final = 2
"""The number of levels of znodes that are drawn below the first. Deeper znodes are only counted."""


def cluster(past: Past, _: Sequence[str]) -> graphviz.Digraph:
    several = past.begin is not None
    moments = [
        _cluster_at(past.model(moment), moment.words if several else "") for moment in past.moments
    ]
    if not any(at.brokers for at in moments):
        raise NothingToDrawError("no broker has sent anything up to that moment")
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


def log(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    topic, partition = partition_of(past, words[0])
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
            who = f"broker {broker}, {_role(broker, leader, isr)}"
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


def _role(broker: int, leader: int, isr: Collection[int]) -> str:
    if broker == leader:
        return "leads"
    if not isr:
        return "role not known"
    return "in ISR" if broker in isr else "out of ISR"


def _progress(
    envelopes: Sequence[Envelope], topic: str, partition: int
) -> Mapping[int, PartitionProgress]:
    """Return broker → the last progress that it reported for its replica of the partition."""
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


def znode_tree(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    top = words[0] if words else ROOT
    if not top.startswith("/"):
        raise NothingToDrawError(f"'{top}' is not a path: a path begins with /")
    states = [_tree(past.model(moment).zookeeper, top) for moment in past.moments]
    if not states[-1] and not states[0]:
        raise NothingToDrawError(
            f"no znode {top} is known. Znodes are known only if the cluster uses the embedded"
            " ZooKeeper, which reports them"
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
