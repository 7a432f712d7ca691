"""The cluster of a live part, which checks the learner's code in real brokers.

There are three brokers. Usually only broker 2 runs the learner's code, in some exercises all three
do. The clients are unmodified. Broker 2 leads the topic's only partition. The events of the brokers
that run the learner's code are collected.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kafka import KafkaProducer
from kafka.errors import KafkaError

from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.learner import (
    LearnerFailed,
    LearnerSampled,
    LearnerServed,
    LearnerSnapshot,
)
from kafka_edu.trace.events.replication import BecameLeader
from kafka_edu.trace.events.server import MetadataUpdated
from kafka_edu.trace.trace_client import EventsAddress, TraceClient

from .runner.manifest import Exercise
from .runner.topics import make_topic
from .runner.verdict import Step

BROKER: Final = 2
PAUSED: Final = 0
"""The number of the broker that a live part pauses. It is a follower."""
SHORT_TIMEOUT_MS: Final = 1_500
"""The request time-out, in ms, of the produces that are meant to expire."""
PATIENT_ISR: Final = {"replica.lag.time.max.ms": "60000", "zookeeper.session.timeout.ms": "30000"}
"""Broker settings that keep a paused follower in the ISR, so that the leader has to wait for it."""
ALL: Final = (0, 1, 2)
NO_RACKS: Final[Mapping[int, str]] = MappingProxyType({})
_LOOK_EVERY_S: Final = 0.05
_TOTALS: Final = LearnerSampled | LearnerSnapshot | LearnerServed


class Listener:
    """Collects the events of one broker in a thread, until it is closed."""

    def __init__(self, address: EventsAddress, since_us: int | None = None) -> None:
        """Begin to listen. With `since_us=0` it also receives the past events that the broker still
        has.
        """
        self._client = TraceClient(address, Level.ALL, gauges=True, since_us=since_us)
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
        """Wait until `done` returns True. Return False if it does not within `patience_s`
        seconds.
        """
        end = time.monotonic() + patience_s
        while not done():
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK_EVERY_S)
        return True

    def events(self) -> list[object]:
        """Return all events that have been received so far."""
        return [envelope.event for envelope in list(self.envelopes)]

    def count(self, kind: type) -> int:
        return sum(isinstance(envelope.event, kind) for envelope in self.envelopes)


class LearnerBroker:
    """The cluster of a live part, its topic, and the listeners to its brokers."""

    def __init__(
        self,
        cluster: Cluster,
        listeners: Mapping[int, Listener],
        topic: str,
        patience_s: float,
        stack: ExitStack,
    ) -> None:
        self.cluster = cluster
        self.listeners = listeners
        """The listener of each broker that runs the learner's code, by the broker's number."""
        self.listener = listeners[BROKER]
        """The listener of broker 2. After a restart, `listen_again` makes a new one."""
        self._heard = list(listeners.values())
        self.topic = topic
        self.patience_s = patience_s
        self._stack = stack

    def producer(
        self, timeout_ms: int | None = None, *, batch_bytes: int = 16_384
    ) -> KafkaProducer:
        """Return a producer with acks=all that does not retry.

        A batch has at most `batch_bytes` bytes. Only a batch of one record may be larger.

        Its requests time out after `timeout_ms`; with None, after the patience of the live part.
        """
        wait_ms = round(self.patience_s * 1000) if timeout_ms is None else timeout_ms
        return self._stack.enter_context(
            closing(
                KafkaProducer(
                    bootstrap_servers=f"127.0.0.1:{self.cluster.port(BROKER)}",
                    acks="all",
                    retries=0,
                    linger_ms=0,
                    batch_size=batch_bytes,
                    enable_idempotence=False,
                    request_timeout_ms=wait_ms,
                    delivery_timeout_ms=wait_ms + 20_000,
                )
            )
        )

    def send(self, producer: KafkaProducer) -> bool:
        """Send one record, which is alone in its request. Return whether it was acknowledged."""
        try:
            producer.send(self.topic, b"a record of the lab", partition=0).get()
        except KafkaError:
            return False
        return True

    def send_all(self, says: str, producer: KafkaProducer, records: int) -> Step:
        """Send records one after the other. The step passes if all of them are acknowledged."""
        acked = sum([self.send(producer) for _ in range(records)])
        return Step(says, acked == records, f"{acked} of {records} acked", late=acked < records)

    def listen_again(self) -> None:
        """Listen to broker 2 after it was restarted, from its first event on."""
        self.listener = Listener(self.cluster.events_address(BROKER), since_us=0)
        self._stack.callback(self.listener.close)
        self._heard.append(self.listener)

    def lead_again(self) -> bool:
        """Request the election of broker 2, the preferred leader, again and again until it leads.

        The request is refused while broker 2 is not in sync. Return whether broker 2 leads in the
        end. Before, call `listen_again`, so that the listener listens to the current process of
        broker 2.
        """

        def leads() -> bool:
            for event in self.listener.events():
                if isinstance(event, BecameLeader) and event.topic == self.topic:
                    return True
            with suppress(ClusterError):
                self.cluster.perform("elect-preferred", {"partition": f"{self.topic}-0"})
            return False

        return self.listener.wait_for(leads, self.patience_s)

    def judge_calls(self, seen: str) -> Step:
        """Return a step: it passes if the learner's code was called, and no call failed.

        The step shows `seen`, the result of the calls.
        """
        says = "your code did it, without an error"
        events = [each.event for one in self._heard for each in one.envelopes]
        failed = [event for event in events if isinstance(event, LearnerFailed)]
        if failed:
            first = failed[0]
            where = f"line {first.line}: " if first.line else ""
            return Step(says, False, f"{where}{first.message} ({failed[-1].failures} times)")
        totals = [
            [e.total for e in one.events() if isinstance(e, _TOTALS)][-1:] for one in self._heard
        ]
        calls = sum(total.calls for last in totals for total in last)
        earlier = sum(total.failures for last in totals for total in last)
        if earlier:  # nobody listened yet
            return Step(says, False, f"it failed {earlier} times while the brokers started")
        if calls == 0:
            who = f"broker {BROKER}" if len(self.listeners) == 1 else "no broker"
            did = "did not ask" if len(self.listeners) == 1 else "asked"
            return Step(says, False, f"{who} {did} your class once")
        return Step(says, True, f"asked {calls:,} times; {seen}")

    def create_topic(self) -> None:
        """Create the topic with one partition on all brokers, led by broker 2.

        Wait until broker 2's metadata names broker 2 as the leader. Raises ClusterError.

        If broker 2 is the controller, the learner's timing wheel also holds the time-out of this
        request. If that wheel is wrong, the response may come too early, but the topic is created
        nevertheless.
        """
        topic = self.topic
        make_topic(self.cluster, topic, [BROKER, 0, 1])

        def leads_and_says_so() -> bool:
            facts = [envelope.event for envelope in list(self.listener.envelopes)]
            leads = any(isinstance(fact, BecameLeader) and fact.topic == topic for fact in facts)
            return leads and any(
                isinstance(fact, MetadataUpdated) and f"{topic}-0" in fact.updated for fact in facts
            )

        if not self.listener.wait_for(leads_and_says_so, self.patience_s):
            raise ClusterError(
                f"broker {BROKER} does not lead topic {topic} after {self.patience_s:.0f} s; see"
                f" {self.cluster.folder.path}/*/broker.log"
            )


@contextmanager
def learner_broker(
    exercise: Exercise,
    file: Path | None,
    topic: str,
    say: Callable[[str], None],
    patience_s: float,
    *,
    brokers: Sequence[int] = (BROKER,),
    props: Mapping[str, str] = PATIENT_ISR,
    racks: Mapping[int, str] = NO_RACKS,
    with_relays: bool = False,
) -> Iterator[LearnerBroker]:
    """Run three brokers for the length of a `with` block. Yield them with the created topic.

    The brokers in `brokers` run the learner's `file`. If `file` is None, all of them run the
    course's own code. `racks` has the broker.rack of each broker. With relays, the connections of
    clients can be ended. Raises ClusterError.
    """
    where = f"broker {BROKER}" if len(brokers) == 1 else "all of them"
    say(f"starting three brokers, {'yours' if file is not None else 'ours'} in {where}")
    serves = {"edu.learner": f"{exercise.id}={file.absolute()}"} if file is not None else {}
    with ExitStack() as stack:
        cluster = stack.enter_context(
            running_cluster(
                f"lab-{exercise.id}",
                props=props,
                broker_props={
                    each: {
                        **(serves if each in brokers else {}),
                        **({"broker.rack": racks[each]} if each in racks else {}),
                    }
                    for each in ALL
                },
                with_relays=with_relays,
            )
        )
        listeners = {each: Listener(cluster.events_address(each)) for each in brokers}
        for listener in listeners.values():
            stack.callback(listener.close)
        broker = LearnerBroker(cluster, listeners, topic, patience_s, stack)
        broker.create_topic()
        yield broker


Moment = Callable[[LearnerBroker, Callable[[str], None]], Iterator[Step]]
CheckLive = Callable[[Exercise, Path | None, Callable[[str], None], float], Iterator[Step]]


def live_check(
    topic: str,
    moment: Moment,
    seen: str,
    *,
    props: Mapping[str, str] = PATIENT_ISR,
    racks: Mapping[int, str] = NO_RACKS,
    with_relays: bool = False,
) -> CheckLive:
    """Return the function that runs a live part: `moment` in a cluster with the learner's code in
    broker 2. At the end it judges the calls of that code, and shows `seen`, their result.
    """

    def check_live(
        exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
    ) -> Iterator[Step]:
        """Run the learner's `file` (the shipped code if it is None), and yield the result of each
        check.
        """
        with learner_broker(
            exercise,
            file,
            topic,
            say,
            patience_s,
            props=props,
            racks=racks,
            with_relays=with_relays,
        ) as broker:
            yield from moment(broker, say)
            if file is not None:
                yield broker.judge_calls(seen)

    return check_live
