"""Sentences for the events of our own producer."""

from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import api_name, quiet
from kafka_edu.trace.events import producer


def _batch(e: producer.BatchDrained | producer.BatchAcknowledged) -> str:
    return f"batch {e.batch} with {plural(e.records, 'record')}"


@sentence.register
def record_accumulated(e: producer.RecordAccumulated) -> Sentence:
    return quiet(
        f"{e.client}:",
        f"{e.topic}-{e.partition}",
        f"record {e.place} is in batch {e.batch}",
    )


@sentence.register
def batch_drained(e: producer.BatchDrained) -> Sentence:
    return quiet(
        f"{e.client}:",
        f"{e.topic}-{e.partition}",
        f"{_batch(e)} is ready after {duration(e.waited_ms)}",
    )


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
    return Sentence(
        f"{e.client}: has no connection",
        f"to broker {e.broker_id}",
        f"({plural(e.in_flight, 'request')} without a response)",
        reason=e.reason,
        because="the client lost its connection",
        loud=False,
    )


@sentence.register
def batch_acknowledged(e: producer.BatchAcknowledged) -> Sentence:
    return quiet(
        f"{e.client}:",
        f"{e.topic}-{e.partition}",
        f"{_batch(e)} is acknowledged at offset {e.base_offset:,}",
    )


@sentence.register
def batch_retried(e: producer.BatchRetried) -> Sentence:
    return Sentence(
        f"{e.client}: sends again:",
        f"{e.topic}-{e.partition}",
        f"batch {e.batch}, retry {e.attempts}",
        reason=e.error,
        because="the batch was not acknowledged",
        loud=False,
    )


@sentence.register
def batch_split(e: producer.BatchSplit) -> Sentence:
    return Sentence(
        f"{e.client}: splits a batch:",
        f"{e.topic}-{e.partition}",
        f"batch {e.batch} was too large and becomes {e.into}",
        because="the batch was too large",
        loud=False,
    )


@sentence.register
def batch_failed(e: producer.BatchFailed) -> Sentence:
    return Sentence(
        f"{e.client}: gives up:",
        f"{e.topic}-{e.partition}",
        f"batch {e.batch} with {plural(e.records, 'record')}",
        reason=e.error,
        because="the batch failed",
        loud=False,
    )


@sentence.register
def producer_state_changed(e: producer.ProducerStateChanged) -> Sentence:
    return Sentence(
        f"{e.client}: is an idempotent producer",
        f"in state {e.after}",
        f"with producer id {e.producer_id}, epoch {e.epoch}",
        reason=e.reason,
        because="the producer's state changed",
        loud=False,
    )


@sentence.register
def producer_epoch_bumped(e: producer.ProducerEpochBumped) -> Sentence:
    return Sentence(
        f"{e.client}: raises its epoch",
        f"to {e.epoch}",
        f"because of a gap in {', '.join(e.partitions) or 'no partition'}",
        because="the epoch was raised",
        loud=False,
    )
