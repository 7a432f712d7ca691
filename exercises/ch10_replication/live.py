"""The live part of 10-1: the learner's rules move the high watermarks of broker 2, which leads one
topic and follows in another. Meanwhile a follower is paused.

kafka-python writes and reads the records, so that an independent client judges.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.trace.events.replication import (
    FollowerFetched,
    HighWatermarkAdvanced,
    IsrExpanded,
    IsrShrunk,
)

from ..lab_cluster import zookeeper_of
from ..learner_broker import BROKER, SHORT_TIMEOUT_MS, LearnerBroker, live_check
from ..learner_controller import send_to_all
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-101"
FOLLOWED: Final = "lab-101-followed"
RECORDS: Final = 20
WAITING: Final = 3
PROPS: Final[Mapping[str, str]] = {
    "replica.lag.time.max.ms": "12000",
    "zookeeper.session.timeout.ms": "60000",
}


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check."""
    cluster = broker.cluster
    yield send_to_all(broker, "records are acked by all three", RECORDS)
    sleeper = _follower(broker)
    # Both clients know the leader before the pause: else they may ask the paused broker for it.
    producer, consumer = broker.producer(SHORT_TIMEOUT_MS), _consumer(broker)
    with closing(consumer):
        producer.partitions_for(broker.topic)
        _end(broker, consumer)
        say(f"broker {sleeper} is paused, and stays in the ISR for some seconds")
        cluster.pause(sleeper)
        yield _waits(broker, sleeper, producer, consumer)
    yield _leaves(broker, sleeper)
    cluster.resume(sleeper)
    say(f"broker {sleeper} continues, and catches up")
    yield _joins(broker)
    yield send_to_all(broker, "records are acked by all three again", RECORDS)
    yield _proved(broker)
    say("broker 2 follows in another topic")
    yield _follows(broker)


def _follower(broker: LearnerBroker) -> int:
    """Return the id of a follower that is not the controller, so that it can be paused."""
    with zookeeper_of(broker.cluster) as zookeeper:
        chief = int(json.loads(zookeeper.get("/controller")[0])["brokerid"])
    return next(one for one in broker.cluster.broker_ids if one not in (BROKER, chief))


def _consumer(broker: LearnerBroker) -> KafkaConsumer:
    return KafkaConsumer(bootstrap_servers=f"127.0.0.1:{broker.cluster.port(BROKER)}")


def _end(broker: LearnerBroker, consumer: KafkaConsumer) -> int:
    """Return the offset up to which a consumer may read, as broker 2 says."""
    partition = TopicPartition(broker.topic, 0)
    return int(consumer.end_offsets([partition])[partition])


def _waits(
    broker: LearnerBroker, sleeper: int, producer: KafkaProducer, consumer: KafkaConsumer
) -> Step:
    """Send records that the paused follower lacks. None may be acknowledged or readable."""
    says = "what the paused follower lacks is neither acked nor shown"
    sent = [producer.send(broker.topic, b"it waits", partition=0) for _ in range(WAITING)]
    end = _end(broker, consumer)
    acked = 0
    for one in sent:
        try:
            one.get(broker.patience_s)
            acked += 1
        except KafkaError:
            continue
    if any(sleeper not in event.after for event in _of_topic(broker, IsrShrunk)):
        return Step(says, False, "it has left the ISR before anything was seen", late=True)
    seen = f"{acked} of {WAITING} acked; a consumer may read up to {end}"
    return Step(says, acked == 0 and end <= RECORDS, seen)


def _leaves(broker: LearnerBroker, sleeper: int) -> Step:
    """Wait until the paused follower has left the ISR. Then all records have to be committed."""
    says = "it leaves the ISR, and what waited is committed"
    gone = broker.listener.wait_for(
        lambda: any(sleeper not in event.after for event in _of_topic(broker, IsrShrunk)),
        broker.patience_s,
    )
    if not gone:
        return Step(says, False, "it is still a member", late=True)
    wanted = RECORDS + WAITING
    with closing(_consumer(broker)) as consumer:
        came = broker.listener.wait_for(lambda: _end(broker, consumer) >= wanted, broker.patience_s)
        end = _end(broker, consumer)
    return Step(says, came, f"a consumer may read up to {end} of {wanted}", late=not came)


def _joins(broker: LearnerBroker) -> Step:
    """Check that the follower joins the ISR again."""
    says = "it joins the ISR again"
    came = broker.listener.wait_for(lambda: bool(_of_topic(broker, IsrExpanded)), broker.patience_s)
    return Step(says, came, "" if came else "it is still no member", late=not came)


def _of_topic(broker: LearnerBroker, kind: type) -> list[IsrShrunk | IsrExpanded]:
    return [
        event
        for event in broker.listener.events()
        if isinstance(event, IsrShrunk | IsrExpanded)
        and isinstance(event, kind)
        and event.topic == broker.topic
    ]


def _proved(broker: LearnerBroker) -> Step:
    """Compare each move of the leader's high watermark with the ISR's fetches before that move."""
    says = "the mark never passes what a member of the ISR has fetched"
    fetched: dict[int, int] = {}
    isr: tuple[int, ...] = tuple(broker.cluster.broker_ids)
    moves = 0
    for event in broker.listener.events():
        if getattr(event, "topic", "") != broker.topic:
            continue
        match event:
            case FollowerFetched():
                fetched[event.follower] = event.fetch_offset
            case IsrShrunk() | IsrExpanded():
                isr = event.after
            case HighWatermarkAdvanced(is_leader=True):
                moves += 1
                for member in isr:
                    if member != BROKER and fetched.get(member, 0) < event.after:
                        return Step(
                            says,
                            False,
                            f"it moved to {event.after}, and broker {member} had fetched from"
                            f" {fetched.get(member, 0)}",
                        )
    return Step(says, moves > 0, f"{moves} moves")


def _follows(broker: LearnerBroker) -> Step:
    """Write to a topic that broker 2 follows. Its high watermark has to reach the log end."""
    says = "as a follower, it takes the leader's mark"
    leader = next(one for one in broker.cluster.broker_ids if one != BROKER)
    make_topic(broker.cluster, FOLLOWED, [leader, BROKER])
    producer = KafkaProducer(
        bootstrap_servers=broker.cluster.bootstrap_servers,
        acks="all",
        linger_ms=0,
        max_block_ms=round(broker.patience_s * 1000),
    )
    with closing(producer):
        for _ in range(RECORDS):
            producer.send(FOLLOWED, b"a record of the lab").get(broker.patience_s)

    def mark() -> int:
        marks = [
            event.after
            for event in broker.listener.events()
            if isinstance(event, HighWatermarkAdvanced)
            and event.topic == FOLLOWED
            and not event.is_leader
        ]
        return marks[-1] if marks else 0

    came = broker.listener.wait_for(lambda: mark() == RECORDS, broker.patience_s)
    return Step(says, came, f"its mark is {mark()} of {RECORDS}", late=not came)


check_live: Final = live_check(TOPIC, moment, "the marks moved", props=PROPS)
