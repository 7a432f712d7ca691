"""Make the recording of the control plane, for the tests and pictures of two screens.

It is from a real cluster of three brokers, without load. A broker is paused until its session
expires, and then resumed. A second broker is stopped with SIGTERM and started again. The controller
is killed and started again. Finally /controller is deleted by hand.

    python tests/tui/record_control_plane.py tests/tui/recordings/control-plane.jsonl.gz

Run it by hand if events have changed so that the old recording cannot be read any more.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafka_edu.instruments.recording import Recorder, thinned
from kafka_edu.instruments.trace_feed import TraceFeed
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Kind
from kafka_edu.trace.events.controller import (
    BrokerFailed,
    BrokerJoined,
    ControllerElected,
    ControllerSampled,
    ControllerSnapshot,
)
from kafka_edu.trace.events.network import NetworkSampled
from kafka_edu.trace.events.replication import IsrExpanded, PartitionOffsets
from kafka_edu.trace.events.server import ServerSampled
from kafka_edu.trace.events.zk import SessionSampled, ZooKeeperSampled
from tests.tui.make_recording import create_topics
from tests.tui.tape import GAUGES_EVERY_US

SHOWN: Final = (
    ControllerSampled,
    SessionSampled,
    ZooKeeperSampled,
    NetworkSampled,
    ServerSampled,
    PartitionOffsets,
)
"""The gauges that these screens and the cluster screen show. No others are recorded."""


def kept() -> Callable[[Envelope], bool]:
    thin = thinned(GAUGES_EVERY_US)

    def keep(envelope: Envelope) -> bool:
        known = EVENT_TYPES.get(envelope.name)
        gauge = known is not None and known.kind is Kind.GAUGE
        return (not gauge or isinstance(envelope.event, SHOWN)) and thin(envelope)

    return keep


class Scene:
    """A cluster whose events are recorded while the script kills, pauses and starts brokers."""

    def __init__(self, cluster: Cluster, path: Path) -> None:
        self.cluster = cluster
        self.feed = TraceFeed(cluster.folder)
        self.recorder = Recorder(path, cluster.name)
        self.controller = -1
        self._seen: set[type[Event]] = set()
        """The events since the last act."""
        self._keep = kept()

    async def watch(self, seconds: float, until: type[Event] | None = None) -> None:
        """Record events for `seconds`, or until an event of the type `until` has come since the
        last act.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.1)
            batch = self.feed.drain()
            self.recorder.write(filter(self._keep, batch))
            for envelope in batch:
                event = envelope.event
                if isinstance(event, ControllerElected) or (
                    isinstance(event, ControllerSnapshot) and event.active
                ):
                    self.controller = envelope.source.id
                self._seen.add(type(event))
            if until in self._seen:
                return
        if until is not None:
            raise TimeoutError(f"no {until.__name__} within {seconds} s")

    async def do(self, act: Callable[..., object], *values: object) -> None:
        self._seen.clear()
        await asyncio.to_thread(act, *values)


async def play(cluster: Cluster, path: Path) -> None:
    scene = Scene(cluster, path)
    reading = asyncio.create_task(scene.feed.run())
    try:
        await scene.watch(1.5)
        creating = asyncio.create_task(asyncio.to_thread(create_topics, cluster.bootstrap_servers))
        await scene.watch(3)
        await creating
        first, second = (b for b in cluster.broker_ids if b != scene.controller)
        print(f"controller {scene.controller}; pausing broker {first}")
        await scene.do(cluster.pause, first)
        await scene.watch(30, BrokerFailed)
        await scene.watch(2.5)
        await scene.do(cluster.resume, first)
        await scene.watch(30, BrokerJoined)
        await scene.watch(60, IsrExpanded)
        await scene.watch(2)
        print(f"stopping broker {second}")
        await scene.do(cluster.stop, second)
        await scene.watch(30, BrokerFailed)
        await scene.watch(2)
        await scene.do(cluster.start, second, False)
        await scene.watch(60, IsrExpanded)
        await scene.watch(2)
        print(f"killing controller {scene.controller}")
        victim = scene.controller
        await scene.do(cluster.kill, victim)
        await scene.watch(30, ControllerElected)
        await scene.watch(2.5)
        await scene.do(cluster.start, victim, False)
        await scene.watch(60, IsrExpanded)
        await scene.watch(2)
        print("deleting /controller")
        await scene.do(cluster.perform, "delete-controller", {})
        await scene.watch(30, ControllerElected)
        await scene.watch(3)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        scene.recorder.close()
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> None:
    with running_cluster("demo", props={"default.replication.factor": "3"}) as cluster:
        asyncio.run(play(cluster, Path(sys.argv[1])))


if __name__ == "__main__":
    main()
