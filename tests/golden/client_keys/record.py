"""Record the settings of Apache Kafka's clients: `python -m tests.golden.client_keys.record`.

Writes a file for each client into this folder. The file has the name, type and default of each
setting in the kafka-clients jar.
"""

from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.apache_kafka import kafka_jars, run_tool
from kafka_edu.common.maven_jars import compiled

HERE: Final = Path(__file__).parent
VERSION: Final = "2.8.2"


class KafkaClient(StrEnum):
    """A client of the kafka-clients jar."""

    ADMIN = "admin"
    CONSUMER = "consumer"
    PRODUCER = "producer"

    @property
    def file(self) -> Path:
        return HERE / f"{self}-{VERSION}.txt"


class KafkaKey(NamedTuple):
    """A setting as the jar prints it."""

    name: str
    type: str
    default: str


def printed(client: KafkaClient) -> str:
    """Return the output of the jar. Raises PeerMissing without Java or Maven."""
    jars = kafka_jars(VERSION)
    classes = compiled(HERE / "ClientKeys.java", jars)
    return run_tool(jars, "-cp", f"{jars}/*:{classes}", "ClientKeys", client)


def recorded(client: KafkaClient) -> list[KafkaKey]:
    lines = client.file.read_text(encoding="utf-8").splitlines()
    return [KafkaKey(*line.split(" ", 2)) for line in lines]


if __name__ == "__main__":
    for client in KafkaClient:
        client.file.write_text(printed(client), encoding="utf-8")
