"""The live part of 07-3: broker 2 writes records that the other brokers do not get, and dies. Then
broker 2 follows a different leader, and the learner's rule says where its log is cut.

kafka-python writes and reads the records, because the check uses a client that we did not write.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, Literal

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.trace.events.replication import (
    HighWatermarkAdvanced,
    LogTruncatedByEpoch,
)

from ..learner_broker import BROKER, LearnerBroker, learner_broker
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-073"
COMMITTED: Final = 10
ALONE: Final = 5
LATER: Final = 3
PROPS: Final[Mapping[str, str]] = {
    "zookeeper.session.timeout.ms": "12000",  # the followers stay in the ISR while they stand still
    "replica.lag.time.max.ms": "60000",
}


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in broker 2, and yield the result of each check. If `file` is None,
    run the course's own code.
    """
    with learner_broker(exercise, file, TOPIC, say, patience_s, props=PROPS) as broker:
        yield from moment(broker, say)
        if file is not None:
            yield broker.judge_calls("a log was cut")


def _nothing() -> Iterator[Step]:
    return iter(())


def moment(
    broker: LearnerBroker,
    say: Callable[[str], None],
    meanwhile: Callable[[], Iterator[Step]] = _nothing,
) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check.

    Broker 2 has some records that no other broker has. It dies, and later follows a different
    leader. The steps of `meanwhile` run while broker 2 is dead.
    """
    cluster = broker.cluster
    with closing(_producer(broker, f"127.0.0.1:{cluster.port(BROKER)}", 1)) as alone:
        yield _send(broker, "records are acked by broker 2", alone, "committed", COMMITTED)
        yield _all_have_them(broker)
        say("both followers are paused, and broker 2 writes records that they do not get")
        for follower in (0, 1):
            cluster.pause(follower)
        yield _send(broker, "broker 2 acks records alone (acks=1)", alone, "alone", ALONE)
    say("broker 2 is killed, and the followers continue")
    cluster.kill(BROKER)
    for follower in (0, 1):
        cluster.resume(follower)
    with closing(_producer(broker, cluster.bootstrap_servers, "all")) as all_of_them:
        yield _send(broker, "another leader acks records", all_of_them, "later", LATER)
    yield from meanwhile()
    say("broker 2 comes back, and follows")
    cluster.start(BROKER)
    broker.listen_again()
    yield _cuts(broker)
    say("broker 2 leads again, and is read")
    yield _same(broker)


def _producer(broker: LearnerBroker, servers: str, acks: Literal["all", 1]) -> KafkaProducer:
    return KafkaProducer(
        bootstrap_servers=servers,
        acks=acks,
        linger_ms=0,
        enable_idempotence=False,
        max_block_ms=round(broker.patience_s * 1000),
        delivery_timeout_ms=round(broker.patience_s * 1000) + 30_000,
    )


def _send(broker: LearnerBroker, says: str, producer: KafkaProducer, name: str, count: int) -> Step:
    """Send records one after another, and check that each is acknowledged."""
    acked = 0
    for number in range(count):
        try:
            value = f"{name} {number}".encode()
            producer.send(broker.topic, value, partition=0).get(broker.patience_s + 30)
            acked += 1
        except KafkaError:
            break
    return Step(says, acked == count, f"{acked} of {count}", late=acked < count)


def _all_have_them(broker: LearnerBroker) -> Step:
    """Check that all three brokers have the records: the high watermark is at the end of the
    records.
    """

    def hw() -> int:
        events = broker.listener.events()
        found = [
            e for e in events if isinstance(e, HighWatermarkAdvanced) and e.topic == broker.topic
        ]
        return found[-1].after if found else 0

    came = broker.listener.wait_for(lambda: hw() >= COMMITTED, broker.patience_s)
    says = "all three have them"
    return Step(says, came, f"the high watermark is {hw()}", late=not came)


def _cuts(broker: LearnerBroker) -> Step:
    """Check that the log is cut where the epoch of its last record ends in the leader's log."""
    says = "broker 2 cuts its log exactly where the two part"

    def cut() -> list[LogTruncatedByEpoch]:
        return [
            event
            for event in broker.listener.events()
            if isinstance(event, LogTruncatedByEpoch) and event.topic == broker.topic
        ]

    def done() -> bool:
        return any(event.complete for event in cut())

    if not broker.listener.wait_for(done, broker.patience_s):
        return Step(says, False, "it has not asked the leader to the end", late=True)
    first = cut()[0]
    parts = min(first.leader_end_offset, first.before)
    return Step(
        says,
        first.after == parts,
        f"it cut from {first.before} to {first.after}; in the leader's log that epoch ends at"
        f" {first.leader_end_offset}",
    )


def _same(broker: LearnerBroker) -> Step:
    """Let broker 2 lead again, and check that it has exactly the records that the leader before it
    had.
    """
    says = "its log equals the last leader's"

    if not broker.lead_again():
        return Step(says, False, "it does not come into the ISR again", late=True)
    values = _read(broker)
    later = [value for value in values if value.startswith("later")]
    wanted = [
        *(f"committed {n}" for n in range(COMMITTED)),
        *(value for value in values if value.startswith("alone")),
        *(f"later {n}" for n in range(LATER)),
    ]
    alone = len(values) - len(later) - COMMITTED
    return Step(
        says,
        values == wanted and alone < ALONE,
        f"{len(values)} records, {alone} of which had come to the last leader before"
        if values == wanted
        else f"{', '.join(values[-8:])}",
    )


def _read(broker: LearnerBroker) -> list[str]:
    """Return the values of all records that a consumer reads from broker 2, the leader."""
    partition = TopicPartition(broker.topic, 0)
    values: list[str] = []
    with closing(
        KafkaConsumer(bootstrap_servers=broker.cluster.bootstrap_servers, group_id=None)
    ) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            polled = consumer.poll(timeout_ms=round(broker.patience_s * 1000))
            if not polled:
                break
            values += [one.value.decode() for records in polled.values() for one in records]
    return values
