"""Record the changes of state that Kafka's producer allows:
`python -m tests.golden.producer_states.record`.

Writes producer-states-2.8.2.txt: on each line the state before and the state after, as
TransactionManager.State.isTransitionValid allows them. It needs Java and Kafka's jars.
"""

from pathlib import Path
from typing import Final

from benchmarks.apache_kafka import kafka_jars, run_tool
from kafka_edu.common.maven_jars import compiled

HERE: Final = Path(__file__).parent
VERSION: Final = "2.8.2"
FILE: Final = HERE / f"producer-states-{VERSION}.txt"


def recorded_by_java() -> str:
    """Return the changes that the jar allows. Raises PeerMissing without Java or Maven."""
    jars = kafka_jars(VERSION)
    classes = compiled(HERE / "ProducerStates.java", jars)
    return run_tool(jars, "-cp", f"{jars}/*:{classes}", "ProducerStates")


def recorded() -> set[tuple[str, str]]:
    """Return (before, after) of each change that was recorded."""
    pairs = (line.split() for line in FILE.read_text(encoding="utf-8").splitlines())
    return {(before, after) for before, after in pairs}


if __name__ == "__main__":
    FILE.write_text(recorded_by_java(), encoding="utf-8")
