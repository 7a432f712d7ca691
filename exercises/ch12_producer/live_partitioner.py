"""The live part of 12-2: the learner's class is the DefaultPartitioner of our producer.

This producer sends records to one topic. An unmodified client sends the same keys to another.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.trace.events.producer import BatchDrained

from ..learner_client import LearnerClient, NoAnswerError, Record, Stored, learner_client
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-122"
OTHER: Final = "lab-122-other"
PARTITIONS: Final = 7
KEYS: Final[Sequence[str]] = [f"{'customer ' * (n % 5)}{n}" for n in range(500)]
PLAIN: Final = 1_500
"""How many records have no key."""
BATCH_BYTES: Final = 2_000
LEAST_FILLED: Final = 10
"""The least number of records without keys in a batch. A batch has room for 29 or 30."""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in a producer, and yield the result
    of each check.
    """
    say(f"starting three brokers, and a producer with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}") as cluster:
        for topic in (TOPIC, OTHER):
            make_topic(cluster, topic, [0, 1, 2], PARTITIONS)
        config = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "batch.size": BATCH_BYTES,
            "linger.ms": 60_000,
            "delivery.timeout.ms": 600_000,
        }
        try:
            with learner_client(exercise.id, file, config, patience_s) as client:
                yield _keys(client, cluster, say)
                yield _plain(client, say)
                if file is not None:
                    yield client.judge_calls("partitions were chosen")
        except NoAnswerError as error:
            yield Step("the producer does its work", False, str(error), late=True)


def _keys(client: LearnerClient, cluster: Cluster, say: Callable[[str], None]) -> Step:
    """Send the same keys by both clients, and compare their partitions."""
    says = f"{len(KEYS)} keys are in the partitions that another client chose"
    say(f"both clients send {len(KEYS)} keys")
    client.send([Record(TOPIC, None, key, "by ours") for key in KEYS])
    outcomes = client.flush()
    theirs = _by_confluent(cluster, client.patience_s)
    for key, outcome in zip(KEYS, outcomes, strict=True):
        if not isinstance(outcome, Stored):
            return Step(says, False, f"key {key!r} was not stored: {outcome}", late=True)
        if outcome.partition != theirs[key]:
            return Step(
                says,
                False,
                f"key {key!r} is in partition {outcome.partition}, and confluent-kafka has put it"
                f" into partition {theirs[key]}",
            )
    used = len({outcome.partition for outcome in outcomes if isinstance(outcome, Stored)})
    return Step(says, True, f"in {used} partitions")


def _by_confluent(cluster: Cluster, patience_s: float) -> dict[str, int]:
    """Send the keys by confluent-kafka. Return the partition of each. Raises ClusterError."""
    found: dict[str, int] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            found[(message.key() or b"").decode()] = message.partition() or 0

    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "partitioner": "murmur2_random",
            "log_level": 0,
        }
    )
    for key in KEYS:
        producer.produce(OTHER, key=key.encode(), value=b"by another", on_delivery=delivered)
    producer.flush(patience_s)
    if len(found) < len(KEYS):
        raise ClusterError(f"confluent-kafka has stored {len(found)} of {len(KEYS)} records")
    return found


def _plain(client: LearnerClient, say: Callable[[str], None]) -> Step:
    """Send records without keys. They fill one batch after the other."""
    says = f"{PLAIN:,} records without keys fill one batch after the other"
    say(f"{PLAIN:,} records without keys are sent")
    before = client.listener.count(BatchDrained)
    client.send([Record(TOPIC, None, None, "x" * 60) for _ in range(PLAIN)])
    lost = [one for one in client.flush() if not isinstance(one, Stored)]
    if lost:
        return Step(says, False, f"{len(lost)} were not stored: {lost[0]}", late=True)

    def batches() -> list[BatchDrained]:
        all_of_them = [e for e in client.listener.events() if isinstance(e, BatchDrained)]
        return all_of_them[before:]

    if not client.listener.wait_for(
        lambda: sum(one.records for one in batches()) >= PLAIN, client.patience_s
    ):
        return Step(says, False, "the events of the producer do not come", late=True)
    found = batches()
    small = sum(one.records < LEAST_FILLED for one in found)
    seen = f"{len(found)} batches, {PLAIN // len(found)} records in each, in"
    partitions = len({one.partition for one in found})
    return Step(says, small <= 1 and partitions > 1, f"{seen} {partitions} partitions")
