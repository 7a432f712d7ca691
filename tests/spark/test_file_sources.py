"""The data sources for segment files and for recordings return exactly what was written into the
files. The examples in docs/spark-files.md run unchanged.
"""

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, parse_header
from kafka_edu.spark.file_options import SegmentFile
from kafka_edu.spark.source_errors import CorruptBatchError, DamagedRecordingError, user_error
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.network import ResponseSent
from kafka_edu.trace.events.replication import IsrShrunk
from kafka_edu.trace.wire_format import encode, encode_header

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
BASE = 1000
NOW_MS = 1_700_000_000_000
PAGE = Path(__file__).parents[2] / "docs" / "spark-files.md"


def batches() -> list[bytes]:
    """Return twenty batches: the codecs take turns, one batch is in a transaction, one is its
    marker, and there are gaps between the offsets.
    """
    found = []
    offset = BASE
    for turn in range(20):
        records = [
            Record(offset + 2 * i, NOW_MS + offset + i, b"k%d" % i, b"value " * 8, (("a", b"1"),))
            for i in range(turn % 4 + 1)
        ]
        found.append(
            build_batch(
                records,
                compression=CompressionType(turn % 5),
                producer_id=7 if turn == 3 else -1,
                producer_epoch=1 if turn == 3 else -1,
                base_sequence=0 if turn == 3 else -1,
                is_transactional=turn == 3,
            )
        )
        offset = records[-1].offset + 1
        if turn == 3:
            marker = EndTransactionMarker(ControlRecordType.COMMIT, 0)
            found.append(build_end_transaction_marker(marker, 7, 1, NOW_MS, offset))
            offset += 1
    return found


def write_segment(folder: Path, *, active: bool = False) -> SegmentFile:
    """Write the batches with the broker's class LogSegment, with an index entry for each 512
    bytes.
    """
    folder.mkdir()
    segment = LogSegment(OsFileSystem(), str(folder), BASE, 512, NOW_MS)
    segment.begin(4096)
    for raw in batches():
        header = parse_header(raw)
        segment.append((raw,), header.base_offset, header.last_offset, header.max_timestamp)
    if active:
        segment.flush()
        segment.close_handlers()
    else:
        segment.on_become_inactive()
        segment.close()
    path = folder / f"{BASE:020d}.log"
    return SegmentFile(str(path), TopicPartition("web", 0), BASE, path.stat().st_size)


def rows(found: Any) -> list[dict[str, Any]]:
    return [row for batch in found for row in batch.to_pylist()]


def records(file: SegmentFile, *, fail: bool = True) -> list[dict[str, Any]]:
    from kafka_edu.spark.segment_rows import record_batches

    return rows(record_batches(file, check_crcs=True, include_headers=True, fail_on_damage=fail))


def batch_table(file: SegmentFile, *, fail: bool = True) -> list[dict[str, Any]]:
    from kafka_edu.spark.segment_rows import batch_rows

    return rows(batch_rows(file, check_crcs=True, decompressed=True, fail_on_damage=fail))


def test_batches_have_what_their_heads_say(tmp_path: Path) -> None:
    found = batch_table(write_segment(tmp_path / "web-0"))
    raws = batches()
    position = 0
    for row, raw in zip(found, raws, strict=True):
        header = parse_header(raw)
        assert row["position"] == position
        assert row["bytes"] == len(raw)
        assert (row["baseOffset"], row["lastOffset"]) == (header.base_offset, header.last_offset)
        assert row["records"] == header.records_count
        assert row["codec"] == header.compression.name.lower()
        assert row["control"] == header.is_control
        assert row["transactional"] == header.is_transactional
        assert row["crc"] == header.crc
        assert row["crcRight"] is True
        assert row["producerId"] == (None if header.producer_id < 0 else header.producer_id)
        position += len(raw)
    plain = [row["uncompressedBytes"] for row in found if row["codec"] == "none"]
    assert plain == [row["bytes"] for row in found if row["codec"] == "none"]
    large = [row for row in found if row["codec"] == "gzip" and row["records"] == 4]
    assert large
    assert all(row["uncompressedBytes"] > row["bytes"] for row in large)


def test_records_are_those_written_without_the_marker(tmp_path: Path) -> None:
    from kafka_edu.record.record_batch import read_records

    found = records(write_segment(tmp_path / "web-0"))
    written = [
        record
        for raw in batches()
        if not parse_header(raw).is_control
        for record in read_records(raw)
    ]
    assert [(row["offset"], row["key"], row["value"]) for row in found] == [
        (record.offset, record.key, record.value) for record in written
    ]
    assert {row["file"] for row in found} == {f"{BASE:020d}.log"}
    assert found[0]["headers"] == [{"key": "a", "value": b"1"}]


@pytest.mark.parametrize("active", [False, True])
def test_index_entries_are_those_of_the_broker_without_the_zeros(
    tmp_path: Path, active: bool
) -> None:
    from kafka_edu.log.offset_index import OffsetIndex
    from kafka_edu.spark.segment_rows import index_rows

    file = write_segment(tmp_path / "web-0", active=active)
    by_batch = {row["lastOffset"]: row["position"] for row in batch_table(file)}
    path = file.path.replace(".log", ".index")
    found = rows(index_rows(file._replace(path=path), fail_on_damage=True))
    assert len(found) > 2
    assert all(by_batch[row["offset"]] == row["position"] for row in found)
    if not active:
        index = OffsetIndex(OsFileSystem(), path, BASE)
        index.load()
        entries = [tuple(index.entry(n)) for n in range(index.entries)]
        assert [(row["offset"], row["position"]) for row in found] == entries
        index.close()
    times = file.path.replace(".log", ".timeindex")
    found = rows(index_rows(file._replace(path=times), fail_on_damage=True))
    assert found
    assert [row["timestamp"] for row in found] == sorted(row["timestamp"] for row in found)


def test_a_cut_segment_ends_in_one_line_or_is_read_up_to_the_cut(tmp_path: Path) -> None:
    file = write_segment(tmp_path / "web-0")
    path = Path(file.path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CorruptBatchError, match=r"the batch at position \d+ is cut") as error:
        batch_table(file)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)
    assert "failOnDamage=false" in str(error.value)
    assert len(batch_table(file, fail=False)) == len(batches()) - 1


def test_a_wrong_checksum_is_a_value_of_a_batch_and_damage_of_its_records(tmp_path: Path) -> None:
    file = write_segment(tmp_path / "web-0")
    path, raw = Path(file.path), bytearray(Path(file.path).read_bytes())
    raw[len(batches()[0]) - 3] ^= 1
    path.write_bytes(raw)
    assert [row["crcRight"] for row in batch_table(file)].count(False) == 1
    with pytest.raises(CorruptBatchError, match="the batch at offset 1000 fails its checksum"):
        records(file)
    assert min(row["offset"] for row in records(file, fail=False)) == 1001


def test_bytes_that_are_no_batch_end_in_one_line(tmp_path: Path) -> None:
    file = write_segment(tmp_path / "web-0")
    with Path(file.path).open("ab") as stream:
        stream.write(b"no batch at all, just some words")
    with pytest.raises(CorruptBatchError, match="the batch at position"):
        batch_table(file)
    Path(file.path).write_bytes(bytes(40))
    assert batch_table(file) == []  # room that is not written yet


def test_messages_of_old_formats_are_rows(tmp_path: Path) -> None:
    folder = tmp_path / "old-0"
    folder.mkdir()
    path = folder / f"{0:020d}.log"
    written = [Record(i, NOW_MS + i, b"k", b"v" * 50) for i in range(3)]
    path.write_bytes(build_message_set(written, magic=1))
    file = SegmentFile(str(path), TopicPartition("old", 0), 0, path.stat().st_size)
    found = batch_table(file)
    assert [(row["magic"], row["baseOffset"], row["records"]) for row in found] == [
        (1, 0, 1), (1, 1, 1), (1, 2, 1)
    ]  # fmt: skip
    assert all(row["crcRight"] for row in found)
    assert [row["offset"] for row in records(file)] == [0, 1, 2]


def envelopes() -> list[Envelope]:
    """Two responses and an ISR that shrinks."""
    broker = Source.of_broker(1)
    sent = [
        ResponseSent(
            connection_id="c", correlation_id=n, api_key=key, size_bytes=10, request_queue_us=1,
            local_us=2, remote_us=3, response_queue_us=4, send_us=5, total_us=total,
            throttle_us=0, client_id="p", follower=False,
        )
        for n, (key, total) in enumerate([(0, 900), (1, 400_000)])
    ]  # fmt: skip
    shrunk = IsrShrunk(
        topic="web", partition=2, leader_epoch=0, before=(1, 2), after=(1,), zk_version=3,
        reason="2 has not caught up",
    )  # fmt: skip
    return [
        Envelope(broker, number, number - 1, NOW_MS + number, number * 1000, event)
        for number, event in enumerate([*sent, shrunk], 1)
    ]


def write_recording(path: Path) -> Path:
    lines = [encode_header(Source.of_broker(1), "here"), *map(encode, envelopes())]
    path.write_bytes(gzip.compress(b"".join(lines)))
    return path


def test_events_are_rows_with_their_fields(tmp_path: Path) -> None:
    from kafka_edu.spark.event_rows import event_rows

    path = str(write_recording(tmp_path / "run.jsonl.gz"))
    found = rows(event_rows(path, (), as_map=True, fail_on_damage=True))
    assert [row["event"] for row in found] == ["ResponseSent", "ResponseSent", "IsrShrunk"]
    assert [row["api"] for row in found] == ["Produce", "Fetch", None]
    assert [row["totalUs"] for row in found] == [900, 400_000, None]
    assert [row["cause"] for row in found] == [None, 1, 2]
    assert (found[2]["topic"], found[2]["partition"]) == ("web", 2)
    assert dict(found[2]["fields"])["before"] == "[1, 2]"
    found = rows(event_rows(path, ("IsrShrunk",), as_map=False, fail_on_damage=True))
    assert [row["source"] for row in found] == ["broker 1"]


def test_a_cut_recording_ends_in_one_line_or_is_read_up_to_the_cut(tmp_path: Path) -> None:
    from kafka_edu.spark.event_rows import event_rows

    path = tmp_path / "run.json"
    text = gzip.decompress(write_recording(tmp_path / "run.jsonl.gz").read_bytes())
    path.write_bytes(text[:-4])
    with pytest.raises(DamagedRecordingError, match="the last line is not complete") as error:
        rows(event_rows(str(path), (), as_map=False, fail_on_damage=True))
    assert "\n" not in str(error.value)
    assert len(rows(event_rows(str(path), (), as_map=False, fail_on_damage=False))) == 2
    path.write_text("127.0.0.1 - - GET /\n")
    with pytest.raises(DamagedRecordingError, match="is not a readable recording"):
        rows(event_rows(str(path), (), as_map=False, fail_on_damage=False))


def test_the_examples_of_the_page_run_in_spark(spark: "SparkSession", tmp_path: Path) -> None:
    file = write_segment(tmp_path / "web-0")
    recording = write_recording(tmp_path / "run.jsonl.gz")
    names: dict[str, Any] = {"spark": spark, "logs": str(tmp_path), "recording": str(recording)}
    page = PAGE.read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(block, names)
    table = batch_table(file)
    sums: dict[str, list[int]] = {}
    for row in table:
        of_codec = sums.setdefault(row["codec"], [0, 0])
        of_codec[0] += row["records"]
        of_codec[1] += row["bytes"]
    assert {row[0]: [row[1], row[2]] for row in names["codecs"].collect()} == sums
    steps = [row["step"] for row in names["steps"].collect()]
    assert steps
    assert all(512 < step < 2048 for step in steps)
    assert [tuple(row) for row in names["slowest"].collect()] == [
        ("Fetch", 1, 400_000.0), ("Produce", 1, 900.0)
    ]  # fmt: skip
    assert [row["isr"] for row in names["shrinks"].collect()] == ["[1]"]

    segments = spark.read.format("kafka-edu-segments")
    read = segments.option("includeHeaders", "true").load(str(tmp_path / "web-0"))
    assert read.count() == len(records(file))
    Path(file.path).write_bytes(Path(file.path).read_bytes()[:-5])
    for mistake, said in (
        (lambda: segments.load(str(tmp_path / "web-0")).count(), "is cut"),
        (lambda: segments.option("row", "x").load("x"), "did you mean rows?"),
        (
            lambda: (
                spark.readStream.format("kafka-edu-events").load(str(recording)).isStreaming
                and spark.readStream.format("kafka-edu-events")
                .load(str(recording))
                .writeStream.format("noop")
                .start()
                .awaitTermination()
            ),
            "use spark.read instead",
        ),
    ):
        with pytest.raises(Exception) as error:  # noqa: PT011 - Spark's, around ours
            mistake()
        line = user_error(error.value)
        assert line is not None
        assert said in line
        assert "\n" not in line
