"""A record's place in a log's files, found without the broker."""

import struct
from pathlib import Path

import pytest

from kafka_edu.instruments.stored_record import find_stored
from kafka_edu.instruments.story import Absent, Stored
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

SEGMENTS = {0: 10, 100: 12}
"""Two segments: base offset → batches of ten records."""


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "web-0"
    folder.mkdir()
    for base, batches in SEGMENTS.items():
        log, index = bytearray(), bytearray()
        for number in range(batches):
            first = base + number * 10
            if number % 4 == 3:
                index += struct.pack(">ii", first + 9 - base, len(log))
            records = [
                Record(offset, 1_600_000_000_000 + offset, b"key-%d" % offset, b"value")
                for offset in range(first, first + 10)
            ]
            codec = CompressionType.LZ4 if number % 2 else CompressionType.NONE
            log += build_batch(records, compression=codec, partition_leader_epoch=3)
        (folder / f"{base:020d}.log").write_bytes(log)
        (folder / f"{base:020d}.index").write_bytes(index + bytes(80))
    return tmp_path


def found(log_dir: Path, offset: int) -> Stored:
    stored = find_stored(str(log_dir), "web", 0, offset)
    assert isinstance(stored, Stored), stored
    return stored


@pytest.mark.parametrize("offset", [0, 9, 10, 57, 99, 100, 131, 219])
def test_every_record_is_found_with_its_batch_and_key(log_dir: Path, offset: int) -> None:
    stored = found(log_dir, offset)
    assert stored.segment == (0 if offset < 100 else 100)
    assert stored.first_offset == offset - offset % 10
    assert (stored.records, stored.last_offset) == (10, stored.first_offset + 9)
    assert (stored.key, stored.value_bytes) == (f"key-{offset}", 5)
    assert stored.timestamp_ms == 1_600_000_000_000 + offset
    assert stored.codec == ("lz4" if offset // 10 % 2 else "none")
    assert (stored.leader_epoch, stored.log_end, stored.is_valid) == (3, 220, True)
    batch = Path(stored.file).read_bytes()[stored.position :]
    assert struct.unpack_from(">q", batch)[0] == stored.first_offset


def test_it_is_found_without_an_index_too(log_dir: Path) -> None:
    with_index = found(log_dir, 215)
    for index in (log_dir / "web-0").glob("*.index"):
        index.unlink()
    assert found(log_dir, 215) == with_index


@pytest.mark.parametrize(
    ("offset", "reason"), [(220, "its log ends at 220"), (5000, "its log ends at 220")]
)
def test_above_the_end_is_said(log_dir: Path, offset: int, reason: str) -> None:
    assert find_stored(str(log_dir), "web", 0, offset) == Absent(reason, log_end=220)


def test_below_the_start_and_in_a_gap_is_said(log_dir: Path) -> None:
    (log_dir / "web-0" / f"{0:020d}.log").unlink()
    below = find_stored(str(log_dir), "web", 0, 57)
    assert below == Absent("it was deleted: the log begins at 100", log_end=220)
    gap = build_batch([Record(400, 1, b"k", b"v"), Record(402, 1, b"k", b"v")])
    (log_dir / "web-0" / f"{300:020d}.log").write_bytes(gap)
    for offset in (299, 350, 401):
        absent = find_stored(str(log_dir), "web", 0, offset)
        assert isinstance(absent, Absent)


def test_a_damaged_batch_and_a_torn_end_are_said_not_raised(log_dir: Path) -> None:
    path = log_dir / "web-0" / f"{100:020d}.log"
    data = bytearray(path.read_bytes())
    stored = found(log_dir, 215)
    data[stored.position + 70] ^= 1
    path.write_bytes(data)
    damaged = found(log_dir, 215)
    assert not damaged.is_valid
    assert damaged.key is None
    path.write_bytes(data[: stored.position + 30])
    assert find_stored(str(log_dir), "web", 0, 215) == Absent(
        f"its log ends at {stored.first_offset}", log_end=stored.first_offset
    )


def test_a_log_that_is_not_there_is_said(tmp_path: Path) -> None:
    absent = find_stored(str(tmp_path), "web", 0, 1)
    assert isinstance(absent, Absent)
    assert "No such file" in absent.reason
    assert absent.log_end is None


def test_nothing_is_written(log_dir: Path) -> None:
    files = sorted((log_dir / "web-0").iterdir())
    before = [(path, path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    found(log_dir, 57)
    files = sorted((log_dir / "web-0").iterdir())
    assert [(path, path.read_bytes(), path.stat().st_mtime_ns) for path in files] == before
