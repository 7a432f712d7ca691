"""The live part of 16-8: an incident on a real cluster of three brokers, its recordings, and the
learner's report on them.

First, members of a group join and leave. Then a follower is paused or cut off, and at the end the
leader is killed. The right answers are computed from the recorded events, so they are exact.

The group's members and the producer use kafka-python, which is independent of this project.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from kafka_edu.learner.learner import Learner, LearnerFailure, LearnerObject
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.trace.event import SUPERVISOR, Envelope, Level, Source
from kafka_edu.trace.events.group import GroupAssigned
from kafka_edu.trace.reader import read_recording
from kafka_edu.trace.recording_file import open_events, readable_part
from kafka_edu.trace.trace_client import EventsAddress, TraceClient
from kafka_edu.trace.wire_format import encode, encode_header

from ..runner.manifest import Exercise
from ..runner.material import new_seed
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .incident_answers import Flap, right_flaps, right_latency, right_rebalances, rows_of

TOPIC: Final = "orders"
GROUP: Final = "shop"
RECORDS: Final = 60
#: The leader removes a follower from the ISR after 1.5 s without progress. ZooKeeper ends the
#: session of a dead broker after 3 s. A new group begins its first rebalance without a delay.
SETTINGS: Final = {
    "replica.lag.time.max.ms": "1500",
    "zookeeper.session.timeout.ms": "3000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
}


class Plan(NamedTuple):
    """Which brokers take part in the incident, as a seed chooses them."""

    leader: int
    """The id of the broker that leads the topic, and is killed at the end."""
    victim: int
    """The id of the follower that is paused, or cut off from the leader."""
    paused: bool


def plan(seed: int) -> Plan:
    """Return the plan that a seed chooses."""
    random = Random(seed)
    leader, victim = random.sample(range(3), 2)
    return Plan(leader, victim, random.random() < 0.5)


class Recordings:
    """Records the events of a cluster at level `hops`. Each start of a process has its own file."""

    def __init__(self, folder: Path, patience_s: float) -> None:
        """`wait_for` waits for `patience_s` seconds at most."""
        self._folder = folder
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._seen: list[Envelope] = []
        self._clients: list[TraceClient] = []
        self._threads: list[threading.Thread] = []

    def follow(self, name: str, address: EventsAddress, source: Source) -> None:
        """Record the events of a process until it ends or `close` is called. Raises OSError."""
        client = TraceClient(address, Level.HOPS)
        thread = threading.Thread(
            target=self._write, args=(client, self._folder / f"{name}.jsonl", source), daemon=True
        )
        self._clients.append(client)
        self._threads.append(thread)
        thread.start()

    def _write(self, client: TraceClient, path: Path, source: Source) -> None:
        with open_events(path, "wb") as file:
            file.write(encode_header(source, "lab-16-8"))
            with suppress(OSError, TimeoutError):  # the process ended, or we closed the client
                for envelope in client:
                    file.write(encode(envelope))
                    with self._lock:
                        self._seen.append(envelope)

    def wait_for(self, what: str, done: Callable[[list[Envelope]], bool]) -> None:
        """Wait until `done` accepts the events so far. Raises ClusterError if it takes too long."""
        end_s = time.monotonic() + self._patience_s
        while True:
            with self._lock:
                seen = list(self._seen)
            if done(seen):
                return
            if time.monotonic() > end_s:
                raise ClusterError(f"after {self._patience_s:.0f} s there was no {what}")
            time.sleep(0.1)

    def close(self) -> None:
        """End all recordings, and wait until their files are complete."""
        for client in self._clients:
            client.close()
        for thread in self._threads:
            thread.join(self._patience_s)

    def read(self) -> list[Envelope]:
        """Return the events of all files, one file after the other."""
        found: list[Envelope] = []
        for path in sorted(self._folder.iterdir()):
            with open_events(path) as file:
                found += read_recording(readable_part(file, None))
        return found


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Make the incident, and compare the learner's report with its events. Raises ClusterError."""
    if file is None:
        return  # no shipped code does the same
    seed = new_seed()
    with tempfile.TemporaryDirectory(prefix="kafka-edu-") as name:
        events = record(plan(seed), Path(name), say, patience_s)
    say("your report on them")
    yield from judge(exercise, file, events)


def record(
    made: Plan, folder: Path, say: Callable[[str], None], patience_s: float
) -> list[Envelope]:
    """Run the cluster through the incident, and return the events of its recordings."""
    say("starting three brokers")
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster("lab-16-8", props=SETTINGS))
        recordings = Recordings(folder, patience_s)
        stack.callback(recordings.close)
        for broker in cluster.broker_ids:
            source = Source.of_broker(broker)
            recordings.follow(f"broker-{broker}", cluster.events_address(broker), source)
        recordings.follow("supervisor", cluster.supervisor_events_address(), SUPERVISOR)
        third = 3 - made.leader - made.victim
        make_topic(cluster, TOPIC, [made.leader, made.victim, third], partitions=2)
        say("writing and reading, and members of a group come and go")
        write(cluster, patience_s)
        with Member(cluster, "first") as first:
            recordings.wait_for("group", assigned(1))
            with Member(cluster, "second"):
                recordings.wait_for("second member", assigned(1, 2))
            recordings.wait_for("rebalance after a member left", assigned(1, 2, 1))
            first.close()
        act(cluster, recordings, made, say)
        return finished(recordings)


def finished(recordings: Recordings) -> list[Envelope]:
    """Close the recordings, and return their events."""
    recordings.close()
    return recordings.read()


def act(cluster: Cluster, recordings: Recordings, made: Plan, say: Callable[[str], None]) -> None:
    """Pause or cut off the follower, then kill the leader. Each time wait for a complete ISR."""
    if made.paused:
        say(f"broker {made.victim} is paused")
        cluster.pause(made.victim)
        recordings.wait_for("ISR without it", is_out(made.victim))
        cluster.resume(made.victim)
    else:
        say(f"brokers {made.leader} and {made.victim} are cut off from each other")
        link = {"broker": made.leader, "other": made.victim}
        cluster.perform("cut-link", link)
        recordings.wait_for("ISR without a broker", is_out(made.victim))
        cluster.perform("heal-link", link)
    recordings.wait_for("whole ISR", is_back(made.victim))
    say(f"broker {made.leader} is killed, and started again")
    cluster.kill(made.leader)
    recordings.wait_for("ISR without the dead leader", is_out(made.leader))
    cluster.start(made.leader)
    name, source = f"broker-{made.leader}-again", Source.of_broker(made.leader)
    recordings.follow(name, cluster.events_address(made.leader), source)
    recordings.wait_for("whole ISR", is_back(made.leader))


def is_out(broker: int) -> Callable[[list[Envelope]], bool]:
    """Return a function that says whether a broker is out of both ISRs of the topic now."""
    return lambda seen: [flap.lasted_us for flap in flaps_of(seen, broker)][-2:] == [None] * 2


def is_back(broker: int) -> Callable[[list[Envelope]], bool]:
    """Return a function that says whether a broker is in both ISRs of the topic again."""
    return lambda seen: all(flap.lasted_us for flap in flaps_of(seen, broker))


def flaps_of(seen: list[Envelope], broker: int) -> list[Flap]:
    """Return how often one broker left the ISRs of the topic, and when: its flaps."""
    return [
        flap
        for flap in right_flaps(seen)
        if flap.broker == broker and flap.partition in (f"{TOPIC}-0", f"{TOPIC}-1")
    ]


def assigned(*members: int) -> Callable[[list[Envelope]], bool]:
    """Return a function that says whether the group has had these sizes, in this order.

    A member alone may join again, so assignments cannot simply be counted.
    """

    def has_had(seen: list[Envelope]) -> bool:
        sizes = (
            len(one.event.assignments)
            for one in seen
            if isinstance(one.event, GroupAssigned) and one.event.group == GROUP
        )
        return all(number in sizes for number in members)  # each search goes on from the last

    return has_had


class Member:
    """A consumer of the group, in a thread. It leaves the group at the end of its `with` block."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(cluster, name), daemon=True)
        self._thread.start()

    def __enter__(self) -> "Member":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the group, and wait for the end of the thread."""
        self._leave.set()
        self._thread.join()

    def _read(self, cluster: Cluster, name: str) -> None:
        with closing(
            KafkaConsumer(
                TOPIC,
                bootstrap_servers=cluster.bootstrap_servers,
                group_id=GROUP,
                client_id=name,
                auto_offset_reset="earliest",
                heartbeat_interval_ms=300,
            )
        ) as consumer:
            while not self._leave.is_set():
                consumer.poll(timeout_ms=200)


def write(cluster: Cluster, patience_s: float) -> None:
    """Write some records with acks=all. Raises ClusterError if one is not acknowledged."""
    try:
        with closing(
            KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all", linger_ms=0)
        ) as producer:
            for number in range(RECORDS):
                producer.send(TOPIC, b"order %d" % number, partition=number % 2).get(patience_s)
    except KafkaError as error:
        raise ClusterError(f"a record was not acknowledged: {error}") from error


def judge(exercise: Exercise, file: Path, events: list[Envelope]) -> Iterator[Step]:
    """Yield a Step for each part of the learner's report: whether it agrees with the events."""
    learner = Learner(file, exercise.wanted)
    try:
        try:
            report = learner.make(rows_of(events))
        except LearnerFailure as failure:
            yield Step("your report can be made", False, str(failure))
            return
        latency = {api: tuple(times) for api, times in right_latency(events).items()}
        slowest = max(latency, key=lambda api: latency[api][2])
        yield compared_latency(report, latency, f"{len(latency)} APIs, {slowest} is the slowest")
        flaps = right_flaps(events)
        long = max(flaps, key=lambda one: one.lasted_us or 0)
        yield compared(
            report,
            "flaps",
            "flaps of ISRs, with the act before each",
            flaps,
            f"{len(flaps)}, the longest {(long.lasted_us or 0) / 1e6:.1f} s after: {long.act}",
        )
        pauses = right_rebalances(events)
        longest = max(pauses, key=lambda one: one.lasted_us or 0)
        yield compared(
            report,
            "rebalances",
            "rebalances, with the cause of each",
            pauses,
            f"{len(pauses)}, the longest {(longest.lasted_us or 0) / 1e6:.2f} s because of"
            f" {longest.cause}",
        )
    finally:
        learner.close()


def compared_latency(report: LearnerObject, right: dict[str, tuple[int, ...]], shown: str) -> Step:
    """Call `latency` of the learner's report, and compare the times with the right ones."""
    says = "p50 and p99 by API"
    try:
        came = report.call("latency")
    except LearnerFailure as failure:
        return Step(says, False, str(failure))
    found = came if isinstance(came, dict) else {}
    for api in sorted({*right, *found}):
        seen = found.get(api)
        if api not in right or not isinstance(seen, list) or tuple(seen) != right[api]:
            expected = right.get(api, "no such API")
            return Step(says, False, f"{api}: {expected} was expected, and it was {seen!r:.100}")
    return Step(says, True, shown)


def compared(
    report: LearnerObject,
    method: str,
    says: str,
    right: Sequence[tuple[object, ...]],
    shown: str,
) -> Step:
    """Call a method of the report, and compare its rows. `shown` is the text if all are right."""
    try:
        came = report.call(method)
    except LearnerFailure as failure:
        return Step(says, False, str(failure))
    rows = list(came) if isinstance(came, tuple) else []
    for number, row in enumerate(right):
        seen = rows[number] if number < len(rows) else None
        if seen != tuple(row):
            return Step(
                says, False, f"row {number}: {tuple(row)} was expected, and it was {seen!r:.120}"
            )
    if len(rows) > len(right):
        return Step(says, False, f"{rows[len(right)]!r:.120} was not expected")
    return Step(says, True, shown)
