"""Compacted logs in message formats v0 and v1: our broker opens, cleans and serves what Apache
Kafka 2.0.1 or 2.8.2 has written, and it leaves the same records as Apache's own cleaner.

Apache Kafka writes the logs. Then the log dir is copied, and each cleaner works on its own copy,
twice, with more records in between. After each pass the entries of the files are compared: offsets,
format, codec, timestamps, keys and values.
"""

import random
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.apache_kafka import kafka_jars, run_tool
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records, read_entry
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import TimestampType, iter_headers
from tests.compacted_topic import Row, clean_up_to, read
from tests.conformance.cases.basics import create, produce
from tests.conformance.replay import Asker
from tests.interop.external_programs import apache_kafka_jars
from tests.interop.one_disk import CODECS, PATIENCE_S, Disk, Make
from tests.interop.test_log_dirs_of_apache_kafka import VERSIONS
from tests.interop.test_log_dirs_of_apache_kafka import zookeeper as zookeeper
from tests.waiting import wait_for

# The marks are in VERSIONS: pytest.mark.interop for 2.8.2, pytest.mark.long for 2.0.1.


class Topic(NamedTuple):
    """A topic whose messages have an old format."""

    name: str
    release: str
    """Its message.format.version."""
    magic: int
    clock: str = "CreateTime"


TOPICS = (
    Topic("old-v0", "0.9.0", 0),
    Topic("old-v1", "0.10.0", 1),
    Topic("old-v1-append", "0.10.2", 1, "LogAppendTime"),
)
KEYS = 40
NEVER = {"log.cleaner.min.cleanable.ratio": "1"}
AT_ONCE = {"log.cleaner.min.cleanable.ratio": "0.01"}
SETTINGS = {
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.delete.retention.ms": "0",  # tombstones go in the second pass
}
NOW_MS = 1_700_000_000_000


class Entry(NamedTuple):
    """One entry of a file: a message, or a compressed set of messages."""

    offset: int
    magic: int
    codec: CompressionType
    clock: TimestampType
    timestamp: int
    records: tuple[Record, ...]


class Copy(NamedTuple):
    """A copy of the log dir for the brokers of one make (Apache Kafka or ours). `writing` runs a
    broker whose cleaner does nothing, and `cleaning` a broker whose cleaner starts at once. So the
    cleaner's passes do not depend on the time between two records.
    """

    writing: Disk
    cleaning: Disk

    @property
    def data(self) -> Path:
        return self.cleaning.data


def copied(data: Path, folder: Path, zookeeper: str) -> Copy:
    folder.mkdir()
    shutil.copytree(data, folder / "data")
    return Copy(
        Disk(folder, zookeeper, **SETTINGS, **NEVER),
        Disk(folder, zookeeper, **SETTINGS, **AT_ONCE),
    )


def create_topics(asker: Asker) -> None:
    for topic in TOPICS:
        configs: dict[str, str | None] = {
            "cleanup.policy": "compact",
            "message.format.version": topic.release,
            "message.timestamp.type": topic.clock,
        }
        answer = asker.ask("create", create(topic.name, configs=configs), 2)
        assert answer.topics[0].error_code == 0, answer


def write(asker: Asker, first: int) -> int:
    """Write the same records into each topic with each codec. Some records are tombstones. Return
    how many records each topic got.

    A broker compresses a set of v0 messages again, and the size of the result depends on the
    broker's library. So in the second pass the v0 records are not compressed. Then the segments of
    both makes begin at the same offsets.
    """
    count, chance = 0, random.Random(first)
    for number in range(first, first + 90):
        codec = CODECS[number // 3 % 4]
        new = [
            Record(
                at,
                NOW_MS + 10 * number + at,
                b"key %d" % chance.randrange(KEYS),
                None if chance.random() < 0.1 else b"value %d " % number * 5,
            )
            for at in range(1 + number % 6)
        ]
        count += len(new)
        for topic in TOPICS:
            used = CompressionType.NONE if topic.magic == 0 and first else codec
            asker.ask(
                "write",
                produce(build_records(new, topic.magic, used), topic=topic.name),
                2,
                until=lambda answer: answer.responses[0].partition_responses[0].error_code == 0,
            )
    return count


def entries(folder: Path, own_times_from: int) -> Iterator[Entry]:
    """Yield the entries of all segments. From the offset `own_times_from` on, the timestamps are
    left out, because each broker has set different timestamps there.
    """
    for path in sorted(folder.glob("*.log")):
        data, end = path.read_bytes(), 0
        for at, header in iter_headers(data):
            end = at + header.size_in_bytes
            one = Entry(
                header.last_offset,
                header.magic,
                header.compression,
                header.timestamp_type,
                header.max_timestamp,
                tuple(read_entry(data[at:end])),
            )
            if one.offset >= own_times_from:
                records = tuple(record._replace(timestamp=0) for record in one.records)
                one = one._replace(timestamp=0, records=records)
            yield one
        assert end == len(data), path


def settled(data: Path) -> None:
    def is_clean() -> bool:
        return all(
            clean_up_to(data, topic.name)
            == max(int(path.stem) for path in (data / f"{topic.name}-0").glob("*.log"))
            for topic in TOPICS
        )

    wait_for(is_clean, "the logs are clean", PATIENCE_S)


def served(disk: Disk) -> dict[str, list[Row]]:
    """Return what a consumer reads of each topic."""
    return {topic.name: read(f"127.0.0.1:{disk.port}", topic.name) for topic in TOPICS}


def check_there_was_work(kept: list[Entry], written: int) -> None:
    """Check that the passes have met what they are tested with."""
    assert sum(len(entry.records) for entry in kept) < written / 2
    assert {entry.codec for entry in kept} == set(CODECS)
    assert any(
        later.offset > earlier.offset + 1
        for entry in kept
        for earlier, later in pairwise(entry.records)
    ), "a compressed set that has lost a record in its middle"


@pytest.mark.rotated
@VERSIONS
def test_both_cleaners_leave_the_same_entries(
    tmp_path: Path, zookeeper: str, version: Make
) -> None:
    apache_kafka_jars(version)
    source = Disk(tmp_path, zookeeper, **SETTINGS, **NEVER)
    with source.run(version) as asker:
        create_topics(asker)
        written = write(asker, 0)
    copies = {
        make: copied(source.data, tmp_path / make.name, zookeeper) for make in (version, Make.OURS)
    }
    rows: dict[Make, dict[str, list[Row]]] = {}
    for turn in range(2):
        for make, copy in copies.items():
            if turn:
                with copy.writing.run(make) as asker:
                    write(asker, 90)
            with copy.cleaning.run(make):
                settled(copy.data)
                rows[make] = served(copy.cleaning)
        assert rows[Make.OURS] == rows[version]
        for topic in TOPICS:
            own_times_from = written if topic.clock == "LogAppendTime" else 1 << 40
            ours, theirs = (
                list(entries(copies[make].data / f"{topic.name}-0", own_times_from))
                for make in (Make.OURS, version)
            )
            assert {entry.magic for entry in ours} == {topic.magic}
            assert ours == theirs, (turn, topic)
            if turn == 0:
                check_there_was_work(ours, written)
    for topic in TOPICS:
        files = sorted(str(p) for p in (copies[Make.OURS].data / f"{topic.name}-0").glob("*.log"))
        dumped = run_tool(
            kafka_jars(version),
            "kafka.tools.DumpLogSegments",
            "--deep-iteration",
            "--files",
            ",".join(files),
        )
        assert "isvalid: true" in dumped
        assert "isvalid: false" not in dumped
    for make, other in ((Make.OURS, version), (version, Make.OURS)):
        with copies[other].writing.run(make):
            assert served(copies[other].writing) == rows[other], f"{make} serves the log of {other}"
    said = (tmp_path / version.name / "ours.log").read_text()
    assert "built again" not in said, said
