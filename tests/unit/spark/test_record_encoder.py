"""The brokers' own code, and the code of the source, read back the batches that the sink makes."""

from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="PySpark is not installed: ./kafka-edu setup spark")

HEADERS = [None, [], [("a", b"1"), ("größe", None), ("a", b"")]]


def rows(count: int, width: int = 50) -> Any:
    import pyarrow as pa

    from kafka_edu.spark.record_encoder import Rows

    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return Rows(
        pa.array([None if i % 7 == 0 else b"%d " % i * width for i in range(count)],
                 pa.large_binary()),
        pa.array([None if i % 5 == 0 else b"key %d" % i for i in range(count)], pa.large_binary()),
        pa.array([None if (of := HEADERS[i % 3]) is None
                  else [{"key": k, "value": v} for k, v in of] for i in range(count)], header),
    )  # fmt: skip


@pytest.mark.parametrize("codec", range(5))
def test_the_brokers_read_what_the_sink_writes(codec: int) -> None:
    from kafka_edu.record.record_batch import check_crc, parse_header, read_records
    from kafka_edu.spark.record_encoder import Producer, encode_batch

    given = rows(3000)
    batch = encode_batch(
        given,
        timestamp_ms=1_700_000_000_000,
        codec=codec,
        producer=Producer(7, 2, True),
        sequence=9,
    )
    header = parse_header(batch)
    check_crc(batch, header)
    assert header.size_in_bytes == len(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 9)
    assert header.is_transactional
    assert header.compression == codec
    found = read_records(batch)
    assert [one.offset for one in found] == list(range(3000))
    assert {one.timestamp for one in found} == {1_700_000_000_000}
    assert [one.value for one in found] == given.values.to_pylist()
    assert [one.key for one in found] == given.keys.to_pylist()
    assert [one.headers for one in found] == [tuple(HEADERS[i % 3] or ()) for i in range(3000)]


@pytest.mark.parametrize("codec", range(1, 5))
@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 300_000])
def test_codecs_of_the_sink_are_those_of_the_brokers(codec: int, size: int) -> None:
    import random

    from kafka_edu.record.compression import CompressionType
    from kafka_edu.record.compression import decompress as of_broker
    from kafka_edu.spark.record_codecs import compress, decompress

    for data in (bytes(size), random.Random(size).randbytes(size)):
        packed = compress(codec, data)
        assert of_broker(CompressionType(codec), packed) == data
        assert decompress(codec, packed, 2) == data


def test_rows_are_cut_by_size_and_a_large_one_stands_alone() -> None:
    from kafka_edu.record.record_batch import read_records
    from kafka_edu.spark.record_encoder import Producer, batches_of, encode_batch

    given = rows(500)
    cut = list(batches_of(given, 4000))
    assert sum(map(len, cut)) == 500
    values = []
    for one in cut:
        batch = encode_batch(one, timestamp_ms=1, codec=0, producer=Producer(), sequence=-1)
        assert len(batch) <= 4000 + 61
        values += [record.value for record in read_records(batch)]
    assert values == given.values.to_pylist()
    assert [len(one) for one in batches_of(given, 1)] == [1] * 500


def test_keys_decide_and_rows_without_one_fill_a_batch_first() -> None:
    import numpy as np
    import pyarrow as pa

    from kafka_edu.common.murmur2 import murmur2
    from kafka_edu.spark.partitioner import partitions_of

    keys = pa.array([b"foobar", None, None, b"abc", None], pa.large_binary())
    found = partitions_of(
        keys,
        np.full(5, 40),
        partition_count=5,
        available=np.array([1, 3]),
        batch_bytes=100,
        turn=0,
    ).tolist()
    of_foobar, of_abc = (murmur2(k) % 2**31 % 5 for k in (b"foobar", b"abc"))
    assert found == [of_foobar, 1, 3, of_abc, 1]
