"""The live part of 12-4: the learner's class decides which callbacks our producer calls.

One topic takes only small batches. The producer's batches are larger, so they are divided, and
their parts are divided again. One record is too large for the topic even alone. A consumer says at
which offset each record really is.

The consumer is kafka-python, so that an independent client judges our producer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.producer import BatchSplit

from ..learner_client import LearnerClient, NoAnswerError, Outcome, Record, Stored, learner_client
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

ANY_SIZE: Final = "lab-124"
SMALL: Final = "lab-124-small"
LARGEST: Final = 1_000
"""The bytes that the topic SMALL takes in one batch."""
RECORDS: Final = 40
"""How many records each batch has: they are divided three times."""
VALUE_BYTES: Final = 100
TOO_LARGE: Final = "MESSAGE_TOO_LARGE"
DIVISIONS: Final = 3
"""The least number of divisions of a batch and its parts. Then at least one part of the batch
was divided again."""
LONG_MS: Final = 600_000
SHOWN: Final = 24
"""How many characters of a value are shown."""
POLL_MS: Final = 500


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in a producer, and yield the result
    of each check.
    """
    say(f"starting a broker, and a producer with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}", brokers=1) as cluster:
        make_topic(cluster, ANY_SIZE, [0])
        make_topic(cluster, SMALL, [0], configs={"max.message.bytes": str(LARGEST)})
        config = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "acks": "all",
            "batch.size": 1_000_000,
            "linger.ms": LONG_MS,
            "retry.backoff.ms": 50,
            "request.timeout.ms": LONG_MS,
            "delivery.timeout.ms": 3 * LONG_MS,
        }
        try:
            with learner_client(exercise.id, file, config, patience_s) as client:
                says = "a batch that is stored at once: each callback comes once, with its offset"
                say(f"{RECORDS} records in one batch; three of four have a callback")
                yield _judge(client, cluster, says, _records(ANY_SIZE, "whole"))
                says = "a batch that is divided again and again: each callback comes once"
                say(f"{RECORDS} records in one batch, and the topic takes {LARGEST:,} bytes")
                yield _judge(client, cluster, says, _records(SMALL, "divided"), DIVISIONS)
                says = "one record is too large: its callback has the error, the others come too"
                say("one of the records is larger than the topic takes")
                large = _records(SMALL, "with a large one")
                large[18] = large[18]._replace(value="too large ".ljust(2 * LARGEST, "."))
                yield _judge(client, cluster, says, large, 2 * DIVISIONS)
                if file is not None:
                    yield client.judge_calls("callbacks were called")
        except NoAnswerError as error:
            yield Step("each record is sent", False, str(error), late=True)


def _records(topic: str, name: str) -> list[Record]:
    """Return records for one batch. Each fourth one has no callback."""
    return [
        Record(topic, 0, None, f"{name} {n} ".ljust(VALUE_BYTES, "."), callback=n % 4 != 1)
        for n in range(RECORDS)
    ]


def _judge(
    client: LearnerClient,
    cluster: Cluster,
    says: str,
    records: Sequence[Record],
    divisions: int = 0,
) -> Step:
    """Send the records in one batch, and compare their callbacks with the topic's log."""
    listener = client.listener
    client.send(records)
    client.flush()
    called = client.called()
    offsets = _offsets(cluster, records[0].topic, client.patience_s)
    expected: dict[str, Outcome] = {
        one.value: Stored(0, offsets[one.value]) if one.value in offsets else TOO_LARGE
        for one in records
        if one.callback
    }
    wrong = _difference(expected, called)
    if wrong:
        return Step(says, False, wrong)
    if not listener.wait_for(lambda: listener.count(BatchSplit) >= divisions, client.patience_s):
        seen = f"the batches were divided {listener.count(BatchSplit)} times"
        return Step(says, False, seen, late=True)
    return Step(says, True, f"{len(called)} callbacks for {len(records)} records")


def _difference(expected: Mapping[str, Outcome], called: Sequence[tuple[str, Outcome]]) -> str:
    """Return the first error in the callbacks as text, or an empty text."""
    values = [value for value, _ in called]
    lost = [value for value in expected if value not in values]
    if lost:
        return (
            f"the callback of `{_short(lost[0])}` never came, and flush() has returned."
            f" {len(lost)} of {len(expected)} are lost"
        )
    for value, outcome in called:
        if value not in expected:
            return f"`{_short(value)}` has no callback, and one came"
        if values.count(value) > 1:
            return f"the callback of `{_short(value)}` came {values.count(value)} times"
        if outcome != expected[value]:
            return (
                f"the callback of `{_short(value)}` has {_said(outcome)}; right is"
                f" {_said(expected[value])}"
            )
    return ""


def _short(value: str) -> str:
    return value.rstrip(".")[:SHOWN].strip()


def _said(outcome: Outcome) -> str:
    return outcome if isinstance(outcome, str) else f"offset {outcome.offset}"


def _offsets(cluster: Cluster, topic: str, patience_s: float) -> dict[str, int]:
    """Return the offset of each value in the topic's log."""
    with closing(
        KafkaConsumer(
            bootstrap_servers=cluster.bootstrap_servers,
            group_id=None,
            auto_offset_reset="earliest",
            consumer_timeout_ms=round(patience_s * 1_000),
        )
    ) as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        found: dict[str, int] = {}
        while consumer.position(partition) < end:
            for records in consumer.poll(timeout_ms=POLL_MS).values():
                found |= {record.value.decode(): record.offset for record in records}
    return found
