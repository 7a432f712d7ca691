"""The live part of 06-3: broker 2 is killed, and the end of its log is cut off. The learner's rule
says which segments the next start reads again.

kafka-python writes and reads the records, because the check uses a client that we did not write.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.topic_partition import TopicPartition as Partition
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.log.recovery_rule import RecoveryRule
from kafka_edu.trace.events.log import LogFlushed, LogLoaded, LogRecovered

from ..learner_broker import BROKER, LearnerBroker, learner_broker
from ..runner.manifest import Exercise
from ..runner.verdict import Step

E = TypeVar("E", LogFlushed, LogLoaded, LogRecovered)
TOPIC: Final = "lab-063"
CHECKPOINT: Final = "recovery-point-offset-checkpoint"
RECORDS: Final = 60
RECORD_BYTES: Final = 4_000
TORN_BYTES: Final = 7
PROPS: Final[Mapping[str, str]] = {
    "zookeeper.session.timeout.ms": "6000",
    "log.segment.bytes": "65536",
}


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in broker 2, and yield the result of each check. If `file` is None,
    run the course's own code.
    """
    with learner_broker(exercise, file, TOPIC, say, patience_s, props=PROPS) as broker:
        cluster = broker.cluster
        yield _send(broker, "records of several segments are acked", 0)
        yield _moves(broker)
        say("broker 2 is stopped in order, and started again")
        cluster.stop(BROKER)
        cluster.start(BROKER)
        broker.listen_again()
        yield _reads_nothing(broker)
        broker.lead_again()
        yield _send(broker, "broker 2 leads again, and more records are acked", RECORDS)
        say("broker 2 is killed, and the last bytes of its log are torn off")
        cluster.kill(BROKER)
        expected, segments = _to_read(broker)
        _tear(broker)
        cluster.start(BROKER)
        broker.listen_again()
        yield _recovers(broker, expected, segments)
        say("broker 2 catches up, and leads again")
        broker.lead_again()
        yield _all_there(broker)
        if file is not None:
            yield broker.judge_calls("the broker was started three times")


def _value(number: int) -> bytes:
    return f"record {number} ".encode().ljust(RECORD_BYTES, b".")


def _send(broker: LearnerBroker, says: str, first: int) -> Step:
    """Send the records `first`, `first + 1` and so on, with a producer that retries."""
    acked = 0
    with closing(
        KafkaProducer(
            bootstrap_servers=broker.cluster.bootstrap_servers,
            acks="all",
            delivery_timeout_ms=round(broker.patience_s * 1000) + 30_000,
            max_in_flight_requests_per_connection=1,
        )
    ) as producer:
        sent = [producer.send(TOPIC, _value(first + n), partition=0) for n in range(RECORDS)]
        for one in sent:
            try:
                one.get(broker.patience_s + 30)
                acked += 1
            except KafkaError:
                break
    return Step(says, acked == RECORDS, f"{acked} of {RECORDS} acked", late=acked < RECORDS)


def _files(broker: LearnerBroker) -> list[Path]:
    """Return the topic's segment files on broker 2, in the order of their offsets."""
    return sorted(broker.cluster.replica(BROKER, TOPIC, 0).glob("*.log"))


def _point(broker: LearnerBroker) -> int:
    """Return the topic's recovery point from broker 2's checkpoint file."""
    [log_dir] = broker.cluster.log_dirs(BROKER)
    kept = OffsetCheckpointFile(str(log_dir / CHECKPOINT), OsFileSystem()).read()
    return kept.get(Partition(TOPIC, 0), 0)


def _moves(broker: LearnerBroker) -> Step:
    """Check that closed segments are flushed, and that the recovery point moves to their end."""
    says = "the point moves to the beginning of the last segment, when the others are flushed"
    last = int(_files(broker)[-1].stem)

    def point() -> int:
        return max((event.recovery_point for event in _of_topic(broker, LogFlushed)), default=0)

    moved = broker.listener.wait_for(lambda: point() >= last, broker.patience_s)
    return Step(
        says,
        moved,
        f"the point is {point()}, and the last segment begins at {last}",
        late=not moved,
    )


def _to_read(broker: LearnerBroker) -> tuple[int, int]:
    """Return how many segments the next start has to read, and how many segments the log has in
    all.
    """
    bases = [int(file.stem) for file in _files(broker)]
    return len(RecoveryRule().to_read(bases, _point(broker), clean=False)), len(bases)


def _tear(broker: LearnerBroker) -> None:
    """Cut off the last bytes of the log, as a power failure might do."""
    last = [file for file in _files(broker) if file.stat().st_size > TORN_BYTES][-1]
    with last.open("r+b") as file:
        file.truncate(last.stat().st_size - TORN_BYTES)


def _of_topic(broker: LearnerBroker, kind: type[E]) -> list[E]:
    """Return broker 2's events of this kind about the topic, since its last start."""
    events = broker.listener.events()
    return [event for event in events if isinstance(event, kind) and event.topic == TOPIC]


def _loaded(broker: LearnerBroker) -> bool:
    return broker.listener.wait_for(lambda: bool(_of_topic(broker, LogLoaded)), broker.patience_s)


def _recovers(broker: LearnerBroker, expected: int, segments: int) -> Step:
    says = f"the start reads {expected} of {segments} segments again"
    if not _loaded(broker):
        return Step(says, False, "broker 2 has not reported that it opened the log", late=True)
    read = sum(event.segments for event in _of_topic(broker, LogRecovered))
    cut = sum(event.truncated_bytes for event in _of_topic(broker, LogRecovered))
    return Step(says, read == expected, f"it read {read}, and cut off {cut:,} bytes")


def _reads_nothing(broker: LearnerBroker) -> Step:
    says = "after a clean end the start reads nothing"
    if not _loaded(broker):
        return Step(says, False, "broker 2 has not reported that it opened the log", late=True)
    clean = all(event.clean for event in _of_topic(broker, LogLoaded))
    read = sum(event.segments for event in _of_topic(broker, LogRecovered))
    return Step(says, clean and not read, f"it read {read} segments")


def _all_there(broker: LearnerBroker) -> Step:
    """Check that a consumer reads all acknowledged records from broker 2, once and in order."""
    says = "every acked record is read from broker 2, once and in order"
    expected = [_value(number) for number in range(2 * RECORDS)]
    partition = TopicPartition(TOPIC, 0)
    came: list[bytes] = []
    with closing(
        KafkaConsumer(
            bootstrap_servers=broker.cluster.bootstrap_servers, check_crcs=True, group_id=None
        )
    ) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        try:
            while len(came) < len(expected):
                polled = consumer.poll(timeout_ms=round(broker.patience_s * 1000))
                if not polled:
                    break
                came += [record.value for records in polled.values() for record in records]
        except (KafkaError, AssertionError) as error:
            return Step(says, False, f"after {len(came)} records: {error}")
    return Step(says, came == expected, f"{len(came)} of {len(expected)}")
