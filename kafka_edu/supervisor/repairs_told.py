"""Find out which log files brokers have repaired when they started."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.events.log import RepairsFound
from kafka_edu.trace.trace_client import EventsAddress, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

_TIMEOUT_S: Final = 5.0


def repair_lines(folder: ClusterFolder, brokers: Sequence[int]) -> list[str]:
    """Return a line for each broker that has repaired log files, or that has a follower which
    cannot follow its leader. A broker that does not answer within 5 s has no line.
    """
    return asyncio.run(_repair_lines(folder, brokers))


async def _repair_lines(folder: ClusterFolder, brokers: Sequence[int]) -> list[str]:
    found = await asyncio.gather(*(_ask(folder, broker_id) for broker_id in brokers))
    return _lines({id_: one for id_, one in zip(brokers, found, strict=True) if one is not None})


def _lines(found: Mapping[int, RepairsFound]) -> list[str]:
    lines = []
    for broker_id, one in found.items():
        parts = [one.summary] if one.summary else []
        if one.stuck:
            parts.append(f"{len(one.stuck):,} of its followers cannot follow")
        if parts:
            lines.append(f"broker {broker_id}: {'; '.join(parts)}")
    return lines


async def _ask(folder: ClusterFolder, broker_id: int) -> RepairsFound | None:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            address = EventsAddress.read(str(folder.broker_events(broker_id)))
            async for envelope in subscribe(
                address, gauges=False, wanted=lambda name: name == RepairsFound.__name__
            ):
                if isinstance(envelope.event, RepairsFound):
                    return envelope.event
    except (OSError, TraceFormatError):  # TimeoutError is an OSError
        pass
    return None
