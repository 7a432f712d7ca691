"""Apache Kafka 2.8.2 on the same damaged log dirs, one dir for each case, to compare it with our
broker.

`python -m tests.unit.log.corruption.apache` records what clients of Apache Kafka get, into
`tests/golden/corruption/apache-2.8.2.json`. The command needs Java and Kafka's jars, and takes some
minutes. If one dir keeps the broker from starting, the cases are halved until this dir is found.
"""

import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

from benchmarks.apache_kafka import SMALL, ApacheKafka, PeerMissing, apache_kafka, kafka_jars
from tests.conformance.brokers import ListeningBroker
from tests.conformance.replay import Asker
from tests.unit.log.corruption.cases import CASES, Case, named
from tests.unit.log.corruption.judge import NO_START, Outcome, judge
from tests.unit.log.corruption.ours import creation, state_znode
from tests.unit.log.corruption.written import rounded, written

VERSION: Final = "2.8.2"
RECORDED: Final = Path(__file__).parents[3] / "golden" / "corruption" / f"apache-{VERSION}.json"
_SETTINGS: Final = (
    "log.cleaner.dedupe.buffer.size=4194304",
    "zookeeper.session.timeout.ms=6000",
    "log.retention.ms=-1",
)
_SETTLE_S: Final = 5
_NO_NEWS: Final = ("No meta.properties", "[Broker id=0]", "[Controller", "Stopping", "[LogDir")
_WORDS: Final = 3
"""How many lines of its log are kept for each case."""
_LINE: Final = re.compile(r"^(?:WARN|ERROR|FATAL) - (.*)$")


class Peer(NamedTuple):
    """The behaviour of Apache Kafka in one case."""

    outcome: Outcome
    said: Sequence[str]
    """Its first warnings and errors about the dir."""


def run(cases: Sequence[Case], folder: Path, now_ms: int) -> dict[Case, Peer]:
    """Run Apache Kafka on the damaged dirs. Raises PeerMissing where it cannot run."""
    jars = kafka_jars(VERSION)
    found: dict[Case, Peer] = {}
    with apache_kafka(jars, 1, _SETTINGS, java=SMALL) as first:
        asker = Asker(ListeningBroker("127.0.0.1", first.ports[0]))
        created = asker.ask("create", creation(cases), 2)
        assert not [topic for topic in created.topics if topic.error_code], created
        first.stop(0)
        client = KazooClient(first.zookeeper)
        client.start()
        for case in cases:
            client.set(*state_znode(case))
        client.stop()
        client.close()
        waiting = [list(cases)]
        while waiting:
            some = waiting.pop()
            try:
                found |= _run_some(jars, some, folder, first.zookeeper, now_ms)
            except PeerMissing as error:
                if len(some) == 1:
                    found[some[0]] = Peer(Outcome(NO_START), _said(str(error), some[0].topic))
                else:
                    half = len(some) // 2
                    waiting += [some[half:], some[:half]]
    return found


def _run_some(
    jars: Path, cases: Sequence[Case], folder: Path, zookeeper: str, now_ms: int
) -> dict[Case, Peer]:
    with tempfile.TemporaryDirectory(dir=folder) as root:
        dirs = {case: Path(root) / case.topic for case in cases}
        for case, log_dir in dirs.items():
            files = case.files(written(clean=case.clean, now_ms=now_ms))
            for path, data in named(files, case.topic):
                (log_dir / path).parent.mkdir(parents=True, exist_ok=True)
                (log_dir / path).write_bytes(data)
        log_dirs = ",".join(map(str, dirs.values()))
        kafka = ApacheKafka(jars, 1, [*_SETTINGS, f"log.dirs={log_dirs}"], zookeeper, SMALL)
        try:
            kafka.up()
            time.sleep(_SETTLE_S)  # a dir that its cleaner takes offline is announced by nothing
            asker = Asker(ListeningBroker("127.0.0.1", kafka.ports[0]))
            outcomes = {
                case: judge(asker, case.topic, written(clean=case.clean, now_ms=now_ms))
                for case in cases
            }
            output = kafka.output(0)
            kafka.stop(0)
        finally:
            kafka.down()
    return {case: Peer(outcome, _said(output, case.topic)) for case, outcome in outcomes.items()}


def _said(output: str, topic: str) -> list[str]:
    """Return the first warnings about this topic's dir, without the paths of this machine."""
    lines = [
        found[1]
        for line in output.splitlines()
        if (found := _LINE.match(line)) and topic in line and not found[1].startswith(_NO_NEWS)
    ]
    return [re.sub(r"/\S*/(?=[^/\s]*)", "", line) for line in lines[:_WORDS]]


def recorded() -> Mapping[Case, Peer]:
    """Return what was recorded."""
    rows = json.loads(RECORDED.read_text(encoding="utf-8"))
    by_topic = {case.topic: case for case in CASES}
    return {
        by_topic[topic]: Peer(Outcome(**row["outcome"]), row["said"]) for topic, row in rows.items()
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = run(CASES, Path(folder), rounded(round(time.time() * 1000)))
    RECORDED.parent.mkdir(parents=True, exist_ok=True)
    rows = {
        case.topic: {"outcome": found[case].outcome._asdict(), "said": found[case].said}
        for case in CASES
    }
    RECORDED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
