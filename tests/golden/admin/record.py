"""Record the settings of Apache Kafka's admin client: `python -m tests.golden.admin.record`.

Writes keys-2.8.2.txt next to this file. It has for each setting of the kafka-clients jar: name,
type, default.
"""

from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.apache_kafka import kafka_jars, run_tool
from kafka_edu.common.maven_jars import compiled

HERE: Final = Path(__file__).parent
VERSION: Final = "2.8.2"
GOLDEN: Final = HERE / f"keys-{VERSION}.txt"


class KafkaKey(NamedTuple):
    """A setting as the jar prints it."""

    name: str
    type: str
    default: str


def printed() -> str:
    """Return the output of the jar. Raises PeerMissing without Java or Maven."""
    jars = kafka_jars(VERSION)
    classes = compiled(HERE / "AdminKeys.java", jars)
    return run_tool(jars, "-cp", f"{jars}/*:{classes}", "AdminKeys")


def recorded() -> list[KafkaKey]:
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return [KafkaKey(*line.split(" ", 2)) for line in lines]


if __name__ == "__main__":
    GOLDEN.write_text(printed(), encoding="utf-8")
