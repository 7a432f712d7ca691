"""Sentences for the events of clients and of load generators."""

from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import quiet
from kafka_edu.trace.events import client


@sentence.register
def record_acknowledged(e: client.RecordAcknowledged) -> Sentence:
    return quiet(
        f"{e.client}:",
        f"{e.topic}-{e.partition}",
        f"offset {e.offset:,} is acknowledged",
    )


@sentence.register
def load_started(e: client.LoadStarted) -> Sentence:
    rate = f"{e.load.rate:,} records a second, acks={e.load.acks}"
    return Sentence("a load begins on", f"topic {e.load.topic}", f"({rate})", loud=False)


@sentence.register
def load_stalled(e: client.LoadStalled) -> Sentence:
    return Sentence(
        "the load stalls:",
        f"topic {e.topic}",
        f"{plural(e.waiting, 'record')} without an answer for {duration(e.oldest_ms)}",
        reason=e.error,
        because="the load stalled",
        loud=False,
    )


@sentence.register
def load_goes_on(e: client.LoadGoesOn) -> Sentence:
    return Sentence(
        "the load goes on:",
        f"{e.topic}-{e.partition}",
        f"takes records again after {duration(e.stalled_ms)}",
        loud=False,
    )


@sentence.register
def record_lost(e: client.RecordLost) -> Sentence:
    return Sentence(
        "an acked record is lost:",
        f"{e.topic}-{e.partition}",
        f"offset {e.offset:,}",
        loud=False,
    )


@sentence.register
def load_stopped(e: client.LoadStopped) -> Sentence:
    load = e.load
    counts = f"sent {load.sent:,}, acked {load.acked:,}, read {load.read:,}"
    return Sentence(
        "the load ends on",
        f"topic {load.topic}",
        f"({counts}, lost {load.lost:,})",
        loud=False,
    )


@sentence.register
def client_booted(e: client.ClientBooted) -> Sentence:
    if e.error:
        return Sentence(
            e.client, after=f"gets no metadata from {e.servers}", reason=e.error, loud=False
        )
    known = plural(e.partitions, "partition")
    return Sentence(e.client, after=f"gets the metadata from {e.servers}: {known}", loud=False)


@sentence.register
def client_produced(e: client.ClientProduced) -> Sentence:
    return Sentence(
        e.client,
        after=f"sent {plural(e.sent, 'record')}, {e.acked:,} are acknowledged",
        reason=e.error,
        loud=False,
    )


@sentence.register
def client_read(e: client.ClientRead) -> Sentence:
    answer = f"got {e.answer}" if e.answer else "were acknowledged"
    return Sentence(
        e.client, after=f"reads: of {plural(e.sent, 'record')} that {answer}, {e.found:,} are there"
    )


@sentence.register
def group_offset_seen(e: client.GroupOffsetSeen) -> Sentence:
    committed = f"has committed {e.committed:,}" if e.committed >= 0 else "has committed nothing"
    position = f", its consumer is at {e.position:,}" if e.position >= 0 else ""
    return Sentence(
        f"group {e.group}",
        after=f"{committed} in {e.topic}-{e.partition}{position}; the partition ends at {e.end:,}",
    )


@sentence.register
def client_listed(e: client.ClientListed) -> Sentence:
    return Sentence(e.client, after=f"reads {plural(e.records, 'record')}: {e.values or 'none'}")


@sentence.register
def records_counted(e: client.RecordsCounted) -> Sentence:
    return Sentence(
        e.client,
        after=f"counts {plural(e.records, 'record')} in {e.place}: {e.missing:,} missing,"
        f" {e.again:,} there again",
    )


@sentence.register
def producer_measured(e: client.ProducerMeasured) -> Sentence:
    return Sentence(
        e.client,
        after=f"sent {plural(e.records, 'record')} with {e.linger_ms:,} ms of linger:"
        f" {plural(e.requests, 'request')}, {e.bytes:,} bytes, a median of {e.median_ms:,} ms",
        loud=False,
    )


@sentence.register
def group_read(e: client.GroupRead) -> Sentence:
    who = plural(e.members, "member") if e.group else f"{plural(e.members, 'consumer')}, no group"
    idle = f", {e.idle:,} of them idle" if e.idle else ""
    return Sentence(
        e.client, after=f"{who}{idle}: read {e.read:,} of {plural(e.sent, 'record')}", loud=False
    )


@sentence.register
def rebalance_measured(e: client.RebalanceMeasured) -> Sentence:
    return Sentence(
        e.client,
        after=f"({e.assignor}): {plural(e.rebalances, 'rebalance')},"
        f" {plural(e.given_up, 'partition')} given up, {e.moved:,} moved,"
        f" {duration(e.took_ms)}",
        loud=False,
    )


@sentence.register
def bytes_counted(e: client.BytesCounted) -> Sentence:
    return Sentence(f"{e.bytes_in:,} bytes came into {e.what}", loud=False)
