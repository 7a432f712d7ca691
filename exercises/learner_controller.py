"""The cluster for the live parts about the controller.

The learner's code runs in all three brokers, because each broker may become the controller.

kafka-python sends the records, because an independent client judges the cluster.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeVar

from kafka import KafkaProducer
from kafka.errors import KafkaError

from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected

from .lab_cluster import zookeeper_of
from .learner_broker import ALL, LearnerBroker, learner_broker
from .runner.manifest import Exercise
from .runner.verdict import Step

E = TypeVar("E")
PROPS: Final[Mapping[str, str]] = {"zookeeper.session.timeout.ms": "6000"}


@contextmanager
def learner_controllers(
    exercise: Exercise,
    file: Path | None,
    topic: str,
    say: Callable[[str], None],
    patience_s: float,
) -> Iterator[LearnerBroker]:
    """Run three brokers for the length of a `with` block, each with the learner's `file`.

    If `file` is None, they run the course's own code. Raises ClusterError.
    """
    with learner_broker(exercise, file, topic, say, patience_s, brokers=ALL, props=PROPS) as broker:
        yield broker


def envelopes_of(broker: LearnerBroker, kind: type) -> list[Envelope]:
    """Return the events of the type `kind` from all brokers, in order of time."""
    found = [
        envelope
        for listener in broker.listeners.values()
        for envelope in list(listener.envelopes)
        if isinstance(envelope.event, kind)
    ]
    return sorted(found, key=lambda envelope: envelope.mono_us)


def of_topic(broker: LearnerBroker, kind: type[E]) -> list[E]:
    """Return the events of the type `kind` that are about the lab's topic, in order of time."""
    events = [envelope.event for envelope in envelopes_of(broker, kind)]
    return [
        event
        for event in events
        if isinstance(event, kind) and getattr(event, "topic", "") == broker.topic
    ]


def controller(broker: LearnerBroker) -> int:
    """Return the number of the broker that was elected controller last."""
    elected = [envelope.broker for envelope in envelopes_of(broker, ControllerElected)]
    if elected and elected[-1] is not None:
        return elected[-1]
    with zookeeper_of(broker.cluster) as zookeeper:  # it was elected before anybody listened
        return int(json.loads(zookeeper.get("/controller")[0])["brokerid"])


def kill_and_wait(broker: LearnerBroker, dies: int) -> Step:
    """Kill the broker `dies`, which leads the partition. The step passes if another broker becomes
    leader.

    The broker `dies` may also be the controller.
    """
    says = f"broker {dies} is killed, and another one leads its partition"
    before = len(of_topic(broker, LeaderElected))
    broker.cluster.kill(dies)

    def leaders() -> list[int]:
        elected = of_topic(broker, LeaderElected)[before:]
        return [event.new_leader for event in elected if event.new_leader not in (-1, dies)]

    if not broker.listener.wait_for(lambda: bool(leaders()), broker.patience_s):
        return Step(says, False, "nobody was elected as its leader", late=True)
    return Step(says, True, f"broker {leaders()[-1]} leads now")


def send_each(broker: LearnerBroker, topic: str, values: Iterable[bytes]) -> int:
    """Send values one after another until one is not acknowledged. Return the number of
    acknowledged values.

    The client knows all brokers, waits for acks=all, and retries, as clients usually do.
    """
    wait_ms = round(broker.patience_s * 1000)
    acked = 0
    with closing(
        KafkaProducer(
            bootstrap_servers=broker.cluster.bootstrap_servers,
            acks="all",
            linger_ms=0,
            max_block_ms=wait_ms,
            delivery_timeout_ms=wait_ms + 30_000,
        )
    ) as producer:
        for value in values:
            try:
                producer.send(topic, value, partition=0).get(broker.patience_s)
            except KafkaError:
                break
            acked += 1
    return acked


def send_to_all(broker: LearnerBroker, says: str, records: int) -> Step:
    """Send records with a client that knows all brokers. The step passes if all records are
    acknowledged.
    """
    acked = send_each(broker, broker.topic, [b"a record of the lab"] * records)
    return Step(says, acked == records, f"{acked} of {records} acked", late=acked < records)
