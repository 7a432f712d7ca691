"""Sentences for the events of our own producer."""

from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import api_name, quiet
from kafka_edu.trace.events import producer

_OfBatch = (
    producer.BatchDrained
    | producer.BatchAcknowledged
    | producer.BatchRetried
    | producer.BatchSplit
    | producer.BatchFailed
)


def _of_partition(
    e: producer.RecordAccumulated | _OfBatch,
    after: str,
    *,
    verb: str = "",
    reason: str = "",
    because: str = "",
) -> Sentence:
    """Return a sentence whose subject is the partition of the record or batch."""
    before = f"{e.client}: {verb}:" if verb else f"{e.client}:"
    return quiet(before, f"{e.topic}-{e.partition}", after, reason=reason, because=because)


def _batch(e: producer.BatchDrained | producer.BatchAcknowledged | producer.BatchFailed) -> str:
    return f"batch {e.batch} with {plural(e.records, 'record')}"


@sentence.register
def record_accumulated(e: producer.RecordAccumulated) -> Sentence:
    return _of_partition(e, f"record {e.place} is in batch {e.batch}")


@sentence.register
def client_closed(e: producer.ClientClosed) -> Sentence:
    return quiet("closes", f"client {e.client}", "")


@sentence.register
def batch_drained(e: producer.BatchDrained) -> Sentence:
    return _of_partition(e, f"{_batch(e)} is ready after {duration(e.waited_ms)}")


@sentence.register
def client_request_sent(e: producer.ClientRequestSent) -> Sentence:
    return quiet(
        f"{e.client}: sends {api_name(e.api_key)}",
        f"to broker {e.broker_id}",
        f"(correlation id {e.correlation_id})",
    )


@sentence.register
def client_response_received(e: producer.ClientResponseReceived) -> Sentence:
    return quiet(
        f"{e.client}: has the response to {api_name(e.api_key)}",
        f"from broker {e.broker_id}",
        f"after {duration(e.took_ms)}",
    )


@sentence.register
def client_connected(e: producer.ClientConnected) -> Sentence:
    return quiet(f"{e.client}: is connected", f"to broker {e.broker_id}", f"from {e.local}")


@sentence.register
def client_disconnected(e: producer.ClientDisconnected) -> Sentence:
    return quiet(
        f"{e.client}: has no connection",
        f"to broker {e.broker_id}",
        f"({plural(e.in_flight, 'request')} without a response)",
        reason=e.reason,
        because="the client lost its connection",
    )


@sentence.register
def batch_acknowledged(e: producer.BatchAcknowledged) -> Sentence:
    return _of_partition(e, f"{_batch(e)} is acknowledged at offset {e.base_offset:,}")


@sentence.register
def batch_retried(e: producer.BatchRetried) -> Sentence:
    return _of_partition(
        e,
        f"batch {e.batch}, retry {e.attempts}",
        verb="sends again",
        reason=e.error,
        because="the batch was not acknowledged",
    )


@sentence.register
def batch_split(e: producer.BatchSplit) -> Sentence:
    return _of_partition(
        e,
        f"batch {e.batch} was too large and becomes {e.into}",
        verb="splits a batch",
        because="the batch was too large",
    )


@sentence.register
def batch_failed(e: producer.BatchFailed) -> Sentence:
    return _of_partition(e, _batch(e), verb="gives up", reason=e.error, because="the batch failed")


@sentence.register
def producer_state_changed(e: producer.ProducerStateChanged) -> Sentence:
    return quiet(
        f"{e.client}: is a producer",
        f"in state {e.after}",
        f"with producer id {e.producer_id}, epoch {e.epoch}",
        reason=e.reason,
        because="the producer's state changed",
    )


@sentence.register
def producer_epoch_bumped(e: producer.ProducerEpochBumped) -> Sentence:
    return quiet(
        f"{e.client}: raises its epoch",
        f"to {e.epoch}",
        f"because of a gap in {', '.join(e.partitions) or 'no partition'}",
        because="the epoch was raised",
    )


@sentence.register
def transaction_coordinator_changed(e: producer.TransactionCoordinatorChanged) -> Sentence:
    return quiet(
        f"{e.client}: transactional id {e.transactional_id}",
        "has no known coordinator"
        if e.broker_id < 0
        else f"is coordinated by broker {e.broker_id}",
        reason=e.reason,
        because="the transaction coordinator changed",
    )


@sentence.register
def partitions_added_to_transaction(e: producer.PartitionsAddedToTransaction) -> Sentence:
    return quiet(
        f"{e.client}: transaction of {e.transactional_id}",
        "has more partitions:",
        ", ".join(e.partitions),
        because="the coordinator added partitions to the transaction",
    )


@sentence.register
def offsets_added_to_transaction(e: producer.OffsetsAddedToTransaction) -> Sentence:
    return quiet(
        f"{e.client}: transaction of {e.transactional_id}",
        f"has offsets of group {e.group}:",
        ", ".join(f"{partition} to {offset}" for partition, offset in e.offsets),
        because="the group's coordinator took the offsets",
    )
