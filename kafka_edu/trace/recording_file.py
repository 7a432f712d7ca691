"""Open files of recorded events. They may be compressed, and kill -9 or a full disk may have cut
them short.

The module `reader` reads their lines. The command line and Spark's workers both open such files
with this module, so both accept the same files.
"""

import gzip
import io
import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple

from kafka_edu.trace.reader import LeftOut

_BLOCK: Final = 1 << 16
_GZIP: Final = 16 + zlib.MAX_WBITS
_LAST_BLOCK: Final = b"\x03\x00"
"""An empty last block of a compressed stream (deflate). It may directly follow flushed data."""
_TRAILER_BYTES: Final = len(_LAST_BLOCK) + 8


def open_events(path: Path, mode: Literal["rb", "wb", "xb"] = "rb") -> io.BufferedIOBase:
    """Open a file of events. It is compressed if its name ends in `.gz`. The mode `xb` is like
    `wb`, but the file must not exist yet. Raise OSError if that fails.
    """
    if mode != "rb":
        return (_PackedFile if path.suffix == ".gz" else EventsFile)(path, mode)
    return gzip.GzipFile(path, "rb") if path.suffix == ".gz" else path.open("rb")


class EventsFile(io.BufferedIOBase):
    """Writes a file of events, one event on each line.

    If a write fails, for example because the disk is full, the file is cut off after its last
    complete event, so that a reader can read it. Then the file is closed, and the failed call
    raises OSError.
    """

    def __init__(self, path: Path, mode: Literal["wb", "xb"] = "wb") -> None:
        """Open the file for writing. Raises OSError if that fails."""
        self.name = str(path)
        self._ended = False
        self._out: BinaryIO = path.open(mode)

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        """Write one or more whole lines. Raises OSError if the file cannot be written."""
        try:
            return self._write(data)
        except OSError:
            self._end_whole()
            raise

    def flush(self) -> None:
        """Pass everything written so far to the operating system. Raises OSError if that fails."""
        if self._ended:
            return
        try:
            self._flush()
        except OSError:
            self._end_whole()
            raise

    def close(self) -> None:
        """Write the rest and close the file. Raises OSError if that fails. If the file is closed
        already, do nothing.
        """
        if self._ended:
            return
        try:
            self._finish()
        except OSError:
            self._end_whole()
            raise
        self._end()

    def _end(self) -> None:
        self._ended = True
        super().close()

    def _write(self, data: "bytes | bytearray | memoryview") -> int:
        return self._out.write(data)

    def _flush(self) -> None:
        self._out.flush()

    def _finish(self) -> None:
        self._out.close()

    def _end_whole(self) -> None:
        """Close the file, and cut off everything after the last complete event."""
        with suppress(OSError):
            self._out.close()  # this tries to write the rest again
        with suppress(OSError):  # if this fails, readers skip the incomplete end
            self._cut()
        self._end()

    def _cut(self) -> None:
        with open(self.name, "r+b") as file:
            end = file.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - _BLOCK)
                file.seek(start)
                newline = file.read(end - start).rfind(b"\n")
                if newline >= 0:
                    end = start + newline + 1
                    break
                end = start
            file.truncate(end)


class _Place(NamedTuple):
    """A place in a compressed file where the file can be cut off: its position, and the checksum
    and size of the data before it.
    """

    position: int
    crc: int
    size: int
    """The number of uncompressed bytes up to this place."""


class _PackedFile(EventsFile):
    """Writes a file of events like EventsFile, but compressed by gzip.

    After a flush, the compressed data end at a whole byte, and the 10 bytes that end a gzip file
    may follow directly. If a write fails, the file is cut off after an earlier flush, and gets
    these 10 bytes there. They overwrite bytes that were written later, because a full disk has no
    room for more.
    """

    def __init__(self, path: Path, mode: Literal["wb", "xb"] = "wb") -> None:
        super().__init__(path, mode)
        self._packer = zlib.compressobj(wbits=_GZIP)
        self._crc = self._size = 0
        self._written = 0
        self._places: tuple[_Place, ...] = ()
        """The places after the last two flushes."""

    def _write(self, data: "bytes | bytearray | memoryview") -> int:
        self._put(self._packer.compress(data))
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        return len(data)

    def _put(self, packed: bytes) -> None:
        self._out.write(packed)
        self._written += len(packed)

    def _flush(self) -> None:
        self._put(self._packer.flush(zlib.Z_SYNC_FLUSH))
        super()._flush()
        place = _Place(self._written, self._crc, self._size)
        if not self._places or place.position - self._places[-1].position >= _TRAILER_BYTES:
            self._places = (*self._places[-1:], place)

    def _finish(self) -> None:
        self._put(self._packer.flush())
        super()._finish()

    def _cut(self) -> None:
        with open(self.name, "r+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            fitting = [place for place in self._places if place.position + _TRAILER_BYTES <= end]
            if not fitting:
                return
            place = fitting[-1]
            file.seek(place.position)
            file.write(
                _LAST_BLOCK
                + place.crc.to_bytes(4, "little")
                + (place.size % 2**32).to_bytes(4, "little")
            )
            file.truncate()


def readable_part(file: io.BufferedIOBase, left_out: LeftOut | None) -> BinaryIO:
    """Return the readable part of a file. The file may be damaged, or kill -9 may have cut it
    short.

    If a compressed file is damaged or too short, reading it raises an error after the last readable
    byte. The lines before that byte are correct and are returned. `left_out` gets the reason.
    Without `left_out`, damage raises the error.
    """
    lines = io.BytesIO()
    try:
        while block := file.read1(_BLOCK):  # if `read` failed, it would lose what it has read
            lines.write(block)
    except EOFError:
        if left_out is not None:
            left_out.end_missing = "its end is missing: the packed file was cut off"
    except (zlib.error, gzip.BadGzipFile) as error:
        if left_out is None or not lines.tell():
            raise
        left_out.end_missing = f"its end is missing: the rest cannot be unpacked ({error})"
    lines.seek(0)
    return lines
