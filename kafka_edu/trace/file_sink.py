"""Write events to a file, with keyframes (snapshots in between), so that a reader can begin in the
middle (spec M5).

A broker under full load makes 150,000 hops a second. Writing them all would take the broker as much
time as the requests themselves. Therefore a file has a budget of events for each tenth of a second.
If more come, only events of level `state` are recorded for the rest of that tenth, and HopsLeftOut
says so. During this time the tracer does not even create the events of hops, which saves most of
the time. As long as the budget is not used up, nothing is left out.
"""

import io
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from kafka_edu.trace.event import Envelope, Event, Level
from kafka_edu.trace.events.trace import HopsLeftOut, SnapshotBegins, SnapshotEnds
from kafka_edu.trace.line_maker import line_of
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import encode, encode_header

KEYFRAME_EVERY_MS: Final = 10_000
HOPS_AT_ONCE: Final = 256
"""The number of events that are collected and then written together, to save time. If the process
is killed, the collected hops are lost: at most this many, from at most a tenth of a second. If the
file has level `state`, its facts are written one by one.
"""


def snapshot_lines(tracer: Tracer) -> list[bytes]:
    """Return a whole snapshot of the process's state as lines, from SnapshotBegins to
    SnapshotEnds.
    """
    return list(lines_of_snapshot(tracer))


def lines_of_snapshot(tracer: Tracer) -> Iterator[bytes]:
    """Take a snapshot of the process's state now. Return an iterator that makes a line at each
    step.
    """

    def mark(event: Event) -> Envelope:
        wall_ms, mono_us = tracer.time.milliseconds(), tracer.time.nanoseconds() // 1000
        return Envelope(tracer.source, tracer.seq, 0, wall_ms, mono_us, event)

    # Readers sort the events of many processes by time. These times keep the right order.
    begins = mark(SnapshotBegins(as_of=tracer.seq))
    state = tracer.snapshot()
    ends = mark(SnapshotEnds(events=len(state)))
    return map(encode, (begins, *state, ends))


class FileSink:
    """Writes every event as a line, in the format of `wire_format`.

    The caller opens the file and calls `attach` first, then `tick` ten times a second, and finally
    `close`. If the file cannot be written, the tracer removes the sink and emits SinkFailed, and
    the file is closed. After that, `tick` and `close` do nothing.
    """

    def __init__(
        self,
        tracer: Tracer,
        file: BinaryIO | io.BufferedIOBase,
        level: Level = Level.STATE,
        cluster: str = "",
        hops_per_second: int = 0,
        gauges: bool = True,
    ) -> None:
        """Create the sink.

        `hops_per_second` is the file's budget of events, if its level is above `state`. 0 means no
        limit. Without `gauges` the file has no samples.
        """
        self._gauges = gauges
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
        """Begin to write events. `name` describes the recording for people."""
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
        """Record no hops until the next tick, because the file's budget is used up."""
        self._out_since_us = self._now_us()
        self.level = Level.STATE
        self._tracer.levels_changed()

    def _take_in(self) -> None:
        """Record hops again. Write a HopsLeftOut event that says how long hops were left out."""
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
        """Close the file and drop the events that are not written yet."""
        self._ended = True
        self._open.clear()
        self._file.close()

    def _try(self, work: Callable[[], None]) -> None:
        """Call `work`, unless the file has ended. If `work` raises an exception, the file ends."""
        if self._ended:
            return
        try:
            work()
        except Exception as error:
            self._tracer.sink_failed(self, error)

    def tick(self) -> None:
        """Write the gauges, if wanted, and a keyframe if one is due.

        Must be called ten times a second.
        """
        self._try(self._tick)

    def close(self) -> None:
        """Write the gathered events and the gauges, and close the file."""
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
        if self._gauges:
            self._file.writelines(encode(envelope) for envelope in self._tracer.gauges())
        self._file.flush()
