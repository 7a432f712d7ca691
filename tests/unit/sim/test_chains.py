"""Chains of causes in virtual time: complete, and without a false link.

`chain_oracle` finds the true causes by a different method.
"""

import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.chain_links import LinkKind
from kafka_edu.trace.event import CLIENT, ZOOKEEPER, Envelope, Level
from kafka_edu.trace.events.client import RecordAcknowledged
from kafka_edu.trace.events.controller import ControllerEventStarted, LeaderElected, ZkWatchFired
from kafka_edu.trace.events.network import RequestReceived, ResponseSent
from kafka_edu.trace.events.replication import BecameFollower, BecameLeader, IsrChangeProposed
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.reader import History, link_fault
from kafka_edu.trace.tracer import Tracer
from tests.unit.sim.chain_oracle import ChainOracle

CREATE_TOPICS, PRODUCE = 19, 0
FROM_THE_KILL = [
    "ActionAsked",
    "ProcessEnded",
    "SessionExpired",
    "SessionClosed",
    "ZnodeDeleted",
    "WatchFired",
    "ZkWatchFired",
    "ControllerEventQueued",
    "ControllerEventStarted",
    "ControllerRequestSent",
    "RequestReceived",
    "RequestDequeued",
    "BecameFollower",
    "FollowerAppended",
    "FollowerFetched",
    "HighWatermarkAdvanced",
    "OperationCompleted",
    "ProduceAnswered",
    "ResponseSent",
    "RecordAcknowledged",
]
FROM_THE_REQUEST = [
    "RequestReceived",
    "RequestDequeued",
    "ZnodeCreated",
    "WatchFired",
    "ZkWatchFired",
    "ControllerEventQueued",
    "ControllerEventStarted",
    "ControllerRequestSent",
    "RequestReceived",
    "RequestDequeued",
    "MetadataUpdated",
    "OperationCompleted",
    "ResponseSent",
]


class World:
    """Three brokers, a client whose acknowledgements are events, and the oracle."""

    def __init__(self, oracle: ChainOracle, level: Level = Level.STATE) -> None:
        self.oracle = oracle
        self.cluster = SimCluster(7, (1, 2, 3), {"auto.leader.rebalance.enable": "false"}, level)
        oracle.watch(self.cluster)
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        self.paused: set[int] = set()
        self._trace = Tracer(CLIENT, self.cluster.time)
        self._trace.add_sink(self.cluster.sink)

    def create(self, topic: str, partitions: int = 3) -> None:
        assert (
            self.cluster.run_as(self.client.process, self.client.create_topic(topic, partitions, 3))
            is Errors.NONE
        )
        self.cluster.advance(2000)

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Let the client start something, whatever its result, while the script continues."""

        async def body() -> None:
            with contextlib.suppress(OSError, TimeoutError, ProtocolError):
                await work

        self.cluster.loop.spawn(self.client.process, body())

    def led_by(self, tp: TopicPartition) -> int:
        return self.cluster.run_as(self.client.process, self.client.leader_of(tp))

    def produce(self, tp: TopicPartition, value: str) -> Envelope:
        """Produce with acks=all. Return the client's RecordAcknowledged."""
        answer = self.client.produce(tp, value, -1)
        self.cluster.advance(1500)
        assert answer.acked is not None, answer.failed
        assert answer.acked.error is Errors.NONE
        self._trace(
            RecordAcknowledged(
                client="sim", topic=tp.topic, partition=tp.partition, offset=answer.acked.offset
            )
        )
        return self.cluster.sink.events[-1]

    def history(self) -> History:
        return History(self.cluster.sink.events)


@pytest.fixture
def world() -> Iterator[World]:
    with ChainOracle().watching() as oracle:
        world = World(oracle)
        yield world
        world.cluster.close()


def names(chain: list[Envelope]) -> list[str]:
    return [envelope.name for envelope in chain]


def check_all(world: World) -> dict[LinkKind, int]:
    """Check that no link is false and that no link known to the oracle is missing. Return the
    number of each kind.
    """
    history, counts = world.history(), dict.fromkeys(LinkKind, 0)
    for envelope in history.events:
        links = history.parents(envelope)
        place = envelope.source, envelope.seq
        for link in links:
            counts[link.kind] += 1
            assert not link_fault(link), (link, link_fault(link))
            cause = link.cause.source, link.cause.seq
            match link.kind:
                case LinkKind.WATCH:
                    assert world.oracle.watches[place] == cause, link
                case LinkKind.REQUEST:
                    assert world.oracle.requests[place] == cause, link
                case LinkKind.WRITER:
                    proposed = link.cause.event
                    if isinstance(
                        proposed, IsrChangeProposed
                    ):  # a task of its own writes it: no hand-over that the oracle sees
                        assert link.key == (
                            (
                                "path",
                                f"/brokers/topics/{proposed.topic}/partitions/{proposed.partition}/state",
                            ),
                            ("version", proposed.zk_version + 1),
                        )
                    else:
                        assert world.oracle.writes[place] == cause, link
                case _:
                    pass
        kinds = {link.kind for link in links}
        assert isinstance(envelope.event, ZkWatchFired) <= (LinkKind.WATCH in kinds), envelope
        assert (place in world.oracle.requests) <= (LinkKind.REQUEST in kinds), envelope
        for link in history.children(envelope):
            assert link in history.parents(link.effect)
    return counts


@pytest.mark.parametrize("of_controller", [False, True])
def test_from_the_kill_of_a_leader_to_the_producers_ack(world: World, of_controller: bool) -> None:
    world.create("t")
    tps = [TopicPartition("t", p) for p in range(3)]
    tp = next(tp for tp in tps if (world.led_by(tp) == 1) is of_controller)
    world.produce(tp, "before")
    victim = world.led_by(tp)
    world.cluster.kill(victim)
    world.cluster.advance(20_000)
    ack = world.produce(tp, "after")
    history = world.history()
    assert names(history.chain(ack)) == FROM_THE_KILL
    (tree,) = history.causes_tree(ack)
    assert isinstance(tree.envelope.event, ActionAsked)
    assert tree.envelope.event.target.broker == victim
    nodes = [node.envelope for _, node in tree.walk()]
    assert {"ZnodeChanged", "LeaderElected", "BecameLeader", "BecameFollower"} <= set(names(nodes))
    [elected] = [e.event for e in nodes if isinstance(e.event, LeaderElected)]
    assert (elected.topic, elected.partition) == tp, "another partition's election is no cause"
    [started] = [e.event for e in nodes if isinstance(e.event, ControllerEventStarted)]
    assert started.name == ("Reelect" if of_controller else "BrokerChange")
    effects = history.effects_tree(tree.envelope)
    assert any(node.envelope == ack for _, node in effects.walk())
    check_all(world)


def test_also_when_the_controller_itself_becomes_leader(world: World) -> None:
    """Its LeaderAndIsr to itself uses a connection like any other."""
    world.create("t")
    tp = next(TopicPartition("t", p) for p in range(3) if world.led_by(TopicPartition("t", p)) == 2)
    world.produce(tp, "before")
    world.cluster.kill(2)
    world.cluster.advance(20_000)
    assert world.led_by(tp) == 1
    ack = world.produce(tp, "after")
    history = world.history()
    (tree,) = history.causes_tree(ack)
    [leads] = [node for _, node in tree.walk() if isinstance(node.envelope.event, BecameLeader)]
    chain = history.chain(leads.envelope)
    assert names(chain)[-4:] == [
        "ControllerRequestSent",
        "RequestReceived",
        "RequestDequeued",
        "BecameLeader",
    ]
    assert {e.broker for e in chain[-4:]} == {1}


def test_from_create_topics_to_its_response(world: World) -> None:
    for topic in ("a", "b"):
        world.create(topic)
    history = world.history()
    answers = [
        e
        for e in history.events
        if isinstance(e.event, ResponseSent) and e.event.api_key == CREATE_TOPICS
    ]
    requests = [
        e
        for e in history.events
        if isinstance(e.event, RequestReceived) and e.event.api_key == CREATE_TOPICS
    ]
    assert len(answers) == 2
    for request, answer in zip(requests, answers, strict=True):
        chain = history.chain(answer)
        assert names(chain) == FROM_THE_REQUEST
        assert chain[0] == request
    check_all(world)


def test_a_pause_that_costs_the_session_is_told_as_its_cause(world: World) -> None:
    world.create("t", 1)
    world.cluster.pause(3)
    world.cluster.advance(20_000)
    world.cluster.resume(3)
    world.cluster.advance(20_000)
    history = world.history()
    [joined] = [e for e in history.events if e.name == "BrokerFailed"]
    assert names(history.chain(joined))[:3] == ["ProcessPaused", "SessionExpired", "SessionClosed"]
    counts = check_all(world)
    assert counts[LinkKind.PROCESS] == 1


def test_without_zookeepers_events_the_chain_starts_at_the_watch_and_says_so(world: World) -> None:
    world.create("t")
    tp = TopicPartition("t", 1)
    world.cluster.kill(world.led_by(tp))
    world.cluster.advance(20_000)
    ack = world.produce(tp, "after")
    history = History(e for e in world.cluster.sink.events if e.source != ZOOKEEPER)
    chain = history.chain(ack)
    assert names(chain) == FROM_THE_KILL[FROM_THE_KILL.index("ZkWatchFired") :]
    assert (
        history.beginning(chain[0])
        == "this ZooKeeper emits no events: the chain starts at the watch"
    )


def test_a_produce_that_waited_is_told_with_what_ended_its_wait(world: World) -> None:
    """A follower stands still, the ISR shrinks, and then the producer is answered. The events of
    the default level show all of this.
    """
    world.create("t", 1)
    tp = TopicPartition("t", 0)
    world.produce(tp, "the first of the epoch is told anyway")
    leader = world.led_by(tp)
    follower = next(b for b in (3, 2) if b not in (leader, 1))
    world.cluster.pause(follower)
    waiting = world.client.produce(tp, "waits", -1)
    world.cluster.advance(40_000)
    assert waiting.acked is not None
    history = world.history()
    answered = [
        e
        for e in history.events
        if isinstance(e.event, ResponseSent) and e.event.api_key == PRODUCE
    ]
    assert len(answered) == 2
    chain = names(history.chain(answered[-1]))
    assert chain[-4:] == [
        "HighWatermarkAdvanced",
        "OperationCompleted",
        "ProduceAnswered",
        "ResponseSent",
    ]
    assert "ProcessPaused" in chain
    world.cluster.resume(follower)
    check_all(world)


def test_a_quick_produce_tells_nothing_at_the_default_level(world: World) -> None:
    world.create("t", 1)
    tp = TopicPartition("t", 0)
    world.produce(tp, "the first of the epoch")
    told = len(world.cluster.sink.events)
    world.produce(tp, "another")
    kinds = {e.name for e in world.cluster.sink.events[told:]}
    assert not kinds & {
        "RequestReceived",
        "OperationCompleted",
        "ProduceAnswered",
        "ResponseSent",
        "FollowerFetched",
        "HighWatermarkAdvanced",
    }, kinds


def test_at_level_hops_too_no_link_is_false() -> None:
    with ChainOracle().watching() as oracle:
        world = World(oracle, Level.HOPS)
        world.create("t")
        tp = TopicPartition("t", 0)
        for value in ("a", "b"):
            ack = world.produce(tp, value)
        history = world.history()
        [sent] = [link.cause for link in history.parents(ack)]
        assert isinstance(sent.event, ResponseSent)
        counts = check_all(world)
        assert counts[LinkKind.RECORDS]
        assert counts[LinkKind.REPLICATION]
        world.cluster.close()


def test_a_role_is_linked_to_its_own_election_when_a_topic_is_created_again(world: World) -> None:
    for _ in range(2):
        world.create("t", 1)
        assert (
            world.cluster.run_as(world.client.process, world.client.delete_topic("t"))
            is Errors.NONE
        )
        world.cluster.advance(5000)
    history = world.history()
    roles = [
        e
        for e in history.events
        if isinstance(e.event, BecameLeader | BecameFollower) and e.event.topic == "t"
    ]
    elections = [
        e for e in history.events if isinstance(e.event, LeaderElected) and e.event.topic == "t"
    ]
    assert (len(elections), len(roles)) == (2, 6)
    for place, role in enumerate(roles):
        [link] = [link for link in history.parents(role) if link.kind is LinkKind.ELECTION]
        assert link.cause == elections[place // 3]
    check_all(world)
