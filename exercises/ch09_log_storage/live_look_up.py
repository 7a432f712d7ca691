"""The live part of 09-1: the learner's class looks up the offsets of a consumer in broker 2.

The broker is restarted before, so that it remembers no position. The consumer then reads single
records from all over the log.

kafka-python reads the records, so that an independent client judges.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from random import Random
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.trace.events.learner import LearnerFailed

from ..learner_broker import BROKER, LearnerBroker, live_check
from ..runner.verdict import Step

TOPIC: Final = "lab-091"
RECORDS: Final = 3_000
READ: Final = 80
PROPS: Final[Mapping[str, str]] = {
    "log.segment.bytes": "60000",
    "log.index.interval.bytes": "2000",
    "zookeeper.session.timeout.ms": "30000",
}
POLL_MS: Final = 500


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check."""
    yield _fill(broker)
    says = f"broker {BROKER} is restarted, and leads again"
    say(says)
    broker.cluster.stop(BROKER)
    broker.cluster.start(BROKER)
    broker.listen_again()
    leads = broker.lead_again()
    yield Step(says, leads, "it remembers no position" if leads else "it does not", late=not leads)
    if leads:
        say(f"a consumer reads {READ} records, here and there")
        yield _read_here_and_there(broker)


def _fill(broker: LearnerBroker) -> Step:
    """Write records with their numbers as values, a few in each batch."""
    producer = broker.producer(batch_bytes=1_000)
    sent = [
        producer.send(broker.topic, b"%06d" % number + bytes(100), partition=0)
        for number in range(RECORDS)
    ]
    producer.flush(broker.patience_s + 30)
    acked = sum(one.succeeded() for one in sent)
    return Step(f"{RECORDS:,} records are acked", acked == RECORDS, f"{acked:,} acked")


def _read_here_and_there(broker: LearnerBroker) -> Step:
    """Seek to offsets in random order, and check that the right record comes first."""
    says = "each record that a consumer asks for is the first that comes"
    partition = TopicPartition(broker.topic, 0)
    with closing(
        KafkaConsumer(
            bootstrap_servers=f"127.0.0.1:{broker.cluster.port(BROKER)}",
            group_id=None,
            max_partition_fetch_bytes=4_000,
            fetch_max_wait_ms=POLL_MS,
        )
    ) as consumer:
        consumer.assign([partition])
        for offset in Random(91).sample(range(RECORDS), READ):
            consumer.seek(partition, offset)
            came = _first(broker, consumer, partition)
            if came is None:
                return Step(says, False, f"offset {offset}: nothing came", late=True)
            if came != offset:
                return Step(says, False, f"offset {offset} was wanted, and {came} came")
    return Step(says, True, f"{READ} of {READ}")


def _first(broker: LearnerBroker, consumer: KafkaConsumer, partition: TopicPartition) -> int | None:
    """Return the number in the first record that arrives; None if no record arrives in time."""
    found: list[int] = []

    def came() -> bool:
        for records in consumer.poll(timeout_ms=POLL_MS, max_records=1).values():
            found.extend(int(one.value[:6]) for one in records)
        failed = any(isinstance(one, LearnerFailed) for one in broker.listener.events())
        return bool(found) or (failed and consumer.position(partition) is None)

    broker.listener.wait_for(came, broker.patience_s)
    return found[0] if found else None


check_live: Final = live_check(TOPIC, moment, "offsets were looked up", props=PROPS)
