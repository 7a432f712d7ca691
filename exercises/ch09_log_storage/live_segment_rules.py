"""The live part of 09-2: the learner's rules roll and delete the segments of a topic in broker 2.

Records of equal size are written. Then the topic gets a retention by size, and later one by time.
Broker 2 leads. The other two brokers use the shipped rules.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from kafka_edu.trace.events.log import SegmentDeleted, SegmentRolled

from ..learner_broker import LearnerBroker, live_check
from ..runner.verdict import Step

E = TypeVar("E", SegmentRolled, SegmentDeleted)
TOPIC: Final = "lab-092"
RECORDS: Final = 300
VALUE: Final = b"x" * 500
SEGMENT_BYTES: Final = 20_000
KEPT_BYTES: Final = 50_000
PROPS: Final[Mapping[str, str]] = {
    "log.segment.bytes": str(SEGMENT_BYTES),
    "log.retention.check.interval.ms": "500",
    "zookeeper.session.timeout.ms": "30000",
}


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check."""
    yield _fill(broker)
    rolled = _rolled(broker)
    yield rolled
    if not rolled.passed:
        return
    say(f"the topic keeps {KEPT_BYTES:,} bytes")
    _set(broker, f"retention.bytes={KEPT_BYTES}")
    yield _by_size(broker)
    say("the topic keeps a millisecond")
    _set(broker, "retention.ms=1")
    yield _by_time(broker)
    yield broker.send_all("records are acked afterwards", broker.producer(), 10)


def _of_topic(broker: LearnerBroker, kind: type[E]) -> list[E]:
    """Return the topic's events of this type from broker 2."""
    return [
        event
        for event in broker.listener.events()
        if isinstance(event, kind) and event.topic == broker.topic
    ]


def _set(broker: LearnerBroker, setting: str) -> None:
    broker.cluster.perform("topic-config", {"topic": broker.topic, "setting": setting})


def _fill(broker: LearnerBroker) -> Step:
    """Write records, each in a batch of its own. All batches have the same size."""
    producer = broker.producer(batch_bytes=0)
    sent = [producer.send(broker.topic, VALUE, partition=0) for _ in range(RECORDS)]
    producer.flush(broker.patience_s + 30)
    acked = sum(one.succeeded() for one in sent)
    return Step(f"{RECORDS} records are acked", acked == RECORDS, f"{acked} acked")


def _sizes(broker: LearnerBroker) -> tuple[int, int]:
    """Return the bytes of a closed segment and of a batch. At least one segment must be closed."""
    first = _of_topic(broker, SegmentRolled)[0]
    return first.closed_bytes, first.closed_bytes // (first.base_offset - first.closed_base_offset)


def _rolled(broker: LearnerBroker) -> Step:
    """Check that each segment has as many batches as fit into it, and no more."""
    says = f"each segment takes as many batches as fit into {SEGMENT_BYTES:,} bytes"
    broker.listener.wait_for(lambda: bool(_of_topic(broker, SegmentRolled)), broker.patience_s)
    rolled = _of_topic(broker, SegmentRolled)
    if not rolled:
        return Step(says, False, f"no segment rolled, and {RECORDS} records came", late=True)
    _, batch = _sizes(broker)
    for one in rolled:
        if one.reason != "size":
            return Step(says, False, f"one rolled because of {one.reason!r}")
        if not one.closed_bytes <= SEGMENT_BYTES < one.closed_bytes + batch:
            return Step(
                says, False, f"one was closed with {one.closed_bytes:,}; a batch has {batch} bytes"
            )
    return Step(says, True, f"{len(rolled)} rolled, the first with {rolled[0].closed_bytes:,}")


def _by_size(broker: LearnerBroker) -> Step:
    """Check that the log keeps the limit's bytes or more, but less than one segment more."""
    says = f"{KEPT_BYTES:,} bytes or more are left, and less than a segment more"
    closed, batch = _sizes(broker)

    def left() -> int:
        return RECORDS * batch - sum(one.size for one in _of_topic(broker, SegmentDeleted))

    come = broker.listener.wait_for(lambda: left() < KEPT_BYTES + closed, broker.patience_s)
    if not come:
        return Step(says, False, f"{left():,} bytes are left", late=True)
    # a look later nothing more may have gone
    broker.listener.wait_for(lambda: left() < KEPT_BYTES, 2.0)
    reasons = {one.reason for one in _of_topic(broker, SegmentDeleted)}
    right = left() >= KEPT_BYTES and reasons == {"retention by size"}
    return Step(says, right, f"{left():,} bytes are left; {', '.join(sorted(reasons))}")


def _by_time(broker: LearnerBroker) -> Step:
    """Check that all records are deleted, and that an empty segment takes their place."""
    says = "all segments go by time, the active one too"
    _, batch = _sizes(broker)

    def gone() -> int:
        return sum(one.size for one in _of_topic(broker, SegmentDeleted))

    come = broker.listener.wait_for(lambda: gone() == RECORDS * batch, broker.patience_s)
    return Step(says, come, f"{gone():,} of {RECORDS * batch:,} bytes are gone", late=not come)


check_live: Final = live_check(TOPIC, moment, "segments rolled and went", props=PROPS)
