"""The live part of exercise 03-2: the learner's condition decides when broker 2 answers produces
with acks=all from an unmodified client.

While all followers fetch, each produce must be acknowledged. While a follower is paused, no produce
may be acknowledged, because this follower is in the ISR and lacks the records. When the follower
runs again, produces must be acknowledged, and a consumer must find all records. Only what the
producer and the consumer see is graded.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.trace.events.purgatory import OperationCompleted
from kafka_edu.trace.events.replication import IsrShrunk

from ..learner_broker import BROKER, PAUSED, SHORT_TIMEOUT_MS, LearnerBroker, learner_broker
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-03"
RECORDS: Final = 40
AFTERWARDS: Final = 10
WHILE_PAUSED: Final = 3
READ_MS: Final = 1_000


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in broker 2, and yield the result of each step. If `file` is None,
    run the course's own code.
    """
    with learner_broker(exercise, file, TOPIC, say, patience_s) as broker:
        yield from moment(broker, say)
        if file is not None:
            completed = broker.listener.count(OperationCompleted)
            yield broker.judge_calls(f"{completed:,} delayed operations of the broker completed")


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Put load on broker 2, and yield the result of each step.

    The produces have to wait for a follower that is paused.
    """
    producer = broker.producer()
    say(f"{RECORDS} records with acks=all: each waits for two followers")
    yield broker.send_all("produces with acks=all are acked", producer, RECORDS)

    say(f"{WHILE_PAUSED} records while follower {PAUSED} is paused: none may be acknowledged")
    impatient = broker.producer(SHORT_TIMEOUT_MS)
    broker.send(impatient)  # so the producer has metadata before a broker pauses
    broker.cluster.pause(PAUSED)
    early = sum([broker.send(impatient) for _ in range(WHILE_PAUSED)])
    broker.cluster.resume(PAUSED)
    yield _none_early(early, out_of_isr=broker.listener.count(IsrShrunk) > 0)

    say("the follower continues, and so do the produces")
    yield broker.send_all("produces are acked again", producer, AFTERWARDS)
    yield _all_readable(broker, RECORDS + early + AFTERWARDS)


def _none_early(early: int, *, out_of_isr: bool) -> Step:
    """Check that no produce was acked early. If the ISR has shrunk, a failure is marked as late,
    because the paused follower may have left the ISR before the produce requests.
    """
    return Step(
        "no record is acked that a replica of the ISR lacks",
        not early,
        f"{early} of {WHILE_PAUSED} were acked while a follower of the ISR was paused: if the"
        " leader dies now, they may be gone"
        if early
        else f"{WHILE_PAUSED} produces timed out after {SHORT_TIMEOUT_MS:,} ms",
        late=early > 0 and out_of_isr,
    )


def _all_readable(broker: LearnerBroker, wanted: int) -> Step:
    """Check that a consumer finds all acknowledged records."""
    with closing(
        KafkaConsumer(
            bootstrap_servers=f"127.0.0.1:{broker.cluster.port(BROKER)}",
            auto_offset_reset="earliest",
        )
    ) as consumer:
        consumer.assign([TopicPartition(broker.topic, 0)])
        found = 0
        for _ in range(max(1, round(broker.patience_s * 1000) // READ_MS)):
            polled = consumer.poll(timeout_ms=READ_MS).values()
            found += sum(len(records) for records in polled)
            if found >= wanted:
                break
    return Step(
        "a consumer finds all records that were acked",
        found >= wanted,
        f"{found} records, {wanted} of them acked",
        late=found < wanted,
    )
