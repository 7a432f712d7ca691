"""Idempotent producers (KIP-98): sequence numbers, duplicates, epochs, and DescribeProducers.

The producer ids are invented here. A broker accepts an id that it never gave out as a new producer.
An id from the broker would not do: the batch's checksum covers the id, so a replay could not
replace it.
"""

from typing import Final

from kafka_edu.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_edu.protocol.messages.produce import ProduceRequest
from kafka_edu.record.compression import CompressionType
from tests.conformance.cases.basics import batch, create, produce
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final[dict[str, str]] = {}
TOPIC: Final = "i"
LARGEST: Final = 2**31 - 1


def of(
    producer: int, epoch: int, sequence: int, count: int = 1, *, partition: int = 0, acks: int = -1
) -> ProduceRequest:
    records = batch(count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)
    return produce(records, topic=TOPIC, partition=partition, acks=acks)


def describe() -> DescribeProducersRequest:
    return DescribeProducersRequest(
        topics=[
            TopicRequest(name=TOPIC, partition_indexes=[0, 1, 9]),
            TopicRequest(name="nope", partition_indexes=[0]),
        ]
    )


def ask_all(asker: Asker) -> None:
    asker.ask("create", create(TOPIC, partitions=2), 4)
    asker.ask("nobody has produced", describe(), 0)
    for version in (3, 7, 9):
        _sequences(asker, version, 1000 * version)
        _epochs(asker, version, 1000 * version + 100)
    for version in (0, 2, 3, 4):
        asker.ask(
            "an id",
            InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000),
            version,
        )
    for version in (3, 4):
        asked = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=7, producer_epoch=3
        )
        asker.ask("an id, with one at hand", asked, version)
    asker.ask("who has produced", describe(), 0)


def _sequences(asker: Asker, version: int, producer: int) -> None:
    def ask(name: str, request: ProduceRequest) -> None:
        asker.ask(name, request, version)

    for number in range(6):
        ask(f"batch {number}", of(producer, 0, 2 * number, 2))
    for number in range(1, 6):
        ask(f"batch {number} again", of(producer, 0, 2 * number, 2))
    ask("batch 0 again, which is older than five", of(producer, 0, 0, 2))
    ask("the last one's first half", of(producer, 0, 10, 1))
    ask("the last one and more", of(producer, 0, 10, 3))
    ask("one is left out", of(producer, 0, 13))
    ask("the right one", of(producer, 0, 12))
    ask("the right one with acks=1", of(producer, 0, 13, acks=1))
    ask("the other partition has its own", of(producer, 0, 0, partition=1))
    ask("in an epoch that is negative", of(producer + 1, -1, 0))
    ask("with a sequence that is negative", of(producer + 2, 0, -1))
    ask("a new one begins at 5", of(producer + 3, 0, 5))
    ask("and goes on", of(producer + 3, 0, 6))
    ask("to the last sequence", of(producer + 4, 0, LARGEST - 1, 2))
    ask("behind which comes 0", of(producer + 4, 0, 0))
    ask("over the end", of(producer + 5, 0, LARGEST, 3))
    ask("and on from there", of(producer + 5, 0, 2))
    compressed = batch(
        2,
        producer_id=producer + 6,
        producer_epoch=0,
        base_sequence=0,
        compression=CompressionType.GZIP,
    )
    for name in ("compressed", "compressed, again"):
        ask(name, produce(compressed, topic=TOPIC))
    transactional = batch(
        1, producer_id=producer + 7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    ask("in a transaction, without a transactional id", produce(transactional, topic=TOPIC))
    without = batch(1, base_sequence=0)
    ask("a sequence without an id", produce(without, topic=TOPIC))


def _epochs(asker: Asker, version: int, producer: int) -> None:
    def ask(name: str, request: ProduceRequest) -> None:
        asker.ask(name, request, version)

    ask("epoch 3", of(producer, 3, 0))
    ask("epoch 2 is fenced", of(producer, 2, 1))
    ask("epoch 4 does not begin at 1", of(producer, 4, 1))
    ask("epoch 4 begins", of(producer, 4, 0))
    ask("epoch 4 begins, again", of(producer, 4, 0))
    ask("epoch 3 is gone", of(producer, 3, 1))
    ask("epoch 9 begins", of(producer, 9, 0))
    ask("epoch 32767", of(producer, 32767, 0))
    ask("epoch 0 of another partition", of(producer, 0, 0, partition=1))
