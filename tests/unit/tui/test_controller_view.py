"""The Controller screen's state: from controllers in the simulator, and from hand-made events."""

import pytest

from kafka_edu.instruments.link_events import LinkLost, LinkMade
from kafka_edu.trace.event import SUPERVISOR, Envelope
from kafka_edu.trace.events.controller import (
    ActiveControllerChanged,
    ControllerElected,
    ControllerEventProcessed,
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerPartitionSnapshot,
    ControllerRequestFailed,
    ControllerRequestSent,
    ControllerResponseReceived,
    ControllerSampled,
    ControllerSnapshot,
    LeaderElected,
    LeaderElectionFailed,
    PartitionStateChanged,
    StateMachineSnapshot,
)
from kafka_edu.trace.events.replication import ControllerEpochSeen
from tests.unit.controller.conftest import ControllerBroker, ControllerCluster
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.usual_events import killed
from tui.view_model.controller_view import (
    KEPT_ELECTIONS,
    KEPT_EVENTS,
    KEPT_OF_ONE_EVENT,
    ControllerView,
    candidates,
)
from tui.view_model.partition_view import PartitionKey


def facts(broker: ControllerBroker) -> list[Envelope]:
    return list(broker.events.events)


def seen(*brokers: ControllerBroker, snapshot: bool = True) -> ControllerView:
    """Return what somebody sees who looked from the beginning."""
    view = ControllerView()
    if snapshot:
        for broker in brokers:
            for envelope in broker.tracer.snapshot():
                if isinstance(envelope.event, StateMachineSnapshot):
                    view.apply(envelope)
    for envelope in sorted((e for b in brokers for e in facts(b)), key=lambda e: e.mono_us):
        view.apply(envelope)
    return view


@pytest.fixture
def cluster() -> ControllerCluster:
    return ControllerCluster()


def test_a_brokers_death_is_one_event_with_all_that_came_of_it(
    cluster: ControllerCluster,
) -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [3, 1, 2], [1, 2, 3], [3, 2, 1])
    cluster.kill(3)
    view = seen(cluster.brokers[1], cluster.brokers[2])
    died = [event for event in view.events if event.name == "BrokerChange"][-1]
    assert (died.broker, died.elected, died.failed) == (1, 2, 0)
    assert not died.busy
    assert died.outcome().startswith("✕ broker 3 is gone · 2 leaders elected")
    assert died.partition_moves["OnlinePartition", "OfflinePartition"] == 2
    assert died.partition_moves["OfflinePartition", "OnlinePartition"] == 2
    assert died.replica_moves["OnlineReplica", "OfflineReplica"] == 3
    first, second = died.elections
    assert isinstance(first.event, LeaderElected)
    assert [(c.replica, c.alive, c.in_isr, c.chosen) for c in candidates(first.event)] == [
        (3, False, True, False),
        (1, True, True, True),
        (2, True, True, False),
    ], "in the order of AR"
    dead, chosen, spare = candidates(first.event)
    assert dead.reason == "it is not alive"
    assert chosen.reason == "1 is the first of AR [3, 1, 2] that is alive and in the ISR [3, 1, 2]"
    assert spare.reason.startswith("it could lead too, but comes after 1 in AR")
    key = PartitionKey("t", 2)
    assert view.decisions[key].envelope == second
    assert view.decisions[key].record is died


def test_both_machines_are_counted_and_their_tables_come_with_the_snapshot(
    cluster: ControllerCluster,
) -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [3, 1, 2], [1, 2, 3])
    cluster.kill(3)
    view = seen(cluster.brokers[1], cluster.brokers[2])
    partitions, replicas = view.machines["partition"], view.machines["replica"]
    assert len(partitions.states) == 4
    assert len(replicas.states) == 7
    assert partitions.counts["OnlinePartition"] == 2
    assert replicas.counts["OnlineReplica"] == 4
    assert replicas.counts["OfflineReplica"] == 2
    edges = {edge.after: edge for edge in partitions.edges("OnlinePartition")}
    assert set(edges) == {"OnlinePartition", "OfflinePartition"}
    assert (edges["OfflinePartition"].times, edges["OfflinePartition"].in_table) == (1, True)
    assert partitions.short("NonExistentPartition") == "NonExistent"
    assert replicas.short("ReplicaDeletionStarted") == "DeletionStarted"


def test_a_late_observer_counts_the_same_from_a_snapshot(cluster: ControllerCluster) -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [3, 1, 2], [1, 2, 3])
    cluster.kill(3)
    early, late = seen(cluster.brokers[1], cluster.brokers[2]), ControllerView()
    for broker in cluster.brokers.values():
        for envelope in broker.tracer.snapshot():
            late.apply(envelope)
    for machine in ("partition", "replica"):
        assert +late.machines[machine].counts == {
            state: number
            for state, number in early.machines[machine].counts.items()
            if number and state != early.machines[machine].nowhere
        }
    assert late.term is not None
    assert late.term.broker == 1


def test_the_next_controller_sets_states_that_the_table_does_not_have(
    cluster: ControllerCluster,
) -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [1, 2, 3])
    brokers = list(cluster.brokers.values())
    cluster.kill(1)
    view = seen(*brokers)
    assert view.term is not None
    assert (view.term.broker, view.term.epoch) == (2, 2)
    assert [(term.broker, term.epoch) for term in view.terms] == [(1, 1), (2, 2)]
    elected = next(e for e in view.events if e.broker == 2 and e.name == "Reelect")
    assert "♛ elected, epoch 2" in elected.outcome()
    assert elected.elected == 1
    lost = next(e for e in view.events if e.broker == 3 and e.name == "Reelect")
    assert lost.elected == 0
    odd = [edge for edge in view.machines["partition"].edges("NonExistentPartition") if edge.times]
    assert {(edge.after, edge.in_table) for edge in odd} >= {("OfflinePartition", False)}


def test_sigterm_moves_leadership_while_the_partition_stays_online(
    cluster: ControllerCluster,
) -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [3, 2, 1])
    broker = cluster.brokers[3]
    left = cluster.run(
        cluster.controller.controller.controlled_shutdown(3, broker.controller.broker_epoch)
    )
    cluster.settle()
    assert left == []
    view = seen(*cluster.brokers.values())
    event = next(e for e in view.events if e.name == "ControlledShutdown")
    assert event.outcome().startswith("broker 3 may go · 1 leader elected")
    assert event.partition_moves["OnlinePartition", "OnlinePartition"] == 1
    assert isinstance(event.elections[0].event, LeaderElected)
    first = candidates(event.elections[0].event)[0]
    assert (first.replica, first.shutting_down, first.chosen) == (3, True, False)
    assert first.reason == "its broker is shutting down"
    (edge,) = [e for e in view.machines["partition"].edges("OnlinePartition") if e.times]
    assert (edge.after, edge.times) == ("OnlinePartition", 1)


def event_of(story: Story, name: str, broker: int = 1, queue_size: int = 1) -> Envelope:
    """Emit a controller event that is queued and then started. Return the event of the start."""
    queued = story.tell(broker, ControllerEventQueued(name=name, detail="", queue_size=queue_size))
    return story.tell(
        broker, ControllerEventStarted(name=name, detail="", queued_us=1_000), 1, queued
    )


def applied(story: Story) -> ControllerView:
    view = ControllerView()
    for envelope in story.envelopes:
        view.apply(envelope)
    return view


def test_the_queue_what_waits_and_what_it_is_busy_with() -> None:
    story = Story()
    story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4))
    begun = event_of(story, "BrokerChange")
    story.tell(1, ControllerEventQueued(name="TopicChange", detail="", queue_size=1), 5)
    story.tell(1, ControllerEventQueued(name="Reelect", detail="", queue_size=2), 5)
    view = applied(story)
    assert [waiting.name for waiting in view.waiting()] == ["TopicChange", "Reelect"]
    running = view.running()
    assert running is not None
    assert (running.name, running.busy) == ("BrokerChange", True)
    view.apply(
        story.tell(
            1,
            ControllerEventProcessed(name="BrokerChange", queued_us=1_000, took_us=9_000, error=""),
            9,
            begun,
        )
    )
    assert view.running() is None
    assert running.took_us == 9_000
    assert running.idle
    view.apply(story.tell(1, ControllerEventQueued(name="Expire", detail="", queue_size=1)))
    assert [waiting.name for waiting in view.waiting()] == ["Expire"], "it cleared the queue"


def test_requests_and_their_answers_belong_to_the_event() -> None:
    story = Story()
    story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4))
    begun = event_of(story, "BrokerChange")
    for broker in (0, 2):
        sent = story.tell(
            1,
            ControllerRequestSent(
                broker_id=broker,
                api_key=4,
                api_version=5,
                correlation_id=broker,
                local="127.0.0.1:5",
                partitions=8,
                queue_size=0,
            ),
            cause=begun,
        )
        if broker == 0:
            story.tell(
                1,
                ControllerResponseReceived(
                    broker_id=0,
                    api_key=4,
                    correlation_id=0,
                    local="127.0.0.1:5",
                    error_code=0,
                    took_us=4_000,
                ),
                4,
                sent,
            )
    story.tell(1, ControllerRequestFailed(broker_id=2, api_key=4, reason="refused"), cause=begun)
    (event,) = applied(story).events
    assert [(s.broker, s.request, s.partitions, s.took_us) for s in event.sent] == [
        (0, "LeaderAndIsr", 8, 4_000),
        (2, "LeaderAndIsr", 8, None),
    ]
    assert event.unreachable == {2: 1}
    assert "cannot reach 2" in event.outcome()


def test_a_controller_that_is_killed_leaves_none_until_another_is_elected() -> None:
    story = Story()
    story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4))
    event_of(story, "BrokerChange")
    story.tell(1, LinkLost(reason="closed"), 100)
    view = applied(story)
    assert view.term is None
    assert view.terms[-1].ended == "its process is gone"
    assert view.running() is None
    assert view.events[-1].error == "its end was not seen"
    story.tell(2, ControllerElected(epoch=5, epoch_zk_version=5), 6_000)
    view = applied(story)
    assert view.term is not None
    assert (view.term.broker, view.term.epoch) == (2, 5)
    story.tell(1, LinkMade(pid=1), 100)
    story.tell(
        1,
        ControllerSnapshot(active=True, controller_id=1, epoch=4, epoch_zk_version=4, queue_size=0),
    )
    view = applied(story)
    assert view.term is not None
    assert view.term.broker == 2, "an older epoch does not count"


def test_a_broker_whose_own_session_expired_does_not_unseat_the_controller() -> None:
    story = Story()
    story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4))
    begun = event_of(story, "Expire", broker=2)
    story.tell(2, ActiveControllerChanged(controller_id=-1), cause=begun)
    view = applied(story)
    assert view.term is not None
    begun = event_of(story, "Reelect", broker=2)
    story.tell(2, ActiveControllerChanged(controller_id=-1), cause=begun)
    view = applied(story)
    assert view.term is None, "this one has looked"
    assert view.terms[-1].ended == "/controller is gone"


def test_a_look_that_began_before_the_election_does_not_unseat_who_won_it() -> None:
    story = Story()
    begun = event_of(story, "Reelect", broker=2)
    story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4))
    story.tell(2, ActiveControllerChanged(controller_id=-1), cause=begun)
    story.tell(2, ActiveControllerChanged(controller_id=1), cause=begun)
    view = applied(story)
    assert view.term is not None
    assert (view.term.broker, view.term.epoch) == (1, 4)


def test_the_supervisor_says_first_that_the_controller_was_killed() -> None:
    story = Story()
    story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4))
    story.tell(SUPERVISOR, killed(1), 100)
    view = applied(story)
    assert view.term is None
    assert view.terms[-1].ended == "its process was killed (SIGKILL)"
    story.tell(2, ControllerEpochSeen(controller=1, controller_epoch=4, previous_epoch=3), 10)
    assert applied(story).term is None, "a late word of its epoch does not bring it back"


def test_an_election_without_a_winner_says_why_nobody_could_lead() -> None:
    story = Story()
    story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4))
    begun = event_of(story, "BrokerChange")
    story.tell(
        1,
        LeaderElectionFailed(
            topic="web",
            partition=0,
            strategy="OfflinePartition",
            replicas=(1, 2),
            isr=(1,),
            live=(2,),
            reason="no replica of AR [1, 2] is alive and in the ISR [1]",
            shutting_down=(),
            passed_over=((1, "it is not alive"), (2, "it is not in the ISR")),
        ),
        cause=begun,
    )
    (event,) = applied(story).events
    assert "✕ 1 without a leader" in event.outcome()
    assert isinstance(event.elections[0].event, LeaderElectionFailed)
    assert [
        (c.replica, c.alive, c.in_isr, c.reason) for c in candidates(event.elections[0].event)
    ] == [
        (1, False, True, "it is not alive"),
        (2, True, False, "it is not in the ISR"),
    ]


def test_memory_is_bounded_whatever_the_number_of_partitions_and_events() -> None:
    story = Story()
    view = ControllerView()
    view.apply(story.tell(1, ControllerElected(epoch=4, epoch_zk_version=4)))
    elected = LeaderElected(
        topic="web",
        partition=0,
        strategy="OfflinePartition",
        replicas=(1, 2),
        isr_before=(1, 2),
        live=(1, 2),
        old_leader=-1,
        new_leader=1,
        isr=(1, 2),
        leader_epoch=1,
        unclean=False,
        controller_epoch=4,
        zk_path="/x",
        zk_version=1,
    )
    for number in range(40):
        begun = event_of(story, "BrokerChange")
        story.envelopes.clear()
        view.apply(begun)
        for partition in range(500):
            event = elected._replace(partition=number * 500 + partition)
            view.apply(story.tell(1, event, cause=begun))
            change = PartitionStateChanged(
                topic="web",
                partition=partition,
                before="OfflinePartition",
                after="OnlinePartition",
                reason="because",
                controller_epoch=4,
            )
            view.apply(story.tell(1, change, cause=begun))
        done = ControllerEventProcessed(name="BrokerChange", queued_us=1, took_us=1, error="")
        view.apply(story.tell(1, done, cause=begun))
        story.envelopes.clear()
    assert len(view.decisions) == KEPT_ELECTIONS
    assert sum(len(event.elections) for event in view.events) <= KEPT_ELECTIONS + KEPT_OF_ONE_EVENT
    assert view.events[0].elected == 500, "the numbers stay"
    assert len(view.events[-1].elections) == KEPT_OF_ONE_EVENT
    for _ in range(2 * KEPT_EVENTS):
        view.apply(event_of(story, "TopicChange"))
        story.envelopes.clear()
    assert len(view.events) == KEPT_EVENTS


def test_odd_events_change_nothing() -> None:
    story = Story()
    story.tell(7, ControllerEventProcessed(name="X", queued_us=1, took_us=1, error="?"))
    story.tell(
        7,
        ControllerResponseReceived(
            broker_id=0, api_key=99, correlation_id=0, local="", error_code=0, took_us=1
        ),
    )
    story.tell(
        7,
        ControllerPartitionSnapshot(
            topic="t",
            partition=0,
            state="OddState",
            replicas=(1,),
            replica_states=("Odder",),
            leader=-1,
            leader_epoch=0,
            isr=(),
            zk_version=-1,
        ),
    )
    story.tell(
        7,
        ControllerSampled(
            active=True,
            queue_size=3,
            queue_time_ms=0,
            live_brokers=1,
            topics=1,
            partitions=1,
            offline_partitions=0,
            preferred_replica_imbalance=0,
            requests_queued=0,
        ),
    )
    story.tell(7, StateMachineSnapshot(machine="moon", states=(), transitions=()))
    view = applied(story)
    assert not view.events
    assert view.sampled is None
    assert view.waiting() == []
