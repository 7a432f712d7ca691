"""Recordings: written while someone watches, read later without a cluster (spec M5).

One file holds the events of all brokers in one order. A name that ends in `.gz` means a compressed
file. Several files, such as those the brokers write, are merged into one stream.
"""

import gzip
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope
from kafka_edu.trace.reader import merge, order, read_recording
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, encode, encode_header


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
                streams.append(sorted(read_recording(file), key=order))
            except (TraceFormatError, EOFError, gzip.BadGzipFile) as error:
                raise TraceFormatError(f"{path}: {error}") from error
    return list(merge(streams))


def cluster_of(path: Path) -> str:
    """Return the cluster's name from the recording's header, or an empty string."""
    with open_events(path) as file:
        try:
            return Decoder(file.readline()).cluster
        except (TraceFormatError, EOFError, gzip.BadGzipFile):
            return ""


class Recorder:
    """Write the events that the dashboard sees, except the dashboard's own link events."""

    def __init__(self, path: Path, cluster: str) -> None:
        """Open the file. Raise OSError if it cannot be written."""
        self._file = open_events(path, "wb")
        self._file.write(encode_header(SUPERVISOR, cluster))

    def write(self, envelopes: Iterable[Envelope]) -> None:
        self._file.writelines(
            encode(envelope) for envelope in envelopes if envelope.name in EVENT_TYPES
        )

    def close(self) -> None:
        self._file.close()
