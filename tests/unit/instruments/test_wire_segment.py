"""The batches of a segment file, and the single bytes of one batch."""

from pathlib import Path

import pytest

from kafka_edu.instruments.wire.render import tree_lines
from kafka_edu.instruments.wire.segment import batches_of, decode_batch
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

NOW = 1_600_000_000_000


def batch(at: int, count: int, codec: CompressionType = CompressionType.NONE) -> bytes:
    return build_batch(
        [Record(at + i, NOW, b"key-%d" % i, b"value") for i in range(count)], compression=codec
    )


def test_each_whole_batch_is_found_and_the_torn_end_is_left_out(tmp_path: Path) -> None:
    path, made = tmp_path / "0.log", [batch(0, 3), batch(3, 1), batch(4, 2)]
    path.write_bytes(b"".join(made) + batch(6, 1)[:-3])
    found = batches_of(path)
    assert [(one.base_offset, one.last_offset, one.size) for one in found] == [
        (0, 2, len(made[0])),
        (3, 3, len(made[1])),
        (4, 5, len(made[2])),
    ]
    assert [one.position for one in found] == [0, len(made[0]), len(made[0]) + len(made[1])]


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.LZ4])
def test_one_batch_shows_each_field_and_record(tmp_path: Path, codec: CompressionType) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(batch(0, 1) + batch(1, 2, codec))
    decoded = decode_batch(path, batches_of(path)[1])
    text = "\n".join(line.text for line in tree_lines(decoded, unfold=True))
    assert "base_offset 1" in text
    assert "last_offset_delta 1" in text
    assert "key-1" in text
    assert decoded.problems == ()


def test_a_wrong_checksum_is_shown(tmp_path: Path) -> None:
    path, data = tmp_path / "0.log", bytearray(batch(0, 1))
    data[-2] ^= 1
    path.write_bytes(data)
    assert decode_batch(path, batches_of(path)[0]).problems


def test_a_segment_that_is_damaged_ends_where_the_damage_begins(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(batch(0, 1) + bytes(100))
    assert len(batches_of(path)) == 1
    with pytest.raises(FileNotFoundError):
        batches_of(tmp_path / "gone.log")
