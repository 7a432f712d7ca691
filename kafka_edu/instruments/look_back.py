"""Read a live cluster's past and present once: every process's ring of events, and its state now.

Each process sends the events from its own memory. The ring of a killed process is lost, and a
paused process does not answer. `LookBack.missing` names these processes in words.
"""

import asyncio
import heapq
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.words import plural
from kafka_edu.instruments.backlog import FACTS
from kafka_edu.instruments.event_sizes import EventSizes
from kafka_edu.instruments.trace_feed import event_files, now_us
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.trace import RingBegins, RingEnds, SnapshotEnds
from kafka_edu.trace.reader import order
from kafka_edu.trace.trace_client import EventsAddress, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

SILENCE_S: Final = 2.0
"""After this time of silence (seconds), do not wait for a process any longer.

A running process sends ten times a second.
"""
GAUGES_S: Final = 0.3
"""A process sends its gauges at least once within this time (seconds) after its state."""
_FACTS_AND_ENDS: Final = FACTS | {one.__name__ for one in (RingBegins, RingEnds, SnapshotEnds)}


class ProcessPast(NamedTuple):
    """The result of reading one process."""

    source: Source
    begins: RingBegins | None
    trouble: str
    """The reason why the process did not send everything. Empty if it did."""


class LookBack(NamedTuple):
    """The past and present events of a cluster, in one order of time."""

    envelopes: list[Envelope]
    missing: list[str]
    """A sentence for each process whose events could not be read completely."""


class Newest:
    """The newest events out of many, which together take at most a number of bytes.

    The events come from several processes, each in its own order.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._sizes = EventSizes()
        self._heap: list[tuple[tuple[int, Source, int], int, int, Envelope]] = []
        self._added = 0
        self._cut_us = -1
        """The time (µs) of the newest event that was left out."""

    def add(self, envelope: Envelope) -> None:
        """Add an event. Leave out the oldest events if there are too many bytes. O(log events)."""
        size = self._sizes.of(envelope)
        self._added += 1
        heapq.heappush(self._heap, (order(envelope), self._added, size, envelope))
        self._bytes += size
        while self._bytes > self._most_bytes:
            _, _, oldest_size, oldest = heapq.heappop(self._heap)
            self._bytes -= oldest_size
            self._cut_us = max(self._cut_us, oldest.mono_us)

    def in_order(self) -> list[Envelope]:
        """Return all events after the last event that was left out, sorted by time.

        O(events log events).
        """
        return [one[-1] for one in sorted(self._heap) if one[-1].mono_us > self._cut_us]

    def left_out(self) -> int:
        """Return how many of the added events `in_order` does not return. O(events)."""
        return self._added - sum(one[-1].mono_us > self._cut_us for one in self._heap)


async def look_back(
    folder: ClusterFolder,
    *,
    since_us: int = 0,
    gauges: bool = False,
    facts_only: bool = False,
    most_bytes: int = sys.maxsize,
) -> LookBack:
    """Read every process at the same time. With `gauges`, also read at least one sample of each
    gauge.

    With `facts_only`, only facts are decoded. A ring has a whole snapshot for each minute, so most
    of its lines are not facts. If all events together take more than `most_bytes` of memory, the
    oldest events are left out.
    """
    newest = Newest(most_bytes)
    pasts = await asyncio.gather(
        *(
            _read(source, path, since_us, gauges, facts_only, newest.add)
            for source, path in event_files(folder).items()
            if path.exists()
        )
    )
    missing = [words for past in pasts for words in _missing(past)]
    if left_out := newest.left_out():
        be = "is" if left_out == 1 else "are"
        missing.append(
            f"the oldest {plural(left_out, 'fact')} {be} left out, because all together take more"
            f" than {most_bytes / 2**20:.0f} MB of memory"
        )
    return LookBack(newest.in_order(), missing)


async def _read(
    source: Source,
    path: Path,
    since_us: int,
    gauges: bool,
    facts_only: bool,
    take: Callable[[Envelope], None],
) -> ProcessPast:
    """Read one process, and call `take` with each of its events."""
    begins: RingBegins | None = None
    trouble = ""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(SILENCE_S) as silence:

            def wanted(name: str) -> bool:
                silence.reschedule(loop.time() + SILENCE_S)
                return not facts_only or name in _FACTS_AND_ENDS

            address = EventsAddress.read(str(path))
            past_is_read, until_us = False, 0
            async for envelope in subscribe(
                address, Level.STATE, gauges=True, since_us=since_us, wanted=wanted
            ):
                match envelope.event:
                    case RingBegins() as begins:
                        pass
                    case RingEnds():
                        past_is_read = True
                    case SnapshotEnds() if past_is_read:
                        until_us = now_us() + (int(GAUGES_S * 1e6) if gauges else 0)
                        take(envelope)
                    case _:
                        take(envelope)
                if until_us and now_us() >= until_us:
                    break
            else:
                trouble = "ended while it was read; its ring ended with it"
    except TimeoutError:
        trouble = "does not answer: it is paused, or too busy"
    except OSError:
        trouble = "has ended; its ring ended with it"
    except (TraceFormatError, ValueError) as error:
        trouble = f"sent something other than events: {error}"
    return ProcessPast(source, begins, trouble)


def _missing(past: ProcessPast) -> Iterator[str]:
    if past.trouble:
        yield f"{past.source} {past.trouble}"
    if past.begins is None:
        return
    if not past.begins.enabled:
        yield f"{past.source} keeps no ring (edu.trace.ring.minutes or .bytes is 0)"
    if past.begins.shed:
        yield (
            f"{past.source} had to forget {past.begins.shed:,} facts early: its ring was full"
            " (edu.trace.ring.bytes)"
        )
