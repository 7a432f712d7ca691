"""Write recordings while someone watches a cluster, and read them later without a cluster.

One file holds the events of all brokers in one order. A file whose name ends in `.gz` is
compressed. If several files are read, such as the files that the brokers write, their events are
merged into one stream (spec M5).
"""

import contextlib
import gzip
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope, Kind, Source
from kafka_edu.trace.events.trace import Gap
from kafka_edu.trace.gauge_choice import Thing, thing_of_event
from kafka_edu.trace.reader import LeftOut, merge, order, read_recording
from kafka_edu.trace.recording_file import open_events, readable_part
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, encode, encode_header

FLUSH_EVERY_S: Final = 1.0
"""The seconds between two flushes. A killed recording process loses at most these events."""
MOST_THINGS: Final = 10_000
THING_FORGOTTEN_US: Final = 10_000_000
LINES_AT_ONCE: Final = 256
"""The number of events that are written and flushed together. A full disk loses the last ones."""
WAKE_BYTES: Final = 256 * 1024
"""With this number of waiting bytes, the writer writes at once and waits for no more events."""
SILENT_S: Final = 0.5
"""If ending a recording takes longer than this (seconds), a sentence says why."""
QUEUE_BYTES: Final = 4 * 1024 * 1024
MOST_BYTES: Final = 16 * 1024 * 1024


def read_recordings(
    paths: Sequence[Path], warn: Callable[[str], None] | None = None
) -> list[Envelope]:
    """Return the events of all files in one order.

    `warn` is called with a sentence for each part that was left out: damaged lines, events of
    unknown types, a missing end. The sentence names the file. Without `warn`, a damaged line is an
    error.

    Raises TraceFormatError, which names the file, if a file is not a recording. Raises OSError if a
    file cannot be read.
    """
    streams = []
    for path in paths:
        left_out = None if warn is None else LeftOut()
        with open_events(path) as file:
            try:
                # An event of a stalled broker arrives late and is too late in the file. Sorting
                # puts it in the right place.
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
    """Return a filter that keeps all facts and snapshots, but only some of the gauges.

    For each process, one set of gauges is kept in each period of `every_us`. A set does not have a
    sample of every object. So a sample is also kept if no sample of its object was kept in the last
    `every_us`.
    """
    kept: dict[Source, int] = {}
    of_things: dict[tuple[Source, Thing], int] = {}

    def keep(envelope: Envelope) -> bool:
        known = EVENT_TYPES.get(envelope.name)
        if known is None or known.kind is not Kind.GAUGE:
            return True
        source, now_us = envelope.source, envelope.mono_us
        thing = source, thing_of_event(envelope.event)
        last = kept.get(source, 0)
        if now_us == last or now_us - last >= every_us:
            kept[source] = now_us
        elif now_us - of_things.setdefault(thing, now_us) < every_us:
            return False
        if len(of_things) >= MOST_THINGS:
            for old in [one for one, at in of_things.items() if now_us - at > THING_FORGOTTEN_US]:
                del of_things[old]
        of_things[thing] = now_us
        return True

    return keep


class Recorder:
    """Writes the events that the dashboard receives to a file, without the dashboard's link events.

    A separate thread packs and writes the events, so the dashboard does not wait for the file. The
    memory of waiting events is bounded: above QUEUE_BYTES, samples are left out. Above MOST_BYTES,
    facts are left out too, and a Gap in the recording counts them. A new snapshot must follow such
    a Gap (`takes_snapshot`).

    If the file cannot be written any more, the recording ends with its last complete event, and
    `failure` says why. The dashboard continues.
    """

    def __init__(
        self, path: Path, cluster: str, keep: Callable[[Envelope], bool] = lambda _: True
    ) -> None:
        """Open the file. Raises OSError if it cannot be written.

        `write` records only events for which `keep` returns True.
        """
        self._keep = keep
        self._path = path
        self._file = open_events(path, "wb")
        self.failure = ""
        """The reason why the recording ended early. Empty if it did not."""
        self._changed = threading.Condition()
        """The lock for all attributes below. It also wakes the writing thread."""
        self._lines: list[bytes] = [encode_header(SUPERVISOR, cluster)]
        self._bytes = len(self._lines[0])
        """The number of bytes in `_lines` and in the lines that are being written now."""
        self._missing: Counter[str] = Counter()
        self._wants_snapshot = False
        self._closing = False
        self._writer = threading.Thread(target=self._write_on, name="recorder", daemon=True)
        self._writer.start()

    def write(self, envelopes: Iterable[Envelope]) -> None:
        """Add events to the recording. O(events). A thread writes them to the file later."""
        for envelope in envelopes:
            if envelope.name in EVENT_TYPES and self._keep(envelope):
                self.write_line(envelope.name, encode(envelope))

    def write_line(self, name: str, line: bytes) -> None:
        """Record an event in its original form: its type, and its whole line."""
        with self._changed:
            if self.failure:
                return
            is_gauge = EVENT_TYPES[name].kind is Kind.GAUGE
            if self._bytes + len(line) > (QUEUE_BYTES if is_gauge else MOST_BYTES):
                self._missing[name] += 1
                return
            self._lines.append(line)
            self._bytes += len(line)
            if self._bytes > WAKE_BYTES:
                self._changed.notify()

    def takes_snapshot(self) -> bool:
        """Return whether each process must send a snapshot now.

        A snapshot is needed after a Gap that counts facts, because only a snapshot has the state
        after the missing facts. The next call returns False, unless there is another Gap.
        """
        with self._changed:
            wanted, self._wants_snapshot = self._wants_snapshot, False
            return wanted

    def close(self, say: Callable[[str], None] = lambda _: None) -> None:
        """Write the waiting events and the end of the recording.

        If writing has failed before, nothing more is written. If `close` takes longer than
        SILENT_S, it calls `say` with a sentence. After a KeyboardInterrupt, `close` stops waiting,
        and the recording lacks its last events and a proper end.
        """
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._writer.join(SILENT_S)
        if self._writer.is_alive():
            say(
                f"writing the last {self._bytes / 2**20:.1f} MB of events to {self._path}, because"
                " the disk is slow; Ctrl-C leaves them out"
            )
            self._writer.join()

    def _write_on(self) -> None:
        """Write waiting events until the recording is closed, or the file cannot be written."""
        with self._ending_if_it_fails():
            while self._write_waiting():
                pass
            self._file.close()

    def _write_waiting(self) -> bool:
        """Wait a short time for events, and write them. Return whether more events may come."""
        with self._changed:
            if not self._closing and self._bytes <= WAKE_BYTES:
                self._changed.wait(FLUSH_EVERY_S)
            closing = self._closing
            lines, self._lines = self._lines, []
            missing, self._missing = self._missing, Counter()
        if missing:
            lines.append(encode(_gap(missing)))
        for at in range(0, len(lines), LINES_AT_ONCE):
            self._file.write(b"".join(lines[at : at + LINES_AT_ONCE]))
            self._file.flush()
        with self._changed:
            self._bytes -= sum(map(len, lines)) - (len(lines[-1]) if missing else 0)
            self._wants_snapshot |= any(
                EVENT_TYPES[name].kind is not Kind.GAUGE for name in missing
            )
        return not closing

    @contextlib.contextmanager
    def _ending_if_it_fails(self) -> Iterator[None]:
        """If writing the file fails in the block, remember the reason, and cut the file after its
        last complete event.
        """
        try:
            yield
        except OSError as error:
            with self._changed:
                self._lines.clear()
                self.failure = (
                    f"the recording {self._path} has ended, because it cannot be written"
                    f" ({error.strerror or error}); its lines up to then can be read"
                )


def _gap(missing: Counter[str]) -> Envelope:
    """Return a Gap event that counts the facts left out of the recording so far."""
    gap = Gap(dropped=missing.total(), by_type=tuple(missing.most_common()))
    now_ns = time.monotonic_ns()
    return Envelope(SUPERVISOR, 0, 0, time.time_ns() // 1_000_000, now_ns // 1000, gap)
