"""Public tests of exercise 16-8s. Run them with `kafka-edu lab check 16-8s`. The learner's job runs
in another process with its own Spark, and reads recordings that the tests have written.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Final

import pytest

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.wire_format import encode, encode_header

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import SparkLearner
from ..incident_answers import right_flaps, right_latency
from ..incidents_made import Incident, made_incident

LATENCY: Final = ("api", "requests", "p50_us", "p99_us")
FLAPS: Final = ("partition", "broker", "began_us", "lasted_us", "act")
Row = tuple[object, ...]


class Report:
    """A folder of recordings, and the learner's job on it, with a check of its two tables."""

    def __init__(self, learner: SparkLearner, given: Path, left: Path) -> None:
        self._learner = learner
        self.recordings = given / "recordings"
        self._out = left

    def write(self, made: Incident) -> None:
        """Write the recordings: one file for each start of each process."""
        self.recordings.mkdir()
        for number, events in enumerate(by_process(made.by_file())):
            source = events[0].source
            text = b"".join((encode_header(source, "lab-16-8s"), *map(encode, events)))
            (self.recordings / f"{number}-{source.kind}-{source.id}.jsonl").write_bytes(text)

    def run(self) -> None:
        """Run the learner's job. Raises LearnerFailure."""
        self._learner.run_with(str(self.recordings), str(self._out), connector="python")

    def has(self, table: str, columns: tuple[str, ...], right: Iterable[Row], why: str) -> None:
        """Raise Mismatch unless a table has these rows, in any order."""
        asked = f"spark.read.parquet(out + '/{table}')"
        came = self._learner.read(f"{self._out}/{table}")
        if sorted(came.columns) != sorted(columns):
            raise Mismatch(asked, ", ".join(columns), ", ".join(came.columns), "see README.md")
        found = Counter(zip(*(came.column(name) for name in columns), strict=True))
        wanted = Counter(right)
        missing, more = wanted - found, found - wanted
        if missing or more:
            raise Mismatch(
                f"{asked}: {', '.join(columns)}",
                sorted(missing, key=repr)[:1] or "no more rows",
                sorted(more, key=repr)[:1] or "no such row",
                why,
                read="report",
            )

    def agrees(self, made: Incident, why: str = "") -> None:
        """Write the recordings, run the job, and raise Mismatch unless both tables are right."""
        self.write(made)
        self.run()
        self.has("latency", LATENCY, latency_rows(made.envelopes), why)
        self.has("flaps", FLAPS, right_flaps(made.envelopes), why)


def by_process(events: Iterable[Envelope]) -> list[list[Envelope]]:
    """Return the events of each process. An event with number 1 is the first of a new process."""
    found: list[list[Envelope]] = []
    for _, of_source in groupby(events, lambda one: one.source):
        for event in of_source:
            if event.seq == 1:
                found.append([])
            found[-1].append(event)
    return found


def latency_rows(events: Iterable[Envelope]) -> list[Row]:
    """Return the right rows of the table `latency`."""
    return [(api, *times) for api, times in right_latency(events).items()]


@pytest.fixture
def report(learner: SparkLearner, given: Path, left: Path) -> Report:
    """The learner's job, with a folder of its own."""
    return Report(learner, given, left)


def web(made: Incident, leader: int = 0) -> Incident:
    """Let a broker become the leader of web-0, with all three brokers in the ISR."""
    return made.leads(leader, "web", 0, [leader, *{0, 1, 2} - {leader}])


def test_latency(report: Report) -> None:
    """requests, p50 and p99 by API, of all brokers together and without followers"""
    made = web(Incident()).requests(ApiKey.FETCH, (800, 900, 1_000, 1_100))
    for broker, times in enumerate(([100] * 90, [200] * 9, [90_000])):
        for total_us in times:
            made.request(broker, ApiKey.METADATA, total_us)
    for _ in range(20):
        made.after(20).request(1, ApiKey.FETCH, 500_300, follower=True)
    made.requests(ApiKey.PRODUCE, range(1_000, 1_003), brokers=1)
    report.agrees(
        made,
        "a percentile of all requests comes from all of them at once, and is one of their times."
        " A follower's fetch waits for new records, so it does not count",
    )


def test_flaps(report: Report) -> None:
    """brokers that leave an ISR, together and one after the other, and come back or do not"""
    made = web(Incident()).leads(1, "web", 1, [1, 0, 2]).leads(1, "pay", 0, [1, 0, 2])
    made.after(500).pause(2).after(900).isr("web", 0, [0]).after(30).isr("pay", 0, [1, 0])
    made.after(300).isr("web", 0, [0, 2]).after(50).isr("web", 0, [0, 2, 1])
    made.after(40).isr("pay", 0, [1, 0, 2]).after(900).isr("web", 1, [1, 2])
    report.agrees(made, "each partition has an ISR of its own, and each broker a flap of its own")


def test_new_leader(report: Report) -> None:
    """a leader dies: it is not in the next leader's first ISR; each restart has a new file"""
    made = web(Incident(), 2).kill(2).after(1_700).leads(1, "web", 0, [1, 0]).after(500)
    made.leads(0, "web", 0, [0, 1]).restarted(2).after(700).isr("web", 0, [0, 1, 2])
    made.after(5).leads(2, "web", 0, [2, 1, 0]).after(60).isr("web", 0, [2, 0])
    report.agrees(
        made,
        "BecameLeader has `isr`. The files come one after the other: `monoUs` orders the events of"
        " all processes",
    )


def test_first_isr(report: Report) -> None:
    """a partition whose first ISR lacks a broker"""
    made = Incident().kill(2).after(50).leads(0, "web", 0, [0, 1]).after(90)
    made.isr("web", 0, [0, 1, 2]).after(10).isr("web", 0, [0, 2]).after(70)
    made.isr("web", 0, [0, 1, 2])
    report.agrees(
        made, "no event says that broker 2 left: the first ISR of a partition is no change"
    )


def test_acts(report: Report) -> None:
    """the last act before each flap, of the supervisor's recording"""
    made = web(Incident()).after(100).isr("web", 0, [0, 1]).after(100).isr("web", 0, [0, 1, 2])
    made.cut(0, 2).after(1_500).isr("web", 0, [0, 1]).after(10).pause(1)
    made.after(200).isr("web", 0, [0, 1, 2]).after(900).isr("web", 0, [0, 2])
    report.agrees(made, "the act is the last one before the flap began; empty if there was none")


def test_cut_file(report: Report) -> None:
    """a recording that was cut in the middle of a line, because its broker was killed"""
    made = web(Incident(), 2).requests(ApiKey.PRODUCE, range(500, 530)).kill(2).after(1_700)
    made.leads(1, "web", 0, [1, 0]).after(500).isr("web", 0, [1, 0, 2])
    report.write(made)
    (killed,) = report.recordings.glob("*-broker-2.jsonl")
    with killed.open("ab") as file:
        file.write(encode(made.envelopes[1])[:40])
    report.run()
    why = "the half line is no event, and all whole ones count"
    report.has("latency", LATENCY, latency_rows(made.envelopes), why)
    report.has("flaps", FLAPS, right_flaps(made.envelopes), why)


def test_many(report: Report, seed: int) -> None:
    """a random evening"""
    report.agrees(made_incident(Random(seed).randrange(10**6), acts=8))
