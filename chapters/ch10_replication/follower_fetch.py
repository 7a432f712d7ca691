"""Consumers read from followers, and two guarantees are lost (KIP-392).

Book 001 says that followers do not serve consumers because these two guarantees would be lost:

    read-your-writes   a record is acknowledged, but a consumer does not see it yet
    monotonic reads    a consumer sees a record, changes the replica, and no longer sees it

Three brokers are in three racks and use the rack-aware selector. The topic has one partition. The
link between the leader and one follower has a delay of `--delay-ms` each way. So this follower
learns each new high watermark at least `--delay-ms` later than the leader, on a fast machine too.
Each round writes records with acks=all and, after the last ack, reads them from the leader and both
followers. Every read is one fetch, and the records in its response are counted.
"""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

import click
from confluent_kafka import KafkaError, Message, Producer
from rich.console import Console

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import BROKERS, create_topic
from kafka_edu.cli.progress import Progress
from kafka_edu.cli.report import Report
from kafka_edu.common.errors import Errors
from kafka_edu.common.python_process import command_line
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.transport import part_bytes
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.replication.fetch_params import CONSUMER_REPLICA_ID
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.supervisor.cluster_spec import HOST

TOPIC: Final = "followers"
SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
FETCH_VERSION: Final = 11
MAX_BYTES: Final = 1 << 24
ANSWER_MS: Final = 60_000
#: How long a broker may wait for more records before it answers a repeated fetch, in ms.
LOOK_MS: Final = 100


class Round(NamedTuple):
    """The number of records of this round that each read returned, and how many were acked."""

    acked: int
    leader_after_ack: int
    follower_after_ack: int
    """Records in the first fetch after the last ack, from the follower behind the slow link."""
    fast_follower: int
    """Records from the other follower, in the first fetch that returned all of them."""
    slow_follower_then: int
    """Records in the next fetch after that, from the follower behind the slow link."""
    leader_first: int
    leader_then: int
    """Records in the later of two fetches from the leader. The earlier is `leader_first`."""
    in_the_end: int
    """Records from the follower behind the slow link, in the first fetch that returned all."""
    behind_ms: float
    """Milliseconds from the last ack until the follower behind the slow link returned all."""


class Replicas:
    """The consumer's connections, one to each broker.

    Each fetch requests one partition, without a fetch session. So its response has the records that
    this broker shows to a consumer at that moment.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._ports = {broker: cluster.port(broker) for broker in cluster.broker_ids}
        transport = SocketTransport()
        self._clients = {
            broker: NetworkClient(transport, "follower-fetch") for broker in self._ports
        }

    async def connect(self) -> None:
        for broker, client in self._clients.items():
            await client.connect(HOST, self._ports[broker], ANSWER_MS)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    async def fetch(
        self, broker: int, offset: int, rack: str = "", wait_ms: int = 0
    ) -> FetchablePartitionResponse:
        """Fetch from one broker, and return its answer for the partition.

        Raises ClusterError if the answer has an error code, and OSError if the broker does not
        answer.
        """
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=MAX_BYTES)
        request = FetchRequest(
            replica_id=CONSUMER_REPLICA_ID,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            topics=[FetchTopic(topic=TOPIC, partitions=[wanted])],
            rack_id=rack,
        )
        client = self._clients[broker]
        response = await client.ask(request, FETCH_VERSION, FetchResponse, ANSWER_MS)
        answer = response.responses[0].partition_responses[0]
        if answer.error_code:
            raise ClusterError(
                f"broker {broker} answered a fetch from offset {offset} with"
                f" {Errors.of(answer.error_code).name}"
            )
        return answer

    async def seen(self, broker: int, offset: int, wait_ms: int = 0) -> int:
        """Return how many records from `offset` on a consumer gets from this broker."""
        answer = await self.fetch(broker, offset, wait_ms=wait_ms)
        records = part_bytes(answer.record_set or b"")
        ends = [header.next_offset for _, header in iter_headers(records)]
        return max(ends, default=offset) - offset

    async def wait_until_seen(self, broker: int, offset: int, count: int) -> int:
        """Wait until a consumer gets at least `count` records from `offset` on from this broker.

        Return how many they are. Raises Standstill.
        """
        progress = Progress(f"broker {broker} to show {count} records from offset {offset} on")
        while (seen := await self.seen(broker, offset, LOOK_MS)) < count:
            progress.note(seen)
        return seen

    async def wait_until_sent_to(self, leader: int, follower: int, offset: int) -> None:
        """Wait until the leader directs a consumer in the follower's rack to this follower.

        The leader does so only when it knows that the follower's log reaches `offset`. Raises
        Standstill.
        """
        progress = Progress(f"broker {leader} to send consumers to broker {follower}")
        while True:
            answer = await self.fetch(leader, offset, rack_of(follower), LOOK_MS)
            if answer.preferred_read_replica == follower:
                return
            progress.note(answer.preferred_read_replica)


def rack_of(broker: int) -> str:
    return f"rack-{broker}"


def write(producer: Producer, records: int) -> int:
    """Write records with acks=all, and wait until all are acked. Return their number.

    Raises ClusterError if a record is refused.
    """
    refused: list[str] = []

    def acked(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            refused.append(str(error))

    for number in range(records):
        producer.produce(TOPIC, b"record %d" % number, partition=0, on_delivery=acked)
    if producer.flush() or refused:
        raise ClusterError(f"records were refused: {', '.join(refused) or 'no ack came'}")
    return records


async def play_round(
    replicas: Replicas, producer: Producer, leader: int, fast: int, slow: int, base: int, count: int
) -> Round:
    """Write `count` records, the first of which gets the offset `base`, and read them."""
    for follower in (fast, slow):
        await replicas.wait_until_sent_to(leader, follower, base)
    acked = write(producer, count)
    acked_at = time.monotonic()
    follower_after_ack = await replicas.seen(slow, base)
    leader_after_ack = await replicas.seen(leader, base)
    fast_follower = await replicas.wait_until_seen(fast, base, acked)
    slow_follower_then = await replicas.seen(slow, base)
    leader_first = await replicas.seen(leader, base)
    leader_then = await replicas.seen(leader, base)
    in_the_end = await replicas.wait_until_seen(slow, base, acked)
    return Round(
        acked,
        leader_after_ack,
        follower_after_ack,
        fast_follower,
        slow_follower_then,
        leader_first,
        leader_then,
        in_the_end,
        (time.monotonic() - acked_at) * 1000,
    )


@contextlib.asynccontextmanager
async def connected(cluster: Cluster) -> AsyncIterator[Replicas]:
    replicas = Replicas(cluster)
    try:
        await replicas.connect()
        yield replicas
    finally:
        replicas.close()


async def play(
    cluster: Cluster, parts: tuple[int, int, int], rounds: int, records: int, console: Console
) -> list[Round]:
    """Play all rounds, and return their results.

    `parts` has three broker ids: the leader, the follower behind the fast link, and the follower
    behind the slow link.
    """
    leader, fast, slow = parts
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "acks": "all",
            "linger.ms": 50,
            "log_level": 0,
        }
    )
    played: list[Round] = []
    async with connected(cluster) as replicas:
        for number in range(rounds):
            base = number * records
            last = await play_round(replicas, producer, leader, fast, slow, base, records)
            played.append(last)
            console.print(
                f"[green]●[/] {last.acked} records acked: the leader showed"
                f" {last.leader_after_ack}, broker {slow} showed {last.follower_after_ack};"
                f" broker {fast} showed {last.fast_follower}, then broker {slow}"
                f" {last.slow_follower_then}; {last.behind_ms:,.0f} ms after the last ack all"
                " showed all",
                soft_wrap=True,
            )
    return played


def run(
    cluster: Cluster, rounds: int, records: int, delay_ms: int, console: Console
) -> list[Round]:
    leader = create_topic(cluster.bootstrap_servers, TOPIC, 1)[0]
    fast, slow = (broker for broker in cluster.broker_ids if broker != leader)
    cluster.perform("slow-link", {"broker": leader, "other": slow, "delay_ms": delay_ms})
    console.print(
        f"[green]●[/] broker {leader} leads, brokers {fast} and {slow} follow; the link between"
        f" brokers {leader} and {slow} is slow by {delay_ms} ms each way",
        soft_wrap=True,
    )
    return asyncio.run(play(cluster, (leader, fast, slow), rounds, records, console))


def report_of(rounds: list[Round], delay_ms: int) -> Report:
    report = Report("follower-fetch")
    acked = sum(r.acked for r in rounds)
    unseen = sum(r.acked - r.follower_after_ack for r in rounds)
    gone = sum(r.fast_follower - r.slow_follower_then for r in rounds)
    report.figure("records acked (acks=all)", acked)
    report.figure("delay of the slow link in each direction, ms", delay_ms)
    report.figure(
        "ms from the ack until the follower showed all, median",
        round(statistics.median(r.behind_ms for r in rounds)),
    )
    report.target("read-your-writes: acked and not seen at the follower", unseen, ">", 0)
    report.target(
        "read-your-writes: acked and not seen at the leader",
        sum(r.acked - r.leader_after_ack for r in rounds),
        "==",
        0,
    )
    report.target("monotonic reads: seen at one follower, then gone at the other", gone, ">", 0)
    report.target(
        "monotonic reads: seen at the leader, then gone there",
        sum(r.leader_first - r.leader_then for r in rounds),
        "==",
        0,
    )
    report.target(
        "acked records that no follower showed in the end",
        acked - min(sum(r.in_the_end for r in rounds), sum(r.fast_follower for r in rounds)),
        "==",
        0,
    )
    return report


@demo_command("follower-fetch")
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=4, show_default=True, help="How often."
)
@click.option(
    "--records",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Records in each round.",
)
@click.option(
    "--delay-ms",
    type=click.IntRange(100, 3_000),
    default=1_000,
    show_default=True,
    help="The delay of the link between the leader and one follower, in each direction.",
)
@zookeeper_option
def follower_fetch(
    console: Console, rounds: int, records: int, delay_ms: int, zookeeper: str
) -> Report:
    """Read from followers: an acked record is not there yet, and a seen one is gone again.

    Exits with 1 when a target is missed.
    """
    with running_cluster(
        "follower-fetch",
        brokers=BROKERS,
        props={"replica.selector.class": SELECTOR},
        broker_props={broker: {"broker.rack": rack_of(broker)} for broker in range(BROKERS)},
        zookeeper=zookeeper,
    ) as cluster:
        played = run(cluster, rounds, records, delay_ms, console)
    report = report_of(played, delay_ms)
    acked = sum(r.acked for r in played)
    unseen = sum(r.acked - r.follower_after_ack for r in played)
    gone = sum(r.fast_follower - r.slow_follower_then for r in played)
    report.end(
        happened=f"Of {acked:,} acked records, a consumer at a follower did not see {unseen:,} yet,"
        f" and {gone:,} that it had seen at one follower were gone at the other. At the leader none"
        " was missing.",
        why="A follower shows consumers the records below its own high watermark. It learns the"
        " leader's high watermark only from the response to a fetch, and each follower gets that"
        " response at a different time.",
        look_next="Read docs/follower-fetch.md, and try another delay:"
        f" {command_line('demo follower-fetch --delay-ms 300')}.",
    )
    return report
