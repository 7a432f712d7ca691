"""Make the recording for the tests and the screenshots.

A real cluster of three brokers, whose leader is killed under load and comes back.

    python tests/tui/make_recording.py tests/tui/recordings/leader-killed.jsonl.gz

Run it by hand if events have changed so that the old recording cannot be read any more.
"""

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.instruments.recording import Recorder
from kafka_edu.instruments.trace_feed import TraceFeed
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Source
from kafka_edu.trace.events.controller import BrokerFailed, LeaderElected
from kafka_edu.trace.events.replication import IsrExpanded

GAUGES_EVERY_US = 250_000
TOPICS = (
    NewTopic("web", 6, 3, config={"min.insync.replicas": "2"}),
    NewTopic("payments", 2, 3, config={"min.insync.replicas": "2"}),
)


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


def produce(bootstrap: str, stop: threading.Event) -> None:
    """Produce with acks=all from twelve producers until `stop` is set.

    A broker takes one request at a time from each connection, so this many can wait at once. Their
    deadlines differ, so that the wheels of the Produce purgatory hold something in many slots.
    """
    producers = [
        Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "linger.ms": 5,
                "request.timeout.ms": 700 * 2**n + 90 * n,
                "client.id": f"web-log-{i}",
            }
        )
        for i in range(12)
        for n in [i % 6]
    ]
    line = b"203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] GET /index.html HTTP/1.1 200 2326"
    while not stop.is_set():
        for producer in producers:
            for i in range(10):
                with contextlib.suppress(BufferError):  # nobody takes them at the moment
                    producer.produce("web" if i % 5 else "payments", line)
            producer.poll(0)
        time.sleep(0.1)  # this is the load; the script is run by hand
    for producer in producers:
        producer.purge()
        producer.flush(2)


def create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics(
        list(TOPICS), operation_timeout=20, request_timeout=30
    ).values():
        future.result()


async def play(cluster: Cluster, path: Path) -> None:
    feed = TraceFeed(cluster.folder)
    recorder = Recorder(path, cluster.name)
    reading = asyncio.create_task(feed.run())
    keep = thinned()
    seen: list[Envelope] = []

    async def watch(seconds: float, until: Callable[[Envelope], bool] = lambda _: False) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.1)
            batch = feed.drain()
            recorder.write(filter(keep, batch))
            seen.extend(batch)
            if any(map(until, batch)):
                return True
        return False

    stop = threading.Event()
    load = threading.Thread(target=produce, args=(cluster.bootstrap_servers, stop))
    try:
        await watch(1.5)
        created = asyncio.create_task(asyncio.to_thread(create_topics, cluster.bootstrap_servers))
        print("elected:", await watch(20, lambda e: isinstance(e.event, LeaderElected)))
        await watch(1)
        await created
        load.start()
        await watch(8)
        leader = [
            e.event.new_leader
            for e in seen
            if isinstance(e.event, LeaderElected) and e.event.topic == "web"
        ][-1]
        await asyncio.to_thread(cluster.kill, leader)
        print(f"killed broker {leader}")
        print("failed:", await watch(30, lambda e: isinstance(e.event, BrokerFailed)))
        await watch(5)
        await asyncio.to_thread(cluster.start, leader, False)
        print("grew:", await watch(90, lambda e: isinstance(e.event, IsrExpanded)))
        await watch(6)
    finally:
        stop.set()
        if load.ident is not None:
            load.join()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        recorder.close()
    print(f"{path}: {path.stat().st_size:,} bytes, {len(seen):,} events seen")


def main() -> None:
    with running_cluster("demo", props={"default.replication.factor": "3"}) as cluster:
        asyncio.run(play(cluster, Path(sys.argv[1])))


if __name__ == "__main__":
    main()
