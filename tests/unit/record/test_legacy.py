import pytest

from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import (
    build_message_set,
    encode_message,
    inner_records,
    iter_messages,
    read_old_produce,
)
from kafka_edu.record.record import InvalidRecordError, Record
from kafka_edu.record.record_batch import CorruptRecordError, build_batch

V1 = [Record(i, 1000 + i, b"k%d" % i, b"v%d" % i) for i in range(4)]
V0 = [r._replace(timestamp=-1) for r in V1]
OLD_CODECS = [
    CompressionType.NONE,
    CompressionType.GZIP,
    CompressionType.SNAPPY,
    CompressionType.LZ4,
]


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets_come_back_as_they_were(magic: int, codec: CompressionType) -> None:
    produced = read_old_produce(build_message_set(V1, magic, codec))
    assert produced.records == (V1 if magic else V0)
    assert produced.compression is codec


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_s_inner_offsets_become_absolute(magic: int) -> None:
    records = [r._replace(offset=100 + r.offset) for r in V1]
    (wrapper,) = iter_messages(build_message_set(records, magic, CompressionType.GZIP))
    assert wrapper.offset == 103
    assert [r.offset for r in inner_records(wrapper)] == [100, 101, 102, 103]


def test_log_append_time_of_a_wrapper_is_the_time_of_its_inner_messages() -> None:
    (wrapper,) = iter_messages(build_message_set(V1, 1, CompressionType.GZIP, log_append_time=True))
    assert {r.timestamp for r in inner_records(wrapper)} == {1003}
    assert read_old_produce(build_message_set(V1, 1, log_append_time=True)).log_append_time


def test_a_cut_off_message_or_nothing_at_all_is_no_error() -> None:
    assert read_old_produce(b"").records == []
    whole = build_message_set(V1[:1], 1)
    for size in range(len(whole)):
        assert read_old_produce(whole[:size]).records == []
    assert read_old_produce(whole + whole[:-1]).records == V1[:1]


@pytest.mark.parametrize(
    "sent",
    [
        build_message_set(V1, 0) + build_message_set(V1, 1),
        build_message_set(V1, 1) + build_batch(V1),
        build_batch(V1),
        build_message_set(V1, 1, CompressionType.GZIP) * 2,
        encode_message(0, 1, CompressionType.ZSTD, 0, None, b"x"),
        encode_message(0, 1, CompressionType.GZIP, 0, None, None),
    ],
    ids=["v0 and v1", "v1 and v2", "a v2 batch", "two wrappers", "zstd", "wrapper of nothing"],
)
def test_mixed_formats_and_second_wrappers_are_invalid_records(sent: bytes) -> None:
    with pytest.raises(InvalidRecordError):
        read_old_produce(sent)


@pytest.mark.parametrize("magic", [0, 1])
def test_a_flipped_bit_is_a_corrupt_message(magic: int) -> None:
    sent = bytearray(build_message_set(V1, magic))
    sent[-1] ^= 1
    with pytest.raises(CorruptRecordError):
        read_old_produce(sent)


@pytest.mark.parametrize(("at", "value"), [(16, 3), (16, 0xFF), (11, 13), (8, 0xFF)])
def test_a_wrong_magic_or_size_is_a_corrupt_message(at: int, value: int) -> None:
    sent = bytearray(build_message_set(V1[:1], 1))
    sent[at] = value
    with pytest.raises(CorruptRecordError):
        read_old_produce(sent)
