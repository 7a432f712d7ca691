"""Recordings: written while someone watches, read later without a cluster (spec M5).

One file holds the events of all brokers in one order. A name that ends in `.gz` means a compressed
file. Several files, such as those the brokers write, are merged into one stream.
"""

import contextlib
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope, Kind, Source
from kafka_edu.trace.reader import LeftOut, merge, order, read_recording
from kafka_edu.trace.recording_file import open_events, readable_part
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, encode, encode_header

FLUSH_EVERY_US: Final = 1_000_000
"""So much is lost at most when the recording process is killed."""


def read_recordings(
    paths: Sequence[Path], warn: Callable[[str], None] | None = None
) -> list[Envelope]:
    """Return the events of all files in one order.

    `warn` takes a sentence, which names the file, for what had to be left out: damaged lines,
    events of unknown kinds, an end that is missing. Without `warn` a damaged line is an error.

    Raise TraceFormatError, which names the file, if a file is not a recording. Raise OSError if a
    file cannot be read.
    """
    streams = []
    for path in paths:
        left_out = None if warn is None else LeftOut()
        with open_events(path) as file:
            try:
                # An event of a stalled broker arrives late and stands late in the file. Sorting
                # puts it back in its place.
                lines = readable_part(file, left_out)
                streams.append(sorted(read_recording(lines, left_out), key=order))
            except (TraceFormatError, gzip.BadGzipFile, zlib.error) as error:
                raise TraceFormatError(f"{path}: {error}") from error
        if warn is not None and left_out is not None:
            for sentence in left_out.sentences():
                warn(f"{path}: {sentence}")
    return list(merge(streams))


def cluster_of(path: Path) -> str:
    """Return the cluster's name from the recording's header, or an empty string."""
    with open_events(path) as file:
        try:
            return Decoder(file.readline()).cluster
        except (TraceFormatError, EOFError, gzip.BadGzipFile, zlib.error):
            return ""


def thinned(every_us: int) -> Callable[[Envelope], bool]:
    """Return whether to keep an event: all facts and snapshots, and of the gauges of each process
    one set in `every_us`.
    """
    kept: dict[Source, int] = {}

    def keep(envelope: Envelope) -> bool:
        if envelope.name not in EVENT_TYPES or EVENT_TYPES[envelope.name].kind is not Kind.GAUGE:
            return True
        last = kept.get(envelope.source, 0)
        if envelope.mono_us != last and envelope.mono_us - last < every_us:
            return False
        kept[envelope.source] = envelope.mono_us
        return True

    return keep


class Recorder:
    """Write the events that the dashboard sees, except the dashboard's own link events.

    If the file cannot be written, the recording ends there, whole up to then, and `failure` says
    why. The one who watches goes on.
    """

    def __init__(
        self, path: Path, cluster: str, keep: Callable[[Envelope], bool] = lambda _: True
    ) -> None:
        """Open the file; only events to `keep` go into it. Raise OSError if it cannot be
        written.
        """
        self._keep = keep
        self._path = path
        self._file = open_events(path, "wb")
        self.failure = ""
        """Why the recording has ended before its time, in words; empty if it has not."""
        self._flushed_us = 0
        with self._ending_if_it_fails():
            self._file.write(encode_header(SUPERVISOR, cluster))

    def write(self, envelopes: Iterable[Envelope]) -> None:
        if self.failure:
            return
        with self._ending_if_it_fails():
            last_us = 0
            for envelope in envelopes:
                if envelope.name in EVENT_TYPES and self._keep(envelope):
                    self._file.write(encode(envelope))
                    last_us = envelope.mono_us
            if last_us - self._flushed_us >= FLUSH_EVERY_US:
                self._flushed_us = last_us
                self._file.flush()

    def close(self) -> None:
        """Write the end of the recording. After a failure it is closed already."""
        with self._ending_if_it_fails():
            self._file.close()

    @contextlib.contextmanager
    def _ending_if_it_fails(self) -> Iterator[None]:
        """Note why the file cannot be written. The file itself ends at the last whole event."""
        try:
            yield
        except OSError as error:
            self.failure = (
                f"the recording {self._path} has ended, because it cannot be written"
                f" ({error.strerror or error}); what it has up to then can be read"
            )
