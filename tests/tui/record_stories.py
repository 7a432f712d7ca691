"""Record a story on a real cluster, for the tests and the pictures.

    python tests/tui/record_stories.py follower-paused tests/tui/recordings/follower-paused.jsonl.gz

follower-paused   a follower is paused under acks=all; its session ends; it comes back
replica-truncated a follower lags, its leader is killed, and cuts off what nobody else has
replicas-move     to another log dir, then to another broker, both throttled; a broker stops
clients-hold      a producer and a consumer of ours, and two foreign ones; a leader is killed
log-compacted     a topic of few keys is compacted, and another one loses segments by its size

Run it by hand if events have changed so that the old recording cannot be read any more.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.clients.load.load import Load, LoadSpec
from kafka_edu.clients.load.own_clients import own_clients
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.tools import reassign_partitions
from kafka_edu.trace.events.consumer import ConsumerCommitted
from kafka_edu.trace.events.controller import BrokerFailed, LeaderElected
from kafka_edu.trace.events.log import LogCleaned, SegmentDeleted
from kafka_edu.trace.events.reassignment import ReassignmentCompleted
from kafka_edu.trace.events.replication import IsrExpanded, ReplicaMoveCompleted
from tests.tui.stories import (
    AcksAll,
    KeyedUpdates,
    PatientConsumer,
    controller_of,
    create_topic,
    produce,
)
from tests.tui.tape import Tape


async def follower_paused(tape: Tape) -> None:
    cluster = tape.cluster
    bootstrap = cluster.bootstrap_servers
    controller = await asyncio.to_thread(controller_of, bootstrap)
    leader, follower = sorted(set(cluster.broker_ids) - {controller}, reverse=True)
    replicas = [leader, controller, follower]
    await asyncio.to_thread(create_topic, bootstrap, "web", replicas, min_insync_replicas="2")
    with AcksAll(bootstrap, "web"), PatientConsumer(bootstrap, "web", 200_000, 3_000):
        await tape.watch(8)
        await asyncio.to_thread(cluster.pause, follower)
        print("failed:", await tape.watch(40, lambda e: isinstance(e.event, BrokerFailed)))
        await tape.watch(3)
        await asyncio.to_thread(cluster.resume, follower)
        print("grew:", await tape.watch(40, lambda e: isinstance(e.event, IsrExpanded)))
        await tape.watch(3)


async def replica_truncated(tape: Tape) -> None:
    cluster = tape.cluster
    bootstrap = cluster.bootstrap_servers
    controller = await asyncio.to_thread(controller_of, bootstrap)
    leader, follower = sorted(set(cluster.broker_ids) - {controller}, reverse=True)
    await asyncio.to_thread(create_topic, bootstrap, "web", [leader, follower])
    await asyncio.to_thread(produce, bootstrap, "web", 20, "all")
    await tape.watch(2)
    await asyncio.to_thread(cluster.pause, follower)
    await asyncio.to_thread(produce, bootstrap, "web", 6, "1")
    await tape.watch(1.5)
    await asyncio.to_thread(cluster.kill, leader)
    await asyncio.to_thread(cluster.resume, follower)
    print("elected:", await tape.watch(40, lambda e: isinstance(e.event, LeaderElected)))
    await tape.watch(1)
    await asyncio.to_thread(produce, bootstrap, "web", 3, "1")
    await tape.watch(1)
    await asyncio.to_thread(cluster.start, leader, False)
    print("cut and grew:", await tape.watch(60, lambda e: isinstance(e.event, IsrExpanded)))
    await tape.watch(3)


async def log_compacted(tape: Tape) -> None:
    bootstrap = tape.cluster.bootstrap_servers
    await tape.watch(18)  # a broker looks at retention for the first time after 30 s
    small = {"segment_bytes": "60000", "file_delete_delay_ms": "8000"}
    await asyncio.to_thread(
        create_topic, bootstrap, "users", [0, 1, 2], cleanup_policy="compact", **small
    )
    await asyncio.to_thread(
        create_topic, bootstrap, "web", [1, 2], retention_bytes="200000", **small
    )
    with KeyedUpdates(bootstrap, "users", "web", keys=200):
        print("compacted:", await tape.watch(60, lambda e: isinstance(e.event, LogCleaned)))
        print("deleted:", await tape.watch(60, lambda e: isinstance(e.event, SegmentDeleted)))
        await tape.watch(6)


async def replicas_move(tape: Tape) -> None:
    cluster = tape.cluster
    bootstrap = cluster.bootstrap_servers
    await asyncio.to_thread(create_topic, bootstrap, "orders", [0, 1])
    await asyncio.to_thread(produce, bootstrap, "orders", 2500, "1", 10)
    await tape.watch(1)
    with tempfile.TemporaryDirectory() as folder:

        def reassign(order: dict[str, object], *words: str) -> None:
            file = Path(folder) / "order.json"
            file.write_text(json.dumps({"version": 1, "partitions": [order]}))
            reassign_partitions.main(
                ["--bootstrap-server", bootstrap, "--reassignment-json-file", str(file), *words]
            )

        present = cluster.replica(1, "orders", 0).parent
        to_dir = str(next(one for one in cluster.log_dirs(1) if one != present))
        order = {"topic": "orders", "partition": 0, "replicas": [0, 1], "log_dirs": ["any", to_dir]}
        words = ("--execute", "--replica-alter-log-dirs-throttle", "600000")
        await asyncio.to_thread(reassign, order, *words)
        moved = await tape.watch(60, lambda e: isinstance(e.event, ReplicaMoveCompleted))
        print("moved:", moved)
        order = {"topic": "orders", "partition": 0, "replicas": [2, 1]}
        await asyncio.to_thread(reassign, order, "--execute", "--throttle", "500000")
        done = await tape.watch(90, lambda e: isinstance(e.event, ReassignmentCompleted))
        print("reassigned:", done)
        await asyncio.to_thread(reassign, order, "--verify")
    await asyncio.to_thread(cluster.stop, 2)
    await tape.watch(2)


async def clients_hold(tape: Tape) -> None:
    cluster = tape.cluster
    bootstrap = cluster.bootstrap_servers
    await asyncio.to_thread(make_topic, bootstrap, "orders", 6, 3, {"min.insync.replicas": "2"})
    spec = LoadSpec("orders", rate=300, size=300)
    async with client_tracer(cluster.folder) as trace:
        load = Load(spec, own_clients(spec, bootstrap, trace.time, trace), trace)
        load.start()
        counting = asyncio.create_task(_count(load))
        with PatientConsumer(bootstrap, "orders", 1, 500), AcksAll(bootstrap, "orders", 1):
            read = await tape.watch(60, lambda e: isinstance(e.event, ConsumerCommitted))
            print("offsets committed:", read)
            await tape.watch(3)
            victim = next(each for each in (1, 2, 0) if each != controller_of(bootstrap))
            cluster.kill(victim)
            again = await tape.watch(60, lambda e: isinstance(e.event, LeaderElected))
            print("elected:", again)
            await tape.watch(2)
        counting.cancel()
        await load.finish()


async def _count(load: Load) -> None:
    while True:
        load.tick()
        await asyncio.sleep(0.05)  # as the command does


STORIES: Final[dict[str, Callable[[Tape], Awaitable[None]]]] = {
    "follower-paused": follower_paused,
    "replica-truncated": replica_truncated,
    "log-compacted": log_compacted,
    "clients-hold": clients_hold,
    "replicas-move": replicas_move,
}


async def record(cluster: Cluster, story: str, path: Path) -> None:
    tape = Tape(cluster, path)
    try:
        await tape.watch(1.5)
        await STORIES[story](tape)
    finally:
        await tape.close()
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> None:
    story, path = sys.argv[1], Path(sys.argv[2])
    props = {
        "offsets.topic.num.partitions": "3",
        "offsets.topic.replication.factor": "3",
        "log.cleaner.backoff.ms": "3000",
        "log.retention.check.interval.ms": "4000",
    }
    with tempfile.TemporaryDirectory() as folder:
        own = {1: {"log.dirs": f"{folder}/a,{folder}/b"}} if story == "replicas-move" else {}
        with running_cluster("demo", props=props, broker_props=own) as cluster:
            asyncio.run(record(cluster, story, path))


if __name__ == "__main__":
    main()
