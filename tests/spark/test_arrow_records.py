"""numpy decodes record batches into Arrow batches. They have the same records as the broker's own
decoder returns.
"""

import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_edu.record.compression import CompressionType
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import TimestampType, build_batch

pytestmark = pytest.mark.spark
SEED = 20260
NOW_MS = 1_700_000_000_123
CODECS = list(CompressionType)


@pytest.fixture(scope="module", autouse=True)
def _arrow() -> None:
    """Skip all tests if numpy or pyarrow is not installed. Therefore modules that need them are
    imported inside the tests.
    """
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./kafka-edu setup spark")
    pytest.importorskip("numpy", reason="numpy is not installed: ./kafka-edu setup spark")


def rows(raw: bytes, start: int = 0, end: int = 2**62, **more: Any) -> list[dict[str, Any]]:
    """The rows that a task makes of these bytes."""
    from kafka_edu.spark.arrow_records import Wanted, decode

    aborted = more.pop("aborted", ())
    wanted = Wanted("web", 3, start, end, **{"include_headers": True, **more})
    return [row for b in decode(memoryview(raw), wanted, aborted) for row in b.to_pylist()]


def expected(record: Record, timestamp_type: int, timestamp: int | None = None) -> dict[str, Any]:
    """The connector's row of a record."""
    ms = record.timestamp if timestamp is None else timestamp
    return {
        "key": record.key,
        "value": record.value,
        "topic": "web",
        "partition": 3,
        "offset": record.offset,
        "timestamp": datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms),
        "timestampType": timestamp_type,
        "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
    }


def some_records(count: int, *, first: int = 0, headers: bool = True) -> list[Record]:
    """Records with gaps, nulls, empty values, headers, and lengths that need 1, 2 and 3 bytes."""
    draw = random.Random(SEED + first)

    def some_bytes(*sizes: int) -> bytes | None:
        size = draw.choice(sizes)
        return None if size < 0 else draw.randbytes(size)

    found, offset = [], first
    for _ in range(count):
        named = tuple(
            (draw.choice(["", "a", "größe"]), some_bytes(-1, 0, 5, 100))
            for _ in range(draw.choice([0, 0, 1, 3]) if headers else 0)
        )
        time = NOW_MS + draw.choice([0, 1, -1, 70, -8000, 2**30])
        found.append(Record(offset, time, some_bytes(-1, 0, 3, 64), some_bytes(-1, 0, 1, 31, 63,
                            64, 200, 9000), named))  # fmt: skip
        offset += draw.choice([1, 1, 1, 70, 9000])
    return found


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("timestamp_type", list(TimestampType))
def test_rows_of_v2_batches(codec: CompressionType, timestamp_type: TimestampType) -> None:
    first, second = some_records(300), some_records(40, first=5_000_000)
    raw = b"".join(
        build_batch(records, compression=codec, timestamp_type=timestamp_type)
        for records in (first, second)
    )
    by_leader = timestamp_type is TimestampType.LOG_APPEND_TIME
    assert rows(raw) == [
        expected(one, int(timestamp_type), max(r.timestamp for r in batch) if by_leader else None)
        for batch in (first, second)
        for one in batch
    ]


@pytest.mark.parametrize("codec", [c for c in CODECS if c is not CompressionType.ZSTD])
@pytest.mark.parametrize(("magic", "by_leader"), [(0, False), (1, False), (1, True)])
def test_rows_of_old_messages(codec: CompressionType, magic: int, by_leader: bool) -> None:
    records = some_records(50, headers=False)
    if codec and magic == 1:  # inside of a wrapper the offsets count from 0, without gaps
        records = [one._replace(offset=1000 + i) for i, one in enumerate(records)]
    raw = build_message_set(records, magic, codec, log_append_time=by_leader)
    found = rows(raw)
    assert [(r["key"], r["value"], r["offset"]) for r in found] == [
        (one.key, one.value, one.offset) for one in records
    ]
    kind = -1 if magic == 0 else int(by_leader)
    assert {r["timestampType"] for r in found} == {kind}
    assert {r["headers"] for r in found} == {None}
    times = [(r["timestamp"] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
             for r in found]  # fmt: skip
    if magic == 0:
        assert set(times) == {-1}
    elif by_leader and codec:
        assert set(times) == {max(one.timestamp for one in records)}
    else:
        assert times == [one.timestamp for one in records]


def test_a_log_that_changed_its_format_is_read_in_order() -> None:
    old, older = some_records(5, headers=False), some_records(5, first=10**6, headers=False)
    new = some_records(5, first=2 * 10**6)
    raw = build_message_set(old, 0) + build_message_set(older, 1) + build_batch(new)
    assert [row["offset"] for row in rows(raw)] == [one.offset for one in old + older + new]


def test_only_wanted_offsets_become_rows_and_a_cut_batch_is_left_for_the_next_fetch() -> None:
    from kafka_edu.spark.arrow_records import next_offset

    records = [Record(i, NOW_MS, None, b"x") for i in range(100)]
    whole = build_batch(records[:60])
    raw = whole + build_batch(records[60:])[:-1]
    assert next_offset(memoryview(raw), 7) == 60
    assert next_offset(memoryview(raw[:40]), 7) == 7
    assert [row["offset"] for row in rows(raw, 10, 50)] == list(range(10, 50))
    assert [row["offset"] for row in rows(raw, 58)] == [58, 59]
    assert rows(raw, 60) == []


def transactional(offset: int, producer: int, value: bytes) -> bytes:
    return build_batch(
        [Record(offset, NOW_MS, None, value)],
        producer_id=producer,
        producer_epoch=0,
        base_sequence=offset,
        is_transactional=True,
    )


def marker(offset: int, producer: int, kind: ControlRecordType) -> bytes:
    return build_end_transaction_marker(EndTransactionMarker(kind, 0), producer, 0, NOW_MS, offset)


def test_aborted_transactions_are_left_out_up_to_their_marker() -> None:
    raw = b"".join(
        [
            transactional(0, 7, b"aborted"),
            transactional(1, 8, b"committed"),
            build_batch([Record(2, NOW_MS, None, b"plain")]),
            marker(3, 7, ControlRecordType.ABORT),
            transactional(4, 7, b"second try"),
            marker(5, 8, ControlRecordType.COMMIT),
            marker(6, 7, ControlRecordType.COMMIT),
        ]
    )
    committed = rows(raw, aborted=[(7, 0)])
    assert [row["value"] for row in committed] == [b"committed", b"plain", b"second try"]
    everything = rows(raw)
    assert [row["offset"] for row in everything] == [0, 1, 2, 4], "control batches are no rows"


def test_headers_are_a_column_only_if_they_are_wanted() -> None:
    raw = build_batch([Record(0, NOW_MS, b"k", b"v", (("a", b"1"),))])
    assert "headers" not in rows(raw, include_headers=False)[0]


def test_damage_is_found_with_and_without_a_checksum() -> None:
    from kafka_edu.spark.source_errors import CorruptBatchError

    whole = build_batch(some_records(20))
    draw = random.Random(SEED)
    found = 0
    for _ in range(300):
        broken = bytearray(whole)
        broken[draw.randrange(21, len(whole))] ^= 1 << draw.randrange(8)
        with pytest.raises(CorruptBatchError, match="checksum"):
            rows(bytes(broken))
        try:
            rows(bytes(broken), check_crcs=False)
        except (CorruptBatchError, OverflowError):  # overflow: a date that Python cannot show
            found += 1
    assert found, "no damaged length was found"


@pytest.mark.parametrize("size", [0, 1, 3, 4, 1000, 1024, 1025, 100_003])
def test_the_checksum_by_numpy_is_crc_32c(size: int) -> None:
    import google_crc32c

    from kafka_edu.spark.crc32c import crc32c_by_numpy

    data = random.Random(SEED).randbytes(size)
    assert crc32c_by_numpy(data) == google_crc32c.value(data)


def test_a_worker_imports_only_numpy_and_pyarrow() -> None:
    """The executors of a standalone cluster have only Python, numpy and pyarrow. They get our code
    as a zip file.
    """
    code = """
import sys
for missing in ("cramjam", "google_crc32c", "click", "kazoo", "rich", "kafka", "confluent_kafka"):
    sys.modules[missing] = None
from kafka_edu.spark import arrow_records, fetch_client
from kafka_edu.spark.crc32c import crc32c
assert crc32c(b"123456789") == 0xE3069283
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_decoding_does_not_import_pandas(tmp_path: Path) -> None:
    """Some calls of pyarrow import pandas, and each new worker would have to wait for this
    import.
    """
    batch = tmp_path / "batch"
    batch.write_bytes(build_batch(some_records(20)))
    code = f"""
import sys
from kafka_edu.spark.arrow_records import Wanted, decode
raw = memoryview(open({str(batch)!r}, "rb").read())
wanted = Wanted("web", 3, 0, 2**62, include_headers=True)
assert sum(found.num_rows for found in decode(raw, wanted)) == 20
assert "pandas" not in sys.modules
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
