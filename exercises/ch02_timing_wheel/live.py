"""The live part of this chapter's exercises: the learner's wheel times the delayed operations of
broker 2, which serves an unmodified client.

There are three loads, on a topic that broker 2 leads. Produces with acks=all wait until the
followers have the records: their time-outs go into the wheel and are cancelled. Fetches that ask
for too many bytes wait 450 ms (the book's number) and time out. Produces time out after 1,500 ms
while a follower is paused. The checks use only the events of broker 2. The learner's code cannot
change these events.
"""

import time
from collections.abc import Callable, Iterator
from itertools import repeat
from math import prod
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.learner.learner_timing_wheel import SLOTS_ABOVE
from kafka_edu.timer.timing_wheel import WHEEL_SIZE
from kafka_edu.trace.events.timer import TimerTaskCancelled, TimerTaskDemoted, TimerTaskExpired

from ..learner_broker import PAUSED, SHORT_TIMEOUT_MS, LearnerBroker, Listener, learner_broker
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-02"
RECORDS: Final = 50
FETCH_WAIT_MS: Final = 450
FETCHES: Final = 6
TIMED_OUT: Final = 3
LATE_LIMIT_MS: Final = 1_000
"""The ms by which a task may run after its deadline, because the machine may be busy. No task may
run early.
"""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in broker 2, and yield the result of each step. If `file` is None,
    run the course's own code.
    """
    with learner_broker(exercise, file, TOPIC, say, patience_s) as broker:
        yield from moment(broker, say)
        if file is not None:
            demoted, cancelled = (
                broker.listener.count(kind) for kind in (TimerTaskDemoted, TimerTaskCancelled)
            )
            yield broker.judge_calls(
                f"{cancelled:,} tasks cancelled in time, {demoted:,} came down a level"
            )


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Put load on broker 2, and yield the result of each step.

    Fetches and produces have to time out at their deadlines.
    """
    listener = broker.listener
    say(
        f"{RECORDS} records with acks=all: each waits for two followers, its time-out in your wheel"
    )
    yield broker.send_all("produces with acks=all are acked", broker.producer(), RECORDS)

    say(f"fetches that wait {FETCH_WAIT_MS} ms and time out")
    before = len(expired(listener, "Fetch"))
    fetch_nothing(broker, lambda: len(expired(listener, "Fetch")) >= before + FETCHES)
    yield judge_times("fetches time out when they should", expired(listener, "Fetch"), FETCHES)

    say(f"produces that time out after {SHORT_TIMEOUT_MS:,} ms, because a follower is paused")
    impatient = broker.producer(SHORT_TIMEOUT_MS)
    broker.send(impatient)  # so the producer has metadata before a broker pauses
    before = len(expired(listener, "Produce"))
    broker.cluster.pause(PAUSED)
    end = time.monotonic() + broker.patience_s
    while len(expired(listener, "Produce")) < before + TIMED_OUT and time.monotonic() < end:
        broker.send(impatient)
    broker.cluster.resume(PAUSED)
    yield judge_times("produces time out when they should", expired(listener, "Produce"), TIMED_OUT)


def expired(listener: Listener, timer: str) -> list[TimerTaskExpired]:
    """Return the events of tasks that have timed out in the timer with this name."""
    return [
        envelope.event
        for envelope in listener.envelopes
        if isinstance(envelope.event, TimerTaskExpired) and envelope.event.timer == timer
    ]


def fetch_nothing(broker: LearnerBroker, enough: Callable[[], bool]) -> None:
    """Fetch 1 MB from a topic without new records, so that each fetch times out after 450 ms.
    Repeat this until `enough` returns True, or the time for this step is over.
    """
    consumer = KafkaConsumer(
        bootstrap_servers=broker.cluster.bootstrap_servers,
        fetch_min_bytes=1_000_000,
        fetch_max_wait_ms=FETCH_WAIT_MS,
    )
    try:
        consumer.assign([TopicPartition(broker.topic, 0)])
        consumer.seek_to_end()
        end = time.monotonic() + broker.patience_s
        while not enough() and time.monotonic() < end:
            consumer.poll(timeout_ms=FETCH_WAIT_MS)
    finally:
        consumer.close()


def judge_times(says: str, expired: list[TimerTaskExpired], wanted: int) -> Step:
    """Check that no task ran before its deadline, and none much later. A late task is not a fault
    if it was in the right bucket, because a busy machine may be the cause.
    """
    if len(expired) < wanted:
        return Step(
            says,
            False,
            f"{len(expired)} timed out, {wanted} should have: the others are in a bucket that comes"
            " too late, or never",
            late=True,
        )
    early = [event for event in expired if event.late_ms < 0]
    late = [
        event for event in expired if event.late_ms > LATE_LIMIT_MS and not in_right_bucket(event)
    ]
    worst = max(event.late_ms for event in expired)
    if early:
        event = early[0]
        return Step(
            says,
            False,
            f"{len(early)} of {len(expired)} ran too early, one {-event.late_ms} ms before its"
            f" deadline {event.deadline_ms}",
        )
    if late:
        event = late[0]
        return Step(
            says,
            False,
            f"{len(late)} of {len(expired)} ran too late, one {event.late_ms} ms after its deadline"
            f" {event.deadline_ms}",
            late=True,
        )
    return Step(
        says,
        True,
        f"{len(expired)} timed out, none early, the latest {worst} ms after its deadline",
    )


def in_right_bucket(event: TimerTaskExpired) -> bool:
    """Return whether the task was in the bucket that belongs to its deadline."""
    if event.level < 1:
        return False
    slots = (WHEEL_SIZE, *SLOTS_ABOVE, *repeat(SLOTS_ABOVE[-1], event.level))
    tick_ms = prod(slots[: event.level - 1])
    return event.slot == event.deadline_ms // tick_ms % slots[event.level - 1]
