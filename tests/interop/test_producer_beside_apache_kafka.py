"""Our producer sends to Apache Kafka 2.0.1 and 2.8.2, and kafka-python reads its records."""

import asyncio
from typing import Final

import pytest
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from benchmarks.apache_kafka import SMALL, apache_kafka
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.interop

HEADERS: Final = [("name", b"value"), ("name", b"again"), ("nothing", None)]
CODECS: Final = {
    "2.0.1": ("none", "gzip", "snappy", "lz4"),
    "2.8.2": ("none", "gzip", "snappy", "lz4", "zstd"),
}
RECORDS: Final = 200
PROPERTIES: Final = [
    "num.partitions=3",
    *(f"{key}={value}" for key, value in OF_A_SMALL_HEAP.items()),
]
TOPIC: Final = "made-by-ours"


async def send_all(servers: str, codec: str, idempotent: bool) -> list[RecordMetadata]:
    async with Producer(
        {
            "bootstrap.servers": servers,
            "compression.type": codec,
            "enable.idempotence": idempotent,
            "linger.ms": 5,
            "batch.size": 2_000,
            "acks": "all",
        }
    ) as producer:
        futures = [
            await producer.send(
                TOPIC,
                f"{codec}-{idempotent}-{number}",
                key=None if number % 3 == 0 else f"key {number}",
                headers=HEADERS if number % 2 else None,
                timestamp_ms=1_600_000_000_000 + number,
            )
            for number in range(RECORDS)
        ]
        return [await future for future in futures]


async def refused(servers: str) -> str:
    """Return the error of a zstd batch on a broker that does not know this codec."""
    async with Producer({"bootstrap.servers": servers, "compression.type": "zstd"}) as producer:
        with pytest.raises(ClientException) as error:
            await (await producer.send(TOPIC, "v"))
        return str(error.value)


@pytest.mark.parametrize("version", CODECS)
def test_apache_kafka_stores_what_kafka_python_reads(version: str) -> None:
    jars = apache_kafka_jars(version)
    with apache_kafka(jars, 1, PROPERTIES, java=SMALL) as kafka:
        sent: dict[tuple[int, int], tuple[str, int]] = {}
        for codec in CODECS[version]:
            for idempotent in (False, True):
                found = asyncio.run(send_all(kafka.bootstrap, codec, idempotent))
                for number, metadata in enumerate(found):
                    place = metadata.partition, metadata.offset
                    assert place not in sent
                    sent[place] = f"{codec}-{idempotent}-{number}", number
        if "zstd" not in CODECS[version]:
            assert asyncio.run(refused(kafka.bootstrap)).startswith("UnsupportedVersionException")
        consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(TOPIC, partition) for partition in range(3)])
        read = 0
        while read < len(sent):
            polled = consumer.poll(timeout_ms=PATIENCE_S * 1000)
            assert polled
            for records in polled.values():
                for record in records:
                    value, number = sent[record.partition, record.offset]
                    assert record.value == value.encode()
                    assert record.key == (None if number % 3 == 0 else f"key {number}".encode())
                    assert list(record.headers) == (HEADERS if number % 2 else [])
                    assert record.timestamp == 1_600_000_000_000 + number
                    read += 1
        consumer.close()
