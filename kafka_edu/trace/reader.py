"""Read the events of several processes as one history (spec M1): in one order, and with the causes
of each event across processes.

All processes on one machine share the monotonic clock. So events of different processes are ordered
by their times, and events of one process by their numbers. The order says nothing about causes.
Within a process, a fact contains the number of its cause. Between processes, a rule finds the cause
by a key that both events contain (`chain_links`, docs/chains.md).

An event may have several true causes: a follower's fetch needs the LeaderAndIsr request that made
it a follower, and the records that it stored. `History.parents` returns them all. In a tree each
event appears once, below the latest of its causes.
"""

import heapq
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from kafka_edu.common.words import joined, plural
from kafka_edu.trace.chain_links import (
    ELECTION,
    RESPONSE,
    RULES,
    Key,
    LinkKind,
    Rule,
    acknowledged,
    written_key,
    znode_key,
)
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Source, SourceKind
from kafka_edu.trace.events.client import RecordAcknowledged
from kafka_edu.trace.events.controller import (
    ControllerRequestFailed,
    ControllerRequestSent,
    ZkWatchFired,
)
from kafka_edu.trace.events.network import RequestReceived, ResponseSent
from kafka_edu.trace.events.replication import FetcherFailed, FollowerAppended, ProduceAppended
from kafka_edu.trace.events.server import (
    BrokerRegistered,
    BrokerSnapshot,
    ProduceAnswered,
    ServerStarting,
)
from kafka_edu.trace.events.supervisor import (
    ActionAsked,
    ProcessEnded,
    ProcessPaused,
    ProcessResumed,
    ProcessStarted,
)
from kafka_edu.trace.events.trace import Gap
from kafka_edu.trace.events.zk import (
    SessionDisconnected,
    SessionExpired,
    SessionMoved,
    WatchFired,
    ZnodeCreated,
)
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, name_of

_BROKER_ID: Final = re.compile(r"/brokers/ids/(\d+)$")
_ALL_RULES: Final = (*RULES, ELECTION, RESPONSE)

_EARLY: Final = 4
_NEXT_ATTEMPT_US: Final = 1_000_000
"""The longest time in µs until a fetcher's next attempt. The real pause is
replica.fetch.backoff.ms.
"""

Ident = tuple[Source, int, int]
"""Identifies a fact: (source, start of this source counted from the first, number). The start is
needed because a restarted broker counts its facts from 1 again.
"""


class Link(NamedTuple):
    """A link from one event (the effect) to one of its true causes."""

    kind: LinkKind
    key: tuple[tuple[str, object], ...]
    """The names and values of the key. They are equal in both events."""
    cause: Envelope
    effect: Envelope

    @property
    def key_text(self) -> str:
        """The key as text. If the cause lies within a range of the effect, the range is
        included.
        """
        words = [f"{name} {value}" for name, value in self.key]
        return ", ".join(
            [*words, within] if (within := range_text(self.effect, self.cause)) else words
        )


def range_text(effect: Envelope, cause: Envelope) -> str:
    """Return a text that says in which range of the effect a number of the cause lies, for example
    an offset. Return "" if the link has no range.
    """
    match effect.event, cause.event:
        case ZkWatchFired(after_zxid=after), WatchFired(zxid=zxid):
            return f"zxid {zxid} is the first above {after}"
        case FollowerAppended(fetch_offset=first, log_end_offset=end), ProduceAppended(
            first_offset=offset
        ):
            return f"offset {offset} within {first} to {end - 1}"
    return ""


class TreeNode(NamedTuple):
    """An event in a tree of causes. Its children are events that it caused."""

    envelope: Envelope
    parents: tuple[Link, ...]
    """All causes of this event that are in the tree. The first one is this node's parent in the
    tree.
    """
    children: "list[TreeNode]"

    def walk(self, depth: int = 0) -> "Iterator[tuple[int, TreeNode]]":
        """Yield this node and all nodes below it, each with its depth, in the order in which a tree
        is drawn.
        """
        waiting: list[tuple[int, TreeNode]] = [(depth, self)]
        while waiting:
            at, node = waiting.pop()
            yield at, node
            waiting.extend((at + 1, child) for child in reversed(node.children))


def order(envelope: Envelope) -> tuple[int, Source, int]:
    """Return the key by which the events of a history are sorted: time, process, number."""
    return envelope.mono_us, envelope.source, envelope.seq


class LeftOut:
    """Counts the lines of one recording that its reader leaves out, with the reasons."""

    def __init__(self) -> None:
        self.damaged = 0
        """The number of lines that are not valid events."""
        self.first_damaged = ""
        """Describes the first damaged line: its number, and what is wrong with it."""
        self.unknown: Counter[str] = Counter()
        """How many events of each unknown name were left out. This program does not know these
        events.
        """
        self.end_missing = ""
        """A sentence that says why the recording has no proper end. Empty if it has one."""

    def damage(self, what: str) -> None:
        """Count a damaged line. `what` names the line and says what is wrong with it."""
        self.damaged += 1
        self.first_damaged = self.first_damaged or what

    def sentences(self) -> Iterator[str]:
        """Yield one sentence for each reason why lines were left out."""
        if self.damaged:
            lines = plural(self.damaged, "line")
            yield f"{lines} cannot be read and {_be(self.damaged)} left out: {self.first_damaged}"
        if self.unknown:
            events = plural(self.unknown.total(), "event")
            yield (
                f"{events} of a kind that this program does not know {_be(self.unknown.total())}"
                f" left out: {joined(sorted(self.unknown))}"
            )
        if self.end_missing:
            yield self.end_missing


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def read_recording(file: BinaryIO, left_out: LeftOut | None = None) -> Iterator[Envelope]:
    """Yield the events of a recording, in the order in which they were emitted. A header in the
    middle of the file begins another recording.

    The last line is left out if it was cut off (kill -9). Events with an unknown name are left out.
    If `left_out` is given, it counts lines that are not valid events, and the reader continues.
    After a damaged header, all lines up to the next header are left out, because only a header says
    what the fields mean.

    Raise TraceFormatError if the first line is not a header. Without `left_out`, raise it also for
    any line that is not a valid event; the error names the line.
    """
    decoder: Decoder | None = Decoder(file.readline())
    for number, line in enumerate(file, 2):
        if not line.endswith(b"\n"):
            if left_out is not None and not left_out.end_missing:
                left_out.end_missing = "its end is missing: the last line is not complete"
            return
        try:
            if line.startswith(b"{"):
                decoder = None
                decoder = Decoder(line)
                continue
            if decoder is None:
                raise TraceFormatError("the header before it is damaged")
            envelope = decoder.decode(line)
        except TraceFormatError as error:
            named = f"line {number}: {error}"
            if left_out is None:
                raise TraceFormatError(named) from error
            left_out.damage(named)
            continue
        if envelope is not None:
            yield envelope
        elif left_out is not None:
            left_out.unknown[name_of(line)] += 1


def merge(streams: Iterable[Iterable[Envelope]]) -> Iterator[Envelope]:
    """Merge the events of several recordings into one order. Each stream must be sorted. O(log
    streams) for each event.
    """
    return heapq.merge(*streams, key=order)


_Entries = defaultdict[Key, list[Envelope]]
"""Lists of facts by a key. The facts in each list are in the order in which they were added."""


class _Index:
    """The possible effects and causes for one rule, by key. Each list is sorted by time, because
    events are added in this order.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.causes: _Entries = defaultdict(list)
        self.effects: _Entries = defaultdict(list)


class _Owner(NamedTuple):
    """The process to which a ZooKeeper session belongs, and since when."""

    source: Source
    pid: int
    since_us: int


class History:
    """A set of events, with indexes that find the causes and effects of each event. It grows with
    each added event, until `trim` removes the oldest.

    The events of one process must be added in their order. Events of different processes come from
    different sockets, so they may be added a little out of order. This is no problem: links are
    searched for when they are requested, not when an event is added.
    """

    def __init__(self, envelopes: Iterable[Envelope] = ()) -> None:
        self.events: list[Envelope] = []
        self._lives: dict[Source, list[int]] = {}
        """Process → for each of its starts, the time of its first fact in µs."""
        self._last_seq: dict[Source, int] = {}
        self._by_number: dict[Ident, Envelope] = {}
        self._by_cause: _Entries = defaultdict(list)
        self._effect_indexes: defaultdict[type, list[_Index]] = defaultdict(list)
        self._cause_indexes: defaultdict[type, list[_Index]] = defaultdict(list)
        for rule in _ALL_RULES:
            index = _Index(rule)
            for effect in rule.effects:
                self._effect_indexes[effect].append(index)
            for cause in rule.causes:
                self._cause_indexes[cause].append(index)
        self._written: _Entries = defaultdict(list)
        """(path, version) of a znode → the facts of the brokers that wrote it."""
        self._znodes: _Entries = defaultdict(list)
        self._pids: dict[Source, int] = {}
        self._owners: dict[int, _Owner] = {}
        """ZooKeeper session → the process to which it belongs."""
        self._sessions: defaultdict[tuple[Source, int], list[int]] = defaultdict(list)
        """(process, pid) → the ZooKeeper sessions of this process."""
        self._session_events: _Entries = defaultdict(list)
        self._process_events: _Entries = defaultdict(list)
        self._process_acts: _Entries = defaultdict(list)
        """Process → the facts about its starts, pauses, resumes and ends."""
        self._unreached: _Entries = defaultdict(list)
        """Process → the facts of other brokers that got no answer from it."""
        self._answered: _Entries = defaultdict(list)
        self._acks: _Entries = defaultdict(list)
        self._facts_of: _Entries = defaultdict(list)
        """Process → all its facts."""
        self.zookeeper_tells = False
        """Whether the history has events of a ZooKeeper server. Apache ZooKeeper emits no
        events.
        """
        for envelope in envelopes:
            self.add(envelope)

    def add(self, envelope: Envelope) -> None:
        """Add one fact. Gauges and snapshots are not stored, because they are not changes. But the
        snapshot of a broker shows which ZooKeeper session belongs to the broker. O(1).
        """
        event = envelope.event
        if isinstance(event, BrokerSnapshot) and event.session_id:
            self._own(event.session_id, _Owner(envelope.source, event.pid, envelope.mono_us))
        known = EVENT_TYPES.get(envelope.name)
        if known is None or known.kind is not Kind.FACT:
            self.zookeeper_tells |= envelope.source.kind is SourceKind.ZOOKEEPER
            return
        if isinstance(event, Gap):
            return  # not a change; its number is that of the fact before
        if self._by_number.get(self.ident(envelope)) is envelope:
            return  # already added: the user has wound a recording back
        self.events.append(envelope)
        ident = self._enter(envelope)
        self._by_number[ident] = envelope
        for entries, key in self._places(envelope, ident):
            entries[key].append(envelope)
        self._note(envelope)

    def trim(self, keep: int) -> None:
        """Remove all facts except the last `keep`, so that memory stays bounded.

        The sessions' owners, known from snapshots, are kept. The cost is O(removed facts), so call
        it when many facts can be removed at once.
        """
        gone = self.events[:-keep]
        del self.events[:-keep]
        forgotten: dict[tuple[int, Key], tuple[_Entries, int]] = {}
        for envelope in gone:
            ident = self.ident(envelope)
            if self._by_number.get(ident) is envelope:
                del self._by_number[ident]
            for entries, key in self._places(envelope, ident):
                at = id(entries), key
                forgotten[at] = entries, forgotten.get(at, (entries, 0))[1] + 1
        # Each list has the same order as `events`, so the removed facts are at its beginning.
        for (_, key), (entries, count) in forgotten.items():
            del entries[key][:count]
            if not entries[key]:
                del entries[key]

    def _places(self, envelope: Envelope, ident: Ident) -> "Iterator[tuple[_Entries, Key]]":
        """Yield every list in which a fact is stored, as the index and the key of the list."""
        kind = type(envelope.event)
        yield self._facts_of, (envelope.source,)
        if envelope.cause:
            yield self._by_cause, (ident[0], ident[1], envelope.cause)
        for index in self._effect_indexes.get(kind, ()):
            if (key := index.rule.effect_key(envelope)) is not None:
                yield index.effects, key
        for index in self._cause_indexes.get(kind, ()):
            if (key := index.rule.cause_key(envelope)) is not None:
                yield index.causes, key
        if (key := written_key(envelope)) is not None:
            yield self._written, key
        if (key := znode_key(envelope)) is not None:
            yield self._znodes, key
        match envelope.event:
            case (
                ProcessEnded(child=child, pid=pid)
                | ProcessPaused(child=child, pid=pid)
                | ProcessResumed(child=child, pid=pid)
            ):
                yield self._process_events, (child, pid)
                yield self._process_acts, (child,)
            case ProcessStarted(child=child):
                yield self._process_acts, (child,)
            case FetcherFailed(leader=broker) | ControllerRequestFailed(broker_id=broker):
                yield self._unreached, (Source.of_broker(broker),)
            case (
                SessionDisconnected(session_id=session)
                | SessionExpired(session_id=session)
                | SessionMoved(session_id=session)
            ):
                yield self._session_events, (session,)
            case ProduceAnswered(partitions=partitions):
                for topic, partition, *_ in partitions:
                    yield self._answered, (topic, partition)
            case RecordAcknowledged(topic=topic, partition=partition):
                yield self._acks, (topic, partition)
            case _:
                pass

    def _enter(self, envelope: Envelope) -> Ident:
        """Register a fact and return its identity. If the fact's number shows that its process was
        restarted, register a new start of the process.
        """
        source, seq = envelope.source, envelope.seq
        self.zookeeper_tells |= source.kind is SourceKind.ZOOKEEPER
        lives = self._lives.setdefault(source, [])
        if not lives or seq <= self._last_seq[source]:
            lives.append(envelope.mono_us)
        self._last_seq[source] = seq
        return source, len(lives) - 1, seq

    def _note(self, envelope: Envelope) -> None:
        match envelope.event:
            case ServerStarting(pid=pid):
                self._pids[envelope.source] = pid
            case ProcessStarted(child=child, pid=pid):
                self._pids[child] = pid
            case ZnodeCreated(path=path, session_id=session) if match := _BROKER_ID.search(path):
                # A killed broker can no longer report its own facts. But ZooKeeper knows the
                # session that created the broker's znode, and the supervisor knows the broker's
                # process.
                broker = Source.of_broker(int(match[1]))
                if broker in self._pids:
                    self._own(session, _Owner(broker, self._pids[broker], envelope.mono_us))
            case BrokerRegistered(session_id=session):
                self._own(
                    session,
                    _Owner(envelope.source, self._pids.get(envelope.source, 0), envelope.mono_us),
                )
            case _:
                pass

    def _own(self, session: int, owner: _Owner) -> None:
        if session not in self._owners:
            self._owners[session] = owner
            self._sessions[owner.source, owner.pid].append(session)

    def owner(self, session: int, at_us: int | None = None) -> Source | None:
        """Return the process to which a ZooKeeper session belongs or belonged. Return None if no
        event has shown it, or if it was not shown before `at_us`.
        """
        known = self._owners.get(session)
        if known is None or (at_us is not None and known.since_us > at_us):
            return None
        return known.source

    def parents(self, envelope: Envelope) -> tuple[Link, ...]:
        """Return links to all causes of this event that are in the history, the latest cause first.
        O(log events + causes).
        """
        links: dict[Ident, Link] = {}
        for link in self._parents(envelope):
            links.setdefault(self.ident(link.cause), link)
        return tuple(sorted(links.values(), key=lambda link: order(link.cause), reverse=True))

    def children(self, envelope: Envelope) -> tuple[Link, ...]:
        """Return links to all events that this event caused, the earliest first. O(log events) for
        each event with an equal key.
        """
        me = self.ident(envelope)
        found: dict[Ident, Link] = {}
        for effect in self._possible_effects(envelope):
            for link in self.parents(effect):
                if self.ident(link.cause) == me:
                    found.setdefault(self.ident(effect), link)
        return tuple(sorted(found.values(), key=lambda link: order(link.effect)))

    def cause_of(self, envelope: Envelope) -> Envelope | None:
        """Return the latest cause of this event, which is its parent in a tree. Return None if the
        history has no cause of it.
        """
        links = self.parents(envelope)
        return links[0].cause if links else None

    def is_cut_off(self, envelope: Envelope) -> bool:
        """Return whether the event contains the number of a cause that is not in the history."""
        return bool(envelope.cause) and self._numbered(envelope, envelope.cause) is None

    def chain(self, envelope: Envelope) -> list[Envelope]:
        """Return the chain of causes that leads to this event: each event is followed by an effect
        of it, and the last one is this event. For each event, only the latest cause is followed.
        O(length of the chain).
        """
        links = [envelope]
        seen = {self.ident(envelope)}
        while (cause := self.cause_of(links[-1])) is not None and self.ident(cause) not in seen:
            seen.add(self.ident(cause))
            links.append(cause)
        return links[::-1]

    def causes_tree(self, envelope: Envelope) -> list[TreeNode]:
        """Return everything that caused this event: its causes, the causes of these, and so on. The
        roots are the events without a cause.

        The result has one tree for each root. The event itself is a leaf. O(causes).
        """
        parents: dict[Ident, tuple[Link, ...]] = {}
        events: dict[Ident, Envelope] = {}
        waiting = deque([envelope])
        while waiting:
            one = waiting.popleft()
            ident = self.ident(one)
            if ident not in parents:
                events[ident] = one
                parents[ident] = self.parents(one)
                waiting.extend(link.cause for link in parents[ident])
        return self._trees(events, parents)

    def effects_tree(self, envelope: Envelope, limit: int = 10_000) -> TreeNode:
        """Return the tree of all events that this event caused, directly or indirectly. At most
        `limit` events are included, the first ones. O(effects).
        """
        events = {self.ident(envelope): envelope}
        parents: dict[Ident, tuple[Link, ...]] = {self.ident(envelope): ()}
        waiting = deque([envelope])
        while waiting and len(events) < limit:
            for link in self.children(waiting.popleft()):
                ident = self.ident(link.effect)
                if ident not in events:
                    events[ident] = link.effect
                    waiting.append(link.effect)
        for ident, one in events.items():
            parents.setdefault(
                ident, tuple(link for link in self.parents(one) if self.ident(link.cause) in events)
            )
        return next(root for root in self._trees(events, parents) if root.envelope is envelope)

    def _trees(
        self, events: dict[Ident, Envelope], parents: dict[Ident, tuple[Link, ...]]
    ) -> list[TreeNode]:
        nodes = {ident: TreeNode(events[ident], parents[ident], []) for ident in events}
        roots = []
        for ident in sorted(events, key=lambda ident: order(events[ident])):
            links = parents[ident]
            if links:
                nodes[self.ident(links[0].cause)].children.append(nodes[ident])
            else:
                roots.append(nodes[ident])
        return roots

    def beginning(self, envelope: Envelope) -> str:
        """Return a text that says why a chain begins with this event, which has no cause in the
        history.
        """
        if self.is_cut_off(envelope):
            return (
                f"its cause, number {envelope.cause} of the same process, is not among these events"
            )
        match envelope.event:
            case ZkWatchFired():
                if not self.zookeeper_tells:
                    return "this ZooKeeper emits no events: the chain starts at the watch"
                return "no change in ZooKeeper is known for this watch"
            case RequestReceived():
                return "a client that emits no events sent this request"
            case ActionAsked():
                return "somebody asked the supervisor for it"
            case ProcessEnded(asked=False):
                return "somebody outside the cluster ended the process"
        return "nothing that emits events caused it"

    def ident(self, envelope: Envelope) -> Ident:
        """Return the identity of an event: its process, the number of the process's start, and the
        event's number. O(log starts).
        """
        lives = self._lives.get(envelope.source, [])
        return (
            envelope.source,
            bisect_right(lives, envelope.mono_us) - 1 if len(lives) > 1 else 0,
            envelope.seq,
        )

    def early_effects(self, envelope: Envelope) -> Iterator[Envelope]:
        """Yield events that arrived earlier, but may be effects of this event.

        This happens in two cases. A broker emits the fact of a write after the write. And the
        supervisor may notice the end of a process after ZooKeeper has lost the connection.
        """
        if (key := written_key(envelope)) is not None:
            yield from _just_before(envelope, self._znodes.get(key, ()))
        match envelope.event:
            case ProcessEnded(child=child, pid=pid):
                for session in self._sessions.get((child, pid), ()):
                    yield from _just_before(envelope, self._session_events.get((session,), ()))
                yield from _just_before(envelope, self._unreached.get((child,), ()))
            case _:
                pass

    def holds(self, ident: Ident) -> bool:
        """Return whether the history still contains the fact with this identity."""
        return ident in self._by_number

    @property
    def begin_us(self) -> int:
        """Return the time of the oldest fact in the history in µs, or 0 if the history is empty."""
        return self.events[0].mono_us if self.events else 0

    def _numbered(self, envelope: Envelope, seq: int) -> Envelope | None:
        broker, life, _ = self.ident(envelope)
        return self._by_number.get((broker, life, seq))

    def _parents(self, envelope: Envelope) -> Iterator[Link]:
        if envelope.cause and (cause := self._numbered(envelope, envelope.cause)) is not None:
            yield Link(
                LinkKind.CAUSE,
                ((envelope.source.kind.value, envelope.source.id), ("number", envelope.cause)),
                cause,
                envelope,
            )
        for index in self._effect_indexes.get(type(envelope.event), ()):
            rule = index.rule
            if (key := rule.effect_key(envelope)) is not None and (
                candidates := index.causes.get(key)
            ):
                for cause in self._pick(rule, envelope, candidates):
                    yield Link(rule.kind, tuple(zip(rule.names, key, strict=True)), cause, envelope)
        match envelope.event:
            case SessionDisconnected(session_id=session) | SessionExpired(session_id=session):
                yield from self._process_links(envelope, session)
            case RecordAcknowledged():
                yield from self._ack_links(envelope, envelope.event)
            case FetcherFailed(leader=broker) | ControllerRequestFailed(broker_id=broker):
                yield from self._unreached_links(envelope, Source.of_broker(broker))
            case _ if (key := znode_key(envelope)) is not None:
                yield from self._writer_links(envelope, key)
            case _:
                pass

    def _pick(
        self, rule: Rule, effect: Envelope, candidates: Sequence[Envelope]
    ) -> Sequence[Envelope]:
        if rule is RESPONSE:
            sent = self._numbered(effect, effect.cause)
            if sent is None:
                return ()
            at = bisect_left(candidates, sent.mono_us, key=lambda envelope: envelope.mono_us)
            return candidates[at : at + 1]
        if rule is ELECTION and len(candidates) > 1:
            event = self._controller_event(effect)
            return (
                ()
                if event is None
                else [
                    c for c in candidates if c.cause == event[2] and self.ident(c)[:2] == event[:2]
                ][:1]
            )
        return rule.pick(effect, candidates)

    def _controller_event(self, role: Envelope) -> Ident | None:
        """Return the controller's event that sent a LeaderAndIsr request. `role` is the fact of a
        replica that took its role because of this request.
        """
        dequeued = self._numbered(role, role.cause)
        received = None if dequeued is None else self._numbered(dequeued, dequeued.cause)
        if received is None or not isinstance(received.event, RequestReceived):
            return None
        sent = next(
            (
                link.cause
                for link in self._parents(received)
                if isinstance(link.cause.event, ControllerRequestSent)
            ),
            None,
        )
        if sent is None or not sent.cause:
            return None
        broker, life, _ = self.ident(sent)
        return broker, life, sent.cause

    def _writer_links(self, znode: Envelope, key: Key) -> Iterator[Link]:
        """Yield the link from a znode's change to its cause in the broker that wrote the znode.

        A broker emits a fact about its write when ZooKeeper has answered. The cause of this fact is
        also the cause of the write.
        """
        tellers = self._written.get(key, [])
        at = bisect_right(tellers, znode.mono_us - 1, key=lambda envelope: envelope.mono_us)
        if at == len(tellers):
            return
        teller, owner = tellers[at], self._owners.get(getattr(znode.event, "session_id", 0))
        following = bisect_right(
            self._znodes.get(key, []), znode.mono_us, key=lambda envelope: envelope.mono_us
        )
        if (
            following < len(self._znodes.get(key, []))
            and self._znodes.get(key, [])[following].mono_us <= teller.mono_us
        ):
            # The znode was deleted and created again in between. So the broker's fact is about the
            # later write.
            return
        if owner is not None and owner.source != teller.source:
            return
        if teller.cause and (cause := self._numbered(teller, teller.cause)) is not None:
            yield Link(
                LinkKind.WRITER, tuple(zip(("path", "version"), key, strict=True)), cause, znode
            )

    def _process_links(self, lost: Envelope, session: int) -> Iterator[Link]:
        owner = self._owners.get(session)
        if owner is None or lost.mono_us < owner.since_us:
            return
        acts = self._process_events.get((owner.source, owner.pid), [])
        key = (("session", session), (owner.source.kind.value, owner.source.id), ("pid", owner.pid))
        if isinstance(lost.event, SessionExpired):
            # The session has not lost its connection before it expired. So its process is dead or
            # paused, and no heartbeats were sent.
            acts = [act for act in acts if owner.since_us <= act.mono_us <= lost.mono_us]
            ends = [act for act in acts if isinstance(act.event, ProcessEnded)]
            silent = ends[:1] or acts[-1:]
            if not lost.cause and silent and not isinstance(silent[0].event, ProcessResumed):
                yield Link(LinkKind.PROCESS, key, silent[0], lost)
            return
        ended = next(
            (
                act
                for act in acts
                if isinstance(act.event, ProcessEnded) and act.mono_us >= owner.since_us
            ),
            None,
        )
        if ended is not None and self._dies_with(lost, session, owner, ended):
            yield Link(LinkKind.PROCESS, key, ended, lost)

    def _dies_with(self, lost: Envelope, session: int, owner: _Owner, ended: Envelope) -> bool:
        """Return whether a session lost its connection because its process ended, and not for
        another reason before that.

        The answer is True only if it was the session's last connection, and the process emitted
        nothing afterwards. If a user had requested the end, the request came before the loss. (The
        supervisor may notice the end some ms after ZooKeeper does.)
        """
        if any(
            isinstance(e.event, SessionDisconnected | SessionMoved) and order(e) > order(lost)
            for e in self._session_events.get((session,), ())
        ):
            return False
        facts = self._facts_of.get((owner.source,), [])
        spoken = bisect_right(facts, ended.mono_us, key=lambda envelope: envelope.mono_us)
        if spoken and lost.mono_us < facts[spoken - 1].mono_us:
            return False
        asked = self._numbered(ended, ended.cause) if ended.cause else None
        return asked is None or lost.mono_us >= asked.mono_us

    def _unreached_links(self, failed: Envelope, child: Source) -> Iterator[Link]:
        """Yield the link to the end or pause of a process, if a broker therefore got no answer from
        it.

        The supervisor may notice the end some ms after the connection was closed. Then there are
        more conditions. The process emitted nothing in between. If a user requested the end, the
        request came before the failed attempt. If nobody requested it, the end was noticed before
        the next attempt, because a living process would have answered that attempt.
        """
        acts = self._process_acts.get((child,), [])
        at = bisect_right(acts, failed.mono_us, key=lambda envelope: envelope.mono_us)
        cause: Envelope | None = None
        if at and isinstance(acts[at - 1].event, ProcessEnded | ProcessPaused):
            cause = acts[at - 1]
        elif at < len(acts) and self._ends_with(failed, acts[at], child):
            cause = acts[at]
        if cause is not None and isinstance(cause.event, ProcessEnded | ProcessPaused):
            key = ((child.kind.value, child.id), ("pid", cause.event.pid))
            yield Link(LinkKind.PROCESS, key, cause, failed)

    def _ends_with(self, failed: Envelope, ended: Envelope, child: Source) -> bool:
        """Return whether an attempt failed because the process had ended, although the end was
        noticed later.
        """
        if not isinstance(ended.event, ProcessEnded):
            return False
        facts = self._facts_of.get((child,), [])
        spoken = bisect_right(facts, ended.mono_us, key=lambda envelope: envelope.mono_us)
        if spoken and failed.mono_us < facts[spoken - 1].mono_us:
            return False
        asked = self._numbered(ended, ended.cause) if ended.cause else None
        if asked is not None:
            return failed.mono_us >= asked.mono_us
        return ended.mono_us - failed.mono_us < _NEXT_ATTEMPT_US

    def _ack_links(self, ack: Envelope, event: RecordAcknowledged) -> Iterator[Link]:
        for answered in acknowledged(ack, self._answered.get((event.topic, event.partition), ())):
            for sent in self._by_cause.get(self.ident(answered), ()):
                if isinstance(sent.event, ResponseSent):
                    yield Link(
                        LinkKind.ACK,
                        (
                            ("topic", event.topic),
                            ("partition", event.partition),
                            ("offset", event.offset),
                        ),
                        sent,
                        ack,
                    )

    def _possible_effects(self, envelope: Envelope) -> Iterator[Envelope]:
        """Yield events that may be effects of this event. They contain this event's number as their
        cause, or have an equal key.
        """
        for effect in self._by_cause.get(self.ident(envelope), ()):
            yield effect
            if (
                key := written_key(effect)
            ) is not None:  # a write and the fact about it have one cause
                yield from self._znodes.get(key, ())
        for index in self._cause_indexes.get(type(envelope.event), ()):
            if (key := index.rule.cause_key(envelope)) is not None:
                yield from index.effects.get(key, ())
        match envelope.event:
            case ProcessEnded(child=child, pid=pid) | ProcessPaused(child=child, pid=pid):
                for session in self._sessions.get((child, pid), ()):
                    yield from self._session_events.get((session,), ())
                yield from self._unreached.get((child,), ())
            case ResponseSent():
                answered = self._numbered(envelope, envelope.cause) if envelope.cause else None
                if answered is not None and isinstance(answered.event, ProduceAnswered):
                    for topic, partition, *_ in answered.event.partitions:
                        yield from self._acks.get((topic, partition), ())
            case _:
                pass


def _just_before(envelope: Envelope, facts: Sequence[Envelope]) -> Sequence[Envelope]:
    """Return the last few facts that are not later than this event. The list may also contain later
    facts, if the user has wound a view back. O(log facts).
    """
    at = bisect_right(facts, envelope.mono_us, key=lambda fact: fact.mono_us)
    return facts[max(at - _EARLY, 0) : at]


def link_fault(link: Link) -> str:
    """Return what is wrong with a link, as text, or "" if nothing is wrong. Only the link's two
    events are checked. The indexes of the history are not used.
    """
    cause, effect = link.cause, link.effect
    if link.kind is LinkKind.CAUSE:
        if (effect.source, effect.cause) != (cause.source, cause.seq):
            return (
                f"the effect names {effect.cause} of {effect.source}, the cause is {cause.seq} of"
                f" {cause.source}"
            )
        return (
            ""
            if cause.mono_us <= effect.mono_us and cause.seq < effect.seq
            else "the cause is later than the effect"
        )
    if cause.source == effect.source and order(cause) > order(effect):
        return "the cause is later than the effect, in one process"
    key = tuple(value for _, value in link.key)
    checks: list[tuple[Callable[[Envelope], Key | None], Callable[[Envelope], Key | None]]] = [
        (rule.effect_key, rule.cause_key) for rule in _ALL_RULES if rule.kind is link.kind
    ]
    if checks and not any(
        key == effect_key(effect) == cause_key(cause) for effect_key, cause_key in checks
    ):
        return f"the key {link.key_text} is not on both ends"
    match effect.event, cause.event:
        case ZkWatchFired(after_zxid=after), WatchFired(zxid=zxid) if zxid <= after:
            return f"the watch saw zxid {zxid}, which is not above {after}"
        case FollowerAppended(fetch_offset=first, log_end_offset=end), ProduceAppended(
            first_offset=offset
        ) if not first <= offset < end:
            return f"the follower stored {first} to {end - 1}, and the leader appended {offset}"
        case _:
            pass
    if link.kind is LinkKind.WRITER and znode_key(effect) != key:
        return f"the key {link.key_text} is not that of the znode"
    return ""


def open_recording(path: str) -> list[Envelope]:
    """Return all events of a recording. Raises TraceFormatError with the file's path if the file is
    not a recording.
    """
    with open(path, "rb") as file:
        try:
            return list(read_recording(file))
        except TraceFormatError as error:
            raise TraceFormatError(f"{path}: {error}") from error
