import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_append_info import RecordError
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.delayed_produce import ProducePartitionStatus
from kafka_edu.server.apis.produce import ProduceApi

RECORDS = [Record(0, 1000, None, b"v", ())]
BATCH = build_batch(RECORDS)


class FakeAppend:
    """Takes everything, and answers at once unless set to wait."""

    def __init__(self):
        self.calls = []
        self.waiting = None
        self.hold = False
        self.error = Errors.NONE
        self.refusal = None

    def append_records(self, timeout_ms, required_acks, entries, respond, *, on_failure, requester):
        self.calls.append((timeout_ms, required_acks, {tp: bytes(r) for tp, r in entries.items()}))
        status = (
            ProducePartitionStatus(self.error, 11, 10, -1, 5)
            if self.error is Errors.NONE
            else self.refusal or ProducePartitionStatus.failed(self.error)
        )
        results = dict.fromkeys(entries, status)
        if self.hold:
            self.waiting = lambda: respond(results)
        else:
            respond(results)


@pytest.fixture
def replicas(harness):
    manager = FakeAppend()
    harness.learn(
        {1: 9092}, {("web", 0): (1, [1]), ("web", 1): (1, [1]), ("__consumer_offsets", 0): (1, [1])}
    )
    ProduceApi(manager, harness.cache).register(harness.apis)
    return manager


def produce(*entries, acks=1, transactional_id=None):
    """entries: (topic, partition, records)"""
    topics = {}
    for topic, partition, records in entries:
        data = topics.setdefault(topic, TopicProduceData(name=topic, partition_data=[]))
        data.partition_data.append(PartitionProduceData(index=partition, records=records))
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1500,
        topic_data=list(topics.values()),
    )


def errors(response):
    return {
        (t.name, p.index): Errors(p.error_code)
        for t in response.responses
        for p in t.partition_responses
    }


@pytest.mark.parametrize("version", range(10))
def test_every_version_reaches_append(harness, replicas, version):
    records = BATCH if version >= 3 else build_message_set(RECORDS, 1 if version == 2 else 0)
    response = harness.ask(produce(("web", 0, records)), version)
    (partition,) = response.responses[0].partition_responses
    assert (partition.error_code, partition.base_offset) == (Errors.NONE, 10)
    assert partition.log_start_offset == (5 if version >= 5 else -1)
    assert replicas.calls == [(1500, 1, {TopicPartition("web", 0): records})]


def test_one_partitions_error_leaves_the_others_alone(harness, replicas):
    asked = produce(
        ("web", 0, BATCH),
        ("web", 7, BATCH),
        ("none", 0, BATCH),
        ("__consumer_offsets", 0, BATCH),
        ("web", 1, b""),
    )
    assert errors(harness.ask(asked, 9)) == {
        ("web", 0): Errors.NONE,
        ("web", 7): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("none", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("__consumer_offsets", 0): Errors.INVALID_TOPIC_EXCEPTION,
        ("web", 1): Errors.INVALID_RECORD,
    }
    assert list(replicas.calls[0][2]) == [TopicPartition("web", 0)]


def test_a_refused_batch_says_from_v8_on_which_records_broke_it(harness, replicas):
    replicas.error = Errors.INVALID_RECORD
    replicas.refusal = ProducePartitionStatus.failed(
        Errors.INVALID_RECORD, "no keys", 5, (RecordError(0, "no key"), RecordError(2, "no key"))
    )
    (answer,) = harness.ask(produce(("web", 0, BATCH)), 8).responses[0].partition_responses
    assert (answer.error_code, answer.error_message, answer.log_start_offset) == (
        Errors.INVALID_RECORD,
        "no keys",
        5,
    )
    assert [
        (record.batch_index, record.batch_index_error_message) for record in answer.record_errors
    ] == [(0, "no key"), (2, "no key")]
    (older,) = harness.ask(produce(("web", 0, BATCH)), 7).responses[0].partition_responses
    assert (older.error_code, older.record_errors) == (Errors.INVALID_RECORD, [])


def damaged(at, value, batch=BATCH):
    return batch[:at] + value + batch[at + len(value) :]


@pytest.mark.parametrize(
    ("records", "version", "error"),
    [
        (b"", 3, Errors.INVALID_RECORD),
        (None, 7, Errors.INVALID_RECORD),
        (BATCH[:40], 9, Errors.INVALID_RECORD),
        (BATCH + BATCH, 9, Errors.INVALID_RECORD),
        (BATCH + BATCH[:-1], 9, Errors.NONE),
        (build_message_set(RECORDS, 1), 3, Errors.INVALID_RECORD),
        (damaged(16, b"\x03"), 9, Errors.CORRUPT_MESSAGE),
        (damaged(8, b"\x00\x00\x00\x05"), 9, Errors.CORRUPT_MESSAGE),
        (damaged(8, b"\xff\xff\xff\xff"), 9, Errors.CORRUPT_MESSAGE),
        (damaged(8, b"\x00\x00\x00\x14"), 9, Errors.CORRUPT_MESSAGE),
        (
            build_batch(RECORDS, compression=CompressionType.ZSTD),
            6,
            Errors.UNSUPPORTED_COMPRESSION_TYPE,
        ),
        (
            build_batch(RECORDS, compression=CompressionType.ZSTD),
            3,
            Errors.UNSUPPORTED_COMPRESSION_TYPE,
        ),
        (build_batch(RECORDS, compression=CompressionType.ZSTD), 7, Errors.NONE),
    ],
)
def test_from_v3_on_exactly_one_v2_batch(harness, replicas, records, version, error):
    assert errors(harness.ask(produce(("web", 0, records)), version)) == {("web", 0): error}


def test_the_oldest_versions_may_carry_zstd(harness, replicas):
    zstd = build_batch(RECORDS, compression=CompressionType.ZSTD)
    assert errors(harness.ask(produce(("web", 0, zstd)), 2)) == {("web", 0): Errors.NONE}


def test_acks_0_is_not_answered(harness, replicas):
    connection = harness.send(produce(("web", 0, BATCH), acks=0), 9)
    assert connection.answers == [None]
    assert not connection.closed


def test_acks_0_with_an_error_closes_the_connection(harness, replicas):
    connection = harness.send(produce(("none", 0, BATCH), acks=0), 9)
    assert connection.answers == []
    assert "none-0: UNKNOWN_TOPIC_OR_PARTITION" in connection.closed
    replicas.append_records = None  # now a bug
    assert harness.send(produce(("web", 0, BATCH), acks=0), 9).closed


def test_an_answer_may_come_later(harness, replicas):
    replicas.hold = True
    request = produce(("web", 0, BATCH), acks=-1)
    connection = harness.send(request, 9)
    assert connection.answers == []
    replicas.waiting()
    assert errors(harness.read(connection, request, 9)) == {("web", 0): Errors.NONE}


def test_a_transactional_batch_needs_a_transactional_id(harness, replicas):
    batch = build_batch(
        RECORDS, producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    refused = harness.ask(produce(("web", 0, batch), ("web", 1, BATCH)), 9)
    assert set(errors(refused).values()) == {Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
    assert replicas.calls == []
    assert errors(harness.ask(produce(("web", 0, batch), transactional_id="t"), 9)) == {
        ("web", 0): Errors.NONE
    }


def test_a_partition_named_twice_counts_once_with_its_last_records(harness, replicas):
    other = build_batch([Record(0, 2000, None, b"w", ())])
    harness.ask(produce(("web", 0, BATCH), ("web", 0, other)), 9)
    assert replicas.calls[0][2] == {TopicPartition("web", 0): other}


def test_a_bug_is_told_for_every_partition(harness, replicas):
    replicas.append_records = None
    assert set(errors(harness.ask(produce(("web", 0, BATCH), ("web", 1, BATCH)), 9)).values()) == {
        Errors.UNKNOWN_SERVER_ERROR
    }
