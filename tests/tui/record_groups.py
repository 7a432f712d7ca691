"""Make the recordings of the Groups and the Requests screen, on a real cluster.

    python -m tests.tui.record_groups groups tests/tui/recordings/third-consumer.jsonl.gz
    python -m tests.tui.record_groups requests tests/tui/recordings/few-io-threads.jsonl.gz

Groups: two consumers read a topic, a third joins, and one is stopped with SIGSTOP until the group
removes it. Requests: many small produces wait in a queue, because each broker has only one io
thread. A second client creates topics, and each creation occupies the controller's thread while it
waits for ZooKeeper.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.supervisor.action_client import ActionAddress, ActionClient
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.group import GroupAssigned
from kafka_edu.trace.events.server import HandlerPoolResized
from tests.tui.tape import Tape
from tui.guest_consumers import GuestConsumers

#: Samples that neither screen shows; they would be most of the recording.
LEFT_OUT = frozenset(
    {
        "WheelSampled", "TimerSampled", "NextBucketSampled", "WaitingOperationSampled",
        "PurgatorySampled", "OperationsEndedSampled", "ActiveSegment", "ProcessMemory",
    }
)  # fmt: skip
TOPIC, GROUP = "web", "shop"


class Stop(Protocol):
    """An Event object of threading or of multiprocessing. When it is set, the load ends."""

    def is_set(self) -> bool: ...


def produce(bootstrap: str, stop: Stop, *, producers: int, batch: int) -> None:
    """Produce until `stop` is set. Each producer sends `batch` records 40 times a second.

    With acks=1 no produce waits for followers, so the measured time is only the time in the broker.
    """
    clients = [
        Producer(
            {"bootstrap.servers": bootstrap, "client.id": f"till-{i}", "linger.ms": 0, "acks": "1"}
        )
        for i in range(producers)
    ]
    while not stop.is_set():
        for client in clients:
            for _ in range(batch):
                client.produce(TOPIC, b"one coffee")
            client.poll(0)
        time.sleep(0.025)  # this is the load; the script is run by hand
    for client in clients:
        client.flush(5)


def assigned(generation: int) -> Callable[[Envelope], bool]:
    return lambda e: isinstance(e.event, GroupAssigned) and e.event.generation >= generation


async def groups(tape: Tape) -> None:
    cluster = tape.cluster
    guests = GuestConsumers(commit=True)
    try:
        for generation in (1, 2, 3):
            await asyncio.to_thread(guests.join, cluster.bootstrap_servers, GROUP, TOPIC)
            print("assigned:", generation, await tape.watch(30, assigned(generation)))
            await tape.watch(4)
        print("stopped:", guests.silence())
        print("assigned:", await tape.watch(30, assigned(4)))
        await tape.watch(3)
    finally:
        guests.close()


def set_io_threads(cluster: Cluster, broker: int, threads: int) -> None:
    with ActionClient(ActionAddress.read(cluster.folder.action_address)) as client:
        client.ask("broker-config", broker=broker, setting=f"num.io.threads={threads}")


def resized(broker: int, threads: int) -> Callable[[Envelope], bool]:
    return lambda e: (
        isinstance(e.event, HandlerPoolResized) and (e.broker, e.event.after) == (broker, threads)
    )


def create_topics(bootstrap: str, stop: Stop) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    number = 0
    while not stop.is_set():
        number += 1
        topics = [NewTopic(f"branch-{number}-{i}", 1, 1) for i in range(2)]
        for future in admin.create_topics(topics, operation_timeout=20).values():
            future.result()


async def requests(tape: Tape) -> None:
    cluster = tape.cluster
    await tape.watch(3)
    for broker in (0, 1, 2):
        for threads in (4, 2, 1):
            await asyncio.to_thread(set_io_threads, cluster, broker, threads)
            print("resized:", await tape.watch(30, resized(broker, threads)))
    stop = threading.Event()
    creating = threading.Thread(target=create_topics, args=(cluster.bootstrap_servers, stop))
    creating.start()
    await tape.watch(5)
    stop.set()
    creating.join()
    await tape.watch(1)


async def play(name: str, cluster: Cluster, path: Path) -> None:
    tape = Tape(cluster, path, LEFT_OUT)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    stop = threading.Event()
    load = threading.Thread(
        target=produce,
        args=(cluster.bootstrap_servers, stop),
        kwargs={"producers": 2 if name == "groups" else 12, "batch": 2},
    )
    try:
        await tape.watch(1)
        for future in admin.create_topics([NewTopic(TOPIC, 6, 3)]).values():
            future.result()
        print("elected:", await tape.watch(30, lambda e: isinstance(e.event, LeaderElected)))
        load.start()
        await (groups if name == "groups" else requests)(tape)
    finally:
        stop.set()
        if load.ident is not None:
            load.join()
        await tape.close()
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> None:
    props = {"default.replication.factor": "3", "offsets.topic.num.partitions": "3"}
    with running_cluster("demo", props=props) as cluster:
        asyncio.run(play(sys.argv[1], cluster, Path(sys.argv[2])))


if __name__ == "__main__":
    main()
