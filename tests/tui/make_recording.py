"""Make the recording for the tests and the screenshots.

It is from a real cluster of three brokers. A leader is killed under load and started again.

    python tests/tui/make_recording.py tests/tui/recordings/leader-killed.jsonl.gz

Run it by hand if events have changed so that the old recording cannot be read any more.
"""

import asyncio
import contextlib
import sys
import threading
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.controller import BrokerFailed, LeaderElected
from kafka_edu.trace.events.replication import IsrExpanded
from tests.tui.tape import Tape

TOPICS = (
    NewTopic("web", 6, 3, config={"min.insync.replicas": "2"}),
    NewTopic("payments", 2, 3, config={"min.insync.replicas": "2"}),
)


def produce(bootstrap: str, stop: threading.Event) -> None:
    """Produce with acks=all from twelve producers until `stop` is set.

    A broker takes one request at a time from each connection, so twelve requests can wait at once.
    Their deadlines differ, so that tasks are in many slots of the wheels of the Produce purgatory.
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
    tape = Tape(cluster, path)
    stop = threading.Event()
    load = threading.Thread(target=produce, args=(cluster.bootstrap_servers, stop))
    try:
        await tape.watch(1.5)
        created = asyncio.create_task(asyncio.to_thread(create_topics, cluster.bootstrap_servers))
        print("elected:", await tape.watch(20, lambda e: isinstance(e.event, LeaderElected)))
        await tape.watch(1)
        await created
        load.start()
        await tape.watch(8)
        leader = [
            e.event.new_leader
            for e in tape.seen
            if isinstance(e.event, LeaderElected) and e.event.topic == "web"
        ][-1]
        await asyncio.to_thread(cluster.kill, leader)
        print(f"killed broker {leader}")
        print("failed:", await tape.watch(30, lambda e: isinstance(e.event, BrokerFailed)))
        await tape.watch(5)
        await asyncio.to_thread(cluster.start, leader, False)
        print("grew:", await tape.watch(90, lambda e: isinstance(e.event, IsrExpanded)))
        await tape.watch(6)
    finally:
        stop.set()
        if load.ident is not None:
            load.join()
        await tape.close()
    print(f"{path}: {path.stat().st_size:,} bytes, {len(tape.seen):,} events seen")


def main() -> None:
    with running_cluster("demo", props={"default.replication.factor": "3"}) as cluster:
        asyncio.run(play(cluster, Path(sys.argv[1])))


if __name__ == "__main__":
    main()
