"""The same wheel in a live broker: three brokers, an unmodified client, and what broker 1 tells of
its purgatories by events.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Final

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import Event, Level
from kafka_edu.trace.events.purgatory import (
    OperationCompleted,
    WaitingOperation,
    WaitingOperationSampled,
)
from kafka_edu.trace.events.timer import (
    NextBucketSampled,
    TimerSampled,
    TimerState,
    TimerTaskExpired,
    WheelCreated,
    WheelSampled,
    WheelState,
)
from kafka_edu.trace.trace_client import EventsAddress, TraceClient

from .figures import draw, span

BROKER: Final = 1
FOLLOWER: Final = 2
TOPIC: Final = "chapter-02"
TIMERS: Final = ("Produce", "Fetch")
ROUND_S: Final = 0.25
RATE_SAMPLES: Final = 21
"""Rates are over so many gauges, ten a second."""
PRODUCE_TIMEOUT_MS: Final = 30_000


class Seen:
    """What broker 1 has told, kept as its newest state."""

    def __init__(self) -> None:
        self.wheels: dict[tuple[str, int], WheelState] = {}
        self.timers: dict[str, TimerState] = {}
        self.before: dict[str, TimerState] = {}
        self._samples: dict[str, deque[TimerState]] = {}
        self.next_bucket: dict[str, NextBucketSampled] = {}
        self.waiting: dict[int, WaitingOperation] = {}
        self.completed: list[OperationCompleted] = []
        self.expired: list[TimerTaskExpired] = []
        self.made: list[WheelCreated] = []

    def take(self, event: Event) -> None:
        match event:
            case WheelSampled(state=wheel):
                self.wheels[wheel.timer, wheel.level] = wheel
            case TimerSampled(state=state):
                samples = self._samples.setdefault(state.timer, deque(maxlen=RATE_SAMPLES))
                samples.append(state)
                self.before[state.timer] = samples[0]
                self.timers[state.timer] = state
                self.next_bucket.pop(state.timer, None)
                if state.timer == "Produce":
                    self.waiting.clear()
            case NextBucketSampled(timer=timer):
                self.next_bucket[timer] = event
            case WaitingOperationSampled(waiting=waiting) if waiting.purgatory == "Produce":
                self.waiting[waiting.operation] = waiting
            case OperationCompleted(purgatory="Produce"):
                self.completed.append(event)
            case TimerTaskExpired():
                self.expired.append(event)
            case WheelCreated():
                self.made.append(event)

    def picture(self, says: str) -> Group:
        """Both purgatories' wheels, and what waits in the produce purgatory and why."""
        parts: list[Text | Table] = [Text(says, style="bold")]
        for timer in TIMERS:
            wheels = [self.wheels[key] for key in sorted(self.wheels) if key[0] == timer]
            if not wheels or timer not in self.timers:
                continue
            parts += [Text(), Text(self._headline(timer)), draw(wheels)]
        for operation in tuple(self.waiting.values())[:3]:
            parts.append(
                Text(f"  waiting {operation.age_ms:,} ms: {operation.label}", style="yellow")
            )
            for need in operation.why:
                held = "  ".join(
                    f"{who} {'✓' if has >= need.at_least else '✗'} {has:,}"
                    for who, has in need.holders
                )
                parts.append(
                    Text(
                        f"    {need.subject} needs {need.needs} {need.at_least:,}, has"
                        f" {need.have:,}.  {held}"
                    )
                )
        return Group(*parts)

    def _headline(self, timer: str) -> str:
        now, before = self.timers[timer], self.before[timer]
        passed_s = max(now.now_ms - before.now_ms, 1) / 1000
        rates = ", ".join(
            f"{name} {(after - earlier) / passed_s:,.0f}/s"
            for name, after, earlier in (
                ("inserted", now.inserted_total, before.inserted_total),
                ("cancelled", now.cancelled_total, before.cancelled_total),
                ("expired", now.expired_total, before.expired_total),
                ("demoted", now.demoted_total, before.demoted_total),
            )
        )
        due = (
            "none"
            if now.next_bucket_ms is None
            else f"in {max(now.next_bucket_ms - now.now_ms, 0):,} ms"
        )
        return (
            f"{timer} purgatory, broker {BROKER} · {now.tasks} tasks · next bucket {due} · {rates}"
        )


class Watcher(Seen):
    """Listens to a broker, in a thread."""

    def __init__(self, address: EventsAddress) -> None:
        super().__init__()
        self._client = TraceClient(address, Level.ALL, gauges=True)
        threading.Thread(target=self._listen, name="events", daemon=True).start()

    def _listen(self) -> None:
        try:
            for envelope in self._client:
                self.take(envelope.event)
        except OSError:
            return  # closed under it

    def close(self) -> None:
        self._client.close()


class Load:
    """Produces with acks=all, one record after another, in a thread, and counts the acks."""

    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer
        self._stop = threading.Event()
        self.acked = self.failed = 0
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            try:
                self._producer.send(TOPIC, b"chapter 02", partition=0).get(
                    2 * PRODUCE_TIMEOUT_MS / 1000
                )
                self.acked += 1
            except KafkaError:
                self.failed += 1

    def close(self) -> None:
        self._stop.set()
        self._thread.join(2 * PRODUCE_TIMEOUT_MS / 1000)


def watch(console: Console, seconds: float) -> dict[str, object]:
    """Three steps: under load, with a silent follower, and with the follower back. Raises
    ClusterError.
    """
    console.print("\n[bold]6. In a live broker[/]", highlight=False)
    with ExitStack() as stack:
        with console.status("starting ZooKeeper and three brokers"):
            cluster = stack.enter_context(running_cluster("chapter-02"))
            create_topic(cluster)
            watcher = stack.enter_context(closing(Watcher(cluster.events_address(BROKER))))
            producer = KafkaProducer(
                bootstrap_servers=f"127.0.0.1:{cluster.port(BROKER)}",
                acks="all",
                linger_ms=0,
                request_timeout_ms=PRODUCE_TIMEOUT_MS,
            )
            stack.callback(producer.close, 1)
            stack.enter_context(closing(consume_idly(cluster)))
            load = stack.enter_context(closing(Load(producer)))

        show(
            console,
            watcher,
            "produces with acks=all: their time-outs of 30 s go in, and are cancelled when the"
            " followers have it",
            seconds,
        )
        cluster.pause(FOLLOWER)
        silent_from = len(watcher.completed)
        show(
            console,
            watcher,
            f"broker {FOLLOWER} is paused: one produce waits, and the wheel brings its time-out"
            " down",
            min(seconds, 5.0),
        )
        longest_wait = max((waiting.age_ms for waiting in watcher.waiting.values()), default=0)
        cluster.resume(FOLLOWER)
        show(
            console,
            watcher,
            f"broker {FOLLOWER} is back: the follower fetches, the high watermark rises, the"
            " produce is done",
            seconds / 2,
        )

    done = watcher.completed[silent_from:]
    longest = max((operation.waited_ms for operation in done), default=0)
    levels = max((level for timer, level in watcher.wheels if timer == "Produce"), default=0)
    by: dict[str, int] = {}
    for operation in watcher.completed:
        by[operation.by] = by.get(operation.by, 0) + 1
    console.print(
        f"\n{load.acked} records acked, {load.failed} failed; produces completed: {by}; the longest"
        f" waited {span(longest)}.",
        highlight=False,
    )
    fetches = sum(1 for event in watcher.expired if event.timer == "Fetch")
    console.print(
        f"{fetches} fetches timed out, as long polls do; the produce timer has {levels} levels, for"
        " 30 s are far away.",
        highlight=False,
    )
    return {
        "acked": load.acked,
        "failed": load.failed,
        "completed_by": by,
        "longest_wait_ms": longest,
        "seen_waiting_ms": longest_wait,
        "fetches_timed_out": fetches,
        "produce_levels": levels,
    }


def create_topic(cluster: Cluster) -> None:
    """One partition, on all brokers; broker 1 leads it."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    try:
        admin.create_topics(
            [
                NewTopic(
                    TOPIC,
                    num_partitions=-1,
                    replication_factor=-1,
                    replica_assignments={0: [BROKER, 0, FOLLOWER]},
                )
            ]
        )
    finally:
        admin.close()


class IdleConsumer:
    """Long polls for more than there is, so that fetches wait and time out; in a thread."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="idle consumer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._consumer.poll(timeout_ms=200)

    def close(self) -> None:
        self._stop.set()
        self._thread.join(5)
        self._consumer.close()


def consume_idly(cluster: Cluster) -> IdleConsumer:
    consumer = KafkaConsumer(
        bootstrap_servers=f"127.0.0.1:{cluster.port(BROKER)}",
        fetch_min_bytes=10_000_000,
        fetch_max_wait_ms=450,
    )
    consumer.assign([TopicPartition(TOPIC, 0)])
    return IdleConsumer(consumer)


def show(
    console: Console,
    watcher: Seen,
    says: str,
    seconds: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Draw what is seen, again and again; where there is no terminal, once at the end."""
    end = time.monotonic() + seconds
    if not console.is_terminal:
        sleep(seconds)
        console.print(watcher.picture(says))
        return
    with Live(watcher.picture(says), console=console, refresh_per_second=8) as live:
        while time.monotonic() < end:
            sleep(ROUND_S)
            live.update(watcher.picture(says))
