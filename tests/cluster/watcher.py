"""Watch the events of a cluster while a test acts on it."""

import asyncio
import threading
from collections.abc import Callable, Iterable

from kafka_edu.instruments.trace_feed import TraceFeed
from kafka_edu.supervisor.act_table import Act
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events import supervisor
from tests.waiting import PATIENCE_S, wait_for


class Watcher:
    """Collects the events of a cluster, in a thread of its own."""

    def __init__(self, folder: ClusterFolder) -> None:
        self.envelopes: list[Envelope] = []
        self._stop, self._linked = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._watch(folder),))
        self._thread.start()
        assert self._linked.wait(PATIENCE_S), "not every process sends events"

    async def _watch(self, folder: ClusterFolder) -> None:
        feed = TraceFeed(folder)
        reading = asyncio.create_task(feed.run())
        while not self._stop.is_set():
            self.envelopes += feed.drain()
            if feed.complete():
                self._linked.set()
            await asyncio.sleep(0.05)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    def close(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)

    def wait(self, what: Callable[[Envelope], bool], words: str, since_us: int = 0) -> Envelope:
        """Return the first such event since then."""
        return wait_for(
            lambda: [e for e in list(self.envelopes) if e.mono_us >= since_us and what(e)],
            f"never seen: {words}",
        )[0]

    def done(self, acts: Iterable[Act]) -> dict[str, str]:
        """Check that each of these acts was requested and done. Return the text of each act by its
        name.
        """
        names = {act.name for act in acts}
        events = [e.event for e in list(self.envelopes)]
        done = {e.action for e in events if isinstance(e, supervisor.ActionDone) and e.ok}
        assert done >= names
        asked = {e.action: e.title for e in events if isinstance(e, supervisor.ActionAsked)}
        assert all("<" not in asked[name] for name in names), asked
        return asked
