"""Recordings: written while someone watches, read later without a cluster (spec M5).

One file holds the events of all brokers in one order. A name that ends in `.gz` means a compressed
file. Several files, such as those the brokers write, are merged into one stream.
"""

import gzip
import io
import zlib
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope
from kafka_edu.trace.reader import merge, order, read_recording
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, encode, encode_header

_BLOCK: Final = 1 << 13
"""Small, because the block in which a file is cut off is lost."""
FLUSH_EVERY_US: Final = 1_000_000
"""So much is lost at most when the recording process is killed."""


def open_events(path: Path, mode: str = "rb") -> BinaryIO:
    """Open a file of events, compressed if its name ends in `.gz`. Raise OSError."""
    if path.suffix == ".gz":
        packed: BinaryIO = gzip.GzipFile(path, mode)  # type: ignore[assignment]  # a BinaryIO in all but its declared bases
        return packed
    plain: BinaryIO = path.open(mode)  # type: ignore[assignment]  # the mode is binary
    return plain


def read_recordings(paths: Sequence[Path]) -> list[Envelope]:
    """Return the events of all files in one order.

    Raise TraceFormatError, which names the file, if a file is not a recording. Raise OSError if a
    file cannot be read.
    """
    streams = []
    with ExitStack() as stack:
        for path in paths:
            file = stack.enter_context(open_events(path))
            try:
                # An event of a stalled broker arrives late and stands late in the file. Sorting
                # puts it back in its place.
                streams.append(sorted(read_recording(_whole_lines(file)), key=order))
            except (TraceFormatError, gzip.BadGzipFile, zlib.error) as error:
                raise TraceFormatError(f"{path}: {error}") from error
    return list(merge(streams))


def _whole_lines(file: BinaryIO) -> BinaryIO:
    """Return the lines of a file that may have been cut short by kill -9.

    A compressed file without its end raises EOFError after its last readable byte. The lines
    before that are as good as any.
    """
    lines = io.BytesIO()
    try:
        while block := file.read(_BLOCK):
            lines.write(block)
    except EOFError:
        pass
    lines.seek(0)
    return lines


def cluster_of(path: Path) -> str:
    """Return the cluster's name from the recording's header, or an empty string."""
    with open_events(path) as file:
        try:
            return Decoder(file.readline()).cluster
        except (TraceFormatError, EOFError, gzip.BadGzipFile, zlib.error):
            return ""


class Recorder:
    """Write the events that the dashboard sees, except the dashboard's own link events."""

    def __init__(self, path: Path, cluster: str) -> None:
        """Open the file. Raise OSError if it cannot be written."""
        self._file = open_events(path, "wb")
        self._file.write(encode_header(SUPERVISOR, cluster))
        self._flushed_us = 0

    def write(self, envelopes: Iterable[Envelope]) -> None:
        last_us = 0
        for envelope in envelopes:
            if envelope.name in EVENT_TYPES:
                self._file.write(encode(envelope))
                last_us = envelope.mono_us
        if last_us - self._flushed_us >= FLUSH_EVERY_US:
            self._flushed_us = last_us
            self._file.flush()

    def close(self) -> None:
        self._file.close()
