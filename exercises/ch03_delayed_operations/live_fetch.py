"""The live part of exercise 03-3: the learner's condition decides when broker 2 answers the fetches
of an unmodified consumer.

A reader that wants one byte has to get each record soon, long before its fetch times out. A reader
that wants 10,000 bytes has to wait for its time-out if the log has fewer bytes, and has to get them
earlier if the log has enough. The checks use only the events of broker 2. The learner's code cannot
change these events.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.trace.events.purgatory import OperationCompleted

from ..learner_broker import BROKER, LearnerBroker, learner_broker
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-033"
RECORDS: Final = 15
PATIENT_MS: Final = 20_000
"""The maximum wait of the first reader's fetches. A fetch that a record wakes ends long before."""
MUCH: Final = 10_000
MUCH_WAIT_MS: Final = 1_000
TIMED_OUT: Final = 3
FEW: Final = 5
MANY: Final = 300
"""The number of records that together have more than MUCH bytes."""
SHORT_MS: Final = 100
ONE, ALL = "lab-one-byte", "lab-many-bytes"


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

    One reader wants one byte, a second reader wants 10,000 bytes.
    """
    say(f"{RECORDS} records, one by one, for a reader that is content with one byte")
    with _reader(broker, ONE, 1, PATIENT_MS) as reader:
        found = _one_by_one(broker, reader)
    yield _woken(broker, found)

    say(f"{FEW} records, for a reader that wants {MUCH:,} bytes: it must wait its whole time")
    with _reader(broker, ALL, MUCH, MUCH_WAIT_MS) as reader:
        producer = broker.producer()
        for _ in range(FEW):
            broker.send(producer)
        _poll(broker, reader, lambda: len(_ends(broker, ALL, "time-out")) >= TIMED_OUT)
        yield _waited(broker)

        say(f"{MANY} records more: now there is enough")
        woken = len(_woken_ends(broker, ALL))
        for _ in range(MANY):
            producer.send(broker.topic, b"a record of the lab" * 3, partition=0)
        producer.flush()
        got = _poll(broker, reader, lambda: len(_woken_ends(broker, ALL)) > woken, MANY)
    answered = got >= MANY and len(_woken_ends(broker, ALL)) > woken
    yield Step(
        "with enough bytes it is answered",
        answered,
        f"it read {got} records",
        late=not answered,
    )


def _reader(broker: LearnerBroker, name: str, min_bytes: int, wait_ms: int) -> "_Closing":
    consumer = KafkaConsumer(
        bootstrap_servers=f"127.0.0.1:{broker.cluster.port(BROKER)}",
        client_id=name,
        fetch_min_bytes=min_bytes,
        fetch_max_wait_ms=wait_ms,
        request_timeout_ms=PATIENT_MS + 20_000,
        auto_offset_reset="earliest",
    )
    consumer.assign([TopicPartition(broker.topic, 0)])
    return closing(consumer)


_Closing = closing[KafkaConsumer]


def _one_by_one(broker: LearnerBroker, reader: KafkaConsumer) -> int:
    """Send each record only after the previous one was read. Return how many were read."""
    producer = broker.producer()
    for number in range(1, RECORDS + 1):
        reader.poll(timeout_ms=SHORT_MS)  # the reader sends its next fetch, which waits
        broker.send(producer)
        end = time.monotonic() + broker.patience_s
        read = 0
        while not read and time.monotonic() < end:
            read = sum(map(len, reader.poll(timeout_ms=SHORT_MS).values()))
        if not read:
            return number - 1
    return RECORDS


def _poll(
    broker: LearnerBroker, reader: KafkaConsumer, done: Callable[[], bool], wanted: int = 0
) -> int:
    """Read until `done` returns True and `wanted` records were read, or until time is up.
    Return the number of read records.
    """
    found = 0
    end = time.monotonic() + broker.patience_s
    while (not done() or found < wanted) and time.monotonic() < end:
        found += sum(map(len, reader.poll(timeout_ms=SHORT_MS).values()))
    return found


def _ends(broker: LearnerBroker, client: str, by: str) -> list[OperationCompleted]:
    """Return the events of a client's completed fetches. `by` says what completed them: a time-out,
    an event …
    """
    return [
        event
        for envelope in list(broker.listener.envelopes)
        if isinstance(event := envelope.event, OperationCompleted)
        and (event.client, event.by) == (client, by)
    ]


def _woken_ends(broker: LearnerBroker, client: str) -> list[OperationCompleted]:
    return [end for by in ("event", "at once") for end in _ends(broker, client, by)]


def _woken(broker: LearnerBroker, found: int) -> Step:
    says = "a reader gets each record when it is there"
    slept = _ends(broker, ONE, "time-out")
    if found < RECORDS or slept:
        seen = f"{found} of {RECORDS} were read" + (
            f"; {len(slept)} fetches waited all of their {PATIENT_MS:,} ms" if slept else ""
        )
        return Step(says, False, seen, late=True)
    woken = len(_ends(broker, ONE, "event"))
    return Step(says, True, f"{RECORDS} read; {woken} fetches were woken, none waited to its end")


def _waited(broker: LearnerBroker) -> Step:
    says = f"a reader that wants {MUCH:,} bytes gets no answer with less"
    early = [end for end in _woken_ends(broker, ALL) if end.waited_ms < MUCH_WAIT_MS]
    slept = _ends(broker, ALL, "time-out")
    if early:
        seen = f"{len(early)} fetches were answered after {early[-1].waited_ms} ms, with too little"
        return Step(says, False, seen)
    seen = f"{len(slept)} fetches waited {MUCH_WAIT_MS:,} ms, {TIMED_OUT} should have"
    return Step(says, len(slept) >= TIMED_OUT, seen, late=len(slept) < TIMED_OUT)
