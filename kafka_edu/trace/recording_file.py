"""Files of recorded events, perhaps compressed, perhaps cut short by kill -9 or by a full disk.

The lines are read by `reader`. The command line and Spark's workers open the files here, so both
take the same files.
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
"""An empty last block of a compressed stream. It may follow a flush."""
_TRAILER_BYTES: Final = len(_LAST_BLOCK) + 8


def open_events(path: Path, mode: Literal["rb", "wb", "xb"] = "rb") -> io.BufferedIOBase:
    """Open a file of events, compressed if its name ends in `.gz`. `xb` is `wb` for a file that
    must not exist yet. Raise OSError.
    """
    if mode != "rb":
        return (_PackedFile if path.suffix == ".gz" else EventsFile)(path, mode)
    return gzip.GzipFile(path, "rb") if path.suffix == ".gz" else path.open("rb")


class EventsFile(io.BufferedIOBase):
    """A file of events that is written. One event is one line.

    If it cannot be written, because the disk is full for example, it ends at the last event that is
    whole, so that a reader can read it. The call that fails raises OSError. After that the file is
    closed.
    """

    def __init__(self, path: Path, mode: Literal["wb", "xb"] = "wb") -> None:
        """Open the file. Raises OSError."""
        self.name = str(path)
        self._ended = False
        self._out: BinaryIO = path.open(mode)

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        """Write whole lines. Raises OSError."""
        try:
            return self._write(data)
        except OSError:
            self._end_whole()
            raise

    def flush(self) -> None:
        """Hand on to the system what was written. Raises OSError."""
        if self._ended:
            return
        try:
            self._flush()
        except OSError:
            self._end_whole()
            raise

    def close(self) -> None:
        """Write the end of the file. Raises OSError. A second call does nothing."""
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
        """Close the file and cut off what comes after the last event that is whole."""
        with suppress(OSError):
            self._out.close()  # tries to write the rest once more
        with suppress(OSError):  # a reader leaves out an incomplete end, and says so
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
    """A place in a compressed file at which the file may end."""

    position: int
    crc: int
    size: int
    """The bytes that were compressed up to here."""


class _PackedFile(EventsFile):
    """The same, compressed by gzip.

    A flush ends at a whole byte, and a trailer of 10 bytes may follow it. So a file that cannot be
    written is cut off after a flush, and gets its trailer there. The trailer takes the place of
    bytes that were written before, since the disk has no more.
    """

    def __init__(self, path: Path, mode: Literal["wb", "xb"] = "wb") -> None:
        super().__init__(path, mode)
        self._packer = zlib.compressobj(wbits=_GZIP)
        self._crc = self._size = 0
        self._written = 0
        self._places: tuple[_Place, ...] = ()
        """The last two flushes."""

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
    """Return the readable part of a file that may have been cut short by kill -9, or damaged.

    Reading a compressed file that was cut short or damaged raises an error after the last
    readable byte. The lines before that byte are correct, so they are returned, and `left_out`
    gets the reason. Without `left_out`, damage raises the error.
    """
    lines = io.BytesIO()
    try:
        while block := file.read1(_BLOCK):  # `read` would lose what it has when it fails
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
