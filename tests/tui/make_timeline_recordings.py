"""Make the recordings for the tests of the time line and of slow motion: real clusters of three.

    python tests/tui/make_timeline_recordings.py tests/tui/recordings [SCENARIO …]

`controller-killed`: kill -9 of the controller under load, and its return.
`controller-paused`: SIGSTOP of the controller until its session has expired, then SIGCONT.
`records-travel`: a few seconds of produce requests with every hop and every timer task.

Run it by hand if events have changed so that an old recording cannot be read any more.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.instruments.recording import Recorder, thinned
from kafka_edu.instruments.trace_feed import TraceFeed
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.controller import (
    BrokerJoined,
    ControllerElected,
    ControllerSnapshot,
    LeaderElected,
)
from kafka_edu.trace.events.replication import IsrExpanded
from tests.tui.tape import GAUGES_EVERY_US

TOPIC = NewTopic("web", 6, 3, config={"min.insync.replicas": "2"})


def never(_: Envelope) -> bool:
    return False


class Scene:
    """A cluster whose events are read and recorded. `controller` is the id of the present
    controller.
    """

    def __init__(self, cluster: Cluster, path: Path, level: Level) -> None:
        self.cluster = cluster
        self.feed = TraceFeed(cluster.folder, level)
        self.recorder = Recorder(path, cluster.name)
        self.keep = thinned(GAUGES_EVERY_US)
        self.controller = -1
        self.recording = True

    async def watch(self, seconds: float, until: Callable[[Envelope], bool] = never) -> bool:
        """Read and record events for `seconds`, or until an event comes for which `until` returns
        True. Return whether such an event came.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.05)
            batch = self.feed.drain()
            if self.recording:
                self.recorder.write(filter(self.keep, batch))
            for envelope in batch:
                match envelope.event:
                    case ControllerSnapshot(active=True) | ControllerElected():
                        self.controller = envelope.source.id
                    case _:
                        pass
            if any(map(until, batch)):
                return True
        return False


def of(*kinds: type) -> Callable[[Envelope], bool]:
    return lambda envelope: isinstance(envelope.event, kinds)


def produce(bootstrap: str, stop: threading.Event, pause_s: float) -> None:
    """Produce with acks=all from two clients until `stop` is set."""
    producers = [
        Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "linger.ms": 0,
                "client.id": f"web-log-{i}",
                "message.timeout.ms": 60_000,
            }
        )
        for i in range(2)
    ]
    while not stop.is_set():
        for producer in producers:
            producer.produce("web", b"GET /index.html HTTP/1.1 200 2326")
            producer.poll(0)
        time.sleep(pause_s)  # this is the load; the script is run by hand
    for producer in producers:
        producer.purge()
        producer.flush(2)


def create_topic(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([TOPIC], operation_timeout=20, request_timeout=30)["web"].result()


async def controller_killed(scene: Scene) -> None:
    await scene.watch(4)
    controller = scene.controller
    await asyncio.to_thread(scene.cluster.kill, controller)
    print("elected:", await scene.watch(30, of(LeaderElected)))
    await scene.watch(4)
    await asyncio.to_thread(scene.cluster.start, controller, False)
    print("grew:", await scene.watch(90, of(IsrExpanded)))
    await scene.watch(3)


async def controller_paused(scene: Scene) -> None:
    await scene.watch(3)
    controller = scene.controller
    await asyncio.to_thread(scene.cluster.pause, controller)
    print("elected:", await scene.watch(30, of(LeaderElected)))
    await scene.watch(3)
    await asyncio.to_thread(scene.cluster.resume, controller)
    print("joined:", await scene.watch(30, of(BrokerJoined)))
    await scene.watch(4)


async def records_travel(scene: Scene) -> None:
    await scene.watch(4)


SCENARIOS: dict[str, tuple[Callable[[Scene], Awaitable[None]], Level, float]] = {
    "controller-killed": (controller_killed, Level.STATE, 0.05),
    "controller-paused": (controller_paused, Level.STATE, 0.05),
    "records-travel": (records_travel, Level.ALL, 0.2),
}


async def play(cluster: Cluster, path: Path, scenario: str) -> None:
    act, level, pause_s = SCENARIOS[scenario]
    await asyncio.to_thread(create_topic, cluster.bootstrap_servers)
    stop = threading.Event()
    load = threading.Thread(target=produce, args=(cluster.bootstrap_servers, stop, pause_s))
    load.start()
    await asyncio.sleep(3)
    scene = Scene(cluster, path, level)
    reading = asyncio.create_task(scene.feed.run())
    try:
        await act(scene)
    finally:
        stop.set()
        load.join()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        scene.recorder.close()
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> None:
    folder = Path(sys.argv[1])
    for scenario in sys.argv[2:] or SCENARIOS:
        with running_cluster("demo", props={"default.replication.factor": "3"}) as cluster:
            asyncio.run(play(cluster, folder / f"{scenario}.jsonl.gz", scenario))


if __name__ == "__main__":
    main()
