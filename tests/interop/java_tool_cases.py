"""Steps for Apache Kafka's own tools of 2.0.1 and 2.8.2 on three brokers. For the recording, the
brokers are of the tools' own release. The tests run the steps on our brokers.

`python -m tests.interop.java_tool_cases` records the output into
tests/golden/tools/java-VERSION-STORY.jsonl. The steps place the replicas of each topic explicitly,
because Kafka otherwise chooses the first replica at random.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.apache_kafka import SMALL, apache_kafka, kafka_jars
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.interop.tools import MARKS, Cluster, Printed, Step, comparable, record

BROKERS: Final = 3
SETTINGS: Final = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
MARK: Final = MARKS[0]
_ADDRESS: Final = re.compile(r"127\.0\.0\.1:\d+")
_RANDOM: Final = re.compile(r"(?<=TopicId: )\S+|(?<=Cluster ID: )\S+|(?<=ADDRESS )\(\d\)")
#: The tool lists what each broker serves in the order of Java's hash map of the brokers.
_BROKERS_OF_SERVED: Final = re.compile(r"^ADDRESS \(id: \d rack: null\) -> \($", re.MULTILINE)

_ZK: Final = "--zookeeper {zk}"
_BS: Final = "--bootstrap-server {bootstrap}"
_PLACED: Final = "--replica-assignment 0:1:2,1:2:0,2:0:1"
_LEADERS: Final = r"(?s)(Leader: \d\t.*){3}"


def _placed(how: str, topic: str, *more: str) -> list[Step]:
    """Create a topic of three partitions with chosen replicas, and wait for its leaders."""
    return [
        Step(" ".join((f"topics {how} --create --topic {topic} {_PLACED}", *more))),
        Step(f"topics {how} --describe --topic {topic}", until=_LEADERS),
    ]


TOPICS_2_0: Final = [
    *_placed(_ZK, "zt", "--config retention.ms=100000"),
    Step(f"topics {_ZK} --alter --topic zt --partitions 4 {_PLACED},0:1:2"),
    Step(f"topics {_ZK} --describe --topic zt --topics-with-overrides", until="PartitionCount:4"),
    Step(f"topics {_ZK} --describe --topic zt --unavailable-partitions", until="^$"),
    Step(f"topics {_ZK} --describe --topic zt --under-replicated-partitions", until="^$"),
    Step(
        f"configs {_ZK} --alter --entity-type topics --entity-name zt --add-config"
        " max.message.bytes=20000,cleanup.policy=[compact,delete]"
    ),
    Step(f"configs {_ZK} --describe --entity-type topics --entity-name zt"),
    Step(
        "get-offsets --broker-list {bootstrap} --topic zt --time -1", until="zt:3:0", any_order=True
    ),
    Step(f"topics {_ZK} --delete --topic zt"),
    Step(f"topics {_ZK} --list --topic zt.*", until="^$"),
    Step(
        f"configs {_ZK} --alter --entity-type clients --entity-name c --add-config"
        " producer_byte_rate=1000"
    ),
    Step(f"configs {_ZK} --describe --entity-type clients --entity-name c"),
]
CLIENTS_2_0: Final = [
    *_placed(_ZK, "zg"),
    Step(
        "console-producer --broker-list {bootstrap} --topic zg --sync --property parse.key=true",
        "a\t1\nb\t2\nc\t3\nd\t4\ne\t5\n",
    ),
    Step(
        f"console-consumer {_BS} --topic zg --from-beginning --max-messages 5 --group zgg",
        any_order=True,
    ),
    Step(f"consumer-groups {_BS} --describe --group zgg", any_order=True),
    Step(
        f"consumer-groups {_BS} --reset-offsets --group zgg --topic zg --to-earliest --execute",
        any_order=True,
    ),
    Step(f"log-dirs {_BS} --describe --topic-list zg --broker-list 1", until='"size":[1-9]'),
    Step(
        f"configs {_BS} --alter --entity-type brokers --entity-name 1 --add-config num.io.threads=9"
    ),
    Step(
        f"configs {_BS} --describe --entity-type brokers --entity-name 1", until="num.io.threads=9"
    ),
    Step(
        f"configs {_BS} --alter --entity-type brokers --entity-name 1 --delete-config"
        " num.io.threads"
    ),
    Step(f"consumer-groups {_BS} --delete --group zgg"),
]
TOPICS_2_8: Final = [
    *_placed(_BS, "bt", "--config retention.ms=100000"),
    Step(
        f"topics {_BS} --create --topic bt --partitions 1 --replication-factor 1", but_errors=True
    ),
    Step(f"topics {_BS} --create --topic bt --partitions 1 --replication-factor 1 --if-not-exists"),
    Step(f"topics {_BS} --alter --topic bt --partitions 4 {_PLACED},0:1:2"),
    Step(f"topics {_BS} --describe --topic bt --topics-with-overrides", until="PartitionCount: 4"),
    Step(f"topics {_BS} --describe --topic bt --under-min-isr-partitions", until="^$"),
    Step(f"topics {_BS} --describe --topic bt --at-min-isr-partitions", until="^$"),
    Step(
        f"configs {_BS} --alter --entity-type topics --entity-name bt --add-config"
        " segment.bytes=20000,cleanup.policy=[compact,delete]"
    ),
    Step(
        f"configs {_BS} --describe --entity-type topics --entity-name bt",
        until="segment.bytes=20000",
        any_order=True,
    ),
    Step(
        f"configs {_BS} --alter --entity-type topics --entity-name bt --delete-config"
        " cleanup.policy"
    ),
    Step(f"topics {_BS} --delete --topic bt"),
    Step(f"topics {_BS} --list --topic bt.*", until="^$"),
    Step(f"topics {_BS} --describe --topic bt", but_errors=True),
]
CLIENTS_2_8: Final = [
    *_placed(_ZK, "bg"),
    Step(
        f"console-producer {_BS} --topic bg --sync --property parse.key=true",
        "a\t1\nb\t2\nc\t3\nd\t4\ne\t5\n",
    ),
    Step(
        f"console-consumer {_BS} --topic bg --from-beginning --max-messages 5 --group bgg"
        " --property print.partition=true",
        any_order=True,
    ),
    Step(f"consumer-groups {_BS} --describe --all-groups --state"),
    Step(f"consumer-groups {_BS} --describe --group bgg --offsets", any_order=True),
    Step(f"consumer-groups {_BS} --list --state Empty"),
    Step(f"consumer-groups {_BS} --delete-offsets --group bgg --topic bg:1", any_order=True),
    Step(f"consumer-groups {_BS} --delete --all-groups"),
    Step(f"log-dirs {_BS} --describe --topic-list bg --broker-list 2", until='"size":[1-9]'),
    Step(
        f"configs {_BS} --alter --entity-type clients --entity-name c --entity-type users"
        " --entity-name u --add-config producer_byte_rate=1000"
    ),
    Step(
        f"configs {_BS} --describe --entity-type clients --entity-name c --entity-type users"
        " --entity-name u",
        until="1000",
    ),
    Step(f"broker-api-versions {_BS}"),
    Step(f"features {_BS} --describe"),
    Step(f"cluster cluster-id {_BS}"),
]
#: The stories of one release run at the same time.
STORIES: Final[Mapping[str, Mapping[str, Sequence[Step]]]] = {
    "2.0.1": {"topics": TOPICS_2_0, "clients": CLIENTS_2_0},
    "2.8.2": {"topics": TOPICS_2_8, "clients": CLIENTS_2_8},
}


def golden_name(version: str, story: str) -> str:
    return f"java-{version}-{story}"


def tell(cluster: Cluster, steps: Sequence[Step]) -> list[tuple[str, Printed]]:
    """Run the tools of the release whose jars `cluster` names, and return their output in a
    comparable form.
    """
    told = []
    for step, printed in zip(steps, cluster.tell(steps, MARK, java=True), strict=True):
        out, err = (
            _RANDOM.sub("RANDOM", _ADDRESS.sub("ADDRESS", text))
            for text in (printed.out, printed.err)
        )
        out = _BROKERS_OF_SERVED.sub("ADDRESS -> (", out)
        told.append((step.words, comparable(cluster, step, Printed(printed.code, out, err), MARK)))
    return told


def main() -> None:
    for version, stories in STORIES.items():
        jars = kafka_jars(version)
        properties = [f"{key}={value}" for key, value in (SETTINGS | OF_A_SMALL_HEAP).items()]
        with (
            tempfile.TemporaryDirectory() as folder,
            apache_kafka(jars, BROKERS, properties, java=SMALL) as kafka,
        ):
            for story, steps in stories.items():
                record(
                    golden_name(version, story),
                    tell(Cluster(kafka.zookeeper, kafka.bootstrap, Path(folder), jars), steps),
                )


if __name__ == "__main__":
    main()
