"""Record the events of a cluster's processes while a script does something to the cluster."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from kafka_edu.instruments.recording import Recorder, thinned
from kafka_edu.instruments.trace_feed import TraceFeed
from kafka_edu.supervisor.cluster import Cluster
from kafka_edu.trace.event import Envelope

GAUGES_EVERY_US = 250_000


class Tape:
    """Records all events except those named in `left_out`, and only some of the samples."""

    def __init__(
        self, cluster: Cluster, path: Path, left_out: frozenset[str] = frozenset()
    ) -> None:
        self.cluster = cluster
        self.seen: list[Envelope] = []
        """All that has come, kept or not."""
        self._feed = TraceFeed(cluster.folder)
        self._recorder = Recorder(path, cluster.name)
        thin = thinned(GAUGES_EVERY_US)
        self._keep = lambda e: e.name not in left_out and thin(e)
        self._reading = asyncio.create_task(self._feed.run())

    async def watch(
        self, seconds: float, until: Callable[[Envelope], bool] = lambda _: False
    ) -> bool:
        """Record for `seconds`, or until an event comes for which `until` returns True. Return
        whether such an event came.
        """
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
