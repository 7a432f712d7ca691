"""One broker, as its card shows it: its process, its place in the cluster, its traffic.

Two sources report on a broker. The supervisor sees at once that its process has ended. The cluster
still counts the broker as alive until ZooKeeper expires its session; then the controller reports
its death. A card shows both, because the time between them is the time without a leader.
"""

from typing import Final

from kafka_edu.instruments.link_events import LinkLost, LinkMade
from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope, Kind, Source, SourceKind
from kafka_edu.trace.events.controller import (
    BrokerFailed,
    BrokerJoined,
    ControllerBrokerSnapshot,
    ControllerSnapshot,
)
from kafka_edu.trace.events.network import NetworkSampled
from kafka_edu.trace.events.server import (
    BrokerRegistered,
    BrokerSnapshot,
    BrokerStateChanged,
    MetadataSnapshot,
    MetadataUpdated,
    ServerSampled,
    SessionLost,
)
from kafka_edu.trace.events.supervisor import (
    ProcessEnded,
    ProcessMemory,
    ProcessPaused,
    ProcessResumed,
    ProcessSnapshot,
    ProcessStarted,
)
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds

from .figures import duration
from .glow import Glow
from .rates import Rate

SILENT_AFTER_US: Final = 2_000_000
OLD_US: Final = 2_000_000
"""Samples older than this, in µs, do not show the current state.

They come ten times a second, or four times a second after a view was wound back.
"""
BROKER_EVENTS: Final = (
    ProcessSnapshot,
    ProcessStarted,
    ProcessEnded,
    ProcessPaused,
    ProcessResumed,
    ProcessMemory,
    BrokerSnapshot,
    BrokerStateChanged,
    BrokerRegistered,
    SessionLost,
    NetworkSampled,
    ServerSampled,
    BrokerJoined,
    BrokerFailed,
    ControllerBrokerSnapshot,
    MetadataUpdated,
)


class BrokerView:
    """Everything known about one broker. Times are in µs of the events' clock; 0 means never."""

    def __init__(self, broker_id: int) -> None:
        self.id = broker_id
        self.guest = False
        """Whether a program other than this cluster's supervisor started the broker.

        Such a broker, for example of Apache Kafka, joined through ZooKeeper. It sends no events, so
        only other processes report on it.
        """
        self.port = 0
        self.pid = 0
        self.process = "unknown"
        """stopped, running or paused, as the supervisor reports it; otherwise unknown."""
        self.ended = ""
        """How the process last ended: `killed (SIGKILL)`, `stopped`, `ended with code 1`."""
        self.process_changed_us = 0
        self.in_cluster: bool | None = None
        """Whether the controller counts the broker as alive. None if no event has reported this
        yet.
        """
        self.in_cluster_changed_us = 0
        self.state = ""
        """Kafka's broker state: Starting, RunningAsBroker, …"""
        self.linked = False
        self.heard_us = 0
        self.sampled_us = 0
        """The time of the broker's last sample or snapshot. 0 if there was none: its gauges are
        unknown.
        """
        self.whole = False
        """Whether the broker's state is known: its snapshot is complete, or its start was seen."""
        self.network_known = False
        """Whether the broker's queues and rates have been sampled since its start."""
        self.bytes_in = Rate()
        self.bytes_out = Rate()
        self.requests = Rate()
        self.request_queue = 0
        self.request_queue_capacity = 0
        self.response_queue = 0
        self.connections = 0
        self.handlers_busy = 0
        self.handlers = 0
        self.rss_anon = 0

    @property
    def dead(self) -> bool:
        """Return whether the broker counts as dead.

        It is dead if its process has ended, if the cluster has removed it, or if it is silent for
        an unknown reason.
        """
        if self.process in ("stopped", "running", "paused"):
            return self.process == "stopped" or self.in_cluster is False
        return self.in_cluster is False or (not self.linked and self.heard_us > 0)

    @property
    def unread(self) -> bool:
        """Return whether the broker runs but its state has not been read yet."""
        runs = self.process == "running" or (self.process == "unknown" and self.linked)
        return runs and not self.whole and self.in_cluster is not False

    def old_us(self, now_us: int) -> int:
        """Return the age of the broker's last sample in µs, or 0 if the sample is up to date.
        O(1).
        """
        age_us = now_us - self.sampled_us
        return age_us if self.sampled_us and age_us > OLD_US else 0

    @property
    def out_words(self) -> str:
        """Return why the broker is not active in the cluster, without its name, or "" if it is
        active.
        """
        ended = "its session has ended" if self.in_cluster is False else ""
        if self.process == "paused":
            return f"is paused, and {ended}" if ended else "is paused"
        if self.process == "running" and ended:
            return "is not in the cluster"
        return "is gone" if self.dead else ""

    def status(self, now_us: int, samples: bool = True) -> tuple[str, str]:
        """Return two lines: a sign with words, and the cluster's view of the broker.

        The second line is empty if all is well. Without `samples`, only facts of this time are
        known. A broker may emit no facts for a long time, so it then does not count as silent.
        """

        def since(at_us: int) -> str:
            return duration((now_us - at_us) / 1000) if at_us else "some time"

        session = {
            True: "ZooKeeper holds its session",
            False: (
                f"left the cluster {since(self.in_cluster_changed_us)} ago"
                if self.in_cluster_changed_us
                else "its session has ended"
            ),
            None: "its session: not known",
        }[self.in_cluster]
        if self.guest:
            left = self.in_cluster is False
            return (f"✕ {session}" if left else "guest"), "not started here"
        if self.process == "stopped":
            head = f"✕ {self.ended or 'stopped'}"
            return head, session if self.in_cluster is not None else ""
        if self.process == "paused":
            head = "‖ paused"
            if self.process_changed_us:
                head += f" {since(self.process_changed_us)}"
            return head, session
        if not self.linked and self.heard_us:
            return ("… starting" if self.process == "running" else "✕ it has sent nothing"), (
                session if self.in_cluster is False else ""
            )
        if self.in_cluster is False:
            return (
                "… not in the cluster",
                f"since {since(self.in_cluster_changed_us)}" if self.in_cluster_changed_us else "",
            )
        if self.unread:
            return "… reading", ""
        if self.heard_us == 0:
            return "… starting", ""
        if samples and now_us - self.heard_us > SILENT_AFTER_US:
            return f"? silent for {since(self.heard_us)}", ""
        if self.state and self.state != "RunningAsBroker":
            return f"… {self.state}", ""
        return "", ""


def port_of(end_points: tuple[str, ...]) -> int:
    """Return the port of the first `PLAINTEXT://host:port`, or 0."""
    digits = end_points[0].rpartition(":")[2] if end_points else ""
    return int(digits) if digits.isdigit() else 0


class BrokersView:
    """All brokers, by id."""

    def __init__(self, glow: Glow) -> None:
        self.by_id: dict[int, BrokerView] = {}
        self._glow = glow
        self._ours_are_known = False
        """Whether the supervisor has named all of its processes."""
        self._told_alive: dict[int, set[int]] = {}
        """Controller → the live brokers in its snapshot that is being received."""
        self._alive: frozenset[int] = frozenset()
        """The live brokers in the last complete snapshot of a controller."""

    def unread(self) -> list[int]:
        """Return the brokers that run but whose state has not been read yet. O(brokers)."""
        return [broker.id for broker in self.by_id.values() if broker.unread]

    def a_live_port(self) -> int:
        """Return the port of any running broker, or 0 if there is none."""
        return next((b.port for b in self.by_id.values() if b.port and b.linked and not b.dead), 0)

    def __getitem__(self, broker_id: int) -> BrokerView:
        """Return the broker with this id. It is created when it is first mentioned."""
        if broker_id not in self.by_id:
            self.by_id[broker_id] = BrokerView(broker_id)
            self.by_id[broker_id].guest = self._ours_are_known
            self.by_id = dict(sorted(self.by_id.items()))
        return self.by_id[broker_id]

    def _is_guest(self, broker_id: int) -> bool:
        """Return whether a broker is a guest. The broker may be mentioned for the first time."""
        broker = self.by_id.get(broker_id)
        return broker_id >= 0 and (self._ours_are_known if broker is None else broker.guest)

    @property
    def guests(self) -> list[int]:
        """Return the ids of the guests that are in the cluster."""
        return [b.id for b in self.by_id.values() if b.guest and b.in_cluster is not False]

    def alive(self, broker_id: int) -> bool:
        broker = self.by_id.get(broker_id)
        return broker is not None and not broker.dead

    def apply(self, envelope: Envelope) -> None:
        """Update the brokers with one event. O(1)."""
        teller, now_us = envelope.broker, envelope.mono_us
        if teller is not None and not isinstance(envelope.event, LinkLost):
            self._hear(self[teller], envelope)
            self[teller].guest = False
        match envelope.event:
            case SnapshotEnds() if envelope.source == SUPERVISOR:
                self._ours_are_known = True
                for broker in self.by_id.values():
                    broker.guest = broker.process == "unknown" and not broker.linked
            case LinkMade(pid=pid) if teller is not None:
                self[teller].pid = pid
            case LinkLost() if teller is not None:
                self._lost(self[teller])
            case ProcessSnapshot(child=Source(kind=SourceKind.BROKER, id=number)) as e:
                broker = self[number]
                broker.port, broker.pid = e.port, e.pid
                if broker.in_cluster is None and self._alive and number not in self._alive:
                    # The controller's snapshot came first, and this broker was not known then.
                    self._in_cluster(number, False, now_us)
                self._process(
                    broker,
                    e.state,
                    "stopped" if e.state == "stopped" and not broker.ended else broker.ended,
                    now_us,
                )
            case ProcessStarted(child=Source(kind=SourceKind.BROKER, id=number)) as e:
                self[number].pid = e.pid
                self[number].whole = True
                self._process(self[number], "running", "", now_us)
            case ProcessEnded(child=Source(kind=SourceKind.BROKER, id=number)) as e:
                how = (
                    f"killed ({e.signal})"
                    if e.signal
                    else "stopped"
                    if e.code == 0
                    else f"ended with code {e.code}"
                )
                self[number].pid = 0
                self._process(self[number], "stopped", how, now_us)
                self._lost(self[number])
            case ProcessPaused(child=Source(kind=SourceKind.BROKER, id=number)) as e:
                self._process(self[number], "paused", "", now_us)
            case ProcessResumed(child=Source(kind=SourceKind.BROKER, id=number)) as e:
                self._process(self[number], "running", "", now_us)
            case ProcessMemory(child=Source(kind=SourceKind.BROKER, id=number)) as e:
                self[number].rss_anon = e.rss_anon
            case BrokerSnapshot() as e:
                broker = self[e.broker_id]
                broker.port, broker.pid, broker.state = (
                    port_of(e.end_points) or broker.port,
                    e.pid,
                    e.state,
                )
                if e.broker_epoch > 0 and broker.in_cluster is None:
                    broker.in_cluster = True
            case BrokerStateChanged() as e:
                self[e.broker_id].state = e.after
                self._glow.touch("broker", e.broker_id)
            case BrokerRegistered() as e:
                self._in_cluster(e.broker_id, True, now_us)
                self[e.broker_id].port = port_of(e.end_points) or self[e.broker_id].port
            case BrokerJoined() as e:
                self._in_cluster(e.broker_id, True, now_us)
            case BrokerFailed() as e:
                self._in_cluster(e.broker_id, False, now_us)
            case SessionLost() as e:
                self._in_cluster(e.broker_id, False, now_us)
            case ControllerSnapshot(active=True) if teller is not None:
                self._told_alive[teller] = set()
            case ControllerBrokerSnapshot() as e:
                if teller is not None:
                    self._told_alive.setdefault(teller, set()).add(e.broker_id)
                self._in_cluster(e.broker_id, True, now_us)
                self[e.broker_id].port = self[e.broker_id].port or port_of(e.end_points)
            case MetadataUpdated() as e if teller == e.controller_id or self._is_guest(
                e.controller_id
            ):
                # A new controller does not report a broker that it never saw alive, such as the
                # previous controller. A guest reports nothing at all, so other brokers report on
                # it.
                for broker_id in self.by_id.keys() | set(e.live_brokers):
                    self._in_cluster(broker_id, broker_id in e.live_brokers, now_us)
            case SnapshotEnds() if teller is not None:
                self[teller].whole = True
                self._without_a_session(self._told_alive.pop(teller, None), now_us)
            case MetadataSnapshot() as e:
                for broker_id, end_points in e.live_brokers:
                    self[broker_id].port = self[broker_id].port or port_of(end_points)
            case NetworkSampled() as e if teller is not None:
                self._network(self[teller], e, now_us)
            case ServerSampled() as e if teller is not None:
                broker = self[teller]
                broker.handlers_busy, broker.handlers = e.handlers_busy, e.handlers
                broker.rss_anon = e.rss_anon_bytes or broker.rss_anon
            case _:
                pass

    def _hear(self, broker: BrokerView, envelope: Envelope) -> None:
        """Record that a broker was alive at the time of this event, and how recent its state is."""
        broker.heard_us, broker.linked = envelope.mono_us, True
        known = EVENT_TYPES.get(envelope.name)
        if known is None:
            return
        if known.kind is Kind.FACT:
            broker.whole |= envelope.seq == 1  # its first fact: nothing before it is missing
        elif not isinstance(envelope.event, SnapshotBegins | SnapshotEnds):
            broker.sampled_us = envelope.mono_us

    def _without_a_session(self, alive: set[int] | None, now_us: int) -> None:
        """Mark the brokers that have no session, from a controller's complete snapshot.

        It is not known when each session ended.
        """
        if not alive:  # the controller itself always has a session
            return
        self._alive = frozenset(alive)
        for broker in self.by_id.values():
            if broker.id not in alive:
                self._in_cluster(broker.id, False, now_us)

    def _network(self, broker: BrokerView, e: NetworkSampled, now_us: int) -> None:
        broker.request_queue, broker.request_queue_capacity = (
            e.request_queue_size,
            e.request_queue_capacity,
        )
        broker.network_known = True
        broker.response_queue, broker.connections = e.response_queue_size, e.connections
        broker.bytes_in.sample(e.bytes_in_total, now_us)
        broker.bytes_out.sample(e.bytes_out_total, now_us)
        broker.requests.sample(e.requests_total, now_us)

    def _process(self, broker: BrokerView, process: str, ended: str, now_us: int) -> None:
        if broker.process not in (process, "unknown"):
            self._glow.touch("broker", broker.id)
        if broker.process != process:
            broker.process_changed_us = now_us if broker.process != "unknown" else 0
        broker.process, broker.ended = process, ended

    def _in_cluster(self, broker_id: int, is_in: bool, now_us: int) -> None:
        broker = self[broker_id]
        if broker.in_cluster is not None and broker.in_cluster != is_in:
            broker.in_cluster_changed_us = now_us
            self._glow.touch("broker", broker_id)
        broker.in_cluster = is_in

    def _lost(self, broker: BrokerView) -> None:
        broker.linked = broker.network_known = False
        broker.state = ""
        broker.request_queue = broker.response_queue = broker.connections = broker.handlers_busy = 0
        for rate in (broker.bytes_in, broker.bytes_out, broker.requests):
            rate.forget()
