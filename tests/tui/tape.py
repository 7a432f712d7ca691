"""A recording of what a cluster's processes send, made while a story goes on."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from kafka_edu.instruments.recording import Recorder
from kafka_edu.instruments.trace_feed import TraceFeed
from kafka_edu.supervisor.cluster import Cluster
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Source

GAUGES_EVERY_US = 250_000


def thinned() -> Callable[[Envelope], bool]:
    """Keep all facts and snapshots, and four samples a second of each process's gauges instead of
    ten.
    """
    kept: dict[Source, int] = {}

    def keep(envelope: Envelope) -> bool:
        if envelope.name not in EVENT_TYPES or EVENT_TYPES[envelope.name].kind is not Kind.GAUGE:
            return True
        last = kept.get(envelope.source, 0)
        if envelope.mono_us != last and envelope.mono_us - last < GAUGES_EVERY_US:
            return False
        kept[envelope.source] = envelope.mono_us
        return True

    return keep


class Tape:
    """Records all events but those named in `left_out`, with fewer samples."""

    def __init__(
        self, cluster: Cluster, path: Path, left_out: frozenset[str] = frozenset()
    ) -> None:
        self.cluster = cluster
        self.seen: list[Envelope] = []
        """All that has come, kept or not."""
        self._feed = TraceFeed(cluster.folder)
        self._recorder = Recorder(path, cluster.name)
        thin = thinned()
        self._keep = lambda e: e.name not in left_out and thin(e)
        self._reading = asyncio.create_task(self._feed.run())

    async def watch(
        self, seconds: float, until: Callable[[Envelope], bool] = lambda _: False
    ) -> bool:
        """Record for so long, or until an event. Return whether it came."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.1)
            batch = self._feed.drain()
            self._recorder.write(filter(self._keep, batch))
            self.seen += batch
            if any(map(until, batch)):
                return True
        return False

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._recorder.close()
