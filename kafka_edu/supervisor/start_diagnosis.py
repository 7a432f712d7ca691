"""Find the reason why a cluster is not ready in time, from each broker's events.

A broker's snapshot contains its state, whether it is registered, and its problems
(TroubleSnapshot). Together with the brokers' answers to Metadata requests, this usually shows the
cause.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind
from kafka_edu.trace.events.server import BrokerSnapshot, TroubleSnapshot
from kafka_edu.trace.trace_client import EventsAddress, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

_SNAPSHOT_TIMEOUT_S: Final = 5.0
_TROUBLES_SHOWN: Final = 3


class Story(NamedTuple):
    """The report of one broker about itself. `state` is empty if the broker sends no events."""

    state: str
    registered: bool
    troubles: tuple[TroubleSnapshot, ...]


async def diagnose(folder: ClusterFolder, brokers: Sequence[int], seen: Mapping[int, str]) -> str:
    """Return lines about each broker. `seen` maps a broker's id to a text: what was missing in its
    last Metadata answer.
    """
    stories = await asyncio.gather(*(_story(folder, broker_id) for broker_id in brokers))
    return "\n".join(
        line
        for broker_id, story in zip(brokers, stories, strict=True)
        for line in _lines(broker_id, story, seen.get(broker_id, ""))
    )


def _lines(broker_id: int, story: Story, seen: str) -> list[str]:
    if not story.state:
        says = "it sends no events: it hangs, or its start has not reached that point"
    elif not story.registered:
        says = f"it is not registered in ZooKeeper; its state is {story.state}"
    else:
        says = f"it is registered; its state is {story.state}"
    first = f"  broker {broker_id}: {says}" + (f"; {seen}" if seen else "")
    return [
        first,
        *(f"    {_times(trouble)}: {trouble.text}" for trouble in story.troubles[:_TROUBLES_SHOWN]),
    ]


def _times(trouble: TroubleSnapshot) -> str:
    often = "once" if trouble.times == 1 else f"{trouble.times} times, the last time"
    return f"{often} {trouble.last_ms_ago / 1000:.1f} s ago"


async def _story(folder: ClusterFolder, broker_id: int) -> Story:
    snapshot: list[Envelope] = []
    try:
        async with asyncio.timeout(_SNAPSHOT_TIMEOUT_S):
            async for envelope in subscribe(
                EventsAddress.read(str(folder.broker_events(broker_id)))
            ):
                if EVENT_TYPES[envelope.name].kind is Kind.GAUGE:
                    break  # the snapshot is complete
                snapshot.append(envelope)
    except (OSError, TraceFormatError):  # TimeoutError is an OSError
        pass
    events = [envelope.event for envelope in snapshot]
    broker = next((event for event in events if isinstance(event, BrokerSnapshot)), None)
    troubles = tuple(event for event in events if isinstance(event, TroubleSnapshot))
    if broker is None:
        return Story("", False, troubles)
    return Story(broker.state, broker.broker_epoch >= 0, troubles)
