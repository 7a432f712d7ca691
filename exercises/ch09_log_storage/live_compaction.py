"""The live part of 09-5: the learner's class compacts a topic in broker 2, its leader.

Keys are written again and again, and some are deleted. The cleaner makes at least two passes. Then
a consumer reads all from the beginning.

kafka-python reads the records, so that an independent client judges.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from random import Random
from typing import Final, NamedTuple

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.trace.events.log import LogCleaned

from ..learner_broker import BROKER, LearnerBroker, live_check
from ..runner.verdict import Step

TOPIC: Final = "lab-095"
KEYS: Final = 25
DELETED: Final = 5
ONCE: Final = 5
"""The number of keys that only the first round writes, without the deleted keys."""
ROUND: Final = 400
PADDING: Final = "x" * 150
SETTINGS: Final = ("cleanup.policy=compact", "delete.retention.ms=0")
PROPS: Final[Mapping[str, str]] = {
    "log.segment.bytes": "20000",
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "zookeeper.session.timeout.ms": "30000",
}
POLL_MS: Final = 500


class Stored(NamedTuple):
    """A record that a consumer has read."""

    offset: int
    key: str
    value: str | None


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check."""
    for setting in SETTINGS:
        broker.cluster.perform("topic-config", {"topic": broker.topic, "setting": setting})
    writer = Writer(broker)
    say(f"{KEYS} keys are written again and again, and {DELETED} are deleted")
    yield writer.round("keys are written")
    yield writer.delete()
    deleted_end = writer.sent
    yield writer.round("the others are written again")
    first = _pass_beyond(broker, 0, deleted_end)
    yield first
    if not first.passed:
        return
    yield writer.round("and again")
    second = _pass_beyond(broker, deleted_end, writer.sent - ROUND)
    yield second
    if not second.passed:
        return
    say("a consumer reads all from the beginning")
    passes = _passes(broker)
    stored = _read_all(broker, writer.sent)
    yield _table(writer.table, stored)
    yield _small(stored, passes[-1].to_offset)
    yield _no_old_tombstone(stored, deleted_end)


class Writer:
    """Writes records, and keeps the table (key → last value) that results from them."""

    def __init__(self, broker: LearnerBroker) -> None:
        self._broker = broker
        self._producer = broker.producer(batch_bytes=2_000)
        self._random = Random(95)
        self.table: dict[str, str] = {}
        self.sent = 0

    def round(self, says: str) -> Step:
        """Write ROUND records. Only the first round writes keys below DELETED + ONCE."""
        first = DELETED + ONCE if self.sent else 0
        records: list[tuple[str, str | None]] = []
        for _ in range(ROUND):
            key = f"key-{self._random.randrange(first, KEYS)}"
            records.append((key, f"{self.sent + len(records)} {PADDING}"))
        return self._send(says, records)

    def delete(self) -> Step:
        """Write a tombstone for each of the first keys."""
        return self._send(
            f"{DELETED} keys are deleted", [(f"key-{n}", None) for n in range(DELETED)]
        )

    def _send(self, says: str, records: list[tuple[str, str | None]]) -> Step:
        sent = []
        for key, value in records:
            body = None if value is None else value.encode()
            sent.append(self._producer.send(TOPIC, body, key=key.encode(), partition=0))
            if value is None:
                self.table.pop(key, None)
            else:
                self.table[key] = value
        self._producer.flush(self._broker.patience_s + 30)
        self.sent += len(records)
        acked = sum(one.succeeded() for one in sent)
        return Step(says, acked == len(records), f"{acked} of {len(records)} records acked")


def _passes(broker: LearnerBroker) -> list[LogCleaned]:
    return [
        event
        for event in broker.listener.events()
        if isinstance(event, LogCleaned) and event.topic == broker.topic
    ]


def _pass_beyond(broker: LearnerBroker, begins: int, ends: int) -> Step:
    """Wait for a cleaning pass that began at `begins` or later and ended beyond offset `ends`."""
    says = f"a pass comes beyond offset {ends}"

    def found() -> list[LogCleaned]:
        return [
            one for one in _passes(broker) if one.from_offset >= begins and one.to_offset > ends
        ]

    if not broker.listener.wait_for(lambda: bool(found()), broker.patience_s):
        return Step(says, False, "there was none", late=True)
    one = found()[0]
    return Step(says, True, f"{one.bytes_before:,} bytes became {one.bytes_after:,}")


def _read_all(broker: LearnerBroker, end: int) -> list[Stored]:
    """Read the topic from its beginning up to the offset `end`."""
    stored: list[Stored] = []
    partition = TopicPartition(broker.topic, 0)
    with closing(
        KafkaConsumer(
            bootstrap_servers=f"127.0.0.1:{broker.cluster.port(BROKER)}",
            group_id=None,
            fetch_max_wait_ms=POLL_MS,
        )
    ) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 0)

        def at_end() -> bool:
            for records in consumer.poll(timeout_ms=POLL_MS).values():
                for one in records:
                    value = None if one.value is None else one.value.decode()
                    stored.append(Stored(one.offset, one.key.decode(), value))
            return int(consumer.position(partition)) >= end

        broker.listener.wait_for(at_end, broker.patience_s)
    return stored


def _table(expected: Mapping[str, str], stored: list[Stored]) -> Step:
    """Check that a reader of all records gets the right table."""
    says = "a reader that reads from the beginning has the right table"
    table: dict[str, str] = {}
    for one in stored:
        if one.value is None:
            table.pop(one.key, None)
        else:
            table[one.key] = one.value
    for key in sorted({*expected, *table}):
        if key not in table:
            return Step(says, False, f"{key} is lost")
        if key not in expected:
            return Step(says, False, f"{key} was deleted, and is there")
        if table[key] != expected[key]:
            return Step(says, False, f"{key} has an old value")
    return Step(says, True, f"{len(table)} keys, {len(stored)} records")


def _small(stored: list[Stored], clean_end: int) -> Step:
    """Check that no key comes twice in the clean part."""
    says = "in the clean part no key comes twice"
    seen: set[str] = set()
    for one in stored:
        if one.offset < clean_end and one.key in seen:
            return Step(says, False, f"{one.key} comes again at offset {one.offset}")
        if one.offset < clean_end:
            seen.add(one.key)
    return Step(says, True, f"{len(seen)} keys below offset {clean_end}")


def _no_old_tombstone(stored: list[Stored], deleted_end: int) -> Step:
    """Check that the second pass has removed the tombstones that the first pass kept."""
    left = [one.key for one in stored if one.value is None and one.offset < deleted_end]
    seen = f"still there: {', '.join(left)}" if left else "none is left"
    return Step("the tombstones go in the second pass", not left, seen)


check_live: Final = live_check(TOPIC, moment, "the topic was compacted", props=PROPS)
