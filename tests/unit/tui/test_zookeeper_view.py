"""The ZooKeeper screen's state: from the real core of our ZooKeeper, and from hand-made events."""

from typing import Final

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.trace.event import SUPERVISOR, ZOOKEEPER, Envelope, Source, SourceKind
from kafka_edu.trace.events.controller import (
    BrokerFailed,
    ControllerElected,
    ControllerEventProcessed,
    ControllerEventQueued,
    ControllerEventStarted,
    LeaderElected,
    ZkWatchFired,
)
from kafka_edu.trace.events.server import BrokerRegistered, EntityConfigTaken, SessionLost
from kafka_edu.trace.events.supervisor import ZooKeeperModeChanged
from kafka_edu.trace.events.zk import WatchFired, ZnodeCreated, ZnodeDeleted
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.zookeeper_server import ConnectReply, ZooKeeperServer
from kafka_edu.zk.jute.proto import (
    OPEN_ACL_UNSAFE,
    CloseSessionRequest,
    ConnectRequest,
    CreateRequest,
    DeleteRequest,
    ExistsRequest,
    GetChildrenRequest,
    Request,
    SetDataRequest,
)
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.usual_events import znode
from tui.view_model.znode_tree import GHOST_US, PAGE
from tui.view_model.zookeeper_view import KEPT_FIRED, ZookeeperView

EPHEMERAL = 1


class World:
    """A real server whose events go to a view, and clients of it."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.tracer = Tracer(ZOOKEEPER, self.time)
        self.events = RingSink()
        self.tracer.add_sink(self.events)
        self.server = ZooKeeperServer(
            tick_time_ms=500, now_ms=self.now, wall_ms=0, trace=self.tracer
        )
        self.server.start(self.now)
        self.view = ZookeeperView()
        self._xid = 0

    @property
    def now(self) -> int:
        return self.time.hi_res_clock_ms()

    def open(self, timeout_ms: int = 6_000) -> tuple[int, int]:
        """Return a new client's connection and session."""
        cnxn = self.server.open_cnxn(f"127.0.0.1:{40_000 + self._xid}")
        request = ConnectRequest(0, 0, timeout_ms, 0, bytes(16), False)
        (reply,) = [
            effect
            for effect in self.server.connect(cnxn, request, self.now, 0)
            if isinstance(effect, ConnectReply)
        ]
        return cnxn, reply.response.session_id

    def ask(self, cnxn: int, request: Request) -> None:
        self._xid += 1
        self.server.request(cnxn, self._xid, request, self.now, 0)

    def create(self, cnxn: int, path: str, data: str = "", flags: int = 0) -> None:
        self.ask(cnxn, CreateRequest(path, data.encode(), OPEN_ACL_UNSAFE, flags))

    def tick(self, ms: int) -> None:
        self.time.advance(ms)
        self.server.tick(self.now, 0)

    def look(self, gauges: bool = True) -> ZookeeperView:
        """Give the view what has happened since the last look."""
        for envelope in list(self.events.events):
            self.view.apply(envelope)
        self.events.events.clear()
        if gauges:
            self.apply(self.tracer.gauges())
        self.view.advance(self.time.nanoseconds() // 1000)
        return self.view

    def apply(self, envelopes: list[Envelope]) -> None:
        for envelope in envelopes:
            self.view.apply(envelope)


@pytest.fixture
def world() -> World:
    return World()


def test_a_silent_session_counts_down_and_dies_with_its_ephemeral_znode(world: World) -> None:
    quiet, quiet_session = world.open()
    loud, _ = world.open()
    world.create(loud, "/brokers")
    world.create(loud, "/brokers/ids")
    world.create(quiet, "/brokers/ids/1", "{}", EPHEMERAL)
    world.create(loud, "/brokers/ids/2", "{}", EPHEMERAL)
    world.ask(loud, GetChildrenRequest("/brokers/ids", True))
    view = world.look()
    first, second = view.shown_sessions()
    assert (first.broker, second.broker) == (1, 2), "the znode below /brokers/ids says whose it is"
    assert (first.ephemerals, second.watches) == (1, 1)

    for _ in range(4):
        world.tick(1_000)
        world.ask(loud, ExistsRequest("/x", False))
    view = world.look()
    first, second = view.shown_sessions()
    now_us = view.glow.now_us
    assert first.silent_ms(now_us) == 4_000
    assert second.silent_ms(now_us) == 0
    left = first.left_ms(now_us)
    assert left is not None
    assert 2_000 <= left <= 2_500, "rounded up to a tick"

    view.advance(now_us + 1_000_000)
    assert first.left_ms(view.glow.now_us) == left - 1_000, "it goes on without an event"

    for _ in range(3):
        world.tick(1_000)
        world.ask(loud, ExistsRequest("/x", False))
    view = world.look()
    first, second = view.shown_sessions()
    assert (first.id, first.broker, first.ended) == (quiet_session, 1, "expired")
    assert (second.broker, second.ended) == (2, ""), "rows keep their places"
    assert view.tree.by_path["/brokers/ids/1"].deleted_us
    (fired,) = view.fired
    assert (fired.path, fired.type, fired.broker) == ("/brokers/ids", "CHILDREN_CHANGED", 2)
    assert view.watchers("/brokers/ids") == [], "a watch fires once"


def test_the_tree_shows_versions_owners_and_what_just_changed(world: World) -> None:
    cnxn, session = world.open()
    world.create(cnxn, "/controller", '{"brokerid":1}', EPHEMERAL)
    world.create(cnxn, "/a", "x")
    world.ask(cnxn, SetDataRequest("/a", b"y", -1))
    view = world.look()
    node = view.tree.by_path["/a"]
    assert (node.version, node.data, node.how) == (1, "y", "set")
    assert view.tree.by_path["/controller"].owner == session
    assert view.glow.glows("znode", "/a")
    assert view.glow.glows("below", "/")
    world.tick(2_000)
    assert not world.look().glow.glows("znode", "/a")
    world.ask(cnxn, DeleteRequest("/a", -1))
    view = world.look()
    assert "a" in [row.label for row in view.tree.rows()], "it is shown as gone"
    assert len(view.tree) == 2, "/ and /controller: a ghost does not count"
    view.advance(view.glow.now_us + GHOST_US)
    assert "a" not in [row.label for row in view.tree.rows()]
    assert "/a" not in view.tree.by_path


def test_an_observer_who_comes_late_sees_the_same(world: World) -> None:
    cnxn, session = world.open()
    for path in ("/brokers", "/brokers/ids", "/config"):
        world.create(cnxn, path)
    world.create(cnxn, "/brokers/ids/7", "{}", EPHEMERAL)
    world.ask(cnxn, GetChildrenRequest("/brokers/ids", True))
    world.ask(cnxn, ExistsRequest("/controller", True))
    early = world.look()
    late = ZookeeperView()
    for envelope in world.tracer.snapshot():
        late.apply(envelope)
    assert set(late.tree.by_path) == set(world.server.tree.nodes) | {"/"}
    assert late.watchers("/brokers/ids") == early.watchers("/brokers/ids") == [(7, 1)]
    (mine,) = late.shown_sessions()
    assert (mine.id, mine.broker, mine.watches, mine.ephemerals) == (session, 7, 2, 1)
    world.ask(cnxn, CloseSessionRequest())
    for envelope in world.events.events:
        late.apply(envelope)
    assert late.shown_sessions()[0].ended == "closed"
    assert late.watchers("/controller") == []


def test_watches_of_a_closed_connection_are_gone_and_set_again(world: World) -> None:
    cnxn, session = world.open()
    world.ask(cnxn, ExistsRequest("/controller", True))
    view = world.look()
    assert view.watchers("/controller") == [(None, 1)]
    world.server.lose_cnxn(cnxn, "reset by peer")
    view = world.look()
    assert view.watchers("/controller") == []
    assert view.sessions[session].disconnected_us


FIRED: Final = WatchFired(
    path="/config/changes",
    kind="child",
    cnxn=1,
    type="CHILDREN_CHANGED",
    session_id=77,
    zxid=9,
)
"""A watch of broker 1 fires, because a child of a znode changed."""


def watch_story(story: Story) -> Envelope:
    """ZooKeeper tells broker 1 that /brokers/ids has changed. Return the event in which the broker
    receives this.
    """
    story.tell(ZOOKEEPER, znode("/"))
    story.tell(1, BrokerRegistered(broker_id=1, broker_epoch=1, end_points=(), session_id=77))
    story.tell(ZOOKEEPER, FIRED._replace(path="/brokers/ids"))
    return story.tell(
        1,
        ZkWatchFired(path="/brokers/ids", type="CHILDREN_CHANGED", session_id=77, after_zxid=8),
        2,
    )


def applied(story: Story) -> ZookeeperView:
    view = ZookeeperView()
    for envelope in story.envelopes:
        view.apply(envelope)
    return view


def test_a_watch_that_fired_says_what_the_broker_made_of_it() -> None:
    story = Story()
    received = watch_story(story)
    (fired,) = applied(story).fired
    assert (fired.broker, fired.received, fired.made) == (1, True, "")
    queued = story.tell(
        1, ControllerEventQueued(name="BrokerChange", detail="", queue_size=1), cause=received
    )
    started = story.tell(
        1, ControllerEventStarted(name="BrokerChange", detail="", queued_us=900), 1, queued
    )
    (fired,) = applied(story).fired
    assert (fired.made, fired.waited_us, fired.took_us) == ("BrokerChange", 900, -1)
    story.tell(
        1,
        ControllerEventProcessed(name="BrokerChange", queued_us=900, took_us=7_000, error=""),
        7,
        started,
    )
    view = applied(story)
    (fired,) = view.fired
    assert (fired.made, fired.waited_us, fired.took_us) == ("BrokerChange", 900, 7_000)
    assert view.lately_fired() == [fired]
    view.advance(view.glow.now_us + 11_000_000)
    assert view.lately_fired() == []


def test_a_watch_of_config_changes_says_which_config_was_taken() -> None:
    story = Story()
    watch_story(story)
    story.tell(ZOOKEEPER, FIRED._replace(zxid=10))
    story.tell(1, EntityConfigTaken(entity="topics/web", notification=3), 4)
    assert applied(story).fired[0].made == "took the config of topics/web"


def test_without_our_zookeeper_the_brokers_tell_what_they_know() -> None:
    story = Story()
    story.tell(SUPERVISOR, ClusterKnown(name="demo", up_ms=5, zookeeper="apache"))
    story.tell(
        SUPERVISOR,
        ZooKeeperModeChanged(
            process="zookeeper-2", child=Source(SourceKind.ZOOKEEPER, 2), mode="leader"
        ),
    )
    story.tell(0, BrokerRegistered(broker_id=0, broker_epoch=5, end_points=(), session_id=70))
    story.tell(1, BrokerRegistered(broker_id=1, broker_epoch=6, end_points=(), session_id=71))
    story.tell(0, ControllerElected(epoch=3, epoch_zk_version=3))
    story.tell(
        0,
        LeaderElected(
            topic="web",
            partition=0,
            strategy="OfflinePartition",
            replicas=(1, 0),
            isr_before=(1, 0),
            live=(0, 1),
            old_leader=1,
            new_leader=0,
            isr=(0,),
            leader_epoch=5,
            unclean=False,
            controller_epoch=3,
            zk_path="/brokers/topics/web/partitions/0/state",
            zk_version=9,
        ),
    )
    received = story.tell(
        0, ZkWatchFired(path="/brokers/ids", type="CHILDREN_CHANGED", session_id=70, after_zxid=8)
    )
    story.tell(
        0, ControllerEventQueued(name="BrokerChange", detail="", queue_size=1), cause=received
    )
    story.tell(0, BrokerFailed(broker_id=1, shutting_down=False))
    view = applied(story)
    assert view.hearsay
    assert view.foreign
    assert view.modes == {2: "leader"}
    assert {"/controller", "/controller_epoch", "/brokers/ids/0"} <= set(view.tree.by_path)
    assert view.tree.by_path["/controller"].owner == 70, "it goes with its broker's session"
    state = view.tree.by_path["/brokers/topics/web/partitions/0/state"]
    assert (state.version, state.data) == (9, '{"leader":0,"leader_epoch":5,"isr":[0]}')
    assert [(s.broker, s.ended) for s in view.shown_sessions()] == [(0, ""), (1, "expired")]
    assert view.tree.by_path["/brokers/ids/1"].deleted_us
    (fired,) = view.fired
    assert (fired.broker, fired.made) == (0, "BrokerChange")
    assert view.sessions[70].left_ms(view.glow.now_us) is None, "no countdown is known"
    story.tell(0, SessionLost(broker_id=0, session_id=70))
    assert applied(story).sessions == {}


def test_our_zookeeper_going_down_keeps_what_it_held_and_its_return_begins_again() -> None:
    story = Story()
    watch_story(story)
    story.tell(ZOOKEEPER, LinkLost(reason="closed"), 10)
    view = applied(story)
    assert not view.linked
    assert not view.foreign
    assert "/" in view.tree.by_path
    story.tell(ZOOKEEPER, LinkMade(pid=4), 10)
    story.tell(ZOOKEEPER, znode("/new"), 1)
    view = applied(story)
    assert view.linked
    assert set(view.tree.by_path) == {"/", "/new"}


def test_ten_thousand_znodes_fold_into_pages_and_their_rows_are_kept() -> None:
    story = Story()
    view = ZookeeperView()
    view.apply(story.tell(ZOOKEEPER, znode("/")))
    for number in range(10_000):
        path = f"/brokers/topics/t{number:05}/partitions/0/state"
        view.apply(story.tell(ZOOKEEPER, znode(path, "{}")))
    rows = view.tree.rows()
    assert len(rows) < 2 * PAGE
    (more,) = [row for row in rows if row.hidden]
    assert more.hidden == 10_000 - PAGE
    assert view.tree.rows() is rows, "rows are made after a change only"
    view.tree.toggle(more)
    assert [row.hidden for row in view.tree.rows() if row.hidden] == [10_000 - 2 * PAGE]
    first = next(row for row in view.tree.rows() if row.label.startswith("t00000"))
    assert first.label == "t00000/partitions/0/state", "a chain of only children is one line"


def test_memory_is_bounded_under_a_stream_of_changes() -> None:
    story = Story()
    view = ZookeeperView()
    view.apply(story.tell(ZOOKEEPER, znode("/")))
    for number in range(5_000):
        path = f"/config/changes/config_change_{number:010}"
        view.apply(
            story.tell(
                ZOOKEEPER,
                ZnodeCreated(
                    path=path, zxid=number, session_id=5, ephemeral=False, data_length=1, data="x"
                ),
                1,
            )
        )
        view.apply(story.tell(ZOOKEEPER, FIRED._replace(session_id=5, zxid=number)))
        view.apply(story.tell(ZOOKEEPER, ZnodeDeleted(path=path, zxid=number, session_id=5), 1))
        story.envelopes.clear()
    assert len(view.fired) == KEPT_FIRED
    assert view.fired_total == 5_000
    assert len(view.tree.by_path) < 300
    assert len(view.tree) == 3, "/, /config and /config/changes"


def test_the_tree_opens_closes_and_reveals() -> None:
    story = Story()
    for path in ("/", "/brokers/topics/web/partitions/0/state", "/config/users/x"):
        story.tell(ZOOKEEPER, znode(path))
    view = applied(story)
    tree = view.tree
    root = tree.rows()[0]
    tree.toggle(root)
    assert [row.label for row in tree.rows()] == ["/"]
    tree.set_open(tree.rows()[0], True)
    tree.reveal("/config/users/x")
    assert "config/users/x" in [row.label for row in tree.rows()]


def test_a_snapshot_whose_beginning_comes_last_is_still_one_snapshot() -> None:
    """All parts of the snapshot have the same time. Only SnapshotBegins may be some µs younger."""
    story = Story()
    story.tell(ZOOKEEPER, znode("/"))
    story.tell(ZOOKEEPER, znode("/a"))
    story.tell(
        ZOOKEEPER,
        ZnodeCreated(path="/b", zxid=3, session_id=5, ephemeral=False, data_length=0, data=""),
        5,
    )
    assert set(applied(story).tree.by_path) == {"/", "/a", "/b"}
    story.tell(ZOOKEEPER, znode("/"), 5)
    assert set(applied(story).tree.by_path) == {"/"}
