"""Compress and decompress with Kafka's four codecs, each in the framing that Kafka uses.

(Kafka: CompressionType.java, KafkaLZ4BlockInputStream.java; snappy-java's SnappyOutputStream.) A
compressed batch holds its records as one compressed block. Its header and CRC stay readable, so a
broker can store and serve the batch without decompressing it.

| codec  | framing |
| ------ | ------- |
| gzip   | RFC 1952 |
| snappy | xerial: a header of 16 bytes, then chunks of at most 32 KiB, each with a 4-byte size |
| lz4    | the lz4 frame format, with independent blocks |
| zstd   | a zstd frame; only in message format v2 (KIP-110) |

A raw snappy block without xerial header can be read too, because librdkafka writes it. In message
format v0, the checksum in an lz4 frame's descriptor covers the magic number too. The lz4 format
itself does not include the magic number. This was a bug in Kafka's first version, but v0 readers
expect it.

MAX_DECOMPRESSED_BYTES limits the size of the result, because a few bytes from the network can
expand to gigabytes. Apache Kafka has no such limit.
"""

import struct
import zlib
from typing import Final

import cramjam

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.xxh32 import xxh32_short
from kafka_edu.record.compression_type import CompressionType as CompressionType

MAX_DECOMPRESSED_BYTES: Final = 256 * 1024 * 1024

_XERIAL_HEADER: Final = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_CHUNK: Final = 32 * 1024
_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_BLOCK_BYTES: Final = {4: 64 * 1024, 5: 256 * 1024, 6: 1024 * 1024, 7: 4 * 1024 * 1024}
_LZ4_STORED: Final = 0x8000_0000
_U32_LE: Final = struct.Struct("<I")
_I32_BE: Final = struct.Struct(">i")


class CompressionError(KafkaException):
    """Raised for bytes that the codec cannot read.

    As in Kafka, the error in the response is UNKNOWN_SERVER_ERROR.
    """

    def __init__(self, message: str) -> None:
        super().__init__(Errors.UNKNOWN_SERVER_ERROR, message)


class TooLargeError(CompressionError):
    """Raised if the decompressed bytes would be more than allowed."""


_TYPES: Final = tuple(CompressionType)


def compression_type(attributes: int) -> CompressionType:
    """Return the codec that `attributes` name; raise CompressionError for an unknown one."""
    codec = attributes & 0x07
    if codec > CompressionType.ZSTD:
        raise CompressionError(f"unknown compression type id {codec}")
    return _TYPES[codec]


def compress(codec: CompressionType, data: Buffer, magic: int = 2) -> bytes:
    """Return `data` compressed, in the codec's framing for message format `magic`. O(size)."""
    match codec:
        case CompressionType.NONE:
            return bytes(data)
        case CompressionType.GZIP:
            packer = zlib.compressobj(wbits=31)
            return packer.compress(data) + packer.flush()
        case CompressionType.SNAPPY:
            return _snappy_pack(memoryview(data))
        case CompressionType.LZ4:
            lz4 = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
            lz4.compress(bytes(data))  # the library takes only bytes
            frame = bytes(lz4.finish())
            return _with_v0_checksum(frame) if magic == 0 else frame
        case CompressionType.ZSTD:
            return bytes(cramjam.zstd.compress(data))


def decompress(
    codec: CompressionType, data: Buffer, magic: int = 2, limit: int | None = None
) -> bytes:
    """Return `data` decompressed, from the codec's framing for message format `magic`.

    Raises CompressionError for bytes that the codec cannot read, and TooLargeError if the result
    has more than `limit` bytes; None means MAX_DECOMPRESSED_BYTES. O(size of the result).
    """
    if limit is None:
        limit = MAX_DECOMPRESSED_BYTES
    try:
        match codec:
            case CompressionType.NONE:
                return bytes(data)
            case CompressionType.GZIP:
                return _gzip_unpack(data, limit)
            case CompressionType.SNAPPY:
                return _snappy_unpack(memoryview(data), limit)
            case CompressionType.LZ4:
                return _lz4_unpack(memoryview(data), magic, limit)
            case CompressionType.ZSTD:
                return _zstd_unpack(bytes(data), limit)
    except (zlib.error, cramjam.DecompressionError, struct.error, OSError) as error:
        raise CompressionError(f"{codec.name.lower()}: {error}") from error


def _too_much(codec: str, limit: int) -> TooLargeError:
    return TooLargeError(f"{codec}: more than {limit} bytes when decompressed")


def _gzip_unpack(data: Buffer, limit: int) -> bytes:
    gunzip = zlib.decompressobj(wbits=31)
    out = gunzip.decompress(data, limit)
    if gunzip.unconsumed_tail:
        raise _too_much("gzip", limit)
    if not gunzip.eof:
        raise CompressionError("gzip: the stream ends too early")
    return out


def _snappy_pack(data: memoryview) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_CHUNK):
        chunk = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_CHUNK]))
        parts += (_I32_BE.pack(len(chunk)), chunk)
    return b"".join(parts)


def _snappy_unpack(data: memoryview, limit: int) -> bytes:
    if bytes(data[:8]) != _XERIAL_HEADER[:8]:
        return _snappy_block(data, limit)
    parts = []
    total = 0
    position = len(_XERIAL_HEADER)
    while position < len(data):
        (size,) = _I32_BE.unpack_from(data, position)
        position += 4
        if not 0 < size <= len(data) - position:
            raise CompressionError(
                f"snappy: a chunk of {size} bytes, but only {len(data) - position} bytes are left"
            )
        parts.append(_snappy_block(data[position : position + size], limit))
        total += len(parts[-1])
        if total > limit:
            raise _too_much("snappy", limit)
        position += size
    return b"".join(parts)


def _snappy_block(block: memoryview, limit: int) -> bytes:
    raw = bytes(block)
    if not raw or cramjam.snappy.decompress_raw_len(raw) > limit:
        raise _too_much("snappy", limit) if raw else CompressionError("snappy: the block is empty")
    return bytes(cramjam.snappy.decompress_raw(raw))


def _lz4_unpack(data: memoryview, magic: int, limit: int) -> bytes:
    """Decompress an lz4 frame block by block.

    The frame is parsed here and not by the library, so that the size of each block can be limited.
    In message format v0 the checksum of the descriptor is not checked, because some old clients
    computed it wrongly (see `_with_v0_checksum`), and others correctly.
    """
    if len(data) < 7 or bytes(data[:4]) != _LZ4_MAGIC:
        raise CompressionError("lz4: this is not an lz4 frame")
    flags, block_code = data[4], data[5] >> 4 & 0x07
    if flags >> 6 != 1 or block_code not in _LZ4_BLOCK_BYTES:
        raise CompressionError("lz4: unsupported frame descriptor")
    if not flags & 0x20:
        raise CompressionError("lz4: frames with dependent blocks are not supported")
    descriptor = 6 + (8 if flags & 0x08 else 0)
    if len(data) <= descriptor or (
        magic and data[descriptor] != xxh32_short(bytes(data[4:descriptor])) >> 8 & 0xFF
    ):
        raise CompressionError("lz4: the frame descriptor is corrupt")
    block_checksum = 4 if flags & 0x10 else 0
    position = descriptor + 1
    block = bytearray(_LZ4_BLOCK_BYTES[block_code])
    parts: list[bytes] = []
    total = 0
    while True:
        (size,) = _U32_LE.unpack_from(data, position)
        position += 4
        if size == 0:
            return b"".join(parts)
        stored, size = size & _LZ4_STORED, size & ~_LZ4_STORED
        if size > len(block) or size > len(data) - position:
            raise CompressionError(
                f"lz4: a block of {size} bytes, but only {len(data) - position} bytes are left"
            )
        raw = bytes(data[position : position + size])
        if stored:
            parts.append(raw)
        else:
            parts.append(
                bytes(
                    memoryview(block)[
                        : cramjam.lz4.decompress_block_into(raw, block, output_len=len(block))
                    ]
                )
            )
        total += len(parts[-1])
        if total > limit:
            raise _too_much("lz4", limit)
        position += size + block_checksum


def _zstd_unpack(data: bytes, limit: int) -> bytes:
    """Decompress a zstd frame by trying buffers of growing size.

    The frame does not always state the size of the result (Java leaves it out). If a buffer is too
    small, the next one is four times larger.
    """
    size = max(64 * 1024, 8 * len(data))
    while True:
        out = bytearray(min(size, limit))
        try:
            written = cramjam.zstd.decompress_into(data, out)
        except cramjam.DecompressionError as error:
            if "write whole buffer" not in str(error):
                raise
            if size >= limit:
                raise _too_much("zstd", limit) from error
            size *= 4
        else:
            return bytes(memoryview(out)[:written])


def _with_v0_checksum(frame: bytes) -> bytes:
    """Return the frame with the descriptor checksum of message format v0.

    This checksum covers the magic number and the descriptor. In the lz4 format it covers only the
    descriptor.
    """
    end = 6 + (8 if frame[4] & 0x08 else 0)
    return frame[:end] + bytes(((xxh32_short(frame[:end]) >> 8) & 0xFF,)) + frame[end + 1 :]
