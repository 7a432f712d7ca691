"""Encodes Metadata answers for exercise 08-5 as a broker does, and reads them as a client does."""

from collections.abc import Callable
from random import Random
from typing import Final

from kafka_edu.learner.learner_metadata_layout import encode_fields, right_fields
from kafka_edu.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.protocol.types import ProtocolError

VERSIONS: Final = range(9)
HOSTS: Final = ("kafka-a", "broker7", "10.0.0.12", "b.example", "n3")
NAMES: Final = ("web", "orders", "audit", "clicks", "__consumer_offsets")

COUNT, ERROR, LENGTH = 4, 2, 2
"""The sizes in bytes of an array's element count, of an error code, and of a string's length."""


def response(random: Random, brokers: int = 2, topics: int = 2) -> MetadataResponse:
    """Return a random Metadata answer."""
    ids = sorted(random.sample(range(1, 9), brokers))
    names = random.sample(NAMES, topics)
    return MetadataResponse(
        throttle_time_ms=random.choice((0, 0, 120)),
        brokers=[
            MetadataResponseBroker(
                node_id=one,
                host=random.choice(HOSTS),
                port=random.choice((9092, 9093, 19092)),
                rack=random.choice((None, "r1", "west")),
            )
            for one in ids
        ],
        cluster_id=random.choice((None, "kfk-7", "east")),
        controller_id=random.choice(ids),
        topics=[
            MetadataResponseTopic(
                name=name,
                is_internal=name.startswith("__"),
                partitions=[
                    MetadataResponsePartition(
                        partition_index=index,
                        leader_id=random.choice(ids),
                        leader_epoch=random.randrange(9),
                        replica_nodes=ids,
                        isr_nodes=ids[: random.randint(1, len(ids))],
                    )
                    for index in range(random.randint(1, 2))
                ],
            )
            for name in names
        ],
    )


def encoded(answer: MetadataResponse, version: int, fields: Callable[[str, int], object]) -> bytes:
    """Return the body of an answer. It is encoded with the fields whose names `fields` returns."""

    def of_part(part: str) -> tuple[str, ...]:
        names = fields(part, version)
        return tuple(names) if isinstance(names, list | tuple) else ()

    return encode_fields(answer, of_part)


def right_body(answer: MetadataResponse, version: int) -> bytes:
    """Return the body of an answer as a broker writes it."""
    return encoded(answer, version, right_fields)


def first_flag(answer: MetadataResponse, version: int) -> int:
    """Return the position of the first topic's field is_internal, which follows the fields error
    and name.
    """
    before = right_fields("answer", version)
    before = before[: before.index("topics")]
    head = encoded(
        answer, version, lambda part, _: before if part == "answer" else right_fields(part, version)
    )
    return len(head) + COUNT + ERROR + LENGTH + len(answer.topics[0].name)


def read_by_a_client(body: bytes, version: int) -> str:
    """Return what a client reads from this body, in one line. If the client cannot read it, return
    the error.
    """
    try:
        came = MetadataResponse.decode(body, version, 0)
    except ProtocolError as error:
        return f"it cannot read it: {error}"
    brokers = ", ".join(f"{one.node_id} at {one.host}:{one.port}" for one in came.brokers)
    topics = ", ".join(f"{one.name} ({len(one.partitions)})" for one in came.topics)
    return f"brokers {brokers}; topics {topics}"
