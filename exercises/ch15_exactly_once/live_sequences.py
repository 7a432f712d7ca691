"""The live part of 15-1: the learner's check decides about batches in broker 2, the leader.

An idempotent producer loses the acknowledgements of five batches: a follower is paused until the
client's connections have ended. Then batches of other producers come in requests made by hand.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from kafka_edu.clients.probe_requests import produce
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response
from kafka_edu.protocol.messages.produce import ProduceResponse
from kafka_edu.trace.events.log import DuplicateBatch, SegmentAppended

from ..ch01_protocol.live_versions import frame_of, read_frame
from ..learner_broker import BROKER, LearnerBroker, live_check
from ..learner_controller import controller
from ..runner.verdict import Step
from .readers import UNCOMMITTED, doubled, read_values
from .sequence_rules import Producer as Right
from .sequence_rules import batch_of

TOPIC: Final = "lab-151"
IN_FLIGHT: Final = 5
LAST: Final = 2**31 - 1
NO_OFFSET: Final = -1
TIMEOUT_MS: Final = 600_000
BATCHES: Final[Sequence[tuple[str, Sequence[tuple[int, int, int]]]]] = (
    (
        "duplicates and gaps",
        ((0, 0, 3), (0, 0, 3), (0, 4, 1), (0, 1, 2), (0, 3, 1), (0, 0, 3)),
    ),
    ("epochs", ((1, 0, 2), (2, 2, 1), (2, 0, 1), (1, 2, 1), (2, 1, 1))),
    (
        "the sixth last batch",
        (*((0, number, 1) for number in range(6)), (0, 1, 1), (0, 0, 1), (0, 6, 1)),
    ),
    (
        "the wrap",
        ((0, LAST - 1, 1), (0, LAST, 3), (0, 0, 1), (0, LAST, 3), (0, 2, 1)),
    ),
)
"""The batches of each hand-made producer: (epoch, first sequence number, records)."""


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check."""
    sleeper = next(one for one in (0, 1) if one != controller(broker))
    say(f"broker {sleeper} is paused, and an idempotent producer sends {IN_FLIGHT} batches")
    yield from _lose_acknowledgements(broker, sleeper, say)
    for number, (what, batches) in enumerate(BATCHES):
        say(f"a producer made by hand: {what}")
        yield _by_hand(broker, 9_000 + number, what, batches)


def _lose_acknowledgements(
    broker: LearnerBroker, sleeper: int, say: Callable[[str], None]
) -> Iterator[Step]:
    """Let a producer send five batches again, because it never got their acknowledgements."""
    arrived: list[tuple[str, int]] = []
    values = [f"record {number}" for number in range(IN_FLIGHT)]

    def delivered(error: KafkaError | None, message: Message) -> None:
        value = message.value()
        if error is None and value is not None:
            arrived.append((value.decode(), message.offset() or 0))

    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{broker.cluster.port(BROKER)}",
            "enable.idempotence": True,
            "linger.ms": 0,
            "batch.num.messages": 1,
            "message.timeout.ms": round(broker.patience_s * 4_000),
            "log_level": 0,
        }
    )
    before = broker.listener.count(SegmentAppended)
    broker.cluster.pause(sleeper)
    try:
        for value in values:
            producer.produce(broker.topic, value.encode(), partition=0, on_delivery=delivered)
        written = _writes(broker, before, producer)
        if written:
            ended = broker.cluster.perform("reset-clients", {"broker": BROKER})
            say(f"{ended}; the acknowledgements are lost")
            _wait(broker, lambda: broker.listener.count(DuplicateBatch) > 0, producer)
    finally:
        broker.cluster.resume(sleeper)
    if not written:
        yield Step("the leader writes the batches", False, "it did not", late=True)
        return
    _wait(broker, lambda: len(arrived) == IN_FLIGHT, producer)
    says = "after lost acknowledgements, each record is acked"
    seen = f"{len(arrived)} of {IN_FLIGHT} acked"
    yield Step(says, len(arrived) == IN_FLIGHT, seen, late=len(arrived) < IN_FLIGHT)
    twice = broker.listener.count(DuplicateBatch)
    servers = broker.cluster.bootstrap_servers
    stored = read_values(servers, broker.topic, UNCOMMITTED, broker.patience_s)
    again = doubled(stored)
    yield Step(
        "each record is in the log once, in order",
        stored == values,
        f"{twice} batches came again, and none was written again"
        if stored == values
        else f"these are there twice: {', '.join(again)}"
        if again
        else f"the log has {', '.join(stored)}",
    )
    right = [(value, offset) for offset, value in enumerate(values)]
    wrong = next((pair for pair in sorted(arrived) if pair not in right), None)
    yield Step(
        "the producer got the offset of each record",
        wrong is None,
        f"the offsets 0 to {IN_FLIGHT - 1}"
        if wrong is None
        else f"it got offset {wrong[1]} for {wrong[0]}",
    )


def _writes(broker: LearnerBroker, before: int, producer: Producer) -> bool:
    """Wait until the leader has written all batches."""
    return _wait(
        broker,
        lambda: broker.listener.count(SegmentAppended) >= before + IN_FLIGHT,
        producer,
    )


def _wait(broker: LearnerBroker, done: Callable[[], bool], producer: Producer) -> bool:
    """Poll the producer until `done` returns True. Return False if the time is over first."""

    def served() -> bool:
        producer.poll(0)
        return done()

    return broker.listener.wait_for(served, broker.patience_s)


def _by_hand(
    broker: LearnerBroker, producer: int, what: str, batches: Sequence[tuple[int, int, int]]
) -> Step:
    """Send these batches, each in a separate request. Check that each answer is right."""
    says = f"{what}: the leader answers each batch rightly"
    port = broker.cluster.port(BROKER)
    right: Right | None = None
    with socket.create_connection(("127.0.0.1", port), broker.patience_s) as connection:
        for batch in batches:
            error, offset = _produce(connection, broker.topic, producer, *batch)
            right = right if right is not None else Right(offset)
            match right.check(*batch):
                case "write":
                    wanted = Errors.NONE.name, right.written(*batch)
                case ("duplicate", int(before)):
                    wanted = Errors.NONE.name, before
                case name:
                    wanted = str(name), NO_OFFSET
            if (error.name, offset) != wanted:
                epoch, first, count = batch
                return Step(
                    says,
                    False,
                    f"epoch {epoch}, {count} numbers from {first}: expected {_words(*wanted)}, and"
                    f" it answered {_words(error.name, offset)}",
                )
    return Step(says, True, f"{len(batches)} batches")


def _words(error: str, offset: int) -> str:
    return f"offset {offset}" if error == Errors.NONE.name else error


def _produce(
    connection: socket.socket, topic: str, producer: int, epoch: int, first: int, count: int
) -> tuple[Errors, int]:
    """Send one batch, and return the error and the base offset of the response."""
    probe = produce(
        Random(0),
        TopicPartition(topic, 0),
        0,
        timeout_ms=TIMEOUT_MS,
        batch=batch_of(producer, epoch, first, count),
    )
    connection.sendall(frame_of(probe.request, probe.version))
    _, response = decode_response(ApiKey.PRODUCE, probe.version, read_frame(connection))
    assert isinstance(response, ProduceResponse)
    came = response.responses[0].partition_responses[0]
    return Errors(came.error_code), came.base_offset


check_live: Final = live_check(TOPIC, moment, "each batch had its answer", with_relays=True)
