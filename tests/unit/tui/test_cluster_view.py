"""The Cluster screen's state from hand-made events: a leader is killed, its session expires, it
returns.
"""

import pytest

from kafka_edu.common.link_faults import Link, LinkFault
from kafka_edu.instruments.link_events import ClusterKnown, LinkLost
from kafka_edu.trace.event import PROXY, SUPERVISOR, Source, SourceKind
from kafka_edu.trace.events.controller import (
    ActiveControllerChanged,
    BrokerFailed,
    BrokerJoined,
    ControllerBrokerSnapshot,
    ControllerElected,
    ControllerPartitionSnapshot,
    ControllerResigned,
    ControllerSnapshot,
    ReplicaRemovedFromIsr,
)
from kafka_edu.trace.events.network import NetworkSampled
from kafka_edu.trace.events.replication import (
    BecameFollower,
    BecameLeader,
    IsrExpanded,
    IsrShrunk,
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
)
from kafka_edu.trace.events.server import BrokerRegistered, MetadataUpdated, SessionLost
from kafka_edu.trace.events.supervisor import (
    LinkChanged,
    LinkSnapshot,
    ProcessEnded,
    ProcessPaused,
    ProcessResumed,
    ProcessSnapshot,
    ProcessStarted,
    ZooKeeperModeChanged,
    ZooKeeperModeSnapshot,
)
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.usual_events import ELECTED, killed, runs
from tui.view_model.cluster_view import ClusterView
from tui.view_model.partition_view import (
    DEAD,
    IN_ISR,
    LEADER,
    NONE,
    NOT_KNOWN,
    OUT_OF_SYNC,
    PartitionKey,
)

WEB = PartitionKey("web", 0)
PROGRESS = PartitionSnapshot(
    topic="web",
    partition=0,
    leader=1,
    leader_epoch=7,
    isr=(1, 2, 0),
    replicas=(1, 2, 0),
    progress=PartitionProgress(
        log_start=0, hw=80, leo=100, remote_leos=((2, 100), (0, 80)), min_isr=2
    ),
    zk_version=3,
    proposed_isr=(),
)


def shrunk(after: tuple[int, ...]) -> IsrShrunk:
    """Return the leader's fact that its ISR is smaller now."""
    return IsrShrunk(
        topic="web",
        partition=0,
        leader_epoch=7,
        before=(1, 2, 0),
        after=after,
        zk_version=4,
        reason="2 has not caught up",
    )


def snapshot_of_the_controller(
    story: Story, leader: int = 1, topics: tuple[str, ...] = ("web",)
) -> None:
    story.tell(0, SnapshotBegins(as_of=0))
    story.tell(
        0,
        ControllerSnapshot(active=True, controller_id=0, epoch=4, epoch_zk_version=4, queue_size=0),
    )
    for broker in (0, 1, 2):
        story.tell(
            0,
            ControllerBrokerSnapshot(
                broker_id=broker,
                broker_epoch=10 + broker,
                end_points=(f"PLAINTEXT://127.0.0.1:{9092 + broker}",),
                rack=None,
                shutting_down=False,
            ),
        )
    states = ("OnlineReplica",) * 3
    for topic in topics:
        story.tell(
            0,
            ControllerPartitionSnapshot(
                topic=topic,
                partition=0,
                state="OnlinePartition",
                replicas=(1, 2, 0),
                replica_states=states,
                leader=leader,
                leader_epoch=7,
                isr=(1, 2, 0),
                zk_version=3,
            ),
        )
    story.tell(0, SnapshotEnds(events=5))


def running(story: Story) -> ClusterView:
    """Return the view of three brokers, where 1 leads web-0."""
    for broker in (0, 1, 2):
        story.tell(SUPERVISOR, runs(broker))
    story.tell(
        SUPERVISOR,
        ProcessSnapshot(
            process="zookeeper",
            child=Source(SourceKind.ZOOKEEPER, 1),
            state="running",
            pid=99,
            port=2181,
        ),
    )
    snapshot_of_the_controller(story)
    story.tell(1, PROGRESS)
    story.tell(
        0,
        PartitionSnapshot(
            topic="web",
            partition=0,
            leader=1,
            leader_epoch=7,
            isr=(),
            replicas=(1, 2, 0),
            progress=PartitionProgress(log_start=0, hw=80, leo=80, remote_leos=(), min_isr=2),
            zk_version=3,
            proposed_isr=(),
        ),
    )
    for broker in (1, 2):
        story.tell(broker, SnapshotEnds(events=1))
    return reduced(story)


def reduced(story: Story, view: ClusterView | None = None) -> ClusterView:
    view = view or ClusterView("demo")
    for envelope in story.envelopes:
        view.apply(envelope)
    story.envelopes.clear()
    return view


def signs(view: ClusterView) -> str:
    p = view.partitions.by_key[WEB]
    return "".join(view.partitions.sign(p, broker) for broker in view.brokers.by_id)


def test_who_leads_an_ensemble_and_what_is_left_of_it() -> None:
    story = Story()
    for server, mode in ((1, "follower"), (2, "leader"), (3, "follower")):
        story.tell(
            SUPERVISOR,
            ProcessSnapshot(
                process=f"zookeeper-{server}",
                child=Source(SourceKind.ZOOKEEPER, server),
                state="running",
                pid=90 + server,
                port=2180 + server,
            ),
        )
        story.tell(
            SUPERVISOR,
            ZooKeeperModeSnapshot(
                process=f"zookeeper-{server}", child=Source(SourceKind.ZOOKEEPER, server), mode=mode
            ),
        )
    view = reduced(story)
    assert (view.zookeepers, view.zookeeper_leader) == ({1: True, 2: True, 3: True}, 2)
    story.tell(
        SUPERVISOR,
        ProcessEnded(
            process="zookeeper-2",
            child=Source(SourceKind.ZOOKEEPER, 2),
            pid=92,
            code=0,
            signal="SIGKILL",
            asked=True,
        ),
    )
    story.tell(
        SUPERVISOR,
        ZooKeeperModeChanged(process="zookeeper-2", child=Source(SourceKind.ZOOKEEPER, 2), mode=""),
    )
    view = reduced(story, view)
    assert (view.zookeepers, view.zookeeper_leader) == ({1: True, 2: False, 3: True}, None)
    assert list(view.brokers.by_id) == [], "a server of ZooKeeper is no broker"
    story.tell(
        SUPERVISOR,
        ZooKeeperModeChanged(
            process="zookeeper-3", child=Source(SourceKind.ZOOKEEPER, 3), mode="leader"
        ),
    )
    story.tell(
        SUPERVISOR,
        ProcessStarted(process="zookeeper-2", child=Source(SourceKind.ZOOKEEPER, 2), pid=95),
    )
    story.tell(
        SUPERVISOR,
        ZooKeeperModeChanged(
            process="zookeeper-2", child=Source(SourceKind.ZOOKEEPER, 2), mode="follower"
        ),
    )
    view = reduced(story, view)
    assert (all(view.zookeepers.values()), view.zookeeper_leader) == (True, 3)


def test_a_snapshot_gives_the_whole_picture() -> None:
    view = running(Story())
    assert (view.controller, view.controller_epoch, view.zookeepers) == (0, 4, {1: True})
    assert [(b.id, b.port, b.process, b.in_cluster) for b in view.brokers.by_id.values()] == [
        (0, 9092, "running", True),
        (1, 9093, "running", True),
        (2, 9094, "running", True),
    ]
    p = view.partitions.by_key[WEB]
    assert signs(view) == IN_ISR + LEADER + IN_ISR
    assert (p.leader_epoch, p.hw, p.leo, p.lag, p.min_isr, p.preferred_is_not_leading) == (
        7,
        80,
        100,
        20,
        2,
        False,
    )
    assert p.behind(0) == 20
    assert view.verdict() == ("ok", "✓ all is well: 1 partition, every replica in sync")
    assert not view.glow.any_glows(), "what one sees for the first time has not changed"


def test_a_killed_leader_is_dead_at_once_and_leaves_the_cluster_later() -> None:
    story = Story()
    view = running(story)
    story.tell(SUPERVISOR, killed(1), after_ms=500)
    reduced(story, view)
    assert signs(view) == IN_ISR + DEAD + IN_ISR
    assert view.verdict() == (
        "error",
        "✕ 1 of 1 partition without a leader: broker 1 is gone, still in 1 ISR",
    )
    p = view.partitions.by_key[WEB]
    assert p.isr == (1, 2, 0), "ZooKeeper still has it there: the very thing to see"
    assert [view.partitions.standing(p, broker) for broker in (0, 1, 2)] == ["", LEADER, ""]
    broker = view.brokers[1]
    assert broker.status(view.glow.now_us) == ("✕ killed (SIGKILL)", "ZooKeeper holds its session")

    story.tell(0, BrokerFailed(broker_id=1, shutting_down=False), after_ms=6_000)
    story.tell(0, ELECTED, after_ms=5)
    reduced(story, view)
    assert view.glow.glows("epoch", WEB)
    assert view.glow.glows("cell", WEB, 2)
    view.advance(view.glow.now_us + 1_400_000)
    assert not view.glow.glows("epoch", WEB)
    assert broker.status(view.glow.now_us) == ("✕ killed (SIGKILL)", "left the cluster 1.4 s ago")
    p = view.partitions.by_key[WEB]
    assert (p.leader, p.leader_epoch, p.isr, p.preferred_is_not_leading) == (2, 8, (2, 0), True)
    assert view.verdict() == ("warning", "! 1 of 1 partition under-replicated: broker 1 is gone")


def test_it_comes_back_out_of_sync_and_then_in_sync() -> None:
    story = Story()
    view = running(story)
    story.tell(SUPERVISOR, killed(1))
    story.tell(0, BrokerFailed(broker_id=1, shutting_down=False))
    story.tell(0, ELECTED)
    story.tell(
        SUPERVISOR,
        ProcessStarted(process="broker-1", child=Source.of_broker(1), pid=201),
        after_ms=3_000,
    )
    reduced(story, view)
    assert signs(view) == IN_ISR + DEAD + LEADER, "a process is no member yet"
    story.tell(0, BrokerJoined(broker_id=1, broker_epoch=77, bounced=False), after_ms=100)
    story.tell(
        1,
        BecameFollower(
            topic="web",
            partition=0,
            leader=2,
            leader_epoch=8,
            controller_epoch=4,
            log_end_offset=80,
            high_watermark=80,
            replicas=(1, 2, 0),
        ),
    )
    reduced(story, view)
    assert signs(view) == IN_ISR + OUT_OF_SYNC + LEADER
    story.tell(
        2,
        IsrExpanded(
            topic="web",
            partition=0,
            leader_epoch=8,
            before=(2, 0),
            after=(2, 0, 1),
            zk_version=5,
            reason="caught up",
        ),
    )
    reduced(story, view)
    assert signs(view) == IN_ISR + IN_ISR + LEADER


def test_a_replica_that_a_reassignment_adds_does_not_make_the_partition_under_replicated() -> None:
    story = Story()
    view = running(story)
    before = view.partitions.counts()
    story.tell(
        1,
        BecameLeader(
            topic="web",
            partition=0,
            leader_epoch=8,
            controller_epoch=4,
            start_offset=100,
            high_watermark=80,
            isr=(1, 2),
            replicas=(0, 1, 2),
            zk_version=5,
            adding_replicas=(0,),
        ),
    )
    reduced(story, view)
    assert view.partitions.counts() == before
    story.tell(
        1,
        BecameLeader(
            topic="web",
            partition=0,
            leader_epoch=9,
            controller_epoch=4,
            start_offset=100,
            high_watermark=80,
            isr=(1, 2),
            replicas=(0, 1, 2),
            zk_version=6,
        ),
    )
    reduced(story, view)
    assert view.partitions.counts() == (1, 1, 0)


def test_what_is_older_than_what_is_known_changes_nothing() -> None:
    story = Story()
    view = running(story)
    story.tell(
        2,
        IsrShrunk(
            topic="web",
            partition=0,
            leader_epoch=6,
            before=(1, 2, 0),
            after=(2,),
            zk_version=9,
            reason="an old leader",
        ),
    )
    story.tell(
        2,
        BecameLeader(
            topic="web",
            partition=0,
            leader_epoch=6,
            controller_epoch=3,
            start_offset=0,
            high_watermark=0,
            isr=(2,),
            replicas=(1, 2, 0),
            zk_version=2,
        ),
    )
    story.tell(
        0,
        ReplicaRemovedFromIsr(
            topic="web",
            partition=0,
            replica=0,
            isr_before=(1, 2, 0),
            isr=(1, 2),
            leader=1,
            leader_epoch=7,
            zk_path="/x",
            zk_version=2,
        ),
    )
    reduced(story, view)
    p = view.partitions.by_key[WEB]
    assert (p.leader, p.isr, p.leader_epoch, p.leo) == (1, (1, 2, 0), 7, 100)


def test_a_follower_alone_tells_its_own_end_only() -> None:
    story = Story()
    view = running(story)
    story.tell(
        0,
        PartitionOffsets(
            topic="web",
            partition=0,
            progress=PartitionProgress(log_start=0, hw=79, leo=95, remote_leos=(), min_isr=2),
        ),
    )
    story.tell(
        1,
        PartitionOffsets(
            topic="web",
            partition=0,
            progress=PartitionProgress(
                log_start=0, hw=99, leo=120, remote_leos=((2, 120), (0, 90)), min_isr=2
            ),
        ),
    )
    reduced(story, view)
    p = view.partitions.by_key[WEB]
    assert (p.hw, p.leo, p.replica_leos[0]) == (
        99,
        120,
        95,
    ), "broker 0 speaks for itself: the leader's word of it is older"


def test_a_deleted_topic_goes_with_the_controllers_next_snapshot() -> None:
    story = Story()
    view = running(story)
    snapshot_of_the_controller(story, topics=("other",))
    reduced(story, view)
    assert [str(key) for key in view.partitions.by_key] == ["other-0"]


def test_a_partition_without_replica_has_no_sign() -> None:
    story = Story()
    view = running(story)
    story.tell(SUPERVISOR, runs(3))
    reduced(story, view)
    assert signs(view) == IN_ISR + LEADER + IN_ISR + NONE


def test_a_new_controller_of_a_higher_epoch_replaces_the_old() -> None:
    story = Story()
    view = running(story)
    story.tell(2, ControllerElected(epoch=5, epoch_zk_version=5))
    story.tell(0, ControllerElected(epoch=3, epoch_zk_version=3))
    reduced(story, view)
    assert (view.controller, view.controller_epoch) == (2, 5)
    assert view.glow.glows("controller")


def test_a_new_controller_counts_whom_it_finds_alive() -> None:
    """No BrokerFailed reports the old controller, because the new one never saw it alive."""
    story = Story()
    view = running(story)
    story.tell(SUPERVISOR, killed(0))
    story.tell(2, ControllerElected(epoch=5, epoch_zk_version=5), after_ms=6_000)
    story.tell(
        1,
        MetadataUpdated(
            controller_id=2, controller_epoch=5, live_brokers=(0, 1, 2), updated=(), deleted=()
        ),
    )
    story.tell(
        2,
        MetadataUpdated(
            controller_id=2, controller_epoch=5, live_brokers=(1, 2), updated=("web-0",), deleted=()
        ),
    )
    reduced(story, view)
    assert [broker.in_cluster for broker in view.brokers.by_id.values()] == [False, True, True]


def test_rates_are_differences_of_totals_and_begin_anew_with_the_process() -> None:
    story = Story()
    view = running(story)
    for i in range(11):
        story.tell(
            1,
            NetworkSampled(
                request_queue_size=2,
                request_queue_capacity=500,
                response_queue_size=0,
                connections=9,
                requests_total=10 * i,
                bytes_in_total=1_000_000 * i,
                bytes_out_total=2_000_000 * i,
            ),
            after_ms=100,
        )
    reduced(story, view)
    broker = view.brokers[1]
    assert (broker.request_queue, broker.request_queue_capacity, broker.connections) == (2, 500, 9)
    assert (
        round(broker.bytes_in.now),
        round(broker.bytes_out.now),
        round(broker.requests.now),
    ) == (10_000_000, 20_000_000, 100)
    story.tell(1, LinkLost("closed"))
    reduced(story, view)
    assert broker.bytes_in.now == 0


def test_a_broker_whose_socket_closes_is_dead_even_without_a_supervisor() -> None:
    story = Story()
    story.tell(
        0,
        NetworkSampled(
            request_queue_size=0,
            request_queue_capacity=500,
            response_queue_size=0,
            connections=1,
            requests_total=1,
            bytes_in_total=1,
            bytes_out_total=1,
        ),
    )
    view = reduced(story)
    assert not view.brokers[0].dead
    story.tell(0, LinkLost("closed"))
    reduced(story, view)
    assert view.brokers[0].dead
    assert view.brokers[0].status(view.glow.now_us)[0] == "✕ it has sent nothing"


def test_a_paused_broker_is_said_to_be_paused_before_the_cluster_knows() -> None:
    story = Story()
    view = running(story)
    story.tell(
        SUPERVISOR,
        ProcessPaused(process="broker-2", child=Source.of_broker(2), pid=102),
        after_ms=10,
    )
    reduced(story, view)
    assert view.verdict() == ("warning", "! broker 2 is paused; the cluster does not know it yet")
    assert signs(view)[2] == IN_ISR, "its session lives"


def test_up_time_counts_from_what_the_supervisor_answered() -> None:
    story = Story()
    story.tell(SUPERVISOR, ClusterKnown("demo", 192_000, "embedded"))
    view = reduced(story)
    view.advance(view.glow.now_us + 3_000_000)
    assert (view.name, view.zookeeper, view.up_ms) == ("demo", "embedded", 195_000)


def test_a_cluster_that_goes_down_says_so() -> None:
    story = Story()
    view = running(story)
    for broker in (0, 1, 2, SUPERVISOR):
        story.tell(broker, LinkLost("closed"))
    reduced(story, view)
    assert view.verdict() == ("error", "✕ the cluster is down")


def test_a_controller_that_slept_through_its_session_does_not_unseat_the_new_one() -> None:
    """The controller is paused, its session expires, and it is resumed. Then it first reads that
    there is no controller (-1), and only later that broker 2 is the controller.
    """
    story = Story()
    view = running(story)
    for broker in (1, 2):
        story.tell(broker, ActiveControllerChanged(controller_id=0))
    story.tell(
        SUPERVISOR, ProcessPaused(process="broker-0", child=Source.of_broker(0), pid=100), 100
    )
    for broker in (1, 2):
        story.tell(broker, ActiveControllerChanged(controller_id=-1), 6_000)
    assert reduced(story, view).controller == -1, "between the terms there is none"
    story.tell(2, ControllerElected(epoch=5, epoch_zk_version=5), 5)
    story.tell(1, ActiveControllerChanged(controller_id=2), 2)
    assert reduced(story, view).controller == 2
    story.tell(
        SUPERVISOR, ProcessResumed(process="broker-0", child=Source.of_broker(0), pid=100), 3_000
    )
    story.tell(0, SessionLost(broker_id=0, session_id=7), 5)
    story.tell(0, ControllerResigned(epoch=4, reason="the session expired"), 1)
    story.tell(0, ActiveControllerChanged(controller_id=-1), 1)
    assert reduced(story, view).controller == 2, "the returning broker's -1 is no news"
    story.tell(0, BrokerRegistered(broker_id=0, end_points=(), broker_epoch=99, session_id=8), 5)
    story.tell(0, ActiveControllerChanged(controller_id=2), 5)
    assert (reduced(story, view).controller, view.controller_epoch) == (2, 5)


def test_a_follower_that_slept_through_its_session_has_only_lost_sight_of_the_controller() -> None:
    story = Story()
    view = running(story)
    story.tell(1, ActiveControllerChanged(controller_id=0))
    story.tell(1, SessionLost(broker_id=1, session_id=7), 6_000)
    story.tell(1, ActiveControllerChanged(controller_id=-1), 1)
    assert reduced(story, view).controller == 0


def test_without_a_controller_nothing_is_well() -> None:
    story = Story()
    view = running(story)
    story.tell(1, ActiveControllerChanged(controller_id=-1), 6_000)
    assert reduced(story, view).verdict() == (
        "warning",
        "! no controller: no leader can be elected until there is one",
    )


def test_internal_topics_come_last() -> None:
    story = Story()
    snapshot_of_the_controller(story, topics=("__consumer_offsets", "web", "__transaction_state"))
    topics = [key.topic for key in reduced(story).partitions.by_key]
    assert topics == ["web", "__consumer_offsets", "__transaction_state"]


def test_a_link_with_a_fault_is_said_until_it_is_healed() -> None:
    story = Story()
    view = running(story)
    slow = LinkChanged(broker=1, other=2, delay_ms=700, cut=False)
    story.tell(SUPERVISOR, slow)
    reduced(story, view)
    assert view.verdict() == (
        "warning",
        "! the link between brokers 1 and 2 is slow by 700 ms; every ISR is still complete",
    )
    story.tell(SUPERVISOR, slow._replace(delay_ms=0, cut=True))
    reduced(story, view)
    assert "the link between brokers 1 and 2 is cut" in view.verdict()[1]
    story.tell(SUPERVISOR, SnapshotBegins(as_of=0))
    story.tell(SUPERVISOR, LinkSnapshot(broker=0, other=1, delay_ms=0, cut=True))
    reduced(story, view)
    assert view.links == {Link(0, 1): LinkFault(cut=True)}
    story.tell(SUPERVISOR, LinkChanged(broker=0, other=1, delay_ms=0, cut=False))
    reduced(story, view)
    assert view.verdict()[0] == "ok"


def test_links_to_zookeeper_and_clients_are_said_each_for_itself() -> None:
    story = Story()
    view = running(story)
    zookeeper = LinkChanged(broker=0, other=-1, delay_ms=0, cut=True, side="zookeeper")
    clients = zookeeper._replace(delay_ms=50, cut=False, side="clients")
    story.tell(SUPERVISOR, zookeeper)
    story.tell(SUPERVISOR, clients)
    reduced(story, view)
    assert view.verdict() == (
        "warning",
        "! the link between broker 0 and ZooKeeper is cut; the link between broker 0 and its"
        " clients is slow by 50 ms; every ISR is still complete",
    )
    story.tell(SUPERVISOR, zookeeper._replace(cut=False))
    reduced(story, view)
    assert view.links == {Link(0, side="clients"): LinkFault(50)}
    story.tell(SUPERVISOR, clients._replace(delay_ms=0))
    reduced(story, view)
    assert view.verdict()[0] == "ok"


def test_a_relay_that_has_ended_is_said_until_it_runs_again() -> None:
    story = Story()
    view = running(story)
    gone = "! the relay has ended: brokers reach neither clients nor ZooKeeper"
    story.tell(
        SUPERVISOR,
        ProcessEnded(process="relay", child=PROXY, pid=7, code=0, signal="SIGKILL", asked=False),
    )
    reduced(story, view)
    assert view.verdict()[1].startswith(gone)
    story.tell(SUPERVISOR, ProcessStarted(process="relay", child=PROXY, pid=8))
    reduced(story, view)
    assert view.verdict()[0] == "ok"
    story.tell(
        SUPERVISOR,
        ProcessSnapshot(process="relay", child=PROXY, state="stopped", pid=0, port=0),
    )
    reduced(story, view)
    assert view.verdict()[1].startswith(gone), "also for who looks only now"


GUEST = 7


def with_a_guest(story: Story, *, controller: int = 0) -> None:
    """Brokers 0 and 1 are the supervisor's. Broker 7 has joined them by itself."""
    story.tell(SUPERVISOR, SnapshotBegins(as_of=0))
    for broker in (0, 1):
        child = Source.of_broker(broker)
        story.tell(
            SUPERVISOR,
            ProcessSnapshot(
                process=f"broker-{broker}", child=child, state="running", pid=1, port=9092 + broker
            ),
        )
    story.tell(SUPERVISOR, SnapshotEnds(events=2))
    for broker in (0, 1):
        story.tell(
            broker,
            MetadataUpdated(
                controller_id=controller,
                controller_epoch=1,
                live_brokers=(0, 1, GUEST),
                updated=(),
                deleted=(),
            ),
        )


def test_a_broker_that_the_supervisor_did_not_start_is_a_guest() -> None:
    story = Story()
    with_a_guest(story)
    story.tell(0, ControllerElected(epoch=1, epoch_zk_version=1))
    view = reduced(story)
    assert [b.id for b in view.brokers.by_id.values() if b.guest] == [GUEST]
    assert view.brokers.guests == [GUEST]
    assert view.brokers[GUEST].status(view.glow.now_us) == ("guest", "not started here")
    assert view.brokers.alive(GUEST)
    assert view.verdict() == ("ok", "✓ all brokers are up; no topics yet; broker 7 is a guest")
    view.apply(story.tell(0, BrokerFailed(broker_id=GUEST, shutting_down=False)))
    assert view.brokers.guests == []
    assert view.verdict()[1] == "! broker 7 is gone; every partition has all its replicas"


def test_a_guest_may_be_the_controller_and_its_word_counts() -> None:
    """The guest itself sends no events. So the view uses what the guest tells our brokers."""
    story = Story()
    with_a_guest(story, controller=GUEST)
    story.tell(0, ActiveControllerChanged(controller_id=GUEST))
    view = reduced(story)
    assert view.controller == GUEST
    assert view.brokers[1].in_cluster is True
    left = MetadataUpdated(
        controller_id=GUEST, controller_epoch=1, live_brokers=(0, GUEST), updated=(), deleted=()
    )
    view.apply(story.tell(0, left))
    assert view.brokers[1].in_cluster is False


def test_without_a_supervisor_nobody_is_called_a_guest() -> None:
    story = Story()
    story.tell(
        0,
        MetadataUpdated(
            controller_id=0, controller_epoch=1, live_brokers=(0, 1), updated=(), deleted=()
        ),
    )
    assert reduced(story).brokers.guests == []


def test_while_snapshots_arrive_it_reads_and_judges_nothing() -> None:
    """Nobody has named the controller yet, and the partitions so far are those of one broker."""
    story = Story()
    assert reduced(story).verdict() == ("warning", "… waiting for the first broker")
    for broker in (0, 1, 2):
        story.tell(SUPERVISOR, runs(broker))
    view = reduced(story)
    assert view.verdict() == ("warning", "… reading the state of brokers 0, 1, 2")
    assert view.brokers[1].status(view.glow.now_us) == ("… reading", "")
    assert view.controller_unknown
    story.tell(1, SnapshotBegins(as_of=0))
    story.tell(1, PROGRESS)
    story.tell(1, SnapshotEnds(events=1))
    story.tell(2, SnapshotBegins(as_of=0))
    reduced(story, view)
    assert view.verdict() == ("warning", "… reading the state of brokers 0, 2")
    story.tell(2, SnapshotEnds(events=0))
    snapshot_of_the_controller(story)
    reduced(story, view)
    assert view.unknown() == ""
    assert not view.controller_unknown
    assert view.verdict() == ("ok", "✓ all is well: 1 partition, every replica in sync")


def test_a_broker_that_we_saw_start_is_known_without_a_snapshot() -> None:
    """A recording may begin with the start of a cluster. Then it has facts, and no snapshot."""
    story = Story()
    story.tell(
        0,
        BrokerRegistered(
            broker_id=0, broker_epoch=10, end_points=("PLAINTEXT://127.0.0.1:9092",), session_id=0x1
        ),
    )
    view = reduced(story)
    assert view.unknown() == ""
    story.tell(SUPERVISOR, ProcessStarted(process="broker-1", child=Source.of_broker(1), pid=101))
    assert reduced(story, view).unknown() == ""


def test_what_a_dead_or_paused_broker_cannot_say_is_not_waited_for() -> None:
    story = Story()
    view = running(story)
    story.tell(SUPERVISOR, runs(3)._replace(state="paused"))
    story.tell(SUPERVISOR, runs(4)._replace(state="stopped"))
    assert reduced(story, view).unknown() == ""


def test_facts_alone_do_not_say_what_was_before_them() -> None:
    story = Story()
    view = ClusterView("demo")
    view.facts_only = True
    assert view.verdict()[1].startswith("? not known: of this time there are facts only")
    story.tell(0, BrokerJoined(broker_id=2, broker_epoch=3, bounced=False))
    story.envelopes[-1] = story.envelopes[-1]._replace(seq=77)
    assert reduced(story, view).verdict()[1].startswith("? not known: of this time there are facts")


def test_who_has_no_session_is_read_from_the_controllers_snapshot() -> None:
    """The dashboard was opened after the session of a paused broker had ended."""
    story = Story()
    for broker in (0, 1, 2):
        story.tell(SUPERVISOR, runs(broker))
    story.tell(SUPERVISOR, runs(3)._replace(state="paused"))
    view = reduced(story)
    paused = view.brokers[3]
    assert paused.status(view.glow.now_us) == ("‖ paused", "its session: not known")
    snapshot_of_the_controller(story)
    for broker in (1, 2):
        story.tell(broker, SnapshotEnds(events=0))
    reduced(story, view)
    assert paused.in_cluster is False
    assert paused.status(view.glow.now_us) == ("‖ paused", "its session has ended")
    assert paused.dead
    assert view.verdict() == (
        "warning",
        "! broker 3 is paused, and its session has ended; every partition has all its replicas",
    )


def test_the_headline_names_who_is_missing_and_why() -> None:
    story = Story()
    view = running(story)
    story.tell(SUPERVISOR, ProcessPaused(process="broker-2", child=Source.of_broker(2), pid=102))
    story.tell(1, shrunk((1, 0)))
    assert reduced(story, view).verdict() == (
        "warning",
        "! 1 of 1 partition under-replicated: broker 2 is paused, out of 1 ISR",
    )
    story.tell(0, BrokerFailed(broker_id=2, shutting_down=False), after_ms=100)
    assert reduced(story, view).verdict() == (
        "warning",
        "! 1 of 1 partition under-replicated: broker 2 is paused, and its session has ended",
    )
    story.tell(SUPERVISOR, ProcessResumed(process="broker-2", child=Source.of_broker(2), pid=102))
    story.tell(0, BrokerJoined(broker_id=2, broker_epoch=99, bounced=False))
    assert reduced(story, view).verdict() == (
        "warning",
        "! 1 of 1 partition under-replicated: broker 2 is out of 1 ISR",
    )


def test_all_is_not_well_while_a_broker_sends_nothing() -> None:
    story = Story()
    view = running(story)
    assert view.verdict()[0] == "ok"
    view.advance(view.glow.now_us + 12_000_000)
    assert view.verdict() == ("warning", "? brokers 0, 1 have sent nothing for 12 s")
    assert view.verdict(late_us=11_500_000)[0] == "ok", "it is we who are late"


def test_an_isr_that_nobody_has_reported_is_not_known() -> None:
    """A follower's snapshot names the leader and the replicas, but not the ISR."""
    story = Story()
    told_by_a_follower = PROGRESS._replace(
        progress=PROGRESS.progress._replace(remote_leos=()), isr=(1,), zk_version=-1
    )
    for broker in (0, 1, 2):
        story.tell(SUPERVISOR, runs(broker))
    story.tell(2, told_by_a_follower)
    view = reduced(story)
    web = view.partitions.by_key[WEB]
    assert not web.isr_known
    assert view.partitions.counts() == (1, 0, 0)
    assert signs(view) == NOT_KNOWN + LEADER + NOT_KNOWN
    for broker in (0, 1, 2):
        story.tell(broker, SnapshotEnds(events=0))
    story.tell(0, ControllerElected(epoch=1, epoch_zk_version=1))
    assert reduced(story, view).verdict() == ("warning", "? the ISR of 1 partition is not known")
    story.tell(1, PROGRESS)
    assert reduced(story, view).verdict()[0] == "ok"
    assert signs(view) == IN_ISR + LEADER + IN_ISR


def test_the_headline_names_a_paused_broker_next_to_other_troubles() -> None:
    story = Story()
    view = running(story)
    story.tell(SUPERVISOR, ProcessPaused(process="broker-0", child=Source.of_broker(0), pid=100))
    cut = LinkChanged(broker=1, other=2, side="both", delay_ms=0, cut=True)
    story.tell(SUPERVISOR, cut)
    words = reduced(story, view).verdict()[1]
    assert words.startswith("! the link ")
    assert "; broker 0 is paused; every ISR is still complete" in words
    story.tell(SUPERVISOR, cut._replace(cut=False))
    assert reduced(story, view).verdict()[1] == (
        "! broker 0 is paused; the cluster does not know it yet"
    )
    story.tell(SUPERVISOR, killed(2))
    words = reduced(story, view).verdict()[1]
    assert words == (
        "! 1 of 1 partition under-replicated: broker 2 is gone, still in 1 ISR; broker 0 is paused"
    )


def test_the_controllers_snapshot_may_come_before_the_supervisors() -> None:
    """The controller does not name a paused broker whose session has ended."""
    story = Story()
    snapshot_of_the_controller(story)
    for broker in (0, 1, 2):
        story.tell(SUPERVISOR, runs(broker))
    story.tell(SUPERVISOR, runs(3)._replace(state="paused"))
    view = reduced(story)
    assert view.brokers[1].in_cluster is True
    assert view.brokers[3].status(view.glow.now_us) == ("‖ paused", "its session has ended")
    assert view.verdict()[1].endswith("broker 3 is paused, and its session has ended")


def test_of_a_time_with_facts_only_a_broker_is_not_being_read() -> None:
    story = Story()
    story.tell(0, BrokerJoined(broker_id=2, broker_epoch=3, bounced=False))
    story.envelopes[-1] = story.envelopes[-1]._replace(seq=77)
    view = reduced(story)
    assert view.status(view.brokers[0]) == ("… reading", "")
    view.facts_only = True
    assert view.status(view.brokers[0]) == ("? its state then is not known", "")


@pytest.mark.parametrize(
    ("topic", "partition", "width", "name"),
    [
        ("web", 0, 12, "web-0"),
        ("exactly-ten", 0, 13, "exactly-ten-0"),
        ("__consumer_offsets", 17, 12, "__consum…-17"),
        ("__consumer_offsets", 3, 12, "__consume…-3"),
        ("web-clicks", 12_345, 5, "w…-12345"),
    ],
)
def test_a_name_that_is_cut_keeps_its_number(
    topic: str, partition: int, width: int, name: str
) -> None:
    assert PartitionKey(topic, partition).fitted(width) == name
