"""Record after which responses Kafka's client waits: `python -m tests.golden.throttling.record`.

Writes a file into this folder. For each request in the kafka-clients jar, the file has the API key,
the name, and the first version after which the client waits for throttle_time_ms, or "never".
"""

from pathlib import Path
from typing import Final

from benchmarks.apache_kafka import kafka_jars, run_tool
from kafka_edu.common.maven_jars import compiled

HERE: Final = Path(__file__).parent
VERSION: Final = "2.8.2"
FILE: Final = HERE / f"kafka-{VERSION}.txt"
NEVER: Final = "never"


def printed() -> str:
    """Return the output of the jar. Raises PeerMissing without Java or Maven."""
    jars = kafka_jars(VERSION)
    classes = compiled(HERE / "Throttling.java", jars)
    return run_tool(jars, "-cp", f"{jars}/*:{classes}", "Throttling")


def recorded() -> dict[int, int | None]:
    """Return a dict: API key → the first version after which the client waits, or None if it never
    waits.
    """
    rows = (line.split() for line in FILE.read_text(encoding="utf-8").splitlines())
    return {int(key): None if first == NEVER else int(first) for key, _, first in rows}


if __name__ == "__main__":
    FILE.write_text(printed(), encoding="utf-8")
