"""Read a live cluster's past and present once: every process's ring of events, and its state now.

Each process sends the events from its own memory. The ring of a killed process is lost, and a
paused process does not answer. `LookBack.missing` names these processes in words.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.instruments.backlog import FACTS
from kafka_edu.instruments.trace_feed import event_files, now_us
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.trace import RingBegins, RingEnds, SnapshotEnds
from kafka_edu.trace.reader import order
from kafka_edu.trace.trace_client import EventsAddress, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

SILENCE_S: Final = 2.0
"""After this silence (seconds) a process is not waited for.

A running process sends ten times a second.
"""
GAUGES_S: Final = 0.3
"""A process sends its gauges at least once within this time (seconds) after its state."""
_FACTS_AND_ENDS: Final = FACTS | {one.__name__ for one in (RingBegins, RingEnds, SnapshotEnds)}


class ProcessPast(NamedTuple):
    """The events that were read from one process."""

    source: Source
    envelopes: list[Envelope]
    begins: RingBegins | None
    trouble: str
    """The reason why the process did not send everything. Empty: it did."""


class LookBack(NamedTuple):
    """The past and present events of a cluster, in one order of time."""

    envelopes: list[Envelope]
    missing: list[str]
    """A sentence for each process whose events could not be read completely."""


async def look_back(
    folder: ClusterFolder, *, since_us: int = 0, gauges: bool = False, facts_only: bool = False
) -> LookBack:
    """Read every process at the same time. With `gauges`, also read a sample or more of each gauge.

    With `facts_only`, only facts are decoded. A ring has a whole snapshot for each minute, so most
    of its lines are no facts.
    """
    pasts = await asyncio.gather(
        *(
            _read(source, path, since_us, gauges, facts_only)
            for source, path in event_files(folder).items()
            if path.exists()
        )
    )
    envelopes = sorted((e for past in pasts for e in past.envelopes), key=order)
    return LookBack(envelopes, [words for past in pasts for words in _missing(past)])


async def _read(
    source: Source, path: Path, since_us: int, gauges: bool, facts_only: bool
) -> ProcessPast:
    envelopes: list[Envelope] = []
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
                        envelopes.append(envelope)
                    case _:
                        envelopes.append(envelope)
                if until_us and now_us() >= until_us:
                    break
            else:
                trouble = "ended while it was read; its ring ended with it"
    except TimeoutError:
        trouble = "does not answer: it is paused, or too busy"
    except OSError:
        trouble = "has ended; its ring ended with it"
    except (TraceFormatError, ValueError) as error:
        trouble = f"sent something else than events: {error}"
    return ProcessPast(source, envelopes, begins, trouble)


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
