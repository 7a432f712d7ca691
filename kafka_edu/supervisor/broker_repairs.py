"""Ask brokers which log files they repaired at their start, and what has failed since."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.words import plural
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.events.log import RepairsFound
from kafka_edu.trace.events.server import TroubleSnapshot
from kafka_edu.trace.events.trace import SnapshotEnds
from kafka_edu.trace.lasting_troubles import LASTING
from kafka_edu.trace.trace_client import EventsAddress, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

_TIMEOUT_S: Final = 5.0
_WANTED: Final = frozenset(kind.__name__ for kind in (RepairsFound, TroubleSnapshot, SnapshotEnds))


class _Found(NamedTuple):
    """The findings that one broker reports."""

    repairs: RepairsFound | None
    failed: tuple[str, ...]
    """The broker's log dirs and instruments that have failed, each as a text."""


def repair_lines(folder: ClusterFolder, brokers: Sequence[int]) -> list[str]:
    """Return lines about problems of brokers. A broker gets a line if it has repaired log files, or
    if some of its replicas cannot follow their leader. It gets one more line for each log dir and
    each instrument that has failed. A broker that does not answer within 5 s gets no line.
    """
    return asyncio.run(_repair_lines(folder, brokers))


async def _repair_lines(folder: ClusterFolder, brokers: Sequence[int]) -> list[str]:
    found = await asyncio.gather(*(_ask(folder, broker_id) for broker_id in brokers))
    return _lines(dict(zip(brokers, found, strict=True)))


def _lines(found: Mapping[int, _Found]) -> list[str]:
    lines = []
    for broker_id, (repairs, failed) in found.items():
        parts = [repairs.summary] if repairs is not None and repairs.summary else []
        if repairs is not None and repairs.stuck:
            parts.append(f"{plural(len(repairs.stuck), 'replica')} of it cannot follow the leader")
        if parts:
            lines.append(f"broker {broker_id}: {'; '.join(parts)}")
        lines += [f"broker {broker_id}: {text}" for text in failed]
    return lines


async def _ask(folder: ClusterFolder, broker_id: int) -> _Found:
    repairs: RepairsFound | None = None
    failed: list[str] = []
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            address = EventsAddress.read(str(folder.broker_events(broker_id)))
            async for envelope in subscribe(address, gauges=False, wanted=_WANTED.__contains__):
                match envelope.event:
                    case RepairsFound() as repairs:
                        pass
                    case TroubleSnapshot(event=kind, text=text) if kind in LASTING:
                        failed.append(text)
                    case SnapshotEnds():
                        break
    except (OSError, TraceFormatError):  # TimeoutError is an OSError
        pass
    return _Found(repairs, tuple(reversed(failed)))
