"""Compress and decompress record batches with packages that every executor has: pyarrow and the
standard library.

The format of each codec is described in `kafka_edu.record.compression`, which the brokers use. That
module needs the package cramjam, which Spark's executors may not have. So this module reads and
writes the same bytes with pyarrow's codecs.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from kafka_edu.common.xxh32 import xxh32_short
from kafka_edu.record.compression_type import CompressionType

MAX_DECOMPRESSED_BYTES: Final = 256 * 1024 * 1024

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_XERIAL_CHUNK: Final = 32 * 1024
_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
#: The descriptor of an lz4 frame: version 1, independent blocks of at most 64 KiB, no checksums.
#: Kafka's Java readers accept only independent blocks, but Arrow's own lz4 frames have linked
#: blocks.
_LZ4_DESCRIPTOR: Final = b"\x60\x40"
_LZ4_BLOCK: Final = 64 * 1024
_LZ4_STORED: Final = 0x8000_0000
_INT32: Final = struct.Struct(">i")
_U32_LE: Final = struct.Struct("<I")


class CodecError(ValueError):
    """Raised if bytes cannot be decoded by their codec, or if the result would be too large."""


def codec_name(codec: int) -> str:
    """Return the name of a codec as users write it, for example `lz4`. For an unknown number,
    return a text such as `unknown 7`.
    """
    known = codec in CompressionType.__members__.values()
    return CompressionType(codec).name.lower() if known else f"unknown {codec}"


def compress(codec: int, data: bytes) -> bytes:
    """Compress the records of a v2 batch, and return the result. Raises CodecError for an unknown
    codec. O(size).
    """
    match codec:
        case CompressionType.GZIP:
            packer = zlib.compressobj(wbits=31)
            return packer.compress(data) + packer.flush()
        case CompressionType.SNAPPY:
            parts = [_XERIAL, _INT32.pack(1), _INT32.pack(1)]
            for chunk in _packed("snappy", data, _XERIAL_CHUNK):
                parts += (_INT32.pack(len(chunk)), chunk)
            return b"".join(parts)
        case CompressionType.LZ4:
            checksum = xxh32_short(_LZ4_DESCRIPTOR) >> 8 & 0xFF
            parts = [_LZ4_MAGIC, _LZ4_DESCRIPTOR, bytes((checksum,))]
            for i, block in enumerate(_packed("lz4_raw", data, _LZ4_BLOCK)):
                plain = data[i * _LZ4_BLOCK : (i + 1) * _LZ4_BLOCK]
                if len(block) < len(plain):
                    parts += (_U32_LE.pack(len(block)), block)
                else:
                    parts += (_U32_LE.pack(len(plain) | _LZ4_STORED), plain)
            return b"".join([*parts, _U32_LE.pack(0)])
        case CompressionType.ZSTD:
            packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
            return packed
    raise CodecError(f"unknown compression type id {codec}")


def _packed(codec: str, data: bytes, size: int) -> Iterator[bytes]:
    """Divide `data` into pieces of `size` bytes, and yield each piece, compressed separately."""
    packer = pa.Codec(codec)
    for start in range(0, len(data), size):
        yield packer.compress(data[start : start + size], asbytes=True)


def decompress(codec: int, data: bytes, magic: int) -> bytes:
    """Decompress the records of a batch of message format `magic`, and return the result.

    Raises CodecError for an unknown codec, for bytes that cannot be decoded, and for a result of
    more than MAX_DECOMPRESSED_BYTES. O(size of the result).
    """
    try:
        match codec:
            case CompressionType.GZIP:
                return _gzip(data)
            case CompressionType.SNAPPY:
                return _snappy(data)
            case CompressionType.LZ4:
                return _stream("lz4", data if magic else _with_right_checksum(data))
            case CompressionType.ZSTD:
                return _stream("zstd", data)
    except (pa.ArrowException, OSError, zlib.error, struct.error, IndexError) as error:
        raise CodecError(f"{codec_name(codec)}: {' '.join(str(error).split())}") from None
    raise CodecError(f"unknown compression type id {codec}")


def _check_size(size: int, codec: str) -> None:
    if size > MAX_DECOMPRESSED_BYTES:
        raise CodecError(f"{codec}: more than {MAX_DECOMPRESSED_BYTES} bytes when decompressed")


def _gzip(data: bytes) -> bytes:
    gunzip = zlib.decompressobj(wbits=31)
    out = gunzip.decompress(data, MAX_DECOMPRESSED_BYTES)
    if gunzip.unconsumed_tail:
        _check_size(MAX_DECOMPRESSED_BYTES + 1, "gzip")
    if not gunzip.eof:
        raise CodecError("gzip: the stream ends too early")
    return out


def _stream(codec: str, data: bytes) -> bytes:
    with pa.input_stream(pa.py_buffer(data), compression=codec) as stream:
        out: bytes = stream.read(MAX_DECOMPRESSED_BYTES + 1)
    _check_size(len(out), codec)
    return out


def _snappy(data: bytes) -> bytes:
    """Decompress snappy data: either chunks in xerial's format, or one raw block, as librdkafka
    writes it.
    """
    if data[: len(_XERIAL)] != _XERIAL:
        return _snappy_block(data)
    parts = []
    total, position = 0, _XERIAL_HEADER_BYTES
    while position < len(data):
        (size,) = _INT32.unpack_from(data, position)
        position += 4
        if not 0 < size <= len(data) - position:
            raise CodecError(f"snappy: a chunk of {size} bytes, and {len(data) - position} left")
        parts.append(_snappy_block(data[position : position + size]))
        total += len(parts[-1])
        _check_size(total, "snappy")
        position += size
    return b"".join(parts)


def _snappy_block(block: bytes) -> bytes:
    size = shift = 0
    for byte in block[:5]:  # the block begins with a varint: the result's size
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    _check_size(size, "snappy")
    if not size:
        return b""
    out: bytes = pa.Codec("snappy").decompress(block, decompressed_size=size, asbytes=True)
    return out


def _with_right_checksum(frame: bytes) -> bytes:
    """Return an lz4 frame of message format v0 with the header checksum that the lz4 format
    requires.

    Kafka's first lz4 version computed this checksum also over the magic number, which is wrong.
    """
    if frame[:4] != _LZ4_MAGIC:
        raise CodecError("lz4: this is not an lz4 frame")
    end = 6 + (8 if frame[4] & 0x08 else 0)
    return frame[:end] + bytes((xxh32_short(frame[4:end]) >> 8 & 0xFF,)) + frame[end + 1 :]
