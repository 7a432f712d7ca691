"""The state of the Cluster screen: brokers, partitions, the controller, and "is all well?"."""

from collections import Counter
from typing import Final

from kafka_edu.common.link_faults import WHOLE, Link, LinkFault
from kafka_edu.common.words import joined, plural
from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.trace.event import SUPERVISOR, Envelope, Source, SourceKind
from kafka_edu.trace.events.controller import (
    ActiveControllerChanged,
    ControllerElected,
    ControllerResigned,
    ControllerSnapshot,
)
from kafka_edu.trace.events.replication import ControllerEpochSeen
from kafka_edu.trace.events.server import BrokerRegistered, SessionLost
from kafka_edu.trace.events.supervisor import (
    LinkChanged,
    LinkSnapshot,
    ProcessEnded,
    ProcessSnapshot,
    ProcessStarted,
    SupervisorStarted,
    ZooKeeperModeChanged,
    ZooKeeperModeSnapshot,
)
from kafka_edu.trace.events.trace import SnapshotBegins

from .broker_view import BrokersView, BrokerView
from .figures import duration
from .glow import Glow
from .partition_view import PartitionsView

HEADER_EVENTS: Final = (
    ControllerElected,
    ControllerResigned,
    ControllerSnapshot,
    ActiveControllerChanged,
    ControllerEpochSeen,
    ProcessStarted,
    ProcessEnded,
    SupervisorStarted,
    ZooKeeperModeChanged,
    ZooKeeperModeSnapshot,
    LinkChanged,
    LinkSnapshot,
)


class ClusterView:
    """Everything that the Cluster screen shows, except the ticker.

    It changes only through `apply`.
    """

    def __init__(self, name: str = "") -> None:
        self.glow = Glow()
        self.name = name
        self.brokers = BrokersView(self.glow)
        self.partitions = PartitionsView(self.glow, self.brokers)
        self.controller = -1
        """The broker id of the active controller; -1: unknown."""
        self.controller_epoch = 0
        self._believed: dict[int, int] = {}
        """Broker → the controller that it last read in /controller; -1: none."""
        self._without_session: set[int] = set()
        """Brokers that lost their session.

        They forget the controller, but the cluster still has it.
        """
        self.zookeeper = ""
        """The kind of ZooKeeper: `embedded`, `apache`, or the address of an external one."""
        self.zookeepers: dict[int, bool] = {}
        """ZooKeeper server → whether it runs.

        Empty if the ZooKeeper is not part of this cluster, or no event has reported it yet.
        """
        self.zookeeper_leader: int | None = None
        """The number of the server that leads the ensemble: 1, 2 …"""
        self.supervised: bool | None = None
        """Whether the supervisor is connected. None if that is not known yet."""
        self.links: dict[Link, LinkFault] = {}
        """The links that have a fault, each with its fault."""
        self.relay_ended = False
        """Whether the cluster's relay has ended."""
        self.facts_only = False
        """Whether this view began with facts of the past, so that the state before them is
        unknown.
        """
        self._up_since_us: int | None = None

    def advance(self, now_us: int) -> None:
        """Move the view's time forward when no event has come: ages grow, and highlights end."""
        self.glow.advance(now_us)

    @property
    def up_ms(self) -> int | None:
        return (
            (self.glow.now_us - self._up_since_us) // 1000
            if self._up_since_us is not None
            else None
        )

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1)."""
        self.glow.advance(envelope.mono_us)
        self.brokers.apply(envelope)
        self.partitions.apply(envelope)
        if envelope.source == SUPERVISOR:
            self.supervised = not isinstance(envelope.event, LinkLost)
        match envelope.event:
            case ClusterKnown() as e:
                self.name, self.zookeeper = e.name or self.name, e.zookeeper or self.zookeeper
                self._up_since_us = envelope.mono_us - e.up_ms * 1000
            case SupervisorStarted() as e:
                self.name, self.zookeeper, self._up_since_us = (
                    e.cluster,
                    e.zookeeper,
                    envelope.mono_us,
                )
            case ControllerElected() as e if envelope.broker is not None:
                self._believed[envelope.broker] = envelope.broker
                self._controller(envelope.broker, e.epoch)
            case ControllerSnapshot() as e if envelope.broker is not None:
                read = envelope.broker if e.active else e.controller_id
                self._believed[envelope.broker] = read
                if e.active or self.controller < 0:
                    self._controller(read, e.epoch)
            case ControllerResigned() if envelope.broker == self.controller:
                self._controller(-1, self.controller_epoch)
            case ActiveControllerChanged() as e if envelope.broker is not None:
                self._read_controller(envelope.broker, e.controller_id)
            case SessionLost() as e:
                self._without_session.add(e.broker_id)
            case BrokerRegistered() as e:
                self._without_session.discard(e.broker_id)
            case ControllerEpochSeen() as e:
                self._controller(e.controller, e.controller_epoch)
            case ProcessSnapshot(child=Source(kind=SourceKind.ZOOKEEPER, id=server)) as e:
                self.zookeepers[server] = e.state == "running"
            case ProcessStarted(child=Source(kind=SourceKind.ZOOKEEPER, id=server)):
                self.zookeepers[server] = True
            case ProcessEnded(child=Source(kind=SourceKind.ZOOKEEPER, id=server)):
                self.zookeepers[server] = False
            case ZooKeeperModeChanged() | ZooKeeperModeSnapshot() as e:
                self._zookeeper_mode(e.child.id, e.mode)
            case SnapshotBegins() if envelope.source == SUPERVISOR:
                self.links.clear()
            case LinkSnapshot() | LinkChanged() as e:
                self._link(Link(e.broker, e.other, e.side), LinkFault(e.delay_ms, e.cut))
            case ProcessSnapshot(child=Source(kind=SourceKind.PROXY)) as e:
                self.relay_ended = e.state == "stopped"
            case ProcessStarted(child=Source(kind=SourceKind.PROXY)):
                self.relay_ended = False
            case ProcessEnded(child=Source(kind=SourceKind.PROXY)):
                self.relay_ended = True
            case LinkMade() if envelope.source.kind is SourceKind.ZOOKEEPER:
                self.zookeepers[envelope.source.id] = True
            case _:
                pass

    def _link(self, link: Link, fault: LinkFault) -> None:
        if fault == WHOLE:
            self.links.pop(link, None)
        else:
            self.links[link] = fault

    def _zookeeper_mode(self, server: int, mode: str) -> None:
        if mode == "leader":
            self.zookeeper_leader = server
        elif self.zookeeper_leader == server:
            self.zookeeper_leader = None

    def _read_controller(self, teller: int, controller: int) -> None:
        """Use the controller's id that a broker read in /controller.

        The value -1 (no controller) is used only if the broker knew the current controller and
        still has its session. A broker that was paused until its session expired also reports -1
        when it continues. But it knew an older controller or has no session, and the other brokers
        had a controller all the time.
        """
        before = self._believed.get(teller, self.controller)
        self._believed[teller] = controller
        if controller >= 0:
            if self.controller < 0:
                self._controller(controller, self.controller_epoch)
        elif (
            before == self.controller
            and teller != self.controller
            and teller not in self._without_session
        ):
            self._controller(-1, self.controller_epoch)

    def _controller(self, broker: int, epoch: int) -> None:
        """Set the controller, unless the epoch is older than the known one."""
        if epoch >= self.controller_epoch:
            if (broker, epoch) != (
                self.controller,
                self.controller_epoch,
            ) and self.controller_epoch:
                self.glow.touch("controller")
            self.controller, self.controller_epoch = broker, epoch

    def status(self, broker: BrokerView) -> tuple[str, str]:
        """Return two lines about a broker, as `BrokerView.status` does. O(1)."""
        if self.facts_only and broker.unread:
            return "? its state then is not known", ""
        return broker.status(self.glow.now_us, samples=not self.facts_only or broker.sampled_us > 0)

    @property
    def controller_unknown(self) -> bool:
        """Return whether there may be a controller that no process has reported yet."""
        return self.controller < 0 and not self.controller_epoch and bool(self.unknown())

    def unknown(self) -> str:
        """Return the reason why part of the cluster's state is not known yet, or "". While there is
        a reason, an empty list does not mean that there is nothing. O(brokers).
        """
        unread = self.brokers.unread()
        if self.facts_only and (unread or not self.brokers.by_id):
            return "not known: of this time there are facts only, and no snapshot before them"
        if unread:
            noun = "broker" if len(unread) == 1 else "brokers"
            return f"reading the state of {noun} {joined(unread)}"
        if not self.brokers.by_id:
            return "reading: no broker has sent anything yet"
        return ""

    def verdict(self, late_us: int = 0) -> tuple[str, str]:
        """Return the verdict on the cluster: `ok`, `warning` or `error`, and one short sentence.

        Known causes of trouble are always named, even if other things are still unknown. Counts are
        given only if every running broker has sent its state. `late_us` is the delay with which
        events arrive at the dashboard. This delay does not count as silence of the brokers.
        """
        if self.supervised is False and not any(b.linked for b in self.brokers.by_id.values()):
            return "error", "✕ the cluster is down"
        unknown = self.unknown()
        if not self.brokers.by_id:
            return (
                "warning",
                f"? {unknown}" if self.facts_only else "… waiting for the first broker",
            )
        reasons = self._reasons()
        paused = [b.id for b in self.brokers.by_id.values() if b.process == "paused" and not b.dead]
        if paused and (reasons or unknown):
            reasons.append(_of_brokers(paused, "is paused"))
        if unknown:
            sign = "?" if self.facts_only else "…"
            return "warning", "; ".join([f"{sign} {unknown}", *reasons])
        partitions, under, offline = self.partitions.counts()
        if (under or offline) and not reasons:
            reasons = self._who_is_out()
        why = f": {'; '.join(reasons)}" if reasons else ""
        if offline:
            return (
                "error",
                f"✕ {offline:,} of {plural(partitions, 'partition')} without a leader{why}",
            )
        if under:
            return (
                "warning",
                f"! {under:,} of {plural(partitions, 'partition')} under-replicated{why}",
            )
        if paused and not reasons:
            return (
                "warning",
                f"! {_of_brokers(paused, 'is paused')}; the cluster does not know it yet",
            )
        if self.links or self.relay_ended:
            # Followers may already be behind. The leaders report it only after
            # replica.lag.time.max.ms.
            return "warning", f"! {why[2:]}; every ISR is still complete"
        if reasons:
            return "warning", f"! {why[2:]}; every partition has all its replicas"
        if self.controller < 0:
            return "warning", "! no controller: no leader can be elected until there is one"
        if silence := self.silence(late_us):
            return "warning", f"? {silence}"
        if unknown_isr := self.partitions.without_known_isr():
            return "warning", f"? the ISR of {plural(len(unknown_isr), 'partition')} is not known"
        guests = self.brokers.guests
        also = (
            ""
            if not guests
            else f"; broker {guests[0]} is a guest"
            if len(guests) == 1
            else f"; brokers {joined(list(map(str, guests)))} are guests"
        )
        if not partitions:
            return "ok", f"✓ all brokers are up; no topics yet{also}"
        whole = f"✓ all is well: {plural(partitions, 'partition')}, every replica in sync{also}"
        return "ok", whole

    def silence(self, late_us: int = 0) -> str:
        """Return which running brokers have sent no sample for some time, or "" if there are
        none.
        """
        ages = {
            broker.id: broker.old_us(self.glow.now_us - late_us)
            for broker in self.brokers.by_id.values()
            if not broker.dead and broker.process != "paused"
        }
        silent = [broker for broker, age_us in ages.items() if age_us]
        if not silent:
            return ""
        words = _of_brokers(silent, "has sent nothing")
        return f"{words} for {duration(min(ages[broker] for broker in silent) / 1000)}"

    def _reasons(self) -> list[str]:
        """Return the known causes of trouble. Brokers come first."""
        reasons = [f"the link {link} is {fault}" for link, fault in self.links.items()]
        if self.relay_ended:
            reasons.insert(0, "the relay has ended: brokers reach neither clients nor ZooKeeper")
        dead = [broker for broker in self.brokers.by_id.values() if broker.dead]
        by_words: dict[str, list[int]] = {}
        for broker in dead:
            by_words.setdefault(broker.out_words, []).append(broker.id)
        still = self.partitions.dead_in_isr() if dead else 0
        for words, ids in reversed(by_words.items()):
            isrs = f", still in {plural(still, 'ISR')}" if still and words == "is gone" else ""
            reasons.insert(0, _of_brokers(ids, words) + isrs)
        return reasons

    def _who_is_out(self) -> list[str]:
        """Return the broker that is missing from most ISRs, and its state if known.

        O(partitions).
        """
        out = Counter(
            broker
            for p in self.partitions.by_key.values()
            for broker in set(p.replicas) - set(p.isr) - set(p.adding)
        )
        if not out:
            return []
        broker, times = out.most_common(1)[0]
        known = self.brokers.by_id.get(broker)
        state = known.out_words if known is not None else ""
        return [f"broker {broker} {state + ', ' if state else 'is '}out of {plural(times, 'ISR')}"]


def _of_brokers(ids: list[int], words: str) -> str:
    """Turn words about one broker into words about all `ids`: `brokers 1, 2 are gone`."""
    if len(ids) == 1:
        return f"broker {ids[0]} {words}"
    several = words.replace("its session has", "their sessions have")
    several = several.replace("is ", "are ", 1).replace("has sent", "have sent", 1)
    return f"brokers {joined(ids)} {several}"
