"""The life of one record, step by step: from the log's files and from the events (spec M1, D3).

The log says where the record is. The hops of requests say how the record got there and which
clients read it. Fast requests have hops only in recordings of level hops. If a stage of the
record's life has no hop, the story says that this stage was not recorded. It also says what the
current state shows, such as the present high watermark.

This module is pure: `stored_record` reads the log's files.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.client_steps import (
    PRODUCE,
    Delivery,
    ProducerSteps,
    answer_of,
    cause_of,
    commit_steps,
    delivered_text,
    deliveries,
    fetched_text,
    sent_text,
)
from kafka_edu.instruments.sentences.words import micros
from kafka_edu.instruments.story_step import Step, step_of
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.client import RecordAcknowledged
from kafka_edu.trace.events.group import GroupMembersSnapshot, OffsetsCommitted
from kafka_edu.trace.events.log import (
    BatchValidated,
    LogCreated,
    LogLoaded,
    LogState,
    SegmentAppended,
    SegmentRead,
)
from kafka_edu.trace.events.network import ConnectionOpened, RequestReceived, ResponseSent
from kafka_edu.trace.events.purgatory import OperationCompleted, OperationWatched
from kafka_edu.trace.events.replication import (
    FollowerAppended,
    FollowerFetched,
    HighWatermarkAdvanced,
    LogTruncatedByEpoch,
    LogTruncatedByRange,
    PartitionSnapshot,
    ProduceAppended,
    ReplicaMoveCompleted,
)
from kafka_edu.trace.events.server import ProduceAnswered, RequestDequeued
from kafka_edu.trace.reader import History

OFFSET_COMMIT: Final = 8
TXN_OFFSET_COMMIT: Final = 28
OFFSETS_TOPIC: Final = "__consumer_offsets"
_FOLLOWER: Final = re.compile(r"broker-\d+-fetcher-\d+")
E = TypeVar("E", bound=tuple[object, ...])


class Stored(NamedTuple):
    """A record as the log of one replica holds it."""

    file: str
    segment: int
    """The base offset of the record's segment."""
    position: int
    """The position (bytes) in the segment at which the record's batch begins."""
    size: int
    first_offset: int
    last_offset: int
    records: int
    codec: str
    magic: int
    leader_epoch: int
    producer_id: int
    is_transactional: bool
    is_control: bool
    is_valid: bool
    """Whether the batch's checksum is right."""
    timestamp_ms: int
    key: str | None
    value_bytes: int | None
    """The size of the value in bytes. None if the value is null (a tombstone)."""
    log_end: int


class Absent(NamedTuple):
    """The reason why a record was not found in a log."""

    reason: str
    log_end: int | None
    is_known: bool = True
    """True if the record is really not in the log. False if the log's files could not be read."""


class NoStoryError(Exception):
    """There is no story of this record. The message says why, in one line."""


class Place(NamedTuple):
    """The place of a record: topic, partition and offset."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"

    @staticmethod
    def parse(text: str) -> "Place":
        """Parse a place such as `web-0@1234`. Raises NoStoryError for any other text."""
        name, at, offset = text.rpartition("@")
        try:
            if not (at and offset.isascii() and offset.isdecimal()):
                raise ValueError
            topic, partition = TopicPartition.parse(name)
        except ValueError:
            raise NoStoryError(
                f"'{text}' names no record: write TOPIC-PARTITION@OFFSET, web-0@1234"
            ) from None
        return Place(topic, partition, int(offset))


class Known(NamedTuple):
    """The current state of a partition, as the snapshots in the events describe it."""

    log_dirs: dict[int, str]
    """Each broker id, and the log directory of its replica."""
    leader: int
    high_watermark: int
    """The high watermark on the leader. -1 if it is not known."""
    topics: frozenset[str]
    partitions: frozenset[int]
    """The numbers of all partitions of this topic."""
    groups: dict[str, int]
    """Each group, and the offset that it has committed for this partition."""
    log_ends: dict[int, int]
    """Each broker id, and its log end offset when its last snapshot was taken."""


def known_of(envelopes: Iterable[Envelope], place: Place) -> Known:
    """Return the state of the partition as the snapshots describe it. O(events)."""
    log_dirs: dict[int, str] = {}
    groups: dict[str, int] = {}
    ends: dict[int, int] = {}
    leader, hw = -1, -1
    topics: set[str] = set()
    partitions: set[int] = set()
    for envelope in envelopes:
        event, broker = envelope.event, envelope.broker
        if isinstance(event, ReplicaMoveCompleted):
            if (event.topic, event.partition) == place[:2] and broker is not None:
                log_dirs[broker] = event.to_dir
        elif isinstance(event, LogState | LogCreated | LogLoaded) and broker is not None:
            topics.add(event.topic)
            if event.topic == place.topic:
                partitions.add(event.partition)
                if event.partition == place.partition:
                    log_dirs[broker] = event.log_dir
            if isinstance(event, LogState) and event[:2] == place[:2]:
                ends[broker] = event.log_end_offset
        elif isinstance(event, PartitionSnapshot) and broker is not None:
            topics.add(event.topic)
            if event.topic != place.topic:
                continue
            partitions.add(event.partition)
            if event.partition == place.partition and event.leader == broker:
                leader, hw = broker, event.progress.hw
        elif isinstance(event, GroupMembersSnapshot):
            for topic, partition, offset in event.state.offsets:
                if (topic, partition) == place[:2]:
                    groups[event.state.group.group] = offset
        else:
            name, number = getattr(event, "topic", None), getattr(event, "partition", None)
            if isinstance(name, str) and name:
                topics.add(name)
                if name == place.topic and isinstance(number, int):
                    partitions.add(number)
    return Known(log_dirs, leader, hw, frozenset(topics), frozenset(partitions), groups, ends)


class _Request(NamedTuple):
    """The produce request that wrote the record, from one of its hops."""

    envelope: Envelope
    connection_id: str
    correlation_id: int


class Story:
    """The life of one record as a list of steps."""

    def __init__(
        self,
        place: Place,
        history: History,
        known: Known,
        stored: Mapping[int, Stored | Absent],
    ) -> None:
        """Put the story together. `stored` maps each broker id to the result of reading that
        broker's log.
        """
        self.place = place
        self.known = known
        self.stored = stored
        self._history = history
        self.steps: list[Step] = list(self._tell())
        began_us = self.begins.mono_us if self.begins is not None else 0
        cuts = list(self._cuts())
        # A truncation before the record was written removed another record with the same offset.
        earlier = [s for s in cuts if s.envelope is not None and s.envelope.mono_us < began_us]
        self.steps = [*earlier, *self.steps, *(step for step in cuts if step not in earlier)]

    @property
    def best(self) -> tuple[int, Stored] | None:
        """Return the leader's copy of the record. If the leader has none, return any broker's
        copy.
        """
        held = {broker: one for broker, one in self.stored.items() if isinstance(one, Stored)}
        if not held:
            return None
        broker = self.known.leader if self.known.leader in held else min(held)
        return broker, held[broker]

    @property
    def begins(self) -> Envelope | None:
        """Return the first recorded hop of the record itself. Times are counted from this hop."""
        return next(
            (
                step.envelope
                for step in self.steps
                if step.envelope is not None and step.stage not in ("connection", "cut")
            ),
            None,
        )

    def _tell(self) -> Iterator[Step]:
        appended = self._appended()
        origin = appended or self._written()
        dequeued = self._cause(origin, RequestDequeued)
        received = self._cause(dequeued, RequestReceived)
        answered = self._answered(appended)
        request = _request_of(received, dequeued, answered)
        producer = ProducerSteps(
            self._history, *self.place, first_offset=self._first_offset(appended), received=received
        )
        yield self._connected(request, origin)
        yield from producer.before_the_broker()
        yield step_of(received, "request", "when the request arrived", _received_text)
        yield step_of(dequeued, "queue", "how long it was in the queue", _dequeued_text)
        validated = self._beside(origin, BatchValidated)
        yield step_of(validated, "batch", "how the batch was checked", _batch_text)
        yield step_of(self._written(), "log", "when it was written", _written_text)
        waits = self._beside(origin, OperationWatched, lambda e: e.purgatory == "Produce")
        if waits is not None:
            yield Step("wait", waits, "the answer has to wait for the followers (acks=all)")
        yield from self._replication(origin)
        yield from self._answer(request, answered)
        yield from producer.after_the_broker()
        for envelope, acked in self._all(RecordAcknowledged):
            if acked.offset == self.place.offset:
                yield Step("answer", envelope, f"producer {acked.client} has its acknowledgement")
        yield from self._consumers()
        yield from self._groups()

    def _first_offset(self, appended: Envelope | None) -> int | None:
        """Return the offset of the first record in the record's batch, or None if unknown."""
        if appended is not None and isinstance(appended.event, ProduceAppended):
            return appended.event.first_offset
        return self.best[1].first_offset if self.best is not None else None

    def _appended(self) -> Envelope | None:
        """Return the append on the leader. If there were several appends, return the last one.

        After a truncation an offset is used again, so several appends of the same offset are
        possible.
        """
        found = [
            e
            for e, event in self._all(ProduceAppended)
            if event.first_offset <= self.place.offset < event.required_offset
        ]
        return found[-1] if found else None

    def _written(self) -> Envelope | None:
        """Return the last write to the leader's segment, without writes that came by
        replication.
        """
        followed = {(e.source, e.cause, e.mono_us) for e, _ in self._all(FollowerAppended)}
        found = [
            e
            for e, event in self._all(SegmentAppended)
            if event.first_offset <= self.place.offset <= event.last_offset
            and e.cause
            and (e.source, e.cause, e.mono_us) not in followed
        ]
        return found[-1] if found else None

    def _answered(self, appended: Envelope | None) -> Envelope | None:
        """Return the response that names the record's offset, from the broker that appended the
        record.
        """
        place = self.place
        found = [
            e
            for e in self._history.events
            if isinstance(e.event, ProduceAnswered)
            and (appended is None or e.source == appended.source)
            and any(
                (topic, partition) == place[:2] and first <= place.offset < end
                for topic, partition, first, end, _ in e.event.partitions
            )
        ]
        return found[-1] if found else None

    def _connected(self, request: _Request | None, origin: Envelope | None) -> Step:
        found = [
            e
            for e in self._history.events
            if request is not None
            and isinstance(e.event, ConnectionOpened)
            and e.event.connection_id == request.connection_id
            and e.source == request.envelope.source
            and e.mono_us <= request.envelope.mono_us
        ]
        before = found[-1] if found else None
        return step_of(before, "connection", "when the producer connected", _opened_text)

    def _replication(self, origin: Envelope | None) -> Iterator[Step]:
        offset = self.place.offset
        stores = self._all(FollowerAppended)
        leader = origin.broker if origin is not None else self.known.leader
        followers = {b for b in self.stored if b != leader} | {e.follower for _, e in stores}
        for broker in sorted(followers):
            yield self._stored_by(broker, stores)
            told = [
                (e, event)
                for e, event in self._all(FollowerFetched)
                if event.follower == broker and event.fetch_offset > offset
            ]
            if told:
                envelope, fetched = told[0]
                yield Step(
                    "follower",
                    envelope,
                    f"broker {broker} fetches from {fetched.fetch_offset:,} on, which tells the"
                    " leader that it has the record",
                )
        yield self._committed()

    def _stored_by(self, broker: int, stores: list[tuple[Envelope, FollowerAppended]]) -> Step:
        offset = self.place.offset
        for envelope, event in reversed(stores):
            if event.follower == broker and event.fetch_offset <= offset < event.log_end_offset:
                text = f"broker {broker} stores it, with its fetch from {event.fetch_offset:,} on"
                return Step("follower", envelope, text)
        match self.stored.get(broker):
            case Stored():
                return Step(
                    "follower", None, f"broker {broker} holds it; the moment was not recorded"
                )
            case Absent(log_end=None) | None if broker in self.known.log_ends:
                end = self.known.log_ends[broker]
                has = "holds it" if end > offset else "does not hold it"
                text = f"broker {broker} {has}, its log ends at {end:,}; when was not recorded"
                return Step("follower", None, text)
            case Absent(reason=reason, is_known=True):
                return Step("follower", None, f"broker {broker} does not hold it: {reason}")
            case Absent(reason=reason):
                text = f"whether broker {broker} holds it is not known: {reason}"
                return Step("follower", None, text)
        return Step("follower", None, f"the moment when broker {broker} stored it was not recorded")

    def _committed(self) -> Step:
        offset, hw = self.place.offset, self.known.high_watermark
        for envelope, moved in self._all(HighWatermarkAdvanced):
            if moved.is_leader and moved.before <= offset < moved.after:
                text = f"the high watermark moves {moved.before:,} → {moved.after:,}: committed"
                return Step("committed", envelope, text)
        if hw > offset:
            text = (
                f"committed: the high watermark is {hw:,}; the moment when it passed was not"
                " recorded"
            )
            return Step("committed", None, text)
        if hw >= 0:
            return Step("committed", None, f"not committed: the high watermark is {hw:,}")
        return Step("committed", None, "when it was committed was not recorded")

    def _answer(self, request: _Request | None, answered: Envelope | None) -> Iterator[Step]:
        done = self._cause(answered, OperationCompleted)
        if done is not None and isinstance(done.event, OperationCompleted):
            event = done.event
            text = f"the wait ends after {duration(event.waited_ms)}: {event.cause or event.by}"
            yield Step("waited", done, text)
        sent = [
            e
            for e in self._history.events
            if request is not None
            and isinstance(e.event, ResponseSent)
            and e.source == request.envelope.source
            and (e.event.connection_id, e.event.correlation_id)
            == (request.connection_id, request.correlation_id)
        ]
        yield step_of(
            sent[-1] if sent else None, "answer", "when the producer was answered", _sent_text
        )

    def _consumers(self) -> Iterator[Step]:
        """Yield the steps of each consumer, in the order in which they read the record."""
        told: list[list[Step]] = []
        seen: set[str] = set()
        for delivery in deliveries(self._history, *self.place):
            seen.add(delivery.client)
            told.append(list(self._delivered(delivery)))
        for envelope, read in self._all(SegmentRead):
            if not self._covers(envelope, read):
                continue
            client = self._reader_of(envelope)
            if client and client not in seen and not _FOLLOWER.fullmatch(client):
                seen.add(client)
                told.append([self._read_step(client, envelope, read)])
        if not told:
            yield Step("consumer", None, "no fetch of this record by a consumer was recorded")
        for steps in sorted(told, key=_when):
            yield from steps

    @staticmethod
    def _read_step(client: str, envelope: Envelope, read: SegmentRead) -> Step:
        text = f"consumer {client} fetches it, from offset {read.start_offset:,} on"
        return Step("consumer", envelope, text)

    def _delivered(self, delivery: Delivery) -> Iterator[Step]:
        """Yield the steps from a fetch of one of our consumers to the `poll()` that returns the
        record. If `poll()` has returned the record before, only the step of `poll()` is yielded.
        """
        if delivery.is_first:
            if delivery.sent is not None:
                yield Step("fetch", delivery.sent, sent_text(delivery.sent))
            answer = answer_of(self._history, delivery.response)
            waited = self._cause(answer, OperationCompleted)
            if waited is not None and isinstance(waited.event, OperationCompleted):
                event = waited.event
                text = (
                    f"its fetch has waited {duration(event.waited_ms)}: {event.cause or event.by}"
                )
                yield Step("fetch", waited, text)
            read = self._beside(
                answer,
                SegmentRead,
                lambda e: e.start_offset <= self.place.offset,
            )
            if read is not None and isinstance(read.event, SegmentRead):
                yield self._read_step(delivery.client, read, read.event)
            if answer is not None:
                yield Step("fetch", answer, _sent_text(answer.event))
            yield Step("fetch", delivery.fetched, fetched_text(delivery))
        yield Step("delivered", delivery.advanced, delivered_text(delivery))

    def _covers(self, envelope: Envelope, read: SegmentRead) -> bool:
        """Return whether this read of a segment includes the record: its batch begins in the bytes
        read.
        """
        if read.start_offset > self.place.offset:
            return False
        at = self._place_in(envelope)
        if at is None:
            return False
        segment, position = at
        return (
            read.segment_base_offset == segment
            and read.position <= position < read.position + read.size
        )

    def _place_in(self, envelope: Envelope) -> tuple[int, int] | None:
        """Return the record's segment and the position of its batch, on the broker of this
        event.
        """
        stored = self.stored.get(-1 if envelope.broker is None else envelope.broker)
        if isinstance(stored, Stored):
            return stored.segment, stored.position
        for e, event in self._all(SegmentAppended):
            if (
                e.source == envelope.source
                and event.first_offset <= self.place.offset <= event.last_offset
            ):
                return event.segment_base_offset, event.position
        return None

    def _reader_of(self, read: Envelope) -> str:
        """Return the client id of the fetch that read the segment, or "" if it is not known."""
        seen: Envelope | None = read
        while seen is not None:
            match seen.event:
                case RequestReceived(client_id=client) | OperationCompleted(client=client):
                    return client
            seen = cause_of(self._history, seen)
        return ""

    def _groups(self) -> Iterator[Step]:
        seen: set[str] = set()
        for envelope in self._history.events:
            event = envelope.event
            if not isinstance(event, OffsetsCommitted) or event.group in seen:
                continue
            for topic, partition, offset in event.offsets:
                if (topic, partition) == self.place[:2] and offset > self.place.offset:
                    seen.add(event.group)
                    yield from self._commit(envelope, event.group, offset)
        for group, offset in sorted(self.known.groups.items()):
            if offset > self.place.offset and group not in seen:
                seen.add(group)
                text = (
                    f"group {group} has committed {offset:,}, past it; the moment was not recorded"
                )
                yield Step("group", None, text)
        if not seen:
            yield Step("group", None, "no commit of a group past it was recorded")

    def _commit(self, committed: Envelope, group: str, offset: int) -> Iterator[Step]:
        """Yield the steps of one commit: the consumer's request, the coordinator's append and its
        replication, the commit, and the consumer's response.
        """
        answer = self._beside(
            committed, ResponseSent, lambda e: e.api_key in (OFFSET_COMMIT, TXN_OFFSET_COMMIT)
        )
        received = self._request_of_answer(answer)
        dequeued = None
        if received is not None:
            for link in self._history.children(received):
                if isinstance(link.effect.event, RequestDequeued):
                    dequeued = link.effect
        consumer = commit_steps(self._history, received, offset)
        yield from consumer[:1]
        if dequeued is not None:
            for link in self._history.children(dequeued):
                match link.effect.event:
                    case ProduceAppended() as appended if appended.topic == OFFSETS_TOPIC:
                        yield from self._stored_commit(link.effect, appended)
        text = f"group {group} commits {offset:,}: it is past the record"
        yield Step("group", committed, text)
        if answer is not None and consumer:
            yield Step("commit", answer, _sent_text(answer.event))
        yield from consumer[1:]

    def _stored_commit(self, envelope: Envelope, appended: ProduceAppended) -> Iterator[Step]:
        name, first = f"{appended.topic}-{appended.partition}", appended.first_offset
        yield Step("commit", envelope, f"the coordinator appends it to {name} at offset {first:,}")
        for moved in self._history.events:
            match moved.event:
                case HighWatermarkAdvanced(
                    topic=appended.topic, partition=appended.partition, before=before, after=after
                ) if moved.source == envelope.source and before <= first < after:
                    text = f"the high watermark of {name} moves {before:,} → {after:,}"
                    yield Step("commit", moved, text)
                    return

    def _request_of_answer(self, answer: Envelope | None) -> Envelope | None:
        """Return the request that a broker answered with this response."""
        if answer is None or not isinstance(answer.event, ResponseSent):
            return None
        key = answer.event.connection_id, answer.event.correlation_id
        found = [
            e
            for e in self._history.events
            if isinstance(e.event, RequestReceived)
            and e.source == answer.source
            and (e.event.connection_id, e.event.correlation_id) == key
            and e.mono_us <= answer.mono_us
        ]
        return found[-1] if found else None

    def _cuts(self) -> Iterator[Step]:
        cuts = [
            *((e, cut.before, cut.after) for e, cut in self._all(LogTruncatedByEpoch)),
            *((e, cut.before, cut.after) for e, cut in self._all(LogTruncatedByRange)),
        ]
        for envelope, before, after in cuts:
            if after <= self.place.offset < before:
                text = f"broker {envelope.broker} cuts its log back from {before:,} to {after:,}"
                yield Step("cut", envelope, f"{text} and loses the record that was here then")

    def _all(self, kind: type[E]) -> list[tuple[Envelope, E]]:
        """Return all events of one type about this partition, in order. O(events)."""
        topic, partition, _ = self.place
        return [
            (e, e.event)
            for e in self._history.events
            if isinstance(e.event, kind)
            and getattr(e.event, "topic", None) == topic
            and getattr(e.event, "partition", None) == partition
        ]

    def _cause(self, envelope: Envelope | None, kind: type[tuple[object, ...]]) -> Envelope | None:
        """Return the cause of an event if it is of the type `kind`, else None."""
        cause = None if envelope is None else cause_of(self._history, envelope)
        return cause if cause is not None and isinstance(cause.event, kind) else None

    def _beside(
        self,
        envelope: Envelope | None,
        kind: type[E],
        wanted: Callable[[E], bool] = lambda event: True,
    ) -> Envelope | None:
        """Return the event of type `kind` that has the same cause as `envelope` and is nearest to
        it.

        Return None if `envelope` has no cause, or no event fits.
        """
        if envelope is None or not envelope.cause:
            return None
        found = [
            e
            for e in self._history.events
            if isinstance(e.event, kind)
            and (e.source, e.cause) == (envelope.source, envelope.cause)
            and getattr(e.event, "topic", self.place.topic) == self.place.topic
            and getattr(e.event, "partition", self.place.partition) == self.place.partition
            and wanted(e.event)
        ]
        return min(found, key=lambda e: abs(e.seq - envelope.seq), default=None)


def _when(steps: list[Step]) -> int:
    return next((step.envelope.mono_us for step in steps if step.envelope is not None), 0)


def _request_of(*hops: Envelope | None) -> _Request | None:
    for envelope in hops:
        if envelope is None:
            continue
        match envelope.event:
            case (
                RequestReceived(connection_id=connection, correlation_id=correlation)
                | RequestDequeued(connection_id=connection, correlation_id=correlation)
                | ProduceAnswered(connection_id=connection, correlation_id=correlation)
            ):
                return _Request(envelope, connection, correlation)
    return None


def _opened_text(event: object) -> str:
    assert isinstance(event, ConnectionOpened)
    return f"the producer connects: {event.connection_id}"


def _received_text(event: object) -> str:
    assert isinstance(event, RequestReceived)
    return (
        f"Produce v{event.api_version} #{event.correlation_id} of {event.client_id or 'a client'}"
        f" arrives, {event.size_bytes:,} bytes"
    )


def _dequeued_text(event: object) -> str:
    assert isinstance(event, RequestDequeued)
    return f"handler {event.handler} takes it, after {micros(event.queued_us)} in the queue"


def _batch_text(event: object) -> str:
    assert isinstance(event, BatchValidated)
    again = "; converted or compressed again" if event.rebuilt else ""
    return f"the batch is valid: {plural(event.records, 'record')}, {event.size:,} bytes{again}"


def _written_text(event: object) -> str:
    assert isinstance(event, SegmentAppended)
    return f"written to segment {event.segment_base_offset:,} at byte {event.position:,}"


def _sent_text(event: object) -> str:
    assert isinstance(event, ResponseSent)
    return f"the answer is sent, {micros(event.total_us)} after the request came"


def place_of_produce(history: History, client: str, correlation_id: int) -> list[Place]:
    """Return, for each partition that a produce request wrote to, the place of its first record.

    Raises NoStoryError if no hop of the request is known, or no hop contains its records.
    """
    requests = [
        e
        for e in history.events
        if isinstance(e.event, RequestReceived)
        and (e.event.api_key, e.event.client_id, e.event.correlation_id)
        == (PRODUCE, client, correlation_id)
    ]
    waits = [
        e
        for e in history.events
        if isinstance(e.event, OperationCompleted)
        and (e.event.purgatory, e.event.client, e.event.correlation_id)
        == ("Produce", client, correlation_id)
    ]
    if not requests and not waits:
        raise NoStoryError(
            f"no hop of produce {client}#{correlation_id} was recorded: fast requests are in"
            " recordings of level hops only"
        )
    places = {}
    for root in (*requests[-1:], *waits[-1:]):
        for _, node in history.effects_tree(root).walk():
            match node.envelope.event:
                case ProduceAppended(topic=topic, partition=partition, first_offset=first):
                    places[topic, partition] = Place(topic, partition, first)
                case ProduceAnswered(partitions=partitions):
                    for topic, partition, first, end, _ in partitions:
                        if end > first >= 0:
                            places[topic, partition] = Place(topic, partition, first)
    if not places:
        raise NoStoryError(f"produce {client}#{correlation_id} has no known record")
    return sorted(places.values())
