import os

import cramjam
import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.files import Buffer
from kafka_edu.common.xxh32 import xxh32_short
from kafka_edu.record import compression
from kafka_edu.record.compression import (
    CompressionError,
    CompressionType,
    compress,
    compression_type,
    decompress,
)

CODECS = [c for c in CompressionType if c]
TEXT = b"GET /index.html 200\n" * 10_000 + os.urandom(5000)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", [b"", b"x", TEXT], ids=["empty", "one", "200 KB"])
def test_compressed_data_is_decompressed_to_the_same_bytes(
    codec: CompressionType, data: bytes
) -> None:
    assert decompress(codec, memoryview(compress(codec, data))) == data


@pytest.mark.parametrize("codec", CompressionType)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_can_be_compressed(codec: CompressionType, kind: type[Buffer]) -> None:
    assert compress(codec, kind(TEXT)) == compress(codec, TEXT)


@pytest.mark.parametrize("codec", CODECS)
def test_garbage_and_cut_streams_are_a_compression_error(codec: CompressionType) -> None:
    packed = compress(codec, TEXT)
    for bad in (b"", b"\xff", b"garbage" * 20, packed[: len(packed) // 2], packed[:-3]):
        with pytest.raises(CompressionError) as refused:
            decompress(codec, bad)
        assert refused.value.error is Errors.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused(codec: CompressionType, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = compress(codec, bytes(3_000_000))
    monkeypatch.setattr(compression, "MAX_DECOMPRESSED_BYTES", 1_000_000)
    with pytest.raises(CompressionError, match="more than 1000000"):
        decompress(codec, packed)


def test_the_fifth_codec_does_not_exist() -> None:
    with pytest.raises(CompressionError):
        compression_type(5)


def test_snappy_is_framed_as_snappy_java_does() -> None:
    packed = compress(CompressionType.SNAPPY, b"abc" * 20_000)
    assert packed[:16].hex() == "82534e41505059000000000100000001"
    first = int.from_bytes(packed[16:20], "big")
    assert (
        bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + first]))
        == (b"abc" * 20_000)[: 32 * 1024]
    )


def test_a_raw_snappy_block_is_read_too() -> None:
    assert decompress(CompressionType.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_lz4_frames_have_independent_blocks_and_others_are_refused() -> None:
    packed = compress(CompressionType.LZ4, TEXT)
    assert packed[:4].hex() == "04224d18"
    assert packed[4] & 0x20
    assert bytes(cramjam.lz4.decompress(packed)) == TEXT, "any lz4 reader can read it"
    with pytest.raises(CompressionError, match="dependent"):
        decompress(CompressionType.LZ4, bytes(cramjam.lz4.compress(TEXT)))


def test_lz4_in_message_format_v0_has_the_wrong_checksum_that_its_readers_expect() -> None:
    right, wrong = (
        compress(CompressionType.LZ4, b"abc"),
        compress(CompressionType.LZ4, b"abc", magic=0),
    )
    assert [i for i in range(len(right)) if right[i] != wrong[i]] == [6]
    assert (
        decompress(CompressionType.LZ4, wrong, 0)
        == decompress(CompressionType.LZ4, right, 0)
        == b"abc"
    )
    with pytest.raises(CompressionError, match="descriptor"):
        decompress(CompressionType.LZ4, wrong, 1)
    assert right[6] == (xxh32_short(right[4:6]) >> 8) & 0xFF, (
        "the lz4 library and our xxHash agree on the right one"
    )
    assert xxh32_short(b"") == 0x02CC5D05
    assert xxh32_short(b"abc") == 0x32D153FF
