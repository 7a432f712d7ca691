"""Runs Kafka's Java tools and ours with the same words, and makes what they print comparable.

A story is a list of steps. It may be told to one cluster by the Java tools and by ours, each with
names of its own: `{x}` in a step is three letters that differ. What the Java tools of 2.0.1 print
is recorded in tests/golden/tools, so that ours can be held against it where there is no Java. What
may differ is taken out by `normalised`: dates, stack traces, the wording of the usage text (its
options stay), and the order in which Java's hash maps hold configs.
"""

import json
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.python_process import python_command, python_environment
from tests.interop.client_contract import known_by_all
from tests.waiting import LOOK_EVERY_S, PATIENCE_S

JAVA: Final = ("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
#: Ours → Kafka's.
CLASSES: Final = {
    "topics": "kafka.admin.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "console-producer": "kafka.tools.ConsoleProducer",
    "console-consumer": "kafka.tools.ConsoleConsumer",
    "consumer-groups": "kafka.admin.ConsumerGroupCommand",
    "preferred-replica-election": "kafka.admin.PreferredReplicaLeaderElectionCommand",
    "leader-election": "kafka.admin.LeaderElectionCommand",
    "delete-records": "kafka.admin.DeleteRecordsCommand",
    "log-dirs": "kafka.admin.LogDirsCommand",
    "reassign-partitions": "kafka.admin.ReassignPartitionsCommand",
    "cluster": "kafka.tools.ClusterTool",
    "dump-log-segments": "kafka.tools.DumpLogSegments",
    "features": "kafka.admin.FeatureCommand",
    "get-offsets": "kafka.tools.GetOffsetShell",
    "broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "consumer-perf-test": "kafka.tools.ConsumerPerformance",
    "producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
}
#: config/tools-log4j.properties of Kafka's distribution, but for the date.
LOG4J: Final = """log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.stderr.Target=System.err
"""
MARKS: Final = ("jqj", "kqk")
GOLDEN: Final = Path(__file__).parents[1] / "golden" / "tools"
TIMEOUT_S: Final = 120
_DATE: Final = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ")
_TRACE: Final = re.compile(r"^(\s+at .*|\s*\.\.\. \d+ more|Caused by: .*)$")
_USAGE: Final = re.compile(r"^Option +Description *$")
#: Of console-consumers without a --group, and of the story of the console.
_OTHERS_GROUP: Final = re.compile(r"^(console-consumer-\d+|cgxxx)$")
#: A Java client picks by chance which of the brokers it was told of it asks first, and says so of
#: one that is away.
_BROKER_AWAY: Final = re.compile(
    r"^WARN \[\w+ clientId=[^]]+\] (Connection to node -?\d+ \(\S+\) could not be"
    r" established\.|Bootstrap broker \S+ \(id: -\d+ rack: null\) disconnected)"
)
#: What our tools say of settings that our brokers do not heed yet; Kafka's have nothing to say
#: there.
_NO_EFFECT: Final = re.compile(r"^WARNING: on kafka-edu's brokers ")
#: The answer of log-dirs.
_LOG_DIRS: Final = re.compile(r'^\{"version":1,"brokers":')
_LABEL: Final = re.compile(r"^--([a-z][a-z.-]*)")
_CONFIGS: Final = re.compile(r"(?<=Configs:)\S+|(?<= are )\S+=\S+$|(?<= Set\()[^)]+")
#: Kafka has the first from a later release on; the second is of the Java client's metrics.
OTHER_OPTIONS: Final = {"bootstrap-server", "print-metrics"}


class Step(NamedTuple):
    """One call of a tool. With `until`, the call is repeated until its output contains this text,
    because a change in the cluster may take a while.
    """

    words: str
    stdin: str = ""
    until: str = ""
    known: tuple[str, int] | None = None
    """A topic, and of how many partitions of it each broker is to know a leader before the next
    step: ZooKeeper tells of them earlier.
    """
    but_errors: bool = False
    """Standard error differs by design; the rest does not."""
    any_order: bool = False
    """The lines come in the order of a hash map, with Java."""


class Printed(NamedTuple):
    code: int
    out: str
    err: str


class Cluster(NamedTuple):
    """Where the tools work."""

    zookeeper: str
    bootstrap: str
    folder: Path
    """For files that steps name as {dir}."""
    jars: Path

    def java(self, tool: str) -> list[str]:
        log4j = self.folder / "log4j.properties"
        log4j.write_text(LOG4J)
        return [
            *JAVA,
            f"-Dlog4j.configuration=file:{log4j}",
            "-cp",
            f"{self.jars}/*",
            CLASSES[tool],
        ]

    def run(self, command: Sequence[str], words: Sequence[str], stdin: str) -> Printed:
        environment = {**python_environment(), "TZ": "UTC"}
        done = subprocess.run(
            [*command, *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=environment,
        )
        return Printed(done.returncode, done.stdout, done.stderr)

    def tell(self, steps: Sequence[Step], mark: str, *, java: bool) -> list[Printed]:
        return [self._step(step, mark, java=java) for step in steps]

    def _step(self, step: Step, mark: str, *, java: bool) -> Printed:
        names = {
            "zk": self.zookeeper,
            "bootstrap": self.bootstrap,
            "dir": str(self.folder),
            "x": mark,
        }
        tool, *words = (
            word.replace("%20", " ").replace("%00", "")
            for word in re.sub(r"\{(\w+)\}", lambda found: names[found[1]], step.words).split()
        )
        command = self.java(tool) if java else python_command("kafka_edu", tool)
        end = time.monotonic() + PATIENCE_S
        while True:
            printed = self.run(command, words, step.stdin.replace("{x}", mark))
            if not step.until or re.search(step.until, printed.out) or time.monotonic() > end:
                if step.known is not None:
                    topic, partitions = step.known
                    known_by_all(self.bootstrap, topic.replace("{x}", mark), partitions)
                return printed
            time.sleep(LOOK_EVERY_S)  # the cluster works on; there is nothing to be told by


def _log_dirs(line: str) -> str:
    """Without the place of the log dir; partitions in order."""
    document = json.loads(line)
    for broker in document["brokers"]:
        for log_dir in broker["logDirs"]:
            log_dir["logDir"] = "LOG-DIR"
            log_dir["partitions"].sort(key=lambda partition: partition["partition"])
    return json.dumps(document)


def normalised(text: str, mark: str, other: str) -> list[str]:
    """Lines, without what may differ; a usage text becomes the sorted list of its options."""
    lines: list[str] = []
    options: set[str] | None = None
    for raw in text.replace(mark, "xxx").splitlines():
        if options is not None:
            if found := _LABEL.match(raw):
                options.add(found[1])
        elif _USAGE.match(raw):
            options = set()
        elif _LOG_DIRS.match(raw):
            lines.append(_log_dirs(raw))
        elif other not in raw and not _TRACE.match(raw) and not _OTHERS_GROUP.match(raw):
            line = _CONFIGS.sub(
                lambda found: ",".join(sorted(map(str.strip, found[0].split(",")))),
                _DATE.sub("", raw),
            )
            if not _BROKER_AWAY.match(line) and not _NO_EFFECT.match(line):
                lines.append(line.rstrip())
    while lines and not lines[-1]:
        lines.pop()
    return (
        lines
        if options is None
        else [*lines, "options: " + " ".join(sorted(options - OTHER_OPTIONS))]
    )


def comparable(cluster: Cluster, step: Step, printed: Printed, mark: str) -> Printed:
    """What was printed, without what may differ between tools, clusters and calls."""
    other = MARKS[1 - MARKS.index(mark)]

    def lines(text: str) -> str:
        for address, name in (
            (cluster.bootstrap, "BROKER"),
            (cluster.zookeeper, "ZOOKEEPER"),
            (str(cluster.folder), "DIR"),
        ):
            text = text.replace(address, name)
        found = normalised(text, mark, other)
        return "\n".join(sorted(found) if step.any_order else found)

    return Printed(printed.code, lines(printed.out), "" if step.but_errors else lines(printed.err))


class Difference(NamedTuple):
    words: str
    expected: Printed
    got: Printed

    def __str__(self) -> str:
        return f"{self.words}\n  expected {tuple(self.expected)}\n  got      {tuple(self.got)}"


def golden(story: str) -> list[tuple[str, Printed]]:
    """What Apache Kafka's tools were recorded to print: words and, comparable, the rest. Recorded
    by `python -m tests.interop.record_tools`.
    """
    rows = (
        json.loads(line)
        for line in (GOLDEN / f"{story}.jsonl").read_text(encoding="utf-8").splitlines()
    )
    return [(row["words"], Printed(row["code"], row["out"], row["err"])) for row in rows]


def record(story: str, told: Sequence[tuple[str, Printed]]) -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"words": words, **printed._asdict()}, ensure_ascii=False)
        for words, printed in told
    ]
    (GOLDEN / f"{story}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def tell(cluster: Cluster, steps: Sequence[Step], *, java: bool) -> list[tuple[str, Printed]]:
    """Tell a story by one kind of tools."""
    mark = MARKS[0] if java else MARKS[1]
    return [
        (step.words, comparable(cluster, step, printed, mark))
        for step, printed in zip(steps, cluster.tell(steps, mark, java=java), strict=True)
    ]


def differences(
    told: Sequence[tuple[str, Printed]], expected: Sequence[tuple[str, Printed]]
) -> list[Difference]:
    assert [words for words, _ in told] == [words for words, _ in expected], (
        "the stories have changed: record them anew"
    )
    return [
        Difference(words, wanted, got)
        for (words, got), (_, wanted) in zip(told, expected, strict=True)
        if got != wanted
    ]
