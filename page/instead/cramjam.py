"""Codecs in place of the package cramjam, which is native code.

A page has zstd, by Python's own `compression.zstd`, and gzip, for which kafka-edu uses zlib. A
batch with snappy or lz4 is refused: the response has the error UNSUPPORTED_COMPRESSION_TYPE.
"""

# mypy: disable-error-code="import-not-found,no-any-return"

from typing import Final, NoReturn

from compression import zstd as _zstd  # since Python 3.14, which is the page's Python

from kafka_edu.common.errors import Errors, KafkaException


class DecompressionError(Exception):
    """Bytes that the codec cannot read, or a buffer that is too small for the result."""


class _Missing:
    """A codec that a page does not have."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise KafkaException(
            Errors.UNSUPPORTED_COMPRESSION_TYPE,
            f"{self._name} is native code, which a web page does not have: use gzip, zstd or none",
        )

    Compressor = decompress_block_into = _refuse
    compress_raw = decompress_raw = decompress_raw_len = _refuse


class zstd:
    """The codec zstd, with the functions of the package that kafka-edu calls."""

    @staticmethod
    def compress(data: bytes, level: int = 3) -> bytes:
        return _zstd.compress(data, level)

    @staticmethod
    def decompress(data: bytes) -> bytes:
        try:
            return _zstd.decompress(data)
        except _zstd.ZstdError as error:
            raise DecompressionError(str(error)) from None

    @staticmethod
    def decompress_into(data: bytes, out: bytearray) -> int:
        """Put the result into `out`, and return its size. Raises DecompressionError."""
        unpacker = _zstd.ZstdDecompressor()
        try:
            result = unpacker.decompress(data, max_length=len(out))
        except _zstd.ZstdError as error:
            raise DecompressionError(str(error)) from None
        if not unpacker.eof:
            if unpacker.needs_input:
                raise DecompressionError("the frame ends too early")
            raise DecompressionError("failed to write whole buffer")  # the words of the package
        out[: len(result)] = result
        return len(result)


lz4: Final = _Missing("lz4")
snappy: Final = _Missing("snappy")
