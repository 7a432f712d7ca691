"""Write events to a file, with keyframes, so that a reader can begin in the middle (spec M5)."""

from typing import BinaryIO, Final

from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds
from kafka_edu.trace.line_maker import line_of
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import encode, encode_header

KEYFRAME_EVERY_MS: Final = 10_000
HOPS_AT_ONCE: Final = 256
"""Hops are gathered and written together, which makes them cheaper. A killed process loses up to so
many, or those of a tenth of a second. Facts of level state are written one by one.
"""


def snapshot_lines(tracer: Tracer) -> list[bytes]:
    """Return a whole snapshot as lines, between SnapshotBegins and SnapshotEnds."""
    state = tracer.snapshot()
    wall_ms, mono_us = tracer.time.milliseconds(), tracer.time.nanoseconds() // 1000
    begins = Envelope(
        tracer.source, tracer.seq, 0, wall_ms, mono_us, SnapshotBegins(as_of=tracer.seq)
    )
    ends = Envelope(tracer.source, tracer.seq, 0, wall_ms, mono_us, SnapshotEnds(events=len(state)))
    return [encode(envelope) for envelope in (begins, *state, ends)]


class FileSink:
    """Writes every event as a line, in the format of `wire_format`.

    The caller opens and closes the file, and calls `tick` ten times a second and at the end.
    """

    def __init__(
        self, tracer: Tracer, file: BinaryIO, level: Level = Level.STATE, cluster: str = ""
    ) -> None:
        self.level = level
        self._tracer = tracer
        self._file = file
        self._next_keyframe_ms = 0
        self._open: list[Envelope] = []
        self._at_once = 1 if level is Level.STATE else HOPS_AT_ONCE
        file.write(encode_header(tracer.source, cluster))

    def accept(self, envelope: Envelope) -> None:
        self._open.append(envelope)
        if len(self._open) >= self._at_once:
            self._write()

    def _write(self) -> None:
        gathered, self._open = self._open, []
        self._file.write("".join(map(line_of, gathered)).encode())

    def tick(self) -> None:
        """Write the gauges, and a keyframe if one is due. To be called ten times a second."""
        self._write()
        now = self._tracer.time.hi_res_clock_ms()
        if now >= self._next_keyframe_ms:
            self._next_keyframe_ms = now + KEYFRAME_EVERY_MS
            self._file.writelines(snapshot_lines(self._tracer))
        self._file.writelines(encode(envelope) for envelope in self._tracer.gauges())
        self._file.flush()
