"""The steps of a record within our own clients: from `send()` to its callback, and from a fetch to
`poll()` and to the commit of its offset.

A client's events and a broker's events are joined by the connection and the correlation id
(docs/chains.md). The events within a producer are joined by the number of the batch. If two
producers of one process have the same client id, two batches may fit. In that case nobody knows
which batch is the right one, and the step counts as not recorded.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_edu.common.words import plural
from kafka_edu.instruments.sentences.words import api_name
from kafka_edu.instruments.story_step import Step
from kafka_edu.trace.chain_links import LinkKind
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.consumer import ConsumerCommitted, PositionAdvanced, RecordsFetched
from kafka_edu.trace.events.producer import (
    BatchAcknowledged,
    BatchDrained,
    BatchFailed,
    BatchRetried,
    BatchSplit,
    ClientRequestSent,
    ClientResponseReceived,
    RecordAccumulated,
)
from kafka_edu.trace.reader import History

PRODUCE: Final = 0
_OfBatch = BatchDrained | BatchRetried | BatchSplit | BatchAcknowledged | BatchFailed


class _Batch(NamedTuple):
    """A batch of a producer: the process, the number of the process's start, the client id, and the
    batch's number.
    """

    source: Source
    life: int
    client: str
    number: int


class ProducerSteps:
    """The steps of one record within the producer that sent it."""

    def __init__(
        self,
        history: History,
        topic: str,
        partition: int,
        offset: int,
        first_offset: int | None,
        received: Envelope | None,
    ) -> None:
        """Find the record's batch. `first_offset` is the offset of the first record in the batch,
        if it is known. `received` is the broker's event about receiving the request that wrote the
        record.
        """
        self._history = history
        self._tp = topic, partition
        self._offset = offset
        self._sent = None if received is None else sent_for(history, received)
        self._is_foreign = received is not None and self._sent is None
        drained = None if self._sent is None else self._drained_for(self._sent)
        self._acked = self._acknowledged(drained)
        origin = drained or self._acked
        self._batch = None if origin is None else self._batch_of(origin)
        if first_offset is None and self._acked is not None:
            base = _acknowledgement(self._acked).base_offset
            first_offset = base if base >= 0 else None
        self._place = None if first_offset is None else offset - first_offset
        self._events = [] if self._batch is None else list(self._of_batch(self._batch))

    def before_the_broker(self) -> Iterator[Step]:
        """Yield the steps from `send()` to the request that wrote the record."""
        if self._batch is None:
            text = (
                "the producer emits no events: its send() and its batches are not seen"
                if self._is_foreign
                else "the producer's send() was not recorded"
            )
            yield Step("send", None, text)
            return
        yield self._accumulated()
        for step in self._steps():
            if not self._is_later(step):
                yield step

    def after_the_broker(self) -> Iterator[Step]:
        """Yield the steps from the broker's response to the callback, and all later attempts."""
        for step in self._steps():
            if self._is_later(step):
                yield step

    def _is_later(self, step: Step) -> bool:
        """Return whether a step is later than the request that wrote the record.

        If that request is not known, only the callback counts as later.
        """
        if step.envelope is None:
            return False
        if self._sent is None:
            return step.stage == "callback"
        return step.envelope.seq > self._sent.seq

    def _steps(self) -> Iterator[Step]:
        for envelope in self._events:
            match envelope.event:
                case BatchDrained():
                    yield Step("drain", envelope, _drained_text(envelope.event))
                    sent = self._request_after(envelope)
                    if sent is None:
                        yield Step("sent", None, "the request of this batch was not recorded")
                        continue
                    yield Step("sent", sent, sent_text(sent))
                    answer = response_to(self._history, sent)
                    if answer is not None:
                        yield Step("response", answer, response_text(answer))
                case BatchRetried(client=client, error=error, attempts=attempts):
                    text = (
                        f"{client} puts the batch back to send it again, because of {error}"
                        f" (attempt {attempts} has failed)"
                    )
                    yield Step("drain", envelope, text)
                case BatchSplit(records=records, into=into):
                    text = f"the batch of {plural(records, 'record')} is divided into {into}"
                    yield Step("drain", envelope, text)
                case BatchAcknowledged() as acked:
                    yield Step("callback", envelope, self._callback_text(acked))
                case BatchFailed(client=client, error=error):
                    text = f"{client} gives the batch up and calls the callback with: {error}"
                    yield Step("callback", envelope, text)

    def _callback_text(self, acked: BatchAcknowledged) -> str:
        whole = f"{acked.client} ends batch {acked.batch}, {acked.took_ms:,} ms after it began"
        if acked.base_offset < 0:
            return f"{whole}, and calls the record's callback without an offset"
        if self._place is None:
            return f"{whole}, and calls the callbacks of its records"
        offset = acked.base_offset + self._place
        if offset == self._offset:
            return f"{whole}, and calls the record's callback with offset {offset:,}"
        return (
            f"{whole}, and calls the record's callback with offset {offset:,}: the record is stored"
            " there too"
        )

    def _drained_for(self, sent: Envelope) -> Envelope | None:
        """Return the batch of the partition that this request carries.

        The sender takes one batch of each partition and sends the request at once. So the result is
        the partition's last batch that the sender took before the request.
        """
        assert isinstance(sent.event, ClientRequestSent)
        found = [
            e
            for e in self._history.events
            if isinstance(e.event, BatchDrained)
            and (e.event.topic, e.event.partition) == self._tp
            and e.event.client == sent.event.client
            and self._life(e) == self._life(sent)
            and e.seq < sent.seq
        ]
        return found[-1] if found else None

    def _acknowledged(self, drained: Envelope | None) -> Envelope | None:
        """Return the event that acknowledged the batch `drained`.

        If `drained` is None, return the only acknowledgement whose batch contains the record's
        offset. Return None if there are several, because nobody knows which one is right.
        """
        acks = [
            (e, e.event)
            for e in self._history.events
            if isinstance(e.event, BatchAcknowledged)
            and (e.event.topic, e.event.partition) == self._tp
        ]
        if drained is not None:
            batch = self._batch_of(drained)
            found = [e for e, _ in acks if self._batch_of(e) == batch]
        elif self._is_foreign:
            return None
        else:
            found = [
                e
                for e, ack in acks
                if 0 <= ack.base_offset <= self._offset < ack.base_offset + ack.records
            ]
        return found[0] if len(found) == 1 else None

    def _of_batch(self, batch: _Batch) -> Iterator[Envelope]:
        """Yield the events of a batch.

        If the batch is a part of a larger batch that was split, yield the events of the larger
        batch first.
        """
        own = [
            e
            for e in self._history.events
            if isinstance(e.event, _OfBatch)
            and (e.event.topic, e.event.partition) == self._tp
            and self._batch_of(e) == batch
        ]
        split = self._split_before(own)
        if split is not None:
            yield from self._of_batch(self._batch_of(split))
        yield from own

    def _split_before(self, own: list[Envelope]) -> Envelope | None:
        """Return the split that made this batch, or None."""
        first = next((e for e in own if isinstance(e.event, BatchDrained)), None)
        cause = None if first is None else cause_of(self._history, first)
        return cause if cause is not None and isinstance(cause.event, BatchSplit) else None

    def _accumulated(self) -> Step:
        """Return the step of `send()`. If the record's batch is a part of a split batch, `send()`
        put the record into the larger batch.
        """
        nothing = Step(
            "send", None, "the moment when send() put it into its batch was not recorded"
        )
        batch, place = self._batch, self._place
        if batch is None or place is None:
            return nothing
        while (split := self._split_before(self._own(batch))) is not None:
            shift = self._records_before(split, batch.number)
            if shift is None:
                return nothing
            batch, place = self._batch_of(split), place + shift
        found = [
            e
            for e in self._history.events
            if isinstance(e.event, RecordAccumulated)
            and (e.event.topic, e.event.partition, e.event.place) == (*self._tp, place)
            and self._batch_of(e) == batch
        ]
        if len(found) != 1:
            return nothing
        text = f"{batch.client}'s send() puts it into batch {batch.number}, at place {place}"
        return Step("send", found[0], text)

    def _own(self, batch: _Batch) -> list[Envelope]:
        return [
            e
            for e in self._history.events
            if isinstance(e.event, BatchDrained) and self._batch_of(e) == batch
        ]

    def _records_before(self, split: Envelope, number: int) -> int | None:
        """Return the number of records in the parts of a split batch before part `number`. Return
        None if one of these parts is unknown.
        """
        event = split.event
        assert isinstance(event, BatchSplit)
        parts = {
            e.event.batch: e.event.records
            for e in self._history.events
            if isinstance(e.event, BatchDrained)
            and self._life(e) == self._life(split)
            and e.cause == split.seq
        }
        if not parts or sum(n for part, n in parts.items() if part <= number) > event.records:
            return None
        before = [part for part in parts if part < number]
        if len(before) != number - min(parts):
            return None
        return sum(parts[part] for part in before)

    def _request_after(self, drained: Envelope) -> Envelope | None:
        """Return the request that carries a drained batch: the producer's next Produce request."""
        assert isinstance(drained.event, BatchDrained)
        for e in self._history.events:
            if (
                isinstance(e.event, ClientRequestSent)
                and e.event.api_key == PRODUCE
                and e.event.client == drained.event.client
                and self._life(e) == self._life(drained)
                and e.seq > drained.seq
            ):
                return e
        return None

    def _batch_of(self, envelope: Envelope) -> _Batch:
        event = envelope.event
        assert isinstance(event, RecordAccumulated | _OfBatch)
        return _Batch(*self._life(envelope), event.client, event.batch)

    def _life(self, envelope: Envelope) -> tuple[Source, int]:
        return life_of(self._history, envelope)


def _acknowledgement(envelope: Envelope) -> BatchAcknowledged:
    assert isinstance(envelope.event, BatchAcknowledged)
    return envelope.event


def _drained_text(event: BatchDrained) -> str:
    text = (
        f"the sender takes batch {event.batch} after {event.waited_ms:,} ms:"
        f" {plural(event.records, 'record')}, {event.bytes:,} bytes"
    )
    if event.base_sequence >= 0:
        text += f", from sequence number {event.base_sequence:,} on"
    return text


class Delivery(NamedTuple):
    """The events of one consumer that show how a record came from a broker to the program."""

    client: str
    sent: Envelope | None
    """The fetch that brought the record."""
    response: Envelope | None
    fetched: Envelope
    advanced: Envelope
    is_first: bool
    """Whether this consumer's `poll()` returned the record for the first time."""


def deliveries(history: History, topic: str, partition: int, offset: int) -> list[Delivery]:
    """Return a Delivery for each time that `poll()` of one of our consumers returned the record.

    The events do not name the offsets that `poll()` skipped. If `poll()` skipped offsets near the
    record, `delivered_text` says so.
    """
    found: list[Delivery] = []
    seen: set[tuple[Source, int, str]] = set()
    for envelope in history.events:
        event = envelope.event
        if not (
            isinstance(event, PositionAdvanced)
            and (event.topic, event.partition) == (topic, partition)
            and event.before <= offset < event.after
            and event.records
        ):
            continue
        fetched = cause_of(history, envelope)
        if fetched is None or not isinstance(fetched.event, RecordsFetched):
            continue
        response = cause_of(history, fetched)
        sent = None if response is None else cause_of(history, response)
        who = (*life_of(history, envelope), event.client)
        found.append(
            Delivery(event.client, sent, response, fetched, envelope, is_first=who not in seen)
        )
        seen.add(who)
    return found


def fetched_text(delivery: Delivery) -> str:
    event = delivery.fetched.event
    assert isinstance(event, RecordsFetched)
    return (
        f"{delivery.client} has the answer and keeps {event.bytes:,} bytes for poll(), from offset"
        f" {event.offset:,} on; the high watermark is {event.high_watermark:,}"
    )


def delivered_text(delivery: Delivery) -> str:
    event = delivery.advanced.event
    assert isinstance(event, PositionAdvanced)
    again = "" if delivery.is_first else " again"
    text = (
        f"poll() of {delivery.client} returns {plural(event.records, 'record')}{again}: the"
        f" position moves {event.before:,} → {event.after:,}"
    )
    skipped = event.after - event.before - event.records
    if skipped > 0:
        text += (
            f"; it skips {plural(skipped, 'offset')} between them (markers, aborted transactions,"
            " compaction), perhaps this one too"
        )
    return text


def commit_steps(history: History, received: Envelope | None, offset: int) -> tuple[Step, ...]:
    """Return the steps in the consumer that committed an offset: its request, and what the consumer
    knows after the response. The result is empty if the consumer emits no events.
    """
    sent = None if received is None else sent_for(history, received)
    if sent is None:
        return ()
    steps = [Step("commit", sent, f"{sent_text(sent)}, to commit {offset:,}")]
    response = response_to(history, sent)
    if response is not None:
        steps += [
            Step(
                "commit",
                e,
                f"{e.event.client} knows that its commit is stored"
                if not e.event.error
                else f"{e.event.client} is refused: {e.event.error}",
            )
            for e in history.events
            if isinstance(e.event, ConsumerCommitted)
            and life_of(history, e) == life_of(history, response)
            and e.cause == response.seq
        ]
    return tuple(steps)


def sent_for(history: History, received: Envelope) -> Envelope | None:
    """Return the request of one of our clients that a broker received as `received`, or None."""
    for link in history.parents(received):
        if link.kind is LinkKind.REQUEST and isinstance(link.cause.event, ClientRequestSent):
            return link.cause
    return None


def response_to(history: History, sent: Envelope) -> Envelope | None:
    """Return the event of the response to a client's request, or None."""
    for link in history.children(sent):
        if link.kind is LinkKind.CAUSE and isinstance(link.effect.event, ClientResponseReceived):
            return link.effect
    return None


def answer_of(history: History, response: Envelope | None) -> Envelope | None:
    """Return the broker's event of a response that a client has received, or None."""
    if response is not None:
        for link in history.parents(response):
            if link.kind is LinkKind.RESPONSE:
                return link.cause
    return None


def cause_of(history: History, envelope: Envelope) -> Envelope | None:
    """Return the event that this event names as its cause, if both are of the same process."""
    for link in history.parents(envelope):
        if link.kind is LinkKind.CAUSE:
            return link.cause
    return None


def life_of(history: History, envelope: Envelope) -> tuple[Source, int]:
    """Return the process of an event, and a number that differs for each start of the process."""
    source, life, _ = history.ident(envelope)
    return source, life


def sent_text(sent: Envelope) -> str:
    event = sent.event
    assert isinstance(event, ClientRequestSent)
    return (
        f"{event.client} sends {api_name(event.api_key)} #{event.correlation_id} to broker"
        f" {event.broker_id}"
    )


def response_text(response: Envelope) -> str:
    event = response.event
    assert isinstance(event, ClientResponseReceived)
    return (
        f"{event.client} has the answer to #{event.correlation_id}, {event.took_ms:,} ms after it"
        " sent the request"
    )
