"""The state of the Client screen: each producer's batches, and each consumer's positions.

Our clients that have a tracer report themselves. Every other client is known only from its
requests to the brokers, and from the coordinator of its group.
"""

from collections import OrderedDict, deque
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import plural
from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.instruments.rebalances import MEMBER_EVENTS, STABLE, GroupStory, Partition
from kafka_edu.instruments.sentences import fact_text
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.consumer import (
    ConsumedPartition,
    ConsumerAssigned,
    ConsumerCommitted,
    ConsumerDescription,
    ConsumerSampled,
    ConsumerSnapshot,
    ConsumerSubscribed,
    FetchStateChanged,
    GroupCoordinatorChanged,
    MembershipChanged,
    PartitionPaused,
    PartitionResumed,
)
from kafka_edu.trace.events.group import MemberState
from kafka_edu.trace.events.network import (
    ClientRequests,
    ClientRequestsSampled,
    ClientRequestsSnapshot,
)
from kafka_edu.trace.events.producer import (
    BatchFailed,
    BatchRetried,
    BatchSplit,
    ClientClosed,
    ClientConnected,
    ClientDisconnected,
    ClientLink,
    OffsetsAddedToTransaction,
    PartitionBuffer,
    PartitionsAddedToTransaction,
    ProducerDescription,
    ProducerEpochBumped,
    ProducerSampled,
    ProducerSnapshot,
    ProducerStateChanged,
    TransactionCoordinatorChanged,
)
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds

from .broker_view import OLD_US
from .figures import count, duration, per_second, size
from .glow import Glow
from .groups_view import Answer, GroupsView
from .rates import Rate

PRODUCER_EVENTS: Final[tuple[type[Event], ...]] = (
    ProducerSnapshot,
    ProducerSampled,
    BatchRetried,
    BatchSplit,
    BatchFailed,
    ProducerStateChanged,
    ProducerEpochBumped,
    TransactionCoordinatorChanged,
    PartitionsAddedToTransaction,
    OffsetsAddedToTransaction,
)
CONSUMER_EVENTS: Final[tuple[type[Event], ...]] = (
    ConsumerSnapshot,
    ConsumerSampled,
    ConsumerSubscribed,
    ConsumerAssigned,
    ConsumerCommitted,
    MembershipChanged,
    GroupCoordinatorChanged,
    FetchStateChanged,
    PartitionPaused,
    PartitionResumed,
)
LINK_EVENTS: Final[tuple[type[Event], ...]] = (ClientConnected, ClientDisconnected, ClientClosed)
SEEN_EVENTS: Final[tuple[type[Event], ...]] = (
    *MEMBER_EVENTS,
    ClientRequestsSnapshot,
    ClientRequestsSampled,
)
"""The events that show clients which do not report themselves."""
KEPT_NEWS: Final = 50
KEPT_CLIENTS: Final = 200
_SAME_NEWS: Final = 6
_HEARD_US: Final = 60_000_000
"""A client that sends no requests to brokers leaves the list after this time, in µs."""
_SAMPLE_US: Final = 1_000_000
"""A broker's sample of a client may come this many µs after the client's last request."""
_OUR_SOFTWARE: Final = "kafka-edu "
_RECENT_US: Final = 10_000_000
_FILLS: Final = 20
_FILL_US: Final = 500_000
READY: Final = "READY"
FETCHING: Final = "Fetching"
TXN_READY: Final = "READY"
IN_TRANSACTION: Final = "IN_TRANSACTION"
#: Why the oldest batch of a partition is not sent, in words.
WAITS: Final = {
    "linger": "waits for linger.ms",
    "backoff": "waits for retry.backoff.ms",
    "order": "an earlier batch is sent first",
    "no leader": "no leader is known",
    "no connection": "no connection to the leader",
    "in flight": "too many requests in flight",
    "throttled": "the broker throttles",
    "producer id": "no producer id yet",
    "transaction": "not yet in the transaction",
    "ready": "goes next",
    "": "",
}
_STUCK: Final = ("backoff", "no leader", "no connection", "throttled", "producer id", "transaction")


class Role(StrEnum):
    PRODUCER = "producer"
    CONSUMER = "consumer"
    SILENT = "silent"
    """A client that does not report itself. `Seen.origin` says whose software it is."""


class Origin(StrEnum):
    """The origin of the software of a client that does not report itself."""

    FOREIGN = "foreign"
    UNTRACED = "untraced"
    """One of our clients that does not report itself: it has no tracer, or it has ended."""


class ClientKey(NamedTuple):
    """The name of a client on the screen. It stays the same as long as the client is listed."""

    role: Role
    client: str
    source: Source | None = None
    """The process that reports the client. None if only brokers report it."""
    group: str = ""
    member: str = ""
    """The client's group and member id, if only the group's coordinator reports the client."""


class News(NamedTuple):
    """A fact about a client, in words."""

    at_us: int
    words: str
    kind: str
    """`ok`, `warning` or `error`."""
    envelope: Envelope
    times: int = 1
    """How often the fact happened, with only short pauses in between."""


class ClientView:
    """One client that reports itself."""

    def __init__(self, key: ClientKey) -> None:
        self.key = key
        self.kind: str = key.role
        """The word for the client on the screen."""
        self.producer: ProducerDescription | None = None
        self.consumer: ConsumerDescription | None = None
        """The consumer's last sample. If `producer` and `consumer` are both None, only facts about
        the client are known, and not its buffers and time limits.
        """
        self.state = ""
        self.assigned: tuple[str, ...] = ()
        """If there is no sample: the membership's state and the partitions, as facts report
        them.
        """
        self.sampled_us = 0
        self.rate = Rate()
        """Records a second: acknowledged to a producer, or returned by a consumer's poll()."""
        self.fills: deque[int] = deque(maxlen=_FILLS)
        """The most bytes of buffer.memory in use, for each half second of the last ten seconds."""
        self._filled_us = 0
        self.news: deque[News] = deque(maxlen=KEPT_NEWS)
        self.retried_us = 0
        """When a batch was last put back into the queue, in µs. 0 if that did not happen since the
        dashboard was opened.
        """
        self.failed_us = 0
        self.confirmed = True
        """False from the beginning of a snapshot until the part about this client has been
        received.
        """

    def produce(self, state: ProducerDescription, at_us: int) -> None:
        """Process a sample of a producer."""
        self.producer, self.sampled_us, self.confirmed = state, at_us, True
        self.rate.sample(state.acked, at_us)
        if self.fills and at_us - self._filled_us < _FILL_US:
            self.fills[-1] = max(self.fills[-1], state.buffer_used)
        else:
            self.fills.append(state.buffer_used)
            self._filled_us = at_us

    def consume(self, state: ConsumerDescription, at_us: int) -> None:
        """Process a sample of a consumer."""
        self.consumer, self.sampled_us, self.confirmed = state, at_us, True
        self.rate.sample(state.records, at_us)


class BrokerSide:
    """A client as one broker knows it from its requests."""

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.requests = ClientRequests("", 0, 0, 0, 0)
        self.sampled_us = 0
        self.produces = Rate()
        self.bytes = Rate()
        self.fetches = Rate()

    def take(self, requests: ClientRequests, at_us: int) -> None:
        self.requests, self.sampled_us = requests, at_us
        self.produces.sample(requests.produces, at_us)
        self.bytes.sample(requests.produced_bytes, at_us)
        self.fetches.sample(requests.fetches, at_us)

    def rates(self, now_us: int) -> tuple[float, float, float]:
        """Return produces, produced bytes and fetches per second, or 0 if the sample is old.

        A broker sends a sample of a client only if the client has sent requests.
        """
        if now_us - self.sampled_us > OLD_US:
            return 0.0, 0.0, 0.0
        return self.produces.now, self.bytes.now, self.fetches.now

    def heard_us_ago(self, now_us: int) -> int:
        """Return how long ago the client's last request was done, in µs."""
        return max(now_us - self.sampled_us, 0) + 1000 * self.requests.heard_ms_ago


class Seen(NamedTuple):
    """A client that does not report itself, as brokers see it."""

    key: ClientKey
    origin: Origin
    asked: tuple[BrokerSide, ...]
    """The client's produces and fetches of the last minute, one entry for each broker."""
    story: GroupStory | None
    """The client's group, or None if it is not known as a member of a group."""
    member: MemberState | None
    lag: int | None
    offsets: tuple[tuple[Partition, int | None, int | None], ...]
    """For each of the client's partitions: the group's committed offset and the high watermark."""

    @property
    def kind(self) -> str:
        """The word for the client on the screen."""
        return self.origin


class ClientsView:
    """All clients. They change only through `apply`."""

    READS: Final = frozenset(
        {
            *PRODUCER_EVENTS,
            *CONSUMER_EVENTS,
            *LINK_EVENTS,
            ClientRequestsSnapshot,
            ClientRequestsSampled,
            SnapshotBegins,
            SnapshotEnds,
            LinkLost,
        }
    )
    """The types of events that change this view."""

    def __init__(self, groups: GroupsView) -> None:
        self._groups = groups
        self.glow = Glow()
        self.by_key: dict[ClientKey, ClientView] = {}
        self._asked: dict[str, dict[Source, BrokerSide]] = {}
        self._closed: OrderedDict[str, int] = OrderedDict()
        """Client of ours that has ended → time of its end in µs. It must not be listed as
        foreign.
        """
        self._known: dict[tuple[Source, str], list[ClientView]] = {}

    @property
    def now_us(self) -> int:
        return self.glow.now_us

    def advance(self, now_us: int) -> None:
        self.glow.advance(now_us)

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1), and O(clients) if a process begins or ends."""
        self.glow.advance(envelope.mono_us)
        at_us = envelope.mono_us
        match envelope.event:
            case ProducerSampled(producer=made) | ProducerSnapshot(producer=made):
                self._of(envelope, Role.PRODUCER, made.client).produce(made, at_us)
            case ConsumerSampled(consumer=read) | ConsumerSnapshot(consumer=read):
                self._of(envelope, Role.CONSUMER, read.client).consume(read, at_us)
            case SnapshotBegins():
                for view in self._of_source(envelope.source):
                    view.confirmed = False
            case SnapshotEnds():
                for view in self._of_source(envelope.source):
                    if not view.confirmed:
                        self._drop(view.key)
            case LinkLost():
                for view in self._of_source(envelope.source):
                    self._drop(view.key)
                    self._close(view.key.client, at_us)
                for client in [name for name, by in self._asked.items() if envelope.source in by]:
                    del self._asked[client][envelope.source]
            case ClientRequestsSnapshot(requests=asked) | ClientRequestsSampled(requests=asked):
                self._ask(envelope, asked)
            case ClientClosed(client=client, role=role):
                for view in self._known.get((envelope.source, client), []).copy():
                    if role in (view.key.role.value, ""):
                        self._drop(view.key)
                        self._close(client, at_us)
            case BatchRetried() | BatchSplit() | BatchFailed() as event:
                view = self._of(envelope, Role.PRODUCER, event.client)
                if isinstance(event, BatchFailed):
                    view.failed_us = at_us
                    self._tell(view, envelope, "error")
                else:
                    view.retried_us = at_us
                    self._tell(view, envelope, "warning")
                self.glow.touch("partition", view.key, event.topic, event.partition)
            case (
                ProducerStateChanged(client=client)
                | ProducerEpochBumped(client=client)
                | TransactionCoordinatorChanged(client=client)
                | PartitionsAddedToTransaction(client=client)
                | OffsetsAddedToTransaction(client=client)
            ):
                self._tell(self._of(envelope, Role.PRODUCER, client), envelope, "ok")
            case ClientConnected(client=client):
                for view in self._known.get((envelope.source, client), ()):
                    self._tell(view, envelope, "ok")
            case ClientDisconnected(client=client):
                for view in self._known.get((envelope.source, client), ()):
                    self._tell(view, envelope, "warning")
            case MembershipChanged(client=client, after=after):
                view = self._of(envelope, Role.CONSUMER, client)
                view.state = after
                self.glow.touch("state", view.key)
                self._tell(view, envelope, "ok" if after == STABLE else "warning")
            case ConsumerAssigned(client=client, partitions=partitions):
                view = self._of(envelope, Role.CONSUMER, client)
                view.assigned = partitions
                self._tell(view, envelope, "ok")
            case ConsumerCommitted(client=client, error=error, offsets=offsets):
                view = self._of(envelope, Role.CONSUMER, client)
                for name, _ in offsets:
                    self.glow.touch("committed", view.key, *TopicPartition.parse(name))
                if error:
                    self._tell(view, envelope, "error")
            case (
                ConsumerSubscribed(client=client)
                | GroupCoordinatorChanged(client=client)
                | FetchStateChanged(client=client)
                | PartitionPaused(client=client)
                | PartitionResumed(client=client)
            ):
                self._tell(self._of(envelope, Role.CONSUMER, client), envelope, "ok")
            case _:
                pass

    def _of(self, envelope: Envelope, role: Role, client: str) -> ClientView:
        key = ClientKey(role, client, envelope.source)
        view = self.by_key.get(key)
        if view is None:
            view = self.by_key[key] = ClientView(key)
            self._known.setdefault((envelope.source, client), []).append(view)
            if len(self.by_key) > KEPT_CLIENTS:
                self._drop(next(iter(self.by_key)))
        return view

    def _drop(self, key: ClientKey) -> None:
        self.by_key.pop(key)
        assert key.source is not None
        place = (key.source, key.client)
        rest = [view for view in self._known.get(place, []) if view.key != key]
        if rest:
            self._known[place] = rest
        else:
            self._known.pop(place, None)

    def _close(self, client: str, at_us: int) -> None:
        self._closed[client] = at_us
        self._closed.move_to_end(client)
        if len(self._closed) > KEPT_CLIENTS:
            self._closed.popitem(last=False)

    def _of_source(self, source: Source) -> list[ClientView]:
        return [view for view in self.by_key.values() if view.key.source == source]

    def _ask(self, envelope: Envelope, requests: ClientRequests) -> None:
        by_broker = self._asked.setdefault(requests.client, {})
        if len(self._asked) > KEPT_CLIENTS:
            del self._asked[next(iter(self._asked))]
        asked = by_broker.get(envelope.source)
        if asked is None:
            asked = by_broker[envelope.source] = BrokerSide(envelope.source.id)
        asked.take(requests, envelope.mono_us)

    def _tell(self, view: ClientView, envelope: Envelope, kind: str) -> None:
        """Add a fact to a client's news. If the same fact is one of the last few, increase its
        count.
        """
        words, news = fact_text(envelope.event).removeprefix(f"{view.key.client}: "), view.news
        times = 1
        for back in range(1, min(len(news), _SAME_NEWS) + 1):
            if news[-back].words == words:
                times += news[-back].times
                del news[-back]
                break
        news.append(News(envelope.mono_us, words, kind, envelope, times))

    def clients(self) -> list[ClientView]:
        """Return the clients that report themselves: producers first, then by name."""
        return sorted(
            self.by_key.values(),
            key=lambda view: (view.key.role is Role.CONSUMER, view.key.client, view.key.source),
        )

    def seen(self) -> list[Seen]:
        """Return the clients that do not report themselves, by name. O(members + clients)."""
        own = {view.key.client for view in self.by_key.values()}
        found, members = [], set()
        for story in self._groups.groups():
            for member in story.sampled.values():
                if member.client_id not in own:
                    members.add(member.client_id)
                    found.append(self._seen(story, member))
        for client in self._asked:
            asked = self._asked_by(client)
            if client not in own and client not in members and asked:
                key = ClientKey(Role.SILENT, client)
                found.append(Seen(key, self._origin(client), asked, None, None, None, ()))
        return sorted(found, key=lambda seen: seen.key)

    def by_member(self, group: str) -> "dict[str, ClientView | Seen]":
        """Return member → its client, for the members of a group whose client is known.

        O(members + clients).
        """
        found: dict[str, ClientView | Seen] = {}
        for seen in self.seen():
            if seen.member is not None and seen.key.group == group:
                found.setdefault(seen.member.member, seen)
        own = [view for view in self.by_key.values() if view.consumer is not None]
        for view in reversed(own):  # clients that report themselves win
            state = view.consumer
            if state is not None and state.group == group:
                found[state.member_id] = view
        return found

    def of_member(self, group: str, member: str) -> "ClientView | Seen | None":
        """Return the client that is this member of a group, or None if it is not known.

        O(members + clients).
        """
        return self.by_member(group).get(member)

    def _origin(self, client: str) -> Origin:
        """Return the origin of a client's software, from a broker's sample of any age."""
        by_broker = self._asked.get(client, {})
        ours = any(e.requests.software.startswith(_OUR_SOFTWARE) for e in by_broker.values())
        return Origin.UNTRACED if ours else Origin.FOREIGN

    def _asked_by(self, client: str) -> tuple[BrokerSide, ...]:
        """Return the recent requests of a client, as each broker knows them, sorted by broker."""
        by_broker = sorted(self._asked.get(client, {}).items())
        now_us = self.now_us
        own_us = now_us - self._closed.get(client, -_HEARD_US) - _SAMPLE_US
        limit_us = min(_HEARD_US, own_us)
        return tuple(each for _, each in by_broker if each.heard_us_ago(now_us) < limit_us)

    def _seen(self, story: GroupStory, member: MemberState) -> Seen:
        rebalances = self._groups.rebalances
        rows, lags = [], []
        for topic, numbers in member.partitions:
            for number in numbers:
                tp = (topic, number)
                end = rebalances.ends.get(tp)
                hw = end.hw if end is not None and end.hw >= 0 else None
                rows.append((tp, story.offsets.get(tp), hw))
                lag = rebalances.lag(story, tp)
                if lag is not None:
                    lags.append(lag)
        key = ClientKey(Role.SILENT, member.client_id, None, story.group, member.member)
        asked, origin = self._asked_by(member.client_id), self._origin(member.client_id)
        lag = sum(lags) if lags else None
        return Seen(key, origin, asked, story, member, lag, tuple(rows))

    def old_us(self, view: ClientView) -> int:
        """Return the age of a client's sample in µs, or 0 if it is up to date."""
        age = self.now_us - view.sampled_us
        return age if view.sampled_us and age > OLD_US else 0

    def answer(self) -> Answer:
        """Answer the screen's question in a sentence about the worst trouble."""
        views = self.clients()
        troubles = [found for view in views if (found := self.trouble(view))]
        if troubles:
            return min(troubles, key=lambda found: ("error", "warning").index(found.kind))
        if not views:
            rest = len(self.seen())
            if not rest:
                return Answer("ok", "no client reports itself: start a load with l")
            return Answer("ok", f"no client reports itself; brokers see {plural(rest, 'client')}")
        parts = []
        acked = sum(v.rate.now for v in views if v.key.role is Role.PRODUCER)
        if any(view.producer for view in views):
            parts.append(f"{per_second(acked)} acked")
        lags = [lag for view in views if view.consumer and (lag := lag_of(view.consumer)) >= 0]
        if lags:
            parts.append(f"the largest lag is {count(max(lags))}")
        words = f"{plural(len(views), 'client')} without trouble"
        return Answer("ok", ": ".join([words, ", ".join(parts)]) if parts else words)

    def trouble(self, view: ClientView) -> Answer | None:
        """Return the trouble of a client, or None."""
        name = f"{view.key.role} {view.key.client}"
        if age := self.old_us(view):
            return Answer("warning", f"{name} has reported nothing for {duration(age / 1000)}")
        if view.producer is not None:
            return self._producer_trouble(name, view, view.producer)
        if view.consumer is not None:
            return _consumer_trouble(name, view.consumer)
        return None

    def _producer_trouble(
        self, name: str, view: ClientView, state: ProducerDescription
    ) -> Answer | None:
        if state.waiting_sends:
            return Answer(
                "error",
                f"{name}: {plural(state.waiting_sends, 'call')} of send() wait for memory:"
                f" {size(state.buffer_used)} of {size(state.buffer_memory)} are used",
            )
        if view.failed_us and self.now_us - view.failed_us < _RECENT_US:
            return Answer("error", f"{name} gave up batches: {count(state.failed)} records failed")
        stuck = [each for each in state.partitions if each.wait in _STUCK]
        if stuck:
            worst = max(stuck, key=lambda each: each.age_ms)
            held = sum(each.records for each in stuck)
            return Answer(
                "warning",
                f"{name} holds {plural(held, 'record')} back for {duration(worst.age_ms)}:"
                f" {worst.topic}-{worst.partition}: {WAITS[worst.wait]}",
            )
        if view.retried_us and self.now_us - view.retried_us < _RECENT_US:
            ago = duration((self.now_us - view.retried_us) / 1000)
            return Answer(
                "warning",
                f"{name} has sent {plural(state.retried, 'batch')} again, the last {ago} ago",
            )
        return None


def _consumer_trouble(name: str, state: ConsumerDescription) -> Answer | None:
    left = state.max_poll_interval_ms - state.polled_ms_ago
    member = bool(state.member_id)
    if member and state.polled_ms_ago * 2 > state.max_poll_interval_ms:
        return Answer(
            "error" if left * 4 < state.max_poll_interval_ms else "warning",
            f"{name} has not called poll() for {duration(state.polled_ms_ago)}: it leaves its group"
            f" in {duration(max(left, 0))} (max.poll.interval.ms)",
        )
    if 0 <= state.session_left_ms * 2 < state.session_timeout_ms:
        return Answer(
            "warning",
            f"{name} has got no answer to a heartbeat: its session ends in"
            f" {duration(state.session_left_ms)}",
        )
    if state.group and state.state != STABLE and state.polled_ms_ago >= 0:
        if not member and state.polled_ms_ago > state.max_poll_interval_ms:
            return Answer(
                "error", f"{name} left its group: max.poll.interval.ms was over before poll()"
            )
        if member:
            return Answer("warning", f"{name} rebalances: {state.state}")
    return None


def lag_of(state: ConsumerDescription) -> int:
    """Return the sum of the partitions' lags, or -1 if no lag is known."""
    lags = [lag for each in state.partitions if (lag := lag_of_partition(each)) >= 0]
    return sum(lags) if lags else -1


def lag_of_partition(each: ConsumedPartition) -> int:
    """Return how far the position is below the high watermark, in offsets. -1 if unknown."""
    if min(each.position, each.high_watermark) < 0:
        return -1
    return max(each.high_watermark - each.position, 0)


def in_flight(links: tuple[ClientLink, ...]) -> int:
    return sum(link.in_flight for link in links)


def fill_of(each: PartitionBuffer, batch_size: int) -> float:
    """Return the filled part of the batch that still takes records: 0.0 to 1.0."""
    return min(each.filling / batch_size, 1.0) if batch_size > 0 else 0.0
