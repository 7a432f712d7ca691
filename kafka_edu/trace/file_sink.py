"""Write events to a file, with keyframes, so that a reader can begin in the middle (spec M5)."""

from typing import BinaryIO, Final

from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import encode, encode_header

KEYFRAME_EVERY_MS: Final = 10_000


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

    The caller opens and closes the file.
    """

    def __init__(
        self, tracer: Tracer, file: BinaryIO, level: Level = Level.STATE, cluster: str = ""
    ) -> None:
        self.level = level
        self._tracer = tracer
        self._file = file
        self._next_keyframe_ms = 0
        file.write(encode_header(tracer.source, cluster))

    def accept(self, envelope: Envelope) -> None:
        self._file.write(encode(envelope))

    def tick(self) -> None:
        """Write the gauges, and a keyframe if one is due. To be called ten times a second."""
        now = self._tracer.time.hi_res_clock_ms()
        if now >= self._next_keyframe_ms:
            self._next_keyframe_ms = now + KEYFRAME_EVERY_MS
            self._file.writelines(snapshot_lines(self._tracer))
        self._file.writelines(encode(envelope) for envelope in self._tracer.gauges())
        self._file.flush()
