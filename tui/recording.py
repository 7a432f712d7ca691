"""Recordings: written while one looks, read again without a cluster (spec M5).

One file holds all brokers' events in one order; `.gz` is understood by its name. Several files,
such as brokers write, are merged into one.
"""

import gzip
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from kafka_edu.trace.event import EVENT_TYPES, Envelope
from kafka_edu.trace.reader import merge, order, read_recording
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, encode, encode_header


def open_events(path: Path, mode: str = "rb") -> BinaryIO:
    """A file of events, packed if its name says so. Raises OSError."""
    if path.suffix == ".gz":
        packed: BinaryIO = gzip.GzipFile(path, mode)  # type: ignore[assignment]  # a BinaryIO in all but its declared bases
        return packed
    plain: BinaryIO = path.open(mode)  # type: ignore[assignment]  # the mode is binary
    return plain


def read_recordings(paths: Sequence[Path]) -> list[Envelope]:
    """All events of all files, in one order. Raises TraceFormatError, naming the file, when one is
    no recording, OSError when one cannot be read.
    """
    streams = []
    with ExitStack() as stack:
        for path in paths:
            file = stack.enter_context(open_events(path))
            try:
                # What came late, from a broker that was stalled, stands late in the file; here it
                # gets its place again.
                streams.append(sorted(read_recording(file), key=order))
            except (TraceFormatError, EOFError, gzip.BadGzipFile) as error:
                raise TraceFormatError(f"{path}: {error}") from error
    return list(merge(streams))


def cluster_of(path: Path) -> str:
    """The cluster's name as the recording's header has it, or empty."""
    with open_events(path) as file:
        try:
            return Decoder(file.readline()).cluster
        except (TraceFormatError, EOFError, gzip.BadGzipFile):
            return ""


class Recorder:
    """Writes what the dashboard sees to a file. What is no event of the cluster (its own links) is
    left out.
    """

    def __init__(self, path: Path, cluster: str) -> None:
        """Raises OSError when the file cannot be written."""
        self._file = open_events(path, "wb")
        self._file.write(encode_header(-1, cluster))

    def write(self, envelopes: Iterable[Envelope]) -> None:
        self._file.writelines(
            encode(envelope) for envelope in envelopes if envelope.name in EVENT_TYPES
        )

    def close(self) -> None:
        self._file.close()
