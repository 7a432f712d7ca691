"""Record the exceptions of Kafka's and ZooKeeper's clients: `python -m tests.golden.errors.record`.

Writes two kinds of files into this folder. kafka-VERSION.txt has the code, name and class of each
error in the kafka-clients jar. zookeeper-VERSION.txt has the code, class and message of each error
in the ZooKeeper jar that comes with this version of Kafka.
"""

from pathlib import Path
from typing import Final

from benchmarks.apache_kafka import kafka_jars, run_tool
from kafka_edu.common.maven_jars import compiled

HERE: Final = Path(__file__).parent
VERSIONS: Final = ("2.0.1", "2.8.2")
PROGRAMS: Final = {"kafka": "ErrorClasses", "zookeeper": "KeeperExceptions"}


def printed_by(version: str, peer: str) -> str:
    """Return the output of the jar. Raises PeerMissing without Java or Maven."""
    jars = kafka_jars(version)
    program = PROGRAMS[peer]
    classes = compiled(HERE / f"{program}.java", jars)
    return run_tool(jars, "-cp", f"{jars}/*:{classes}", program)


def golden_file(version: str, peer: str) -> Path:
    return HERE / f"{peer}-{version}.txt"


def recorded(version: str, peer: str) -> dict[int, tuple[str, str]]:
    """Return a dict by error code. Its values are (name, class) for kafka, and (class, message) for
    zookeeper.
    """
    lines = golden_file(version, peer).read_text(encoding="utf-8").splitlines()
    return {
        int(code): (first, second) for code, first, second in (line.split(" ", 2) for line in lines)
    }


if __name__ == "__main__":
    for release in VERSIONS:
        for name in PROGRAMS:
            golden_file(release, name).write_text(printed_by(release, name), encoding="utf-8")
