"""Run Kafka's Java tools and ours with the same arguments, and bring their output into a comparable
form.

A story is a list of steps. The Java tools and ours may run it on one cluster, each with names of
their own: `{x}` in a step stands for three letters that differ. The output of 2.0.1's Java tools is
recorded in tests/golden/tools, so that our tools can be compared with it where there is no Java.
`normalised` removes what may differ: dates, stack traces, the wording of the usage text (its
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
from tests.interop.class_archive import archive_options
from tests.interop.client_contract import known_by_all
from tests.waiting import LOOK_EVERY_S, PATIENCE_S

JAVA: Final = ("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
#: Our name of a tool → Kafka's class.
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
#: config/tools-log4j.properties of Kafka's distribution, without the date.
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
#: Groups of console consumers without --group, and of the console's story.
_OTHERS_GROUP: Final = re.compile(r"^(console-consumer-\d+|cgxxx)$")
#: A client chooses by chance which of its bootstrap brokers it tries first, and logs a warning when
#: that one is down: the first two texts are Java's, and the last one is ours.
_BROKER_AWAY: Final = re.compile(
    r"^WARN (\[\w+ clientId=[^]]+\] (Connection to node -?\d+ \(\S+\) could not be"
    r" established\.|Bootstrap broker \S+ \(id: -\d+ rack: null\) disconnected)"
    r"|\[clientId=[^]]+\] cannot connect to )"
)
#: Our tools' warning about settings that have no effect on our brokers yet. Kafka's tools print
#: nothing there.
_NO_EFFECT: Final = re.compile(r"^WARNING: on kafka-edu's brokers ")
#: The output of log-dirs.
_LOG_DIRS: Final = re.compile(r'^\{"version":1,"brokers":')
_LABEL: Final = re.compile(r"^--([a-z][a-z.-]*)")
_CONFIGS: Final = re.compile(r"(?<=Configs:)\S+|(?<= are )\S+=\S+$|(?<= Set\()[^)]+")
#: Kafka has the first option in a later release. The second one belongs to the Java client's
#: metrics.
OTHER_OPTIONS: Final = {"bootstrap-server", "print-metrics"}


class Step(NamedTuple):
    """One call of a tool. With `until`, the call is repeated until its output contains this text,
    because a change in the cluster may take a while.
    """

    words: str
    stdin: str = ""
    until: str = ""
    known: tuple[str, int] | None = None
    """A topic, and a number of its partitions. Before the next step, each broker must know a leader
    for this number of partitions. ZooKeeper shows the leaders earlier.
    """
    but_errors: bool = False
    """Standard error differs by design. Only the rest is compared."""
    any_order: bool = False
    """With Java, the lines come in the order of a hash map."""


class Printed(NamedTuple):
    code: int
    out: str
    err: str


class Cluster(NamedTuple):
    """The cluster on which the tools run."""

    zookeeper: str
    bootstrap: str
    folder: Path
    """The folder of the files that steps name as {dir}."""
    jars: Path

    def java(self, tool: str) -> list[str]:
        log4j = self.folder / "log4j.properties"
        log4j.write_text(LOG4J)
        return [
            *JAVA,
            *archive_options(JAVA, self.jars),
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
            time.sleep(LOOK_EVERY_S)  # the cluster is still working, and cannot notify the test


def _log_dirs(line: str) -> str:
    """Remove the path of the log dir, and sort the partitions."""
    document = json.loads(line)
    for broker in document["brokers"]:
        for log_dir in broker["logDirs"]:
            log_dir["logDir"] = "LOG-DIR"
            log_dir["partitions"].sort(key=lambda partition: partition["partition"])
    return json.dumps(document)


def normalised(text: str, mark: str, other: str) -> list[str]:
    """Return the lines without the parts that may differ. A usage text becomes the sorted list of
    its options.
    """
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
    """Return the output without the parts that may differ between tools, clusters and calls."""
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
    """Return the recorded output of Apache Kafka's tools: the arguments of each step and its output
    in comparable form. It was recorded by `python -m tests.interop.record_tools`.
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
    """Run a story with one kind of tools."""
    mark = MARKS[0] if java else MARKS[1]
    return [
        (step.words, comparable(cluster, step, printed, mark))
        for step, printed in zip(steps, cluster.tell(steps, mark, java=java), strict=True)
    ]


def differences(
    told: Sequence[tuple[str, Printed]], expected: Sequence[tuple[str, Printed]]
) -> list[Difference]:
    assert [words for words, _ in told] == [words for words, _ in expected], (
        "the stories have changed: record them again"
    )
    return [
        Difference(words, wanted, got)
        for (words, got), (_, wanted) in zip(told, expected, strict=True)
        if got != wanted
    ]
