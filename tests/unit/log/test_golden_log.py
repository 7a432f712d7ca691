"""Our code reads a log that Apache Kafka 2.8.2 wrote. The log that our code writes is the same,
byte for byte (spec S1; see tests/golden/log/README.md).
"""

import json
import shutil
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.log.producer_state_manager import decode_snapshot
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.down_conversion import lazily_down_converted
from kafka_edu.record.memory_records import read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import check_crc, iter_headers, read_records
from kafka_edu.trace.events.log import LogLoaded, LogRecovered
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

GOLDEN = Path(__file__).parents[2] / "golden" / "log"
CONFIG = LogConfig.parse(
    {
        "segment.bytes": "4096",
        "index.interval.bytes": "256",
        "segment.index.bytes": "960",
        "retention.ms": "-1",
    }
)
NOW = 1_600_000_400_000
WRITTEN = [tuple(row) for row in json.loads((GOLDEN / "records.json").read_text())]


def load(tmp_path: Path, state: str) -> tuple[Log, list[tuple[object, ...]]]:
    shutil.copytree(GOLDEN / state, tmp_path / "golden-0")
    return load_log(
        TopicPartition("golden", 0),
        str(tmp_path),
        str(tmp_path / "golden-0"),
        OsFileSystem(),
        CONFIG,
        clean_shutdown=state == "clean",
        recovery_point=132 if state == "clean" else 0,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )


def records(log: Log) -> list[Record]:
    found: list[Record] = []
    while len(found) < log.log_end_offset:
        data = part_bytes(log.read(len(found), 1 << 20).records)
        for at, header in iter_headers(data):
            batch = data[at : at + header.size_in_bytes]
            check_crc(batch, header)
            found += read_records(batch)
    return found


@pytest.mark.parametrize("state", ["clean", "running"])
def test_every_record_is_read(tmp_path: Path, state: str) -> None:
    log, events = load(tmp_path, state)
    found = records(log)
    assert [
        (r.offset, r.timestamp, (r.key or b"").decode(), (r.value or b"").decode()) for r in found
    ] == WRITTEN
    assert [r.headers[0] for r in found if r.headers][::4] == [
        ("codec", c) for c in (b"none", b"gzip", b"snappy", b"lz4", b"zstd", b"none")
    ]
    assert [s.base_offset for s in log.segments] == [0, 100]
    assert log.leader_epoch_cache.entries == [(0, 0)]
    kinds = [type(e) for e in events]
    assert kinds == ([LogLoaded] if state == "clean" else [LogRecovered, LogLoaded])
    log.close()


def test_every_offset_and_time_is_found_through_kafka_s_indexes(tmp_path: Path) -> None:
    log, _ = load(tmp_path, "clean")
    for offset, timestamp, _, _ in WRITTEN:
        header = next(iter_headers(part_bytes(log.read(offset, 1 << 20).records)))[1]
        assert header.base_offset <= offset <= header.last_offset
        found = log.fetch_offset_by_timestamp(timestamp)
        assert found is not None
        assert (found.offset, found.timestamp) == (offset, timestamp)
    log.close()


def test_producers_are_those_of_kafka_s_snapshot(tmp_path: Path) -> None:
    kafka_s = decode_snapshot((GOLDEN / "clean" / f"{132:020d}.snapshot").read_bytes())
    shutil.copytree(GOLDEN / "clean", tmp_path / "other")
    for snapshot in (tmp_path / "other").glob("*.snapshot"):
        snapshot.unlink()
    ours, _ = load_log(
        TopicPartition("golden", 0),
        str(tmp_path),
        str(tmp_path / "other"),
        OsFileSystem(),
        CONFIG,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    producers = ours.producer_state_manager.producers
    assert sorted(producers) == sorted(entry.producer_id for entry in kafka_s)
    for entry in kafka_s:
        mine = producers[entry.producer_id]
        assert (mine.producer_epoch, mine.batches[-1], mine.last_timestamp) == (
            entry.producer_epoch,
            entry.batches[-1],
            entry.last_timestamp,
        )
    ours.close()
    again = decode_snapshot((tmp_path / "other" / f"{132:020d}.snapshot").read_bytes())
    assert [
        (e.producer_id, list(e.batches)) for e in sorted(again, key=lambda e: e.producer_id)
    ] == [(e.producer_id, list(e.batches)) for e in sorted(kafka_s, key=lambda e: e.producer_id)]


def test_the_same_batches_give_the_same_files(tmp_path: Path) -> None:
    """Append the producers' records again, with a leader of epoch 0 and a clean end. The batches,
    offset indexes and checkpoints are Kafka's, byte for byte.
    """
    log, _ = load_log(
        TopicPartition("golden", 0),
        str(tmp_path),
        str(tmp_path / "golden-0"),
        OsFileSystem(),
        CONFIG,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    for segment in (0, 100):
        data = (GOLDEN / "clean" / f"{segment:020d}.log").read_bytes()
        for at, header in iter_headers(data):
            sent = bytearray(data[at : at + header.size_in_bytes])
            sent[:8] = bytes(8)
            sent[12:16] = b"\xff" * 4
            assert log.append_as_leader(sent, 0, NOW).first_offset == header.base_offset
    log.close()
    ours, kafka_s = (
        {
            p.name: p.read_bytes()
            for p in folder.iterdir()
            if p.suffix in (".log", ".index", ".timeindex")
        }
        for folder in (tmp_path / "golden-0", GOLDEN / "clean")
    )
    assert ours == kafka_s
    assert (tmp_path / "golden-0" / "leader-epoch-checkpoint").read_bytes() == (
        GOLDEN / "clean" / "leader-epoch-checkpoint"
    ).read_bytes()
    snapshots = [
        sorted(p.name for p in folder.glob("*.snapshot"))
        for folder in (tmp_path / "golden-0", GOLDEN / "clean")
    ]
    assert snapshots[0] == snapshots[1]


def test_recovery_builds_the_indexes_that_kafka_wrote(tmp_path: Path) -> None:
    log, _ = load(tmp_path, "running")
    log.close()
    for path in (GOLDEN / "clean").glob("*index"):
        assert (tmp_path / "golden-0" / path.name).read_bytes() == path.read_bytes(), path.name


def test_checkpoints_are_kafka_s(tmp_path: Path) -> None:
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        offsets = OffsetCheckpointFile(str(GOLDEN / "checkpoints" / name), OsFileSystem()).read()
        assert offsets == {TopicPartition("golden", 0): 132}
        written = OffsetCheckpointFile(str(tmp_path / name), OsFileSystem())
        written.write(offsets)
        assert (tmp_path / name).read_bytes() == (GOLDEN / "checkpoints" / name).read_bytes()


@pytest.mark.parametrize("magic", [0, 1])
def test_kafka_s_batches_are_converted_for_old_consumers(tmp_path: Path, magic: int) -> None:
    log, _ = load(tmp_path, "clean")
    for segment in log.segments:
        data = segment.log.pread(segment.size, 0)
        for at, header in iter_headers(data):
            if header.compression is not CompressionType.ZSTD:
                old = part_bytes(
                    lazily_down_converted(data[at : at + header.size_in_bytes], magic, 0)
                )
                assert [r.value for r in read_all(old)] == [
                    row[3].encode() for row in WRITTEN[header.base_offset : header.next_offset]
                ]
    log.close()
