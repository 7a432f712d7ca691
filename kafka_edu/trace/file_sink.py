"""Write events to a file, with keyframes, so that a reader can begin in the middle (spec M5).

A broker under full load makes 150,000 hops a second. To write them all would take as much of its
time as the requests themselves. So a file has a budget. When more facts come in a tenth of a second
than it allows, the rest of that tenth is recorded at level state, and HopsLeftOut says so. The
tracer then makes no hops at all, which is what saves the time. Below the budget nothing is left
out.
"""

import io
from collections.abc import Callable
from typing import BinaryIO, Final

from kafka_edu.trace.event import Envelope, Event, Level
from kafka_edu.trace.events.trace import HopsLeftOut, SnapshotBegins, SnapshotEnds
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

    def mark(event: Event) -> Envelope:
        wall_ms, mono_us = tracer.time.milliseconds(), tracer.time.nanoseconds() // 1000
        return Envelope(tracer.source, tracer.seq, 0, wall_ms, mono_us, event)

    # readers put the events of many processes in order by time, so these times keep the order
    begins = mark(SnapshotBegins(as_of=tracer.seq))
    state = tracer.snapshot()
    ends = mark(SnapshotEnds(events=len(state)))
    return [encode(envelope) for envelope in (begins, *state, ends)]


class FileSink:
    """Writes every event as a line, in the format of `wire_format`.

    The caller opens the file and calls `attach`, then `tick` ten times a second, and `close` at the
    end. If the file cannot be written, the tracer removes the sink and says so, and the file is
    closed. The last two calls do nothing then.
    """

    def __init__(
        self,
        tracer: Tracer,
        file: BinaryIO | io.BufferedIOBase,
        level: Level = Level.STATE,
        cluster: str = "",
        hops_per_second: int = 0,
    ) -> None:
        """`hops_per_second` is the budget above level state; 0: none."""
        self.level = level
        self._wanted = level
        self._budget = hops_per_second // 10 if level is not Level.STATE else 0
        self._left = self._budget
        self._out_since_us = 0
        self._tracer = tracer
        self._file = file
        self._next_keyframe_ms = 0
        self._open: list[Envelope] = []
        self._at_once = 1 if level is Level.STATE else HOPS_AT_ONCE
        self._ended = False
        self._header = encode_header(tracer.source, cluster)

    def attach(self, name: str) -> None:
        """Write from now on. `name` is what a person calls the recording."""
        self._tracer.add_sink(self, name, self._end)
        self._try(self._write_header)

    def accept(self, envelope: Envelope) -> None:
        self._open.append(envelope)
        if len(self._open) >= self._at_once:
            self._write()
        self._left -= 1
        if not self._left:
            self._leave_out()

    def _leave_out(self) -> None:
        """Want no hops until the next tick."""
        self._out_since_us = self._now_us()
        self.level = Level.STATE
        self._tracer.levels_changed()

    def _take_in(self) -> None:
        """Want hops again, and write for how long there were none."""
        now_us = self._now_us()
        event = HopsLeftOut(for_us=now_us - self._out_since_us)
        wall_ms = self._tracer.time.milliseconds()
        self._open.append(
            Envelope(self._tracer.source, self._tracer.seq, 0, wall_ms, now_us, event)
        )
        self._out_since_us = 0
        self.level = self._wanted
        self._tracer.levels_changed()

    def _now_us(self) -> int:
        return self._tracer.time.nanoseconds() // 1000

    def _write(self) -> None:
        gathered, self._open = self._open, []
        self._file.write("".join(map(line_of, gathered)).encode())

    def _write_header(self) -> None:
        self._file.write(self._header)

    def _end(self) -> None:
        """Close the file and forget what was not written."""
        self._ended = True
        self._open.clear()
        self._file.close()

    def _try(self, work: Callable[[], None]) -> None:
        """Do a part of the work, unless the file has ended. A failure ends it."""
        if self._ended:
            return
        try:
            work()
        except Exception as error:
            self._tracer.sink_failed(self, error)

    def tick(self) -> None:
        """Write the gauges, and a keyframe if one is due. To be called ten times a second."""
        self._try(self._tick)

    def close(self) -> None:
        """Write what has gathered, and the gauges, and close the file."""
        self._try(self._tick)
        self._try(self._end)
        self._tracer.remove_sink(self)

    def _tick(self) -> None:
        if self._out_since_us:
            self._take_in()
        self._left = self._budget
        self._write()
        now = self._tracer.time.hi_res_clock_ms()
        if now >= self._next_keyframe_ms:
            self._next_keyframe_ms = now + KEYFRAME_EVERY_MS
            self._file.writelines(snapshot_lines(self._tracer))
        self._file.writelines(encode(envelope) for envelope in self._tracer.gauges())
        self._file.flush()
