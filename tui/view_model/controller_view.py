"""The state of the Controller screen: the controller, its queue, its events, and their results.

Every broker has a queue of controller events, because each may become the controller. So the view
also has the events of brokers that lost an election. Elections, changes of state and requests to
brokers name the event that caused them. A partition's election contains the replica sets from which
it was decided.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_edu.common.words import joined, plural
from kafka_edu.instruments.link_events import LinkLost, LinkMade
from kafka_edu.instruments.sentences import sentence
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Kind, Source, SourceKind
from kafka_edu.trace.events.controller import (
    ActiveControllerChanged,
    BrokerFailed,
    BrokerJoined,
    ControlledShutdownProcessed,
    ControllerElected,
    ControllerEventProcessed,
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerPartitionSnapshot,
    ControllerRequestFailed,
    ControllerRequestSent,
    ControllerResigned,
    ControllerResponseReceived,
    ControllerSampled,
    ControllerSnapshot,
    ElectionsHeld,
    IsrAltered,
    LeaderElected,
    LeaderElectionFailed,
    LeaderImbalanceMeasured,
    PartitionStateChanged,
    ReplicaRemovedFromIsr,
    ReplicaStateChanged,
    StateChangeRefused,
    StateMachineSnapshot,
    TopicDeletionChanged,
)
from kafka_edu.trace.events.replication import ControllerEpochSeen
from kafka_edu.trace.events.supervisor import ProcessEnded
from kafka_edu.trace.events.trace import SnapshotBegins

from .glow import Glow
from .partition_view import PartitionKey
from .state_machine_view import PARTITION, REPLICA, StateMachineView

KEPT_EVENTS: Final = 300
KEPT_OF_ONE_EVENT: Final = 400
"""The most elections, requests and notes of one event that are kept. The others are counted."""
KEPT_ELECTIONS: Final = 6_000
KEPT_TERMS: Final = 8
KEPT_QUEUE_SAMPLES: Final = 120
NOTHING: Final = "nothing to do"
_SAMPLE_US: Final = 500_000
_ONLINE: Final = "OnlinePartition"

CONTROLLER_EVENTS: Final = (
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerEventProcessed,
    ControllerElected,
    ControllerResigned,
    ActiveControllerChanged,
    ControllerSnapshot,
    ControllerSampled,
    ProcessEnded,
)
DECISION_EVENTS: Final = (
    LeaderElected,
    LeaderElectionFailed,
    ControllerRequestSent,
    ControllerResponseReceived,
    ControllerRequestFailed,
    BrokerFailed,
    BrokerJoined,
    ControlledShutdownProcessed,
    ReplicaRemovedFromIsr,
    IsrAltered,
    ElectionsHeld,
    TopicDeletionChanged,
)
STATE_EVENTS: Final = (
    StateMachineSnapshot,
    PartitionStateChanged,
    ReplicaStateChanged,
    StateChangeRefused,
    ControllerPartitionSnapshot,
)

#: Controller events in which a broker reads /controller.
_LOOKS: Final = ("Reelect", "ControllerChange")
#: API key → name, for the requests that a controller sends.
REQUESTS: Final = {4: "LeaderAndIsr", 5: "StopReplica", 6: "UpdateMetadata"}


class Candidate(NamedTuple):
    """One replica that an election considered."""

    replica: int
    alive: bool
    in_isr: bool
    shutting_down: bool
    chosen: bool
    reason: str


def partition_of(envelope: Envelope) -> PartitionKey:
    """Return the partition that an election was about."""
    event = envelope.event
    assert isinstance(event, LeaderElected | LeaderElectionFailed)
    return PartitionKey(event.topic, event.partition)


def candidates(event: LeaderElected | LeaderElectionFailed) -> list[Candidate]:
    """Return the replicas in the order in which the election considered them, with reasons.

    Replicas that only the strategy knows, such as those that a reassignment adds, come last.
    """
    if isinstance(event, LeaderElected):
        isr, leader, why = event.isr_before or event.isr, event.new_leader, event.why
    else:
        isr, leader, why = event.isr, -1, ""
    reasons = dict(event.passed_over)
    order = dict.fromkeys([*event.replicas, *reasons, *([leader] if leader >= 0 else [])])
    return [
        Candidate(
            replica,
            replica in event.live,
            replica in isr,
            replica in event.shutting_down,
            replica == leader,
            why if replica == leader else reasons.get(replica, ""),
        )
        for replica in order
    ]


class Sent:
    """One request from the controller to a broker."""

    def __init__(self, envelope: Envelope, event: ControllerRequestSent) -> None:
        self.envelope = envelope
        self.broker = event.broker_id
        self.request = REQUESTS.get(event.api_key, f"request {event.api_key}")
        self.partitions = event.partitions
        self.took_us: int | None = None
        self.error_code = 0


class ControllerEventView:
    """One controller event: its time, its duration, and all its results."""

    def __init__(self, envelope: Envelope, event: ControllerEventStarted) -> None:
        self.envelope = envelope
        self.broker = envelope.source.id
        self.name = event.name
        self.detail = event.detail
        self.queued_us = event.queued_us
        self.took_us: int | None = None
        self.error = ""
        self.elections: list[Envelope] = []
        self.elected = 0
        self.failed = 0
        self.isr_changes = 0
        self.refused = 0
        self.left_isr: Counter[int] = Counter()
        """Replica → how many ISRs it was removed from."""
        self.led: Counter[int] = Counter()
        """Replica → how many partitions it led among those whose ISR it was removed from."""
        self.partition_moves: Counter[tuple[str, str]] = Counter()
        self.replica_moves: Counter[tuple[str, str]] = Counter()
        self.sent: list[Sent] = []
        self.sent_count = 0
        self.unreachable: Counter[int] = Counter()
        """Broker → how often a request to it failed."""
        self.notes: list[Envelope] = []
        """Other facts that the event caused, such as BrokerFailed."""
        self.version = 0
        """A number that grows with each change of this object."""
        self._moved: set[PartitionKey] = set()
        self._led: set[PartitionKey] = set()

    @property
    def busy(self) -> bool:
        """Whether the event is still being processed."""
        return self.took_us is None

    @property
    def idle(self) -> bool:
        """Whether the event is done and had no result."""
        return not self.busy and self.outcome() == NOTHING

    @property
    def decided(self) -> bool:
        """Whether the controller decided something in this event.

        Passing on a leader's decision does not count.
        """
        return bool(
            self.elected
            or self.failed
            or self.isr_changes
            or self.refused
            or self.error
            or any(_weighs(envelope.event) for envelope in self.notes)
        )

    def outcome(self) -> str:
        """Return the results of the event in one line, the most important first."""
        told = (_note(e.event) for e in worth_telling(self.notes, self.broker))
        parts = [words for words in told if words][:4]
        if self.elected:
            parts.append(f"{plural(self.elected, 'leader')} elected")
        if self.failed:
            parts.append(f"✕ {self.failed:,} without a leader")
        if self.isr_changes:
            parts.append(f"{plural(self.isr_changes, 'ISR')} changed")
        if self.refused:
            parts.append(f"{plural(self.refused, 'change')} refused")
        if self.sent_count:
            brokers = joined(sorted({sent.broker for sent in self.sent}), 5)
            parts.append(f"{self.sent_count:,} sent → {brokers}")
        if self.unreachable:
            parts.append(f"cannot reach {joined(sorted(self.unreachable))}")
        if self.error:
            parts.append(f"✕ {self.error}")
        if parts:
            return " · ".join(parts)
        return "" if self.busy else NOTHING

    def moves(self) -> Iterator[tuple[str, str, int, str]]:
        """Yield the counted changes of state: (before, after, how often, state machine)."""
        for machine, moves in ((PARTITION, self.partition_moves), (REPLICA, self.replica_moves)):
            for (was, now), times in moves.items():
                yield was, now, times, machine


def _weighs(event: Event) -> bool:
    """Return whether a fact is a decision, and not only something that a broker read in
    ZooKeeper.
    """
    return not isinstance(event, ActiveControllerChanged) and bool(_note(event))


def worth_telling(envelopes: list[Envelope], broker: int) -> list[Envelope]:
    """Return the other facts of an event, without those that contain nothing new.

    Two kinds of ActiveControllerChanged are left out. If the broker has won the election, it need
    not say that it is the controller. If it has lost, it need not say that there was no controller
    for a moment.
    """
    changes = [
        e.event.controller_id for e in envelopes if isinstance(e.event, ActiveControllerChanged)
    ]
    return [
        envelope
        for envelope in envelopes
        if not isinstance(envelope.event, ActiveControllerChanged)
        or (envelope.event.controller_id == changes[-1] and envelope.event.controller_id != broker)
    ]


def _note(event: Event) -> str:
    match event:
        case LeaderImbalanceMeasured(given_back=0):
            return ""
        case LeaderImbalanceMeasured() as e:
            return f"broker {e.broker_id} gets {plural(e.given_back, 'partition')} back"
        case ElectionsHeld():
            return ""  # its elections are counted separately
        case BrokerFailed(broker_id=broker, shutting_down=True):
            return f"broker {broker} has stopped after controlled shutdown"
        case BrokerFailed(broker_id=broker):
            return f"✕ broker {broker} is gone"
        case BrokerJoined(broker_id=broker, bounced=True):
            return f"broker {broker} stopped and came back"
        case BrokerJoined(broker_id=broker):
            return f"broker {broker} is up"
        case ControllerElected(epoch=epoch):
            return f"♛ elected, epoch {epoch}"
        case ControllerResigned(reason=reason):
            return f"resigned: {reason}"
        case ActiveControllerChanged(controller_id=-1):
            return "there is no controller"
        case ActiveControllerChanged(controller_id=broker):
            return f"follows controller {broker}"
        case ControlledShutdownProcessed() as e:
            return (
                f"broker {e.broker_id} may go"
                if not e.remaining
                else (f"broker {e.broker_id} still leads {e.remaining:,} of {e.led:,}")
            )
    return sentence(event).text()


class Waiting(NamedTuple):
    """A controller event that waits in the queue."""

    name: str
    detail: str
    at_us: int


class Term(NamedTuple):
    """One broker's time as the controller. Times are in µs of the events' clock; -1: not known."""

    broker: int
    epoch: int
    from_us: int
    to_us: int
    ended: str


class Decision(NamedTuple):
    """The last election of one partition."""

    envelope: Envelope
    record: ControllerEventView | None


class ControllerView:
    """Everything that the Controller screen shows. It changes only through `apply`."""

    def __init__(self) -> None:
        self.glow = Glow()
        self.machines = {
            PARTITION: StateMachineView(PARTITION, self.glow),
            REPLICA: StateMachineView(REPLICA, self.glow),
        }
        self.events: deque[ControllerEventView] = deque(maxlen=KEPT_EVENTS)
        self.version = 0
        """A number that grows with each change of an event or an election."""
        self.decisions: OrderedDict[PartitionKey, Decision] = OrderedDict()
        """Partition → its last election, the newest election last."""
        self.terms: deque[Term] = deque(maxlen=KEPT_TERMS)
        self.sampled: ControllerSampled | None = None
        """The last sample of the active controller."""
        self.queue_history: deque[int] = deque(maxlen=KEPT_QUEUE_SAMPLES)
        """The longest queue in each half second, as a number of events."""
        self._waiting: dict[Source, OrderedDict[int, Waiting]] = {}
        self._running: dict[Source, ControllerEventView] = {}
        self._started: dict[Source, OrderedDict[int, ControllerEventView]] = {}
        self._sent: dict[Source, OrderedDict[int, tuple[Sent, ControllerEventView]]] = {}
        self._elections_held = 0
        self._sample_from_us = 0

    @property
    def term(self) -> Term | None:
        """The current controller's term, or None if no controller is known."""
        return self.terms[-1] if self.terms and self.terms[-1].to_us < 0 else None

    @property
    def controller(self) -> Source | None:
        return Source.of_broker(self.term.broker) if self.term is not None else None

    def waiting(self) -> list[Waiting]:
        """Return the events in the controller's queue, the oldest first."""
        source = self.controller
        return list(self._waiting.get(source, {}).values()) if source is not None else []

    def running(self) -> ControllerEventView | None:
        """Return the event that the controller is processing now, or None."""
        source = self.controller
        return self._running.get(source) if source is not None else None

    def advance(self, now_us: int) -> None:
        """Move the view's time forward when no event has come."""
        self.glow.advance(now_us)

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1), amortised."""
        self.glow.advance(envelope.mono_us)
        if envelope.broker is None:
            self._of_supervisor(envelope)
            return
        match envelope.event:
            case LinkMade() | SnapshotBegins():
                self._forget(envelope.source)
            case LinkLost():
                self._forget(envelope.source)
                self._end_term(envelope.broker, envelope.mono_us, "its process is gone")
            case StateMachineSnapshot() as e if e.machine in self.machines:
                self.machines[e.machine].learn(e)
            case ControllerSnapshot(active=True) as e:
                self._begin_term(envelope.broker, e.epoch, -1)
            case ControllerPartitionSnapshot() as e if envelope.source == self.controller:
                self.machines[PARTITION].hold(e.state)
                for state in e.replica_states:
                    self.machines[REPLICA].hold(state)
            case ControllerSampled() as e:
                self._sample(envelope, e)
            case ControllerEpochSeen() as e:
                if not self.terms or e.controller_epoch > self.terms[-1].epoch:
                    self._begin_term(e.controller, e.controller_epoch, envelope.mono_us)
            case ControllerEventQueued() as e:
                self._queue(envelope, e)
            case ControllerEventStarted() as e:
                self._start(envelope, e)
            case _:
                self._effect(envelope)

    def _of_supervisor(self, envelope: Envelope) -> None:
        """Record that the controller's process has ended. /controller still names it for a
        while.
        """
        match envelope.event:
            case ProcessEnded(child=Source(kind=SourceKind.BROKER) as child) as e:
                self._forget(child)
                how = f"was killed ({e.signal})" if e.signal else "ended"
                self._end_term(child.id, envelope.mono_us, f"its process {how}")
            case _:
                pass

    def _forget(self, source: Source) -> None:
        """Forget the unfinished work of a process, because it may number its facts from 1 again."""
        self.version += 1
        for of_source in (self._waiting, self._started, self._sent):
            of_source.pop(source, None)
        if (record := self._running.pop(source, None)) is not None:
            record.took_us = 0
            record.error = record.error or "its end was not seen"

    def _begin_term(self, broker: int, epoch: int, from_us: int) -> None:
        term = self.term
        if term is not None and (term.broker, term.epoch) == (broker, epoch):
            for machine in self.machines.values():
                machine.begin()  # a new snapshot follows
            return
        if self.terms and epoch < self.terms[-1].epoch:
            return
        if term is not None:
            self._end_term(term.broker, self.glow.now_us, "another broker was elected")
        if self.terms and (self.terms[-1].broker, self.terms[-1].epoch) == (broker, epoch):
            from_us = self.terms.pop().from_us  # it was not dead after all
        self.terms.append(Term(broker, epoch, from_us, -1, ""))
        self.sampled = None
        self.queue_history.clear()
        for machine in self.machines.values():
            machine.begin()
        self.glow.touch("term")

    def _end_term(self, broker: int, at_us: int, why: str) -> None:
        term = self.term
        if term is not None and term.broker == broker:
            self.terms[-1] = term._replace(to_us=at_us, ended=why)
            self.glow.touch("term")

    def _sample(self, envelope: Envelope, sample: ControllerSampled) -> None:
        if envelope.source != self.controller:
            return
        self.sampled = sample
        if not self.queue_history or envelope.mono_us - self._sample_from_us >= _SAMPLE_US:
            self._sample_from_us = envelope.mono_us
            self.queue_history.append(sample.queue_size)
        else:
            self.queue_history[-1] = max(self.queue_history[-1], sample.queue_size)

    def _queue(self, envelope: Envelope, event: ControllerEventQueued) -> None:
        waiting = self._waiting.setdefault(envelope.source, OrderedDict())
        while len(waiting) >= max(event.queue_size, 1):
            waiting.popitem(last=False)  # dropped because its session was lost
        waiting[envelope.seq] = Waiting(event.name, event.detail, envelope.mono_us)
        while len(waiting) > KEPT_EVENTS:
            waiting.popitem(last=False)

    def _start(self, envelope: Envelope, event: ControllerEventStarted) -> None:
        source = envelope.source
        if (waiting := self._waiting.get(source)) is not None:
            waiting.pop(envelope.cause, None)
        record = ControllerEventView(envelope, event)
        self.events.append(record)
        self.version += 1
        self._running[source] = record
        started = self._started.setdefault(source, OrderedDict())
        started[envelope.seq] = record
        while len(started) > KEPT_EVENTS:
            started.popitem(last=False)
        self.glow.touch("event", source, envelope.seq)

    def _effect(self, envelope: Envelope) -> None:
        known = EVENT_TYPES.get(envelope.name)
        if known is None or known.kind is not Kind.FACT:
            return
        source, event = envelope.source, envelope.event
        started = self._started.get(source)
        record = started.get(envelope.cause) if started is not None else None
        if record is not None or isinstance(
            event, LeaderElected | LeaderElectionFailed | ControllerResponseReceived
        ):
            self.version += 1
        if isinstance(event, ControllerResponseReceived):
            self._answered(envelope, event)
            return
        match event:
            case ControllerElected() as e:
                self._begin_term(source.id, e.epoch, envelope.mono_us)
            case ControllerResigned() as e:
                self._end_term(source.id, envelope.mono_us, e.reason)
            case ActiveControllerChanged(controller_id=-1) if (
                (term := self.term) is not None
                and record is not None
                and record.name in _LOOKS
                and record.envelope.mono_us > term.from_us
            ):
                # Two kinds of reports do not end the term. In one, the reporting broker's own
                # session has expired. In the other, the broker's read may be older than the
                # election.
                self._end_term(term.broker, envelope.mono_us, "/controller is gone")
            case _:
                pass
        if isinstance(event, PartitionStateChanged) and source == self.controller:
            self.machines[PARTITION].move(event.before, event.after)
        if isinstance(event, ReplicaStateChanged) and source == self.controller:
            self.machines[REPLICA].move(event.before, event.after)
        if isinstance(event, LeaderElected | LeaderElectionFailed):
            self._decide(envelope, record)
        if record is not None:
            record.version += 1
            self._of_record(envelope, record)

    def _of_record(self, envelope: Envelope, record: ControllerEventView) -> None:
        """Record a fact that a controller event has caused."""
        match envelope.event:
            case ControllerEventProcessed() as e:
                self._end(envelope.source, record, e)
            case LeaderElected() as e:
                record.elected += 1
                record._led.add(PartitionKey(e.topic, e.partition))
            case LeaderElectionFailed():
                record.failed += 1
            case PartitionStateChanged() as e:
                record.partition_moves[e.before, e.after] += 1
                record._moved.add(PartitionKey(e.topic, e.partition))
            case ReplicaStateChanged() as e:
                record.replica_moves[e.before, e.after] += 1
            case StateChangeRefused():
                record.refused += 1
            case ReplicaRemovedFromIsr() as e:
                record.isr_changes += 1
                record.left_isr[e.replica] += 1
                record.led[e.replica] += e.leader < 0
            case IsrAltered():
                record.isr_changes += 1
            case ControllerRequestSent() as e:
                self._send(envelope, e, record)
            case ControllerRequestFailed() as e:
                record.unreachable[e.broker_id] += 1
            case _:
                if len(record.notes) < KEPT_OF_ONE_EVENT:
                    record.notes.append(envelope)

    def _end(
        self, source: Source, record: ControllerEventView, event: ControllerEventProcessed
    ) -> None:
        record.took_us, record.error = event.took_us, event.error
        if self._running.get(source) is record:
            del self._running[source]
        stayed = len(record._led - record._moved)
        if stayed and source == self.controller:
            # The leader changed while the partition stayed online, so the state machine reports no
            # change.
            self.machines[PARTITION].move(_ONLINE, _ONLINE, stayed)
            record.partition_moves[_ONLINE, _ONLINE] += stayed
        record._led.clear()
        record._moved.clear()

    def _send(
        self, envelope: Envelope, event: ControllerRequestSent, record: ControllerEventView
    ) -> None:
        sent = Sent(envelope, event)
        record.sent_count += 1
        if len(record.sent) < KEPT_OF_ONE_EVENT:
            record.sent.append(sent)
        under_way = self._sent.setdefault(envelope.source, OrderedDict())
        under_way[envelope.seq] = sent, record
        while len(under_way) > KEPT_EVENTS:
            under_way.popitem(last=False)

    def _answered(self, envelope: Envelope, event: ControllerResponseReceived) -> None:
        under_way = self._sent.get(envelope.source)
        found = under_way.pop(envelope.cause, None) if under_way is not None else None
        if found is not None:
            sent, record = found
            sent.took_us, sent.error_code = event.took_us, event.error_code
            record.version += 1

    def _decide(self, envelope: Envelope, record: ControllerEventView | None) -> None:
        key = partition_of(envelope)
        self.decisions.pop(key, None)
        self.decisions[key] = Decision(envelope, record)
        while len(self.decisions) > KEPT_ELECTIONS:
            self.decisions.popitem(last=False)
        self.glow.touch("decision", key)
        if record is None or len(record.elections) >= KEPT_OF_ONE_EVENT:
            return
        record.elections.append(envelope)
        self._elections_held += 1
        if self._elections_held > KEPT_ELECTIONS:
            self._drop_elections(record)

    def _drop_elections(self, newest: ControllerEventView) -> None:
        """Drop the single elections of the oldest events, and keep only their counts."""
        held = sum(len(old.elections) for old in self.events)
        for old in self.events:
            if held <= KEPT_ELECTIONS // 2 or old is newest:
                break
            held -= len(old.elections)
            old.elections.clear()
            old.version += 1
        self._elections_held = held
