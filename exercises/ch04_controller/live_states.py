"""The live part of 04-1: the learner's tables decide which changes the controller makes.

A partition gets its leader, loses it by kill -9 and gets another one; then the topic is deleted. A
change that a table refuses wrongly leaves the partition where it is, and the event says so.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from kafka_edu.trace.events.controller import StateChangeRefused, TopicDeletionChanged

from ..learner_broker import BROKER, LearnerBroker
from ..learner_controller import kill_and_wait, learner_controllers, send_to_all, told
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-041"
RECORDS: Final = 20


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in all brokers, or the shipped code if there is none, and yield what
    came of it.
    """
    with learner_controllers(exercise, file, TOPIC, say, patience_s) as broker:
        say(f"{RECORDS} records to a partition that has become Online by your table")
        yield send_to_all(broker, "the partition is Online: records are acked", RECORDS)

        say(f"kill -9 of broker {BROKER}, which leads it: Offline, and Online again")
        yield kill_and_wait(broker, BROKER)
        yield send_to_all(broker, "records are acked again", RECORDS)

        say(f"broker {BROKER} comes back, and the topic is deleted")
        broker.cluster.start(BROKER)
        yield _deleted(broker)
        yield _nothing_refused(broker)
        if file is not None:
            yield broker.judge_calls("your tables are asked once for each change")


def _deleted(broker: LearnerBroker) -> Step:
    says = "the topic is deleted to its end"
    try:
        with closing(KafkaAdminClient(bootstrap_servers=broker.cluster.bootstrap_servers)) as admin:
            admin.delete_topics([TOPIC])
    except KafkaError as error:
        return Step(says, False, f"nobody took the order: {type(error).__name__}", late=True)

    def complete() -> bool:
        return any(
            isinstance(e := envelope.event, TopicDeletionChanged)
            and (e.topic, e.step) == (TOPIC, "complete")
            for envelope in told(broker, TopicDeletionChanged)
        )

    came = broker.listener.wait_for(complete, broker.patience_s)
    steps = [
        e.step
        for envelope in told(broker, TopicDeletionChanged)
        if isinstance(e := envelope.event, TopicDeletionChanged) and e.topic == TOPIC
    ]
    return Step(says, came, f"its steps: {', '.join(steps) or 'none'}", late=not came)


def _nothing_refused(broker: LearnerBroker) -> Step:
    refused = [
        e
        for envelope in told(broker, StateChangeRefused)
        if isinstance(e := envelope.event, StateChangeRefused) and e.topic == TOPIC
    ]
    says = "no change was refused that the table has"
    if not refused:
        return Step(says, True, "the controller did all that it wanted")
    first = refused[0]
    return Step(
        says, False, f"from {first.before} to {first.after}: {first.reason} ({len(refused)} times)"
    )
