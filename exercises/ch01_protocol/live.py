"""The live part of exercise 01-2. Batches from the learner's code are sent to a real cluster, and
an unmodified client reads the records.
"""

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.record.record import Record
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .batches import Settings

TOPIC: Final = "lab-01"
PRODUCE_VERSION: Final = 7
NOW: Final = 1_600_000_000_000
BATCHES: Final[tuple[tuple[Record, ...], ...]] = (
    (Record(0, NOW, b"k", b"hello"),),
    (
        Record(0, NOW + 9, None, b"later", (("trace", b"\x00\x01"), ("empty", b""))),
        Record(1, NOW - 70, b"", None),
        Record(2, NOW, "名".encode(), b"x" * 300),
    ),
    tuple(Record(number, NOW + number, None, b"%d" % number) for number in range(100)),
)


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Send the batches of the learner's `file` to a broker, and yield the result of each step."""
    if file is None:
        return  # no shipped code does the same
    says = "your code makes three batches"
    learner = Learner(file, exercise.wanted)
    try:
        batches = [make_batch(learner, records) for records in BATCHES]
    except LearnerFailure as failure:
        yield Step(says, False, str(failure))
        return
    finally:
        learner.close()
    sizes = ", ".join(f"{len(batch):,}" for batch in batches)
    yield Step(
        says, True, f"{sizes} bytes, with {', '.join(str(len(one)) for one in BATCHES)} records"
    )

    say("starting a broker")
    with running_cluster(f"lab-{exercise.id}", brokers=1) as cluster:
        make_topic(cluster, TOPIC, [0])
        say("sending your batches")
        errors = [send(cluster, batch, patience_s) for batch in batches]
        refused = [error for error in errors if error is not Errors.NONE]
        yield Step(
            "the broker takes them",
            not refused,
            f"it refuses {len(refused)} of {len(errors)}: {refused[0].name}"
            if refused
            else "it has checked each checksum and put the offsets in",
        )
        if not refused:
            say("reading them with an unchanged client")
            yield compare_records(
                [one for batch in BATCHES for one in batch], read_all(cluster, patience_s)
            )


def make_batch(learner: Learner, records: Sequence[Record]) -> bytes:
    """Return the batch that the learner's code makes of these records. Raises LearnerFailure."""
    builder = learner.make(*Settings())
    for record in records:
        builder.call("append", record.timestamp, record.key, record.value, list(record.headers))
    match builder.call("close"):
        case (bytes() as batch, _):
            return batch
        case answer:
            return repr(answer).encode()  # the broker will refuse it


def send(cluster: Cluster, batch: bytes, patience_s: float, partition: int = 0) -> Errors:
    """Send a batch in a Produce request of its own. Return the partition's error code.

    If the partition has no leader yet, try again for `patience_s`. Raises TimeoutError.
    """
    end = time.monotonic() + patience_s
    while True:
        error = produce(cluster, batch, partition, patience_s)
        waits = error in (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.NOT_LEADER_OR_FOLLOWER)
        if not waits:
            return error
        if time.monotonic() > end:
            raise TimeoutError(f"after {patience_s:.0f} s the partition had no leader")
        time.sleep(0.1)


def produce(cluster: Cluster, batch: bytes, partition: int, patience_s: float) -> Errors:
    """Send one Produce request with this batch on a new connection. Return its error code."""
    data = PartitionProduceData(index=partition, records=batch)
    topic = TopicProduceData(name=TOPIC, partition_data=[data])
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
    frame = b"".join(map(part_bytes, encode_request(request, PRODUCE_VERSION, 1, "lab")))
    with socket.create_connection(("127.0.0.1", cluster.port(0)), patience_s) as connection:
        connection.sendall(frame)
        with connection.makefile("rb") as answers:
            size = int.from_bytes(answers.read(4), "big")
            _, response = decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, answers.read(size))
    assert isinstance(response, ProduceResponse)
    return Errors(response.responses[0].partition_responses[0].error_code)


def read_all(cluster: Cluster, patience_s: float) -> list[Record]:
    """Return the records of the topic that kafka-python's consumer reads within `patience_s`."""
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, check_crcs=True)
    wanted = sum(map(len, BATCHES))
    records: list[Record] = []
    try:
        partition = TopicPartition(TOPIC, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning()
        end = time.monotonic() + patience_s
        while len(records) < wanted and time.monotonic() < end:
            for one in consumer.poll(timeout_ms=500).get(partition, []):
                headers = tuple((name, value) for name, value in one.headers)
                records.append(Record(one.offset, one.timestamp, one.key, one.value, headers))
    finally:
        consumer.close()
    return records


def compare_records(sent: Sequence[Record], read: Sequence[Record]) -> Step:
    """Check that each record is read as it was sent, with the offset that the leader gave it."""
    says = "an unmodified consumer reads every record"
    for offset, record in enumerate(sent):
        wanted = record._replace(offset=offset)
        if offset >= len(read):
            return Step(says, False, f"{len(read)} of {len(sent)} records came back", late=True)
        if read[offset] != wanted:
            return Step(says, False, f"expected {wanted}, and it read {read[offset]}")
    return Step(says, True, f"{len(sent)} records, with the offsets 0 to {len(sent) - 1}")
