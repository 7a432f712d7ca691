"""The live part of 10-2: the learner's rule sends consumers to followers. Broker 2 leads in rack
north. Brokers 0 and 1 are in rack east, and one of them is paused.

confluent-kafka reads the records, so that an independent client judges.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaProducer

from kafka_edu.trace.events.replication import ConsumerSentToFollower

from ..lab_cluster import zookeeper_of
from ..learner_broker import BROKER, PATIENT_ISR, LearnerBroker, live_check
from ..learner_controller import send_to_all
from ..runner.verdict import Step

TOPIC: Final = "lab-102"
RECORDS: Final = 20
MORE: Final = 10
RACKS: Final[Mapping[int, str]] = {0: "east", 1: "east", BROKER: "north"}
PROPS: Final[Mapping[str, str]] = {
    **PATIENT_ISR,
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check."""
    yield send_to_all(broker, "records are acked by all three", RECORDS)
    with zookeeper_of(broker.cluster) as zookeeper:
        chief = int(json.loads(zookeeper.get("/controller")[0])["brokerid"])
    sleeper = next(one for one in (0, 1) if one != chief)
    awake = 1 - sleeper
    say(f"broker {sleeper} is paused, and lacks the records that are written now")
    broker.cluster.pause(sleeper)
    yield _write_on(broker)
    say("a consumer reads in rack east, where both followers are")
    yield _sent(broker, "east", awake)
    broker.cluster.resume(sleeper)
    for rack in ("north", "south"):
        say(f"a consumer reads in rack {rack}")
        yield _sent(broker, rack, None)


def _write_on(broker: LearnerBroker) -> Step:
    """Write records with acks=1. The paused follower does not get them, the other follower does."""
    producer = KafkaProducer(
        bootstrap_servers=f"127.0.0.1:{broker.cluster.port(BROKER)}", acks=1, linger_ms=0
    )
    with closing(producer):
        sent = [producer.send(broker.topic, b"more", partition=0) for _ in range(MORE)]
        producer.flush(broker.patience_s)
        written = sum(one.succeeded() for one in sent)
    return Step("broker 2 writes more", written == MORE, f"{written} of {MORE}")


def _sent(broker: LearnerBroker, rack: str, follower: int | None) -> Step:
    """Let a consumer in this rack read the first records, and check whether the leader sends it to
    broker `follower`. With None, the consumer has to read from the leader.
    """
    where = "the leader" if follower is None else "the follower that has all"
    says = f"in rack {rack} a consumer reads from {where}"
    before = len(_of_rack(broker, rack))
    read = _read(broker, rack)
    if read < RECORDS:
        return Step(says, False, f"it read {read} of {RECORDS} records", late=True)
    went = [event.follower for event in _of_rack(broker, rack)[before:]]
    if follower is None:
        seen = f"it was sent to broker {went[0]}" if went else f"it read {read} records there"
        return Step(says, not went, seen)
    if not went:
        return Step(says, False, f"it read {read} records at the leader")
    return Step(says, {*went} == {follower}, f"it was sent to broker {went[0]}")


def _of_rack(broker: LearnerBroker, rack: str) -> list[ConsumerSentToFollower]:
    return [
        event
        for event in broker.listener.events()
        if isinstance(event, ConsumerSentToFollower)
        and event.topic == broker.topic
        and event.rack == rack
    ]


def _read(broker: LearnerBroker, rack: str) -> int:
    """Read the topic with an unmodified consumer in this rack; return the number of records."""
    consumer = Consumer(
        {
            "bootstrap.servers": f"127.0.0.1:{broker.cluster.port(BROKER)}",
            "group.id": "unused",
            "client.rack": rack,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    read = 0

    def some() -> bool:
        nonlocal read
        found = consumer.consume(num_messages=RECORDS, timeout=0.5)
        read += sum(message.error() is None for message in found)
        return read >= RECORDS

    with closing(consumer):
        consumer.assign([TopicPartition(broker.topic, 0, 0)])
        broker.listener.wait_for(some, broker.patience_s)
    return read


check_live: Final = live_check(
    TOPIC, moment, "consumers were sent where they belong", props=PROPS, racks=RACKS
)
