"""The live part of this chapter's exercises: the learner's code times the delayed operations of
broker 2 of three, under an unmodified client.

Three loads, on a topic whose partition broker 2 leads. Produces with acks=all wait for the
followers and are woken by them: their time-outs are put into the wheel and cancelled. Fetches that
ask for more than there is wait 450 ms, the book's figure, and time out. Produces while a follower
is paused time out after 1,500 ms. The events of broker 2 are judged, and the
learner's code has no hand in these.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import repeat
from math import prod
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.learner.learner_timing_wheel import SLOTS_ABOVE
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.timer.timing_wheel import WHEEL_SIZE
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.learner import LearnerFailed, LearnerSampled
from kafka_edu.trace.events.replication import BecameLeader
from kafka_edu.trace.events.server import MetadataUpdated
from kafka_edu.trace.events.timer import TimerTaskCancelled, TimerTaskDemoted, TimerTaskExpired
from kafka_edu.trace.trace_client import EventsAddress, TraceClient

from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

BROKER: Final = 2
TOPIC: Final = "lab-02"
RECORDS: Final = 50
FETCH_WAIT_MS: Final = 450
FETCHES: Final = 6
PRODUCE_TIMEOUT_MS: Final = 1_500
TIMED_OUT: Final = 3
LATE_LIMIT_MS: Final = 1_000
"""So much later than its deadline may a task run: the machine may be busy. Early it may never
run.
"""
PATIENT_ISR: Final = {"replica.lag.time.max.ms": "60000", "zookeeper.session.timeout.ms": "30000"}
"""The paused follower is to be waited for: it must not be put out of the ISR meanwhile."""


class Listener:
    """Collects what broker 2 tells, in a thread, from the beginning of the load to its end."""

    def __init__(self, address: EventsAddress) -> None:
        self._client = TraceClient(address, Level.ALL, gauges=True)
        self.envelopes: list[Envelope] = []
        self._thread = threading.Thread(target=self._listen, name="events", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        try:
            for envelope in self._client:
                self.envelopes.append(envelope)
        except OSError:
            return  # closed under it

    def close(self) -> None:
        self._client.close()

    def wait_for(self, done: Callable[[], bool], patience_s: float) -> bool:
        """Whether `done` became true in time."""
        end = time.monotonic() + patience_s
        while not done():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def expired(self, timer: str) -> list[TimerTaskExpired]:
        return [
            e.event
            for e in self.envelopes
            if isinstance(e.event, TimerTaskExpired) and e.event.timer == timer
        ]

    def count(self, kind: type) -> int:
        return sum(isinstance(e.event, kind) for e in self.envelopes)


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in broker 2, or the shipped code if there is none, and yield what
    came of it.
    """
    say(f"starting three brokers, {'yours' if file is not None else 'ours'} in broker 2")
    with ExitStack() as stack:
        learner = (
            {BROKER: {"edu.learner": f"{exercise.id}={file.absolute()}"}}
            if file is not None
            else {}
        )
        cluster = stack.enter_context(
            running_cluster(f"lab-{exercise.id}", props=PATIENT_ISR, broker_props=learner)
        )
        listener = Listener(cluster.events_address(BROKER))
        stack.callback(listener.close)
        create_topic(cluster, listener, patience_s)

        say(
            f"{RECORDS} records with acks=all: each waits for two followers, its time-out in your"
            " wheel"
        )
        producer = stack.enter_context(closing(make_producer(cluster, round(patience_s * 1000))))
        acked = sum([send(producer) for _ in range(RECORDS)])
        yield Step(
            "produces with acks=all are acked",
            acked == RECORDS,
            f"{acked} of {RECORDS} acked",
            late=acked < RECORDS,
        )

        say(f"fetches that wait {FETCH_WAIT_MS} ms and time out")
        before = len(listener.expired("Fetch"))
        fetch_nothing(
            cluster, lambda: len(listener.expired("Fetch")) >= before + FETCHES, patience_s
        )
        yield judge_times("fetches time out when they should", listener.expired("Fetch"), FETCHES)

        say(f"produces that time out after {PRODUCE_TIMEOUT_MS:,} ms, for a follower is paused")
        impatient = stack.enter_context(closing(make_producer(cluster, PRODUCE_TIMEOUT_MS)))
        send(impatient)  # so that it knows the cluster before one of it is silent
        before = len(listener.expired("Produce"))
        cluster.pause(0)
        end = time.monotonic() + patience_s
        while len(listener.expired("Produce")) < before + TIMED_OUT and time.monotonic() < end:
            send(impatient)
        cluster.resume(0)
        yield judge_times(
            "produces time out when they should", listener.expired("Produce"), TIMED_OUT
        )

        if file is not None:
            yield judge_code(listener)


def create_topic(
    cluster: Cluster, listener: Listener, patience_s: float, topic: str = TOPIC
) -> None:
    """One partition, on all brokers; broker 2 leads it, and tells clients so. Raises ClusterError
    when it does not get to.

    Where broker 2 is the controller, the answer's own time-out is in the learner's wheel; a wrong
    one answers too early, and the topic comes all the same.
    """
    make_topic(cluster, topic, [BROKER, 0, 1])

    def leads_and_tells() -> bool:
        facts = [envelope.event for envelope in list(listener.envelopes)]
        leads = any(isinstance(fact, BecameLeader) and fact.topic == topic for fact in facts)
        return leads and any(
            isinstance(fact, MetadataUpdated) and f"{topic}-0" in fact.updated for fact in facts
        )

    if not listener.wait_for(leads_and_tells, patience_s):
        raise ClusterError(
            f"broker {BROKER} does not lead topic {topic} after {patience_s:.0f} s; see"
            f" {cluster.folder.path}/*/broker.log"
        )


def make_producer(cluster: Cluster, timeout_ms: int) -> KafkaProducer:
    """A producer that waits for all replicas, `timeout_ms` at most, and does not try again."""
    return KafkaProducer(
        bootstrap_servers=f"127.0.0.1:{cluster.port(BROKER)}",
        acks="all",
        retries=0,
        linger_ms=0,
        enable_idempotence=False,
        request_timeout_ms=timeout_ms,
        delivery_timeout_ms=timeout_ms + 20_000,
    )


def send(producer: KafkaProducer, topic: str = TOPIC) -> bool:
    """Send one record in a request of its own; returns whether it was acked. The producer has a
    time-out.
    """
    try:
        producer.send(topic, b"a record of the lab", partition=0).get()
    except KafkaError:
        return False
    return True


def fetch_nothing(cluster: Cluster, enough: Callable[[], bool], patience_s: float) -> None:
    """Wait for records that do not come: fetches that ask for 1 MB and wait 450 ms each, until
    there were enough of them, or patience is at its end.
    """
    consumer = KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers,
        fetch_min_bytes=1_000_000,
        fetch_max_wait_ms=FETCH_WAIT_MS,
    )
    try:
        consumer.assign([TopicPartition(TOPIC, 0)])
        consumer.seek_to_end()
        end = time.monotonic() + patience_s
        while not enough() and time.monotonic() < end:
            consumer.poll(timeout_ms=FETCH_WAIT_MS)
    finally:
        consumer.close()


def judge_times(says: str, expired: list[TimerTaskExpired], wanted: int) -> Step:
    """Each at its deadline: never before, and not much after, unless it lay in the right bucket and
    the machine was too busy to look.
    """
    if len(expired) < wanted:
        return Step(
            says,
            False,
            f"{len(expired)} timed out, {wanted} should have: the others are in a bucket that comes"
            " too late, or never",
            late=True,
        )
    early = [event for event in expired if event.late_ms < 0]
    late = [
        event for event in expired if event.late_ms > LATE_LIMIT_MS and not in_right_bucket(event)
    ]
    worst = max(event.late_ms for event in expired)
    if early:
        event = early[0]
        return Step(
            says,
            False,
            f"{len(early)} of {len(expired)} ran too early, one {-event.late_ms} ms before its"
            f" deadline {event.deadline_ms}",
        )
    if late:
        event = late[0]
        return Step(
            says,
            False,
            f"{len(late)} of {len(expired)} ran too late, one {event.late_ms} ms after its deadline"
            f" {event.deadline_ms}",
            late=True,
        )
    return Step(
        says,
        True,
        f"{len(expired)} timed out, none early, the latest {worst} ms after its deadline",
    )


def in_right_bucket(event: TimerTaskExpired) -> bool:
    """Whether the bucket that it came out of begins with the tick of its deadline."""
    if event.level < 1:
        return False
    slots = (WHEEL_SIZE, *SLOTS_ABOVE, *repeat(SLOTS_ABOVE[-1], event.level))
    tick_ms = prod(slots[: event.level - 1])
    return event.slot == event.deadline_ms // tick_ms % slots[event.level - 1]


def judge_code(listener: Listener) -> Step:
    """The learner's code did the work, and none of it failed."""
    demoted, cancelled = listener.count(TimerTaskDemoted), listener.count(TimerTaskCancelled)
    return judge_calls(
        listener, f"{cancelled:,} tasks cancelled in time, {demoted:,} came down a level"
    )


def judge_calls(listener: Listener, seen: str) -> Step:
    """The learner's code was asked, and none of its answers failed. `seen` is what came of it."""
    says = "your code did it, without an error"
    failed = [e.event for e in listener.envelopes if isinstance(e.event, LearnerFailed)]
    if failed:
        first = failed[0]
        where = f"line {first.line}: " if first.line else ""
        return Step(says, False, f"{where}{first.message} ({failed[-1].failures} times)")
    calls = max(
        (e.event.total.calls for e in listener.envelopes if isinstance(e.event, LearnerSampled)),
        default=0,
    )
    if calls == 0:
        return Step(says, False, "broker 2 did not ask your class once")
    return Step(says, True, f"asked {calls:,} times; {seen}")
