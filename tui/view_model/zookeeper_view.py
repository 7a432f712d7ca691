"""The state of the ZooKeeper screen: znodes, their watchers, sessions, and watches that fired.

Our own ZooKeeper reports all of this by events. Apache's ZooKeeper sends no events. Then the screen
shows what the brokers' own events report, and `hearsay` is true. A session belongs to a broker if
it owns the broker's znode, or if the broker's events name it.
"""

import math
from collections import OrderedDict, deque
from typing import Final

from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Source, SourceKind
from kafka_edu.trace.events.controller import (
    BrokerFailed,
    ControllerElected,
    ControllerEventProcessed,
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerPartitionSnapshot,
    ControllerResigned,
    ControllerSnapshot,
    IsrAltered,
    LeaderElected,
    ReplicaRemovedFromIsr,
    ZkWatchFired,
)
from kafka_edu.trace.events.replication import IsrExpanded, IsrShrunk
from kafka_edu.trace.events.server import (
    BrokerRegistered,
    BrokerSnapshot,
    EntityConfigTaken,
    SessionLost,
)
from kafka_edu.trace.events.supervisor import (
    SupervisorStarted,
    ZooKeeperModeChanged,
    ZooKeeperModeSnapshot,
)
from kafka_edu.trace.events.zk import (
    SessionClosed,
    SessionDisconnected,
    SessionExpired,
    SessionMoved,
    SessionOpened,
    SessionRefused,
    SessionSampled,
    SessionSnapshot,
    WatchFired,
    WatchSet,
    WatchSnapshot,
    ZnodeAclChanged,
    ZnodeChanged,
    ZnodeCreated,
    ZnodeDeleted,
    ZnodeSnapshot,
    ZooKeeperSampled,
)

from .broker_view import OLD_US
from .glow import Glow
from .znode_tree import ZnodeTree

KEPT_FIRED: Final = 200
FIRED_SHOWN_US: Final = 10_000_000
OVERDUE_US: Final = 1_500_000
"""If a session lives longer than its time-out by more than this, in µs, its client must have been
heard in the meantime.
"""
KEPT_ENDED: Final = 12
ENDED_SHOWN_US: Final = 60_000_000
KEPT_CAUSES: Final = 400
BROKERS_PATH: Final = "/brokers/ids"
CONTROLLER_PATH: Final = "/controller"
CONFIG_CHANGES_PATH: Final = "/config/changes"
OURS: Final = "embedded"

SESSION_EVENTS: Final = (
    SessionOpened,
    SessionMoved,
    SessionDisconnected,
    SessionExpired,
    SessionClosed,
    SessionRefused,
    SessionSnapshot,
    SessionSampled,
    BrokerRegistered,
    BrokerSnapshot,
    SessionLost,
)
ZNODE_EVENTS: Final = (
    ZnodeCreated,
    ZnodeChanged,
    ZnodeDeleted,
    ZnodeAclChanged,
    ZnodeSnapshot,
    WatchSet,
    WatchSnapshot,
    ZooKeeperSampled,
    ZooKeeperModeChanged,
    ZooKeeperModeSnapshot,
)
FIRED_EVENTS: Final = (
    WatchFired,
    ZkWatchFired,
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerEventProcessed,
    EntityConfigTaken,
)

_SNAPSHOT: Final = (SessionSnapshot, ZnodeSnapshot, WatchSnapshot)


class SessionView:
    """One session. Times are in µs of the events' clock; 0: not known."""

    def __init__(self, session_id: int) -> None:
        self.id = session_id
        self.broker: int | None = None
        """The broker that owns the session, or None."""
        self.peer = ""
        self.cnxn = -1
        self.timeout_ms = 0
        self.heard_us = 0
        self.expires_us = 0
        self.watches = 0
        self.ephemerals = 0
        self.ended = ""
        """How the session ended: `expired` or `closed`. Empty while it is open."""
        self.ended_us = 0
        self.disconnected_us = 0
        """The time when the session lost its connection, in µs. 0 while it has one."""

    def left_ms(self, now_us: int) -> int | None:
        """Return how many ms the session still lasts if its client stays silent, or None if
        unknown.

        It is unknown if the session should have expired some time ago. Then ZooKeeper must have
        heard the client, but no event has reported that.
        """
        if not self.expires_us or now_us - self.expires_us > OVERDUE_US:
            return None
        return max(self.expires_us - now_us, 0) // 1000

    def silent_ms(self, now_us: int) -> int | None:
        """Return for how many ms the client has been silent, or None if that is not known."""
        if not self.heard_us or self.left_ms(now_us) is None:
            return None
        return max(now_us - self.heard_us, 0) // 1000


class Fired:
    """A watch that fired, and the reaction of its broker."""

    def __init__(self, envelope: Envelope, path: str, type_: str, session_id: int) -> None:
        self.envelope = envelope
        """The newest fact about this watch."""
        self.at_us = envelope.mono_us
        self.path = path
        self.type = type_
        self.session_id = session_id
        self.broker: int | None = None
        self.received = False
        self.made = ""
        """The controller event that followed, or another reaction of the broker."""
        self.waited_us = -1
        self.took_us = -1


class ZookeeperView:
    """Everything that the ZooKeeper screen shows. It changes only through `apply`."""

    def __init__(self) -> None:
        self.glow = Glow()
        self.tree = ZnodeTree(self.glow)
        self.sessions: dict[int, SessionView] = {}
        self.ended: deque[SessionView] = deque(maxlen=KEPT_ENDED)
        """Sessions that have ended, the newest first."""
        self.fired: deque[Fired] = deque(maxlen=KEPT_FIRED)
        """Watches that fired, the newest first."""
        self.fired_total = 0
        self.sampled: ZooKeeperSampled | None = None
        self.sampled_us = 0
        """When our ZooKeeper last sent a sample or a snapshot, in µs."""
        self.kind = ""
        """The kind: `embedded`, `apache`, or the address of another ZooKeeper.

        Empty if it is not known yet.
        """
        self.modes: dict[int, str] = {}
        """Server of an ensemble → `leader`, `follower`, or empty while it serves no clients."""
        self.linked = False
        """Whether the dashboard receives our ZooKeeper's events."""
        self._teller: Source | None = None
        self._snapshot_us = -1
        self._watchers: dict[str, dict[int, set[str]]] = {}
        self._watched: dict[int, set[str]] = {}
        self._owners: OrderedDict[int, int] = OrderedDict()
        self._ephemerals: dict[int, set[str]] = {}
        self._causes: OrderedDict[tuple[Source, int], Fired] = OrderedDict()

    @property
    def hearsay(self) -> bool:
        """Whether our own ZooKeeper has sent no event, so that all data come from brokers."""
        return self._teller is None

    @property
    def foreign(self) -> bool:
        """Whether the ZooKeeper is known not to be ours. Such a ZooKeeper sends no events."""
        return self.hearsay and self.kind not in ("", OURS)

    @property
    def old_us(self) -> int:
        """Return the age of our ZooKeeper's last sample in µs, or 0 if it is up to date.

        The known state of its sessions is as old as this. Clients may have been heard since then.
        """
        age_us = self.glow.now_us - self.sampled_us
        return age_us if self.sampled_us and age_us > OLD_US else 0

    def watchers(self, path: str) -> list[tuple[int | None, int]]:
        """Return the watchers of a znode as (broker, number of watches).

        None stands for a client that is not a broker.
        """
        counts: dict[int | None, int] = {}
        for cnxn, kinds in self._watchers.get(path, {}).items():
            broker = self._broker_of_cnxn(cnxn)
            counts[broker] = counts.get(broker, 0) + len(kinds)
        return sorted(counts.items(), key=lambda item: (item[0] is None, item[0] or 0))

    def owner(self, session_id: int) -> int | None:
        """Return the broker that owns the session, or None."""
        return self._owners.get(session_id)

    def shown_sessions(self) -> list[SessionView]:
        """Return the live sessions and those that ended recently, sorted by broker.

        A broker's row keeps its place when its session ends.
        """
        now_us = self.glow.now_us
        ended = [s for s in self.ended if now_us - s.ended_us <= ENDED_SHOWN_US]
        return sorted(
            [*self.sessions.values(), *ended],
            key=lambda s: (s.broker is None, s.broker or 0, -s.ended_us if s.ended else -math.inf),
        )

    def lately_fired(self) -> list[Fired]:
        """Return the watches that fired in the last ten seconds, the newest first."""
        now_us = self.glow.now_us
        return [fired for fired in self.fired if now_us - fired.at_us <= FIRED_SHOWN_US]

    def advance(self, now_us: int) -> None:
        """Move the view's time forward when no event has come."""
        self.glow.advance(now_us)
        self.tree.advance()

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(depth of the znode), amortised."""
        self.advance(envelope.mono_us)
        match envelope.source.kind:
            case SourceKind.ZOOKEEPER:
                self._of_zookeeper(envelope)
            case SourceKind.BROKER:
                self._of_broker(envelope)
            case _:
                self._of_supervisor(envelope)

    def _of_supervisor(self, envelope: Envelope) -> None:
        match envelope.event:
            case ClusterKnown() | SupervisorStarted() as e:
                self.kind = e.zookeeper or self.kind
            case ZooKeeperModeChanged() | ZooKeeperModeSnapshot() as e:
                if self.modes.get(e.child.id) not in (None, e.mode):
                    self.glow.touch("mode", e.child.id)
                self.modes[e.child.id] = e.mode
                self.modes = dict(sorted(self.modes.items()))
            case _:
                pass

    # Events of our own ZooKeeper.

    def _of_zookeeper(self, envelope: Envelope) -> None:
        match envelope.event:
            case LinkMade():
                self.linked = True
                return
            case LinkLost():
                self.linked = False
                return
            case _:
                pass
        known = EVENT_TYPES.get(envelope.name)
        if known is not None and known.kind is not Kind.FACT:
            self.sampled_us = envelope.mono_us
        if self._teller is None:
            self._begin(envelope.source)
        if envelope.source != self._teller:
            return
        self.linked = True
        if isinstance(envelope.event, _SNAPSHOT) and envelope.mono_us != self._snapshot_us:
            # All parts of a snapshot have the same time, and any of them may come first.
            self._snapshot_us = envelope.mono_us
            self._begin(envelope.source)
        if not self._of_sessions(envelope) and not self._of_watches(envelope):
            self._of_znodes(envelope)

    def _begin(self, teller: Source) -> None:
        """Forget everything, because a complete snapshot follows."""
        self._teller = teller
        self.tree.clear()
        self.sessions.clear()
        self._watchers.clear()
        self._watched.clear()
        self._ephemerals.clear()

    def _of_sessions(self, envelope: Envelope) -> bool:
        now_us = envelope.mono_us
        match envelope.event:
            case SessionSnapshot() as e:
                session = self._session(e.session_id)
                self._connected(session, e.cnxn, e.peer, e.timeout_ms)
                session.expires_us = now_us + e.expires_in_ms * 1000
            case SessionOpened() as e:
                session = self._session(e.session_id)
                self._connected(session, e.cnxn, e.peer, e.timeout_ms)
                self._heard(session, now_us)
                self.glow.touch("session", e.session_id)
            case SessionMoved() as e:
                session = self._session(e.session_id)
                self._forget_watcher(session.cnxn)
                self._connected(session, e.cnxn, e.peer, e.timeout_ms)
                self._heard(session, now_us)
                self.glow.touch("session", e.session_id)
            case SessionSampled() as e if e.session_id in self.sessions:
                session = self.sessions[e.session_id]
                session.heard_us = max(now_us - e.heard_ms_ago * 1000, 1)
                session.expires_us = now_us + e.expires_in_ms * 1000
            case SessionDisconnected() as e:
                self._forget_watcher(e.cnxn)
                if e.session_id in self.sessions:
                    self.sessions[e.session_id].disconnected_us = now_us
                    self.glow.touch("session", e.session_id)
            case SessionExpired() as e:
                self._end(e.session_id, "expired", now_us)
            case SessionClosed() as e:
                self._end(e.session_id, "closed", now_us)
            case _:
                return False
        return True

    def _of_watches(self, envelope: Envelope) -> bool:
        match envelope.event:
            case WatchSnapshot() | WatchSet() as e:
                self._watch(e.path, e.kind, e.cnxn)
            case WatchFired() as e:
                kinds = ("data", "child") if e.type == "DELETED" else (e.kind,)
                for kind in kinds:
                    self._unwatch(e.path, kind, e.cnxn)
                fired = Fired(envelope, e.path, e.type, e.session_id)
                fired.broker = (
                    self._owners.get(e.session_id) if e.session_id else self._broker_of_cnxn(e.cnxn)
                )
                self.fired.appendleft(fired)
                self.fired_total += 1
                self.glow.touch("watched", e.path)
            case _:
                return False
        return True

    def _of_znodes(self, envelope: Envelope) -> None:
        match envelope.event:
            case ZnodeSnapshot() as e:
                node = self.tree.put(e.path)
                node.version, node.mzxid = e.version, e.mzxid
                node.data, node.data_length = e.data, e.data_length
                self._owned(e.path, e.ephemeral_owner)
            case ZnodeCreated() as e:
                node = self.tree.change(e.path, "created")
                node.version, node.mzxid = 0, e.zxid
                node.data, node.data_length = e.data, e.data_length
                self._owned(e.path, e.session_id if e.ephemeral else 0)
            case ZnodeChanged() as e:
                node = self.tree.change(e.path, "set")
                node.version, node.mzxid = e.version, e.zxid
                node.data, node.data_length = e.data, e.data_length
            case ZnodeAclChanged() as e:
                self.tree.change(e.path, "its ACL was set")
            case ZnodeDeleted() as e:
                self._owned(e.path, 0, keep=True)
                self.tree.delete(e.path)
            case ZooKeeperSampled() as e:
                self.sampled = e
            case _:
                pass

    def _session(self, session_id: int) -> SessionView:
        session = self.sessions.get(session_id)
        if session is None:
            session = self.sessions[session_id] = SessionView(session_id)
            session.broker = self._owners.get(session_id)
        return session

    def _connected(self, session: SessionView, cnxn: int, peer: str, timeout_ms: int) -> None:
        session.cnxn, session.timeout_ms = cnxn, timeout_ms
        session.peer = peer or session.peer
        session.disconnected_us = 0 if cnxn >= 0 else max(self.glow.now_us, 1)
        session.watches = len(self._watched.get(cnxn, ()))

    def _heard(self, session: SessionView, now_us: int) -> None:
        session.heard_us = now_us
        session.expires_us = now_us + session.timeout_ms * 1000

    def _end(self, session_id: int, how: str, now_us: int) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            session.ended, session.ended_us = how, now_us
            self._forget_watcher(session.cnxn)
            self.ended.appendleft(session)
            self.glow.touch("session", session_id)

    def _owned(self, path: str, session_id: int, *, keep: bool = False) -> None:
        """Record the session that owns an ephemeral znode, or 0 if it has no owner any more.

        With `keep`, the znode still shows its last owner.
        """
        node = self.tree.put(path)
        if node.owner:
            self._ephemerals.get(node.owner, set()).discard(path)
            self._count_ephemerals(node.owner)
        if not keep:
            node.owner = session_id
        if session_id:
            self._ephemerals.setdefault(session_id, set()).add(path)
            self._count_ephemerals(session_id)
            broker = path.removeprefix(f"{BROKERS_PATH}/")
            if broker != path and broker.isdecimal():
                self._owns(session_id, int(broker))

    def _count_ephemerals(self, session_id: int) -> None:
        owned = self._ephemerals.get(session_id, set())
        if not owned:
            self._ephemerals.pop(session_id, None)
        if session_id in self.sessions:
            self.sessions[session_id].ephemerals = len(owned)

    def _owns(self, session_id: int, broker: int) -> None:
        """Record that a session belongs to a broker."""
        if not session_id:
            return
        self._owners[session_id] = broker
        while len(self._owners) > KEPT_CAUSES:
            self._owners.popitem(last=False)
        if session_id in self.sessions:
            self.sessions[session_id].broker = broker

    def _broker_of_cnxn(self, cnxn: int) -> int | None:
        for session in self.sessions.values():
            if session.cnxn == cnxn:
                return session.broker
        return None

    def _watch(self, path: str, kind: str, cnxn: int) -> None:
        self._watchers.setdefault(path, {}).setdefault(cnxn, set()).add(kind)
        self._watched.setdefault(cnxn, set()).add(f"{kind} {path}")
        self._count_watches(cnxn)

    def _unwatch(self, path: str, kind: str, cnxn: int) -> None:
        watchers = self._watchers.get(path)
        if watchers is not None and cnxn in watchers:
            watchers[cnxn].discard(kind)
            if not watchers[cnxn]:
                del watchers[cnxn]
            if not watchers:
                del self._watchers[path]
        watched = self._watched.get(cnxn)
        if watched is not None:
            watched.discard(f"{kind} {path}")
            if not watched:
                del self._watched[cnxn]
        self._count_watches(cnxn)

    def _forget_watcher(self, cnxn: int) -> None:
        """Forget the watches of a connection that was closed."""
        for watch in tuple(self._watched.get(cnxn, ())):
            kind, _, path = watch.partition(" ")
            self._unwatch(path, kind, cnxn)

    def _count_watches(self, cnxn: int) -> None:
        for session in self.sessions.values():
            if session.cnxn == cnxn:
                session.watches = len(self._watched.get(cnxn, ()))

    # Events of the brokers.

    def _of_broker(self, envelope: Envelope) -> None:
        match envelope.event:
            case BrokerSnapshot() as e:
                self._owns(e.session_id, e.broker_id)
            case BrokerRegistered() as e:
                self._owns(e.session_id, e.broker_id)
            case ZkWatchFired() as e:
                self._received(envelope, e)
            case ControllerEventQueued() as e:
                self._made(envelope, e.name)
            case ControllerEventStarted() as e:
                self._made(envelope, e.name, waited_us=e.queued_us)
            case ControllerEventProcessed() as e:
                self._made(envelope, e.name, took_us=e.took_us)
            case EntityConfigTaken() as e:
                self._config_taken(envelope, e)
            case _:
                pass
        if self.hearsay:
            self._hear(envelope)

    def _received(self, envelope: Envelope, event: ZkWatchFired) -> None:
        """Connect a broker's fact to the watch that fired.

        If ZooKeeper sends no events, show the broker's fact alone.
        """
        broker = envelope.source.id
        if event.session_id:
            self._owns(event.session_id, broker)
        fired = next(
            (
                fired
                for fired in reversed(self.lately_fired())
                if not fired.received
                and (fired.path, fired.type, fired.session_id)
                == (event.path, event.type, event.session_id)
            ),
            None,
        )
        if fired is None:
            if not self.hearsay:
                return
            fired = Fired(envelope, event.path, event.type, event.session_id)
            self.fired.appendleft(fired)
            self.fired_total += 1
        fired.broker, fired.received, fired.envelope = broker, True, envelope
        self._because(envelope, fired)

    def _because(self, envelope: Envelope, fired: Fired) -> None:
        self._causes[envelope.source, envelope.seq] = fired
        while len(self._causes) > KEPT_CAUSES:
            self._causes.popitem(last=False)

    def _made(
        self, envelope: Envelope, name: str, *, waited_us: int = -1, took_us: int = -1
    ) -> None:
        fired = self._causes.get((envelope.source, envelope.cause))
        if fired is None:
            return
        fired.made, fired.envelope = name, envelope
        fired.waited_us = max(fired.waited_us, waited_us)
        fired.took_us = max(fired.took_us, took_us)
        if took_us < 0:
            self._because(envelope, fired)

    def _config_taken(self, envelope: Envelope, event: EntityConfigTaken) -> None:
        for fired in self.lately_fired():
            if (fired.path, fired.broker) == (CONFIG_CHANGES_PATH, envelope.broker):
                fired.received, fired.made = True, f"took the config of {event.entity}"
                fired.envelope = envelope
                return

    def _hear(self, envelope: Envelope) -> None:
        """Update znodes and sessions from a broker's own events."""
        now_us = envelope.mono_us
        match envelope.event:
            case BrokerSnapshot() as e if e.session_id:
                self._session(e.session_id)
                self._register(e.broker_id, e.session_id, created=False)
            case BrokerRegistered() as e:
                self._session(e.session_id)
                self._register(e.broker_id, e.session_id, created=True)
            case SessionLost() as e:
                self._end(e.session_id, "expired", now_us)
            case BrokerFailed() as e:
                path = f"{BROKERS_PATH}/{e.broker_id}"
                node = self.tree.by_path.get(path)
                self.tree.delete(path)
                if node is not None and node.owner:
                    self._end(node.owner, "expired", now_us)
            case ControllerSnapshot(active=True) as e:
                self.tree.put(CONTROLLER_PATH)
                self._is_controller(envelope.source.id)
                self._epoch(e.epoch, e.epoch_zk_version)
            case ControllerElected() as e:
                self.tree.change(CONTROLLER_PATH, "created")
                self._is_controller(envelope.source.id)
                self._epoch(e.epoch, e.epoch_zk_version)
                self.tree.change("/controller_epoch", "set")
            case ControllerResigned():
                self.tree.delete(CONTROLLER_PATH)
            case ControllerPartitionSnapshot() as e if e.zk_version >= 0:
                node = self.tree.put(_state_path(e.topic, e.partition))
                node.version = e.zk_version
                node.data = _state_data(e.leader, e.leader_epoch, e.isr)
            case LeaderElected() as e:
                self._state(e.zk_path, e.zk_version, e.new_leader, e.leader_epoch, e.isr)
            case ReplicaRemovedFromIsr() as e:
                self._state(e.zk_path, e.zk_version, e.leader, e.leader_epoch, e.isr)
            case IsrAltered() as e:
                path = _state_path(e.topic, e.partition)
                self._state(path, e.zk_version, e.leader, e.leader_epoch, e.isr)
            case IsrExpanded() | IsrShrunk() as e:
                node = self.tree.change(_state_path(e.topic, e.partition), "set")
                node.version = max(node.version, e.zk_version)
            case _:
                pass

    def _register(self, broker: int, session_id: int, *, created: bool) -> None:
        path = f"{BROKERS_PATH}/{broker}"
        node = self.tree.change(path, "created") if created else self.tree.put(path)
        node.owner = 0
        self._owned(path, session_id)

    def _is_controller(self, broker: int) -> None:
        """Record that /controller contains this broker's id, and belongs to the broker's
        session.
        """
        self.tree.put(CONTROLLER_PATH).data = f'{{"brokerid":{broker}}}'
        mine = [session.id for session in self.sessions.values() if session.broker == broker]
        self._owned(CONTROLLER_PATH, mine[-1] if mine else 0)

    def _epoch(self, epoch: int, version: int) -> None:
        node = self.tree.put("/controller_epoch")
        node.data, node.version = str(epoch), version

    def _state(
        self, path: str, version: int, leader: int, leader_epoch: int, isr: tuple[int, ...]
    ) -> None:
        node = self.tree.change(path, "set")
        if version >= node.version:
            node.version, node.data = version, _state_data(leader, leader_epoch, isr)


def _state_path(topic: str, partition: int) -> str:
    return f"/brokers/topics/{topic}/partitions/{partition}/state"


def _state_data(leader: int, leader_epoch: int, isr: tuple[int, ...]) -> str:
    return f'{{"leader":{leader},"leader_epoch":{leader_epoch},"isr":{list(isr)}}}'
