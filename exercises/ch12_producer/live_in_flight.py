"""The live part of 12-3: the learner's class decides which batches are in flight in two producers.

One producer has at most one request in flight, and the other producer is idempotent. A follower is
stopped, so the leader refuses batches. Then the leader is killed with requests in flight, and comes
back.

kafka-python reads the records, so that an independent client judges our producers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.producer import BatchDrained, BatchRetried

from ..learner_broker import PATIENT_ISR
from ..learner_client import LearnerClient, NoAnswerError, Outcome, Record, Stored, learner_client
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-123"
LEADER: Final = 2
FOLLOWER: Final = 0
PARTITIONS: Final = 2
EACH: Final = 10
"""How many records each partition gets from a producer, in each of its two troubles."""
REFUSALS: Final = 6
POLL_MS: Final = 500
LONG_MS: Final = 600_000
ONE: Final = "one request in flight"
IDEMPOTENT: Final = "idempotence"


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in two producers, and yield the
    result of each check.
    """
    say(f"starting three brokers, and a producer with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}", props=PATIENT_ISR) as cluster:
        configs = {"min.insync.replicas": "3"}
        make_topic(cluster, TOPIC, [LEADER, FOLLOWER, 1], PARTITIONS, configs)
        sent: dict[int, list[str]] = {n: [] for n in range(PARTITIONS)}
        try:
            for name, more in (
                (ONE, {"max.in.flight.requests.per.connection": 1}),
                (IDEMPOTENT, {"enable.idempotence": True}),
            ):
                config = {
                    "bootstrap.servers": cluster.bootstrap_servers,
                    "acks": "all",
                    "batch.size": 0,
                    "retry.backoff.ms": 100,
                    "request.timeout.ms": LONG_MS,
                    "delivery.timeout.ms": 2 * LONG_MS,
                    **more,
                }
                with learner_client(exercise.id, file, config, patience_s) as client:
                    yield _refused(client, cluster, name, sent, say)
                    yield _killed(client, cluster, name, sent, say)
                    if name == IDEMPOTENT:
                        yield _read(cluster, sent, patience_s)
                    if file is not None:
                        yield client.judge_calls(f"it has decided, with {name}")
        except NoAnswerError as error:
            yield Step("each record is sent", False, str(error), late=True)


def _records(name: str, trouble: str, sent: dict[int, list[str]]) -> list[Record]:
    """Return new records for all partitions, and add their values to `sent`."""
    records = [
        Record(TOPIC, n, None, f"{name}, {trouble}: {number}")
        for number in range(EACH)
        for n in range(PARTITIONS)
    ]
    for record in records:
        assert record.partition is not None
        sent[record.partition].append(record.value)
    return records


def _judge(says: str, outcomes: Sequence[Outcome]) -> Step:
    """Check that all records are stored, in the order in which they were sent."""
    stored = [one for one in outcomes if isinstance(one, Stored)]
    if len(stored) < len(outcomes):
        error = next(one for one in outcomes if not isinstance(one, Stored))
        return Step(says, False, f"{len(stored)} of {len(outcomes)} are stored; the error: {error}")
    for partition in range(PARTITIONS):
        offsets = [one.offset for one in stored if one.partition == partition and one.offset >= 0]
        if offsets != sorted(offsets):
            shown = ", ".join(map(str, offsets))
            return Step(says, False, f"partition {partition} has them at {shown}")
    return Step(says, True, f"{len(stored)} records, in their order")


def _refused(
    client: LearnerClient,
    cluster: Cluster,
    name: str,
    sent: dict[int, list[str]],
    say: Callable[[str], None],
) -> Step:
    """Stop a follower, so that the leader refuses batches. Then it comes back."""
    says = f"{name}: batches that were refused are stored in their order"
    say(f"{name}: broker {FOLLOWER} is stopped, and the leader refuses batches")
    cluster.stop(FOLLOWER)
    client.send(_records(name, "refused", sent))
    refused = client.listener.wait_for(
        lambda: client.listener.count(BatchRetried) >= REFUSALS, client.patience_s
    )
    cluster.start(FOLLOWER)
    if not refused:
        seen = f"{client.listener.count(BatchRetried)} batches were sent again"
        return Step(says, False, seen, late=True)
    return _judge(says, client.flush())


def _killed(
    client: LearnerClient,
    cluster: Cluster,
    name: str,
    sent: dict[int, list[str]],
    say: Callable[[str], None],
) -> Step:
    """Kill the leader with requests in flight, and start it again."""
    says = f"{name}: batches whose connection was lost are stored in their order"
    say(f"{name}: broker {LEADER} is killed with requests in flight, and comes back")
    before = client.listener.count(BatchDrained)
    cluster.pause(LEADER)
    try:
        client.send(_records(name, "killed", sent))
        flying = client.listener.wait_for(
            lambda: client.listener.count(BatchDrained) > before, client.patience_s
        )
    finally:
        cluster.kill(LEADER)
        cluster.start(LEADER)
    if not flying:
        return Step(says, False, "no batch was sent", late=True)
    return _judge(says, client.flush())


def _read(cluster: Cluster, sent: dict[int, list[str]], patience_s: float) -> Step:
    """Read both partitions. A record may be there twice only without idempotence."""
    says = "a consumer reads all records in their order"
    with closing(
        KafkaConsumer(
            bootstrap_servers=cluster.bootstrap_servers,
            group_id=None,
            auto_offset_reset="earliest",
            consumer_timeout_ms=round(patience_s * 1_000),
        )
    ) as consumer:
        partitions = [TopicPartition(TOPIC, n) for n in range(PARTITIONS)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        found: dict[int, list[str]] = {n: [] for n in range(PARTITIONS)}
        left = sum(ends.values())
        while left > 0:
            polled = consumer.poll(timeout_ms=POLL_MS)
            for records in polled.values():
                for record in records:
                    found[record.partition].append(record.value.decode())
                    left -= 1
    for partition, values in found.items():
        first = list(dict.fromkeys(values))
        if first != sent[partition]:
            wrong = next(
                (a for a, b in zip(sent[partition], first, strict=False) if a != b),
                f"{len(first)} of {len(sent[partition])} are there",
            )
            return Step(says, False, f"partition {partition}: {wrong}")
        twice = [one for one in first if values.count(one) > 1 and one.startswith(IDEMPOTENT)]
        if twice:
            return Step(says, False, f"partition {partition} has this one twice: {twice[0]}")
    return Step(says, True, f"{sum(map(len, found.values()))} records")
