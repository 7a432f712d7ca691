"""The search by seeds: each seed determines a cluster, its clients, and a minute of faults.

The search plays one run for each seed, and checks it with these questions:

    Was every request answered, or its connection closed, within its time-out + 1 s?
    Was every waiting operation woken as soon as it could be completed?
    Did responses come in order, and were only produce requests in progress together?
    Was every record acknowledged and read once, in the order of its producer?

The first three questions are checked ten times a second, the last one at the end of the run.

The faults are those of a machine on which requests once seemed to get no answer. There are slow
disks under logs, checkpoints and ZooKeeper, and pauses of a broker that are longer than its session
time-out. Brokers are killed with kill -9 and restarted. Trace subscribers change their level, and
clients send many requests without waiting. The same seed gives the same run, byte for byte.
"""

import random
from collections import Counter
from itertools import pairwise
from typing import Final, NamedTuple

from kafka_edu.clients.answer_deadlines import Answers, Pauses, look_at_all
from kafka_edu.clients.probe_requests import ProbeRequests
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.produce_peek import is_acknowledged_produce
from kafka_edu.replication.delayed_produce import DelayedProduce
from kafka_edu.sim.pipelined_producer import PipelinedProducer
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import (
    ZOOKEEPER_LATENCY_MS,
    DroppedEvents,
    SimCluster,
    coroutines_of_dead_processes,
)
from kafka_edu.sim.slow_disk import QUICK
from kafka_edu.sim.soak_clients import (
    GroupReader,
    ProbeClient,
    SoakClient,
    TraceDashboard,
)
from kafka_edu.sim.timed_connections import Observed, TimedConnections
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.socket_sink import EventServer

BROKERS: Final = (1, 2, 3)
TOPIC_PARTITIONS: Final = 6
OFFSETS_PARTITIONS: Final = 50
"""The number of partitions of __consumer_offsets. Together with the six partitions of the topic
these are 56 partitions.
"""
PIPELINED_REQUESTS: Final = (1, 4, 64, 64)
"""The possible values of edu.max.pipelined.requests. Each seed selects one of them at random."""
FAULTS_MS: Final = 60_000
HEALED_MS: Final = 45_000
"""The time after the last fault, in ms. It is longer than the longest time-out. So a request that
still waits at the end will never be answered.
"""
LONGER_THAN_ANY_FAULT_MS: Final = 30_000
"""No batch should wait longer than this, in ms. A follower that does not fetch leaves the ISR after
1.5 times replica.lag.time.max.ms, which is 10 s in these runs.
"""
LOOK_EVERY_MS: Final = 100
WOKEN_WITHIN_LOOKS: Final = 5
"""If an operation could be completed in this many checks in a row and still waits, nothing has
woken it.
"""
PROPERTIES: Final = {
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
    "offsets.topic.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "0",
    "log.flush.interval.messages": "200",
    "log.segment.bytes": "16384",
    "replica.lag.time.max.ms": "10000",
}


class SeedResult(NamedTuple):
    """The result of the run of one seed."""

    seed: int
    failures: tuple[str, ...]
    """The failed checks, in words. Empty if all checks passed."""
    requests: int
    answered: int
    closed: int
    acked: int
    longest_wait_ms: int
    virtual_s: float
    acts: tuple[str, ...]
    """The faults and other actions of the run, with their times, in words."""

    @property
    def holds(self) -> bool:
        return not self.failures


class SeedRun:
    """The run of one seed, with its cluster, its clients and its faults. `run` plays it."""

    def __init__(self, seed: int, faults_ms: int = FAULTS_MS) -> None:
        self.seed = seed
        self._faults_ms = faults_ms
        self._chance = random.Random(f"seed search {seed}")
        self.answers = Answers()
        self._pauses = Pauses()
        self._pipelined = self._random("pipelined requests").choice(PIPELINED_REQUESTS)
        self.cluster = SimCluster(
            seed, BROKERS, {**PROPERTIES, "edu.max.pipelined.requests": str(self._pipelined)}
        )
        self.cluster.sink.events = DroppedEvents()
        self.cluster.sink.listeners.append(self._listen)
        self.cluster.on_stall = self._on_stall
        self._observed = Observed(self.cluster, self.answers, self._pauses, set(), [])
        self._failures: list[str] = []
        self._acts: list[str] = [f"edu.max.pipelined.requests={self._pipelined}"]
        self._counts: Counter[str] = Counter()
        self._completable: dict[tuple[int, int, int], int] = {}
        """The number of checks in a row in which a waiting operation could be completed. The key is
        the broker, the number of its start, and the operation's number.
        """
        self._dashboards: list[TraceDashboard] = []

    def run(self) -> SeedResult:
        """Play the run to its end, and return its result."""
        cluster = self.cluster
        with coroutines_of_dead_processes():
            try:
                self._play()
            except AssertionError as error:  # An exception that nobody caught.
                self._failures.append(str(error))
            if cluster.loop.errors and not self._failures:
                self._failures.append(f"uncaught: {cluster.loop.errors[0]}")
            virtual_s = cluster.time.nanoseconds() / 1e9
            cluster.close()
        answers = self.answers
        return SeedResult(
            seed=self.seed,
            failures=tuple(self._failures),
            requests=answers.sent,
            answered=answers.answered,
            closed=answers.closed,
            acked=len(self._producer.acked),
            longest_wait_ms=round(answers.longest),
            virtual_s=round(virtual_s, 1),
            acts=tuple(self._acts),
        )

    def _play(self) -> None:
        cluster = self.cluster
        partitions = [TopicPartition("t", number) for number in range(TOPIC_PARTITIONS)]
        self._producer = PipelinedProducer(
            self._connections("producer"), partitions, self._random("producer")
        )
        self._reader = GroupReader(self._connections("reader"), partitions, self._random("reader"))
        cluster.start_all()
        for broker in BROKERS:
            self._attach_dashboards(broker)
        admin = SimClient(cluster)
        created = cluster.run_as(admin.process, admin.create_topic("t", TOPIC_PARTITIONS, 3))
        assert created is Errors.NONE, created
        cluster.run_as(admin.process, admin.create_topic("p", 2, 3))
        cluster.advance(1_000)
        probers = self._probers()
        clients: list[SoakClient] = [self._producer, self._reader, *probers]
        tasks = [cluster.loop.spawn(client.connections.process, client.run()) for client in clients]
        end_ms = self._now_ms() + self._faults_ms
        while self._now_ms() < end_ms:
            self._pass(self._chance.uniform(500, 4_000))
            self._chance.choice(
                (
                    self._pause,
                    self._kill,
                    self._slow_disk,
                    self._slow_disk,
                    self._burst,
                    self._burst,
                    self._slow_zookeeper,
                )
            )()
        self._heal()
        self._producer.stopping = True
        for prober in probers:
            prober.stopping = True
        self._pass(HEALED_MS)
        self._ask_at_the_end(producer_done=tasks[0].done())

    def _connections(self, name: str) -> TimedConnections:
        return TimedConnections(self._observed, name)

    def _probers(self) -> list[ProbeClient]:
        found = []
        for broker in BROKERS:
            for number in range(2):
                chance = self._random(f"prober {broker} {number}")
                probed = [TopicPartition("p", 0), TopicPartition("p", 1)]
                requests = ProbeRequests(chance, probed, BROKERS, self.cluster.time.milliseconds)
                connections = self._connections(f"prober-{broker}-{number}")
                found.append(ProbeClient(connections, broker, requests, chance))
        return found

    def _ask_at_the_end(self, producer_done: bool) -> None:
        self._failures += [f"stuck: {overdue}" for overdue in self.answers.overdue]
        self._failures += self._observed.violations + self._producer.refused
        if not producer_done:
            self._failures.append(
                f"the producer is not done {HEALED_MS} ms after the last fault:"
                f" {self._producer.unfinished}"
            )
        if self._producer.timed_out and self._producer.timeout_ms >= LONGER_THAN_ANY_FAULT_MS:
            at = ", ".join(f"{ms:.0f} ms" for ms in self._producer.timed_out[:5])
            self._failures.append(
                f"{len(self._producer.timed_out)} batches waited {self._producer.timeout_ms} ms for"
                f" the followers, until {at}: no fault lasts that long"
            )
        self._compare_records()
        if not self._producer.acked or not self._reader.commits:
            self._failures.append("nothing was acked, or nothing committed: the run shows nothing")

    def _compare_records(self) -> None:
        """Check that each acknowledged record was read, that no record was read twice, and that the
        records of each partition have the producer's order.
        """
        for tp, sent in self._producer.sent.items():
            read = self._reader.read[tp]
            acked = {number for number in sent if number in self._producer.acked}
            lost = sorted(acked - set(read))
            if lost:
                self._failures.append(
                    f"{len(lost)} acked records of {tp} were not read: {lost[:5]}"
                )
            twice = [number for number, times in Counter(read).items() if times > 1]
            if twice:
                self._failures.append(f"{len(twice)} records of {tp} were read twice: {twice[:5]}")
            late = [number for before, number in pairwise(read) if number < before]
            if late:
                self._failures.append(
                    f"{len(late)} records of {tp} were read behind a later one: {late[:5]}"
                )

    def _pause(self) -> None:
        broker = self._chance.choice(BROKERS)
        ms = self._chance.choice((1_000, 3_000, 8_000, 8_000))
        self._act(f"pause {broker} for {ms} ms")
        self.cluster.pause(broker)
        self._pauses.paused(broker, self._now_ms())
        zk_client = self.cluster.brokers[broker].zk_client
        assert zk_client is not None
        zk_client.pause()
        self._pass(ms)
        self.cluster.resume(broker)
        zk_client.resume()
        self._pauses.resumed(broker, self._now_ms())
        self._act(f"resume {broker}")

    def _kill(self) -> None:
        broker = self._chance.choice(BROKERS)
        ms = self._chance.choice((200, 2_000, 8_000))
        self._act(f"kill {broker}, back in {ms} ms")
        self.cluster.kill(broker)
        self._completable = {
            key: looks for key, looks in self._completable.items() if key[0] != broker
        }
        self._pass(ms)
        self._act(f"start {broker}, on a quick disk")
        self._start(broker)

    def _start(self, broker: int) -> None:
        # A broker that is starting accepts connections but does not answer, as in Kafka, because it
        # waits until its old session has expired.
        disk = self.cluster.brokers[broker].disk
        disk.worker_ms = disk.stall_ms = QUICK
        self._pauses.paused(broker, self._now_ms())
        self.cluster.start(broker)
        self._pauses.resumed(broker, self._now_ms())
        self._attach_dashboards(broker)
        self._act(f"broker {broker} is back")

    def _slow_disk(self) -> None:
        worker_ms = self._chance.choice(((20.0, 300.0), (200.0, 2_000.0), (2_000.0, 6_000.0)))
        stall_ms = self._chance.choice((QUICK, (5.0, 50.0), (100.0, 900.0)))
        brokers = self._chance.sample(BROKERS, self._chance.randint(1, 3))
        self._act(f"slow disk of {brokers}: workers {worker_ms} ms, writes {stall_ms} ms")
        for broker in brokers:
            disk = self.cluster.brokers[broker].disk
            disk.worker_ms, disk.stall_ms = worker_ms, stall_ms
        if self._chance.random() < 0.6:
            self._pass(self._chance.uniform(1_000, 5_000))
            self._quick_disks()
            self._act("quick disks")

    def _quick_disks(self) -> None:
        for broker in self.cluster.brokers.values():
            broker.disk.worker_ms = broker.disk.stall_ms = QUICK

    def _slow_zookeeper(self) -> None:
        high_ms = self._chance.choice((20.0, 150.0))
        self._act(f"ZooKeeper's log is slow: up to {high_ms} ms a message")
        self.cluster.zookeeper_latency_ms = (1.0, high_ms)
        self._pass(self._chance.uniform(2_000, 6_000))
        self.cluster.zookeeper_latency_ms = ZOOKEEPER_LATENCY_MS

    def _burst(self) -> None:
        self._act("burst")
        self._producer.burst = True
        self._pass(self._chance.uniform(50, 800))

    def _heal(self) -> None:
        self._act("all healed")
        self._quick_disks()
        self.cluster.zookeeper_latency_ms = ZOOKEEPER_LATENCY_MS

    def _pass(self, ms: float) -> None:
        """Let virtual time pass, and make the checks ten times a second."""
        left_ms = round(ms)
        while left_ms > 0:
            self.cluster.advance(min(left_ms, LOOK_EVERY_MS))
            left_ms -= LOOK_EVERY_MS
            look_at_all(self._observed.deadlines, self._now_ms())
            self._look_for_lost_wake_ups()
            self._look_at_pipelines()

    def _look_for_lost_wake_ups(self) -> None:
        """Find produce requests that could be answered from their partitions' state, but have not
        been answered for half a second. Their wake-up was lost.
        """
        still: dict[tuple[int, int, int], int] = {}
        for broker in self.cluster.brokers.values():
            replication = broker.server.replication if broker.server is not None else None
            if replication is None or broker.process.paused:
                continue
            for operation in replication.replicas.append.purgatory.waiting():
                if isinstance(operation, DelayedProduce) and operation.is_satisfied():
                    key = broker.id, broker.incarnation, operation.number
                    still[key] = self._completable.get(key, 0) + 1
                    if still[key] == WOKEN_WITHIN_LOOKS:
                        self._failures.append(
                            f"lost wake-up: {operation.label} on broker {broker.id} could be"
                            f" answered at {self._now_ms():.0f} ms and is not"
                        )
        self._completable = still

    def _look_at_pipelines(self) -> None:
        """Check the requests that are in progress together on one connection. All of these must be
        Produce requests with acknowledgement. Their number may be at most
        `edu.max.pipelined.requests`.
        """
        for broker in self.cluster.brokers.values():
            for channel in broker.server.channels if broker.server is not None else ():
                together = channel.in_progress
                if len(together) > 1 and not (
                    len(together) <= self._pipelined
                    and all(is_acknowledged_produce(request.frame) for request in together)
                ):
                    kinds = [ApiKey(request.header.api_key).name for request in together]
                    self._failures.append(
                        f"broker {broker.id} works on {', '.join(kinds)} of one connection at a"
                        f" time at {self._now_ms():.0f} ms"
                    )

    def _listen(self, envelope: Envelope) -> None:
        self._counts[envelope.name] += 1
        if envelope.name in (
            "RequestStuck",
            "RequestFailed",
            "BackgroundTaskFailed",
            "ConnectionFailed",
        ):
            self._failures.append(
                f"{envelope.name} on {envelope.source} at {self._now_ms():.0f} ms: {envelope.event}"
            )

    def _attach_dashboards(self, broker_id: int) -> None:
        """Attach three subscribers to this broker's events. One of them changes its level between
        hops and state.
        """
        broker = self.cluster.brokers[broker_id]
        assert broker.tracer is not None
        server = EventServer(
            broker.tracer, self.cluster.network.transport(), self.cluster.time, "token"
        )
        port = self.cluster.run_as(broker.process, server.listen())
        self.cluster.loop.spawn(broker.process, server.run())
        for number in range(3):
            levels = (Level.HOPS, Level.STATE) if number == 2 else (Level.STATE,)
            chance = self._random(f"dashboard {broker_id} {broker.incarnation} {number}")
            dashboard = TraceDashboard(
                self.cluster, f"dashboard-{broker_id}-{broker.incarnation}-{number}", chance, levels
            )
            self.cluster.loop.spawn(dashboard.process, dashboard.run(broker_id, port, "token"))
            self._dashboards.append(dashboard)

    def _on_stall(self, broker: int, ms: float) -> None:
        """Count a stall of the disk as a pause, because a broker cannot answer while its write
        waits in the kernel.
        """
        now_ms = self._now_ms()
        self._pauses.paused(broker, now_ms)
        self._pauses.resumed(broker, now_ms + ms)

    def _now_ms(self) -> float:
        return self.cluster.time.nanoseconds() / 1e6

    def _random(self, name: str) -> random.Random:
        return random.Random(f"{self.seed}/{name}")

    def _act(self, text: str) -> None:
        self._acts.append(f"{self._now_ms():9.0f} ms  {text}")


def play(seed: int, faults_ms: int = FAULTS_MS) -> SeedResult:
    """Play the run of one seed and return its result. It takes a few seconds on one core."""
    return SeedRun(seed, faults_ms).run()
