"""The live part of 03-2: the learner's condition decides when broker 2 answers produces with
acks=all, under an unmodified client.

While the followers fetch, each produce is acknowledged. While one of them is paused none may be: it
is in the ISR, and does not have the records. When it goes on they are acknowledged again, and a
consumer finds all that was. The learner's code has no hand in what producer and consumer see.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.purgatory import OperationCompleted

from ..ch02_timing_wheel.live import (
    BROKER,
    PATIENT_ISR,
    PRODUCE_TIMEOUT_MS,
    Listener,
    create_topic,
    judge_calls,
    make_producer,
    send,
)
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
        create_topic(cluster, listener, patience_s, TOPIC)
        producer = stack.enter_context(closing(make_producer(cluster, round(patience_s * 1000))))

        say(f"{RECORDS} records with acks=all: each waits for two followers")
        acked = sum([send(producer, TOPIC) for _ in range(RECORDS)])
        yield _all_acked("produces with acks=all are acked", acked, RECORDS)

        say(f"{WHILE_PAUSED} records while follower 0 is paused: nobody may acknowledge them")
        impatient = stack.enter_context(closing(make_producer(cluster, PRODUCE_TIMEOUT_MS)))
        acked += send(impatient, TOPIC)  # so that it knows the cluster before one of it is silent
        cluster.pause(0)
        early = sum([send(impatient, TOPIC) for _ in range(WHILE_PAUSED)])
        cluster.resume(0)
        yield Step(
            "no record is acked that a replica of the ISR lacks",
            not early,
            f"{early} of {WHILE_PAUSED} were acked while a follower of the ISR was paused: if the"
            " leader dies now, they may be gone"
            if early
            else f"{WHILE_PAUSED} produces timed out after {PRODUCE_TIMEOUT_MS:,} ms",
        )

        say("the follower goes on, and so do the produces")
        again = sum([send(producer, TOPIC) for _ in range(AFTERWARDS)])
        yield _all_acked("produces are acked again", again, AFTERWARDS)
        wanted = acked + early + again
        found = _readable(cluster, wanted, patience_s)
        yield Step(
            "a consumer finds all records that were acked",
            found >= wanted,
            f"{found} records, {wanted} of them acked",
            late=found < wanted,
        )
        if file is not None:
            completed = listener.count(OperationCompleted)
            yield judge_calls(listener, f"{completed:,} delayed operations of broker 2 completed")


def _all_acked(says: str, acked: int, sent: int) -> Step:
    return Step(says, acked == sent, f"{acked} of {sent} acked", late=acked < sent)


def _readable(cluster: Cluster, wanted: int, patience_s: float) -> int:
    """Return how many records a consumer gets, if it waits for so many."""
    with closing(
        KafkaConsumer(
            bootstrap_servers=f"127.0.0.1:{cluster.port(BROKER)}", auto_offset_reset="earliest"
        )
    ) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0)])
        found = 0
        for _ in range(max(1, round(patience_s * 1000) // READ_MS)):
            polled = consumer.poll(timeout_ms=READ_MS).values()
            found += sum(len(records) for records in polled)
            if found >= wanted:
                break
        return found
