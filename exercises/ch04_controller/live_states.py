"""The live part of 04-1 and 04-2. The learner's tables decide which changes the controller makes,
or the learner's batch decides which broker gets which request.

A partition gets a leader, loses it by kill -9 and gets a new leader. Then its topic is deleted. If
a table wrongly refuses a change, the partition stays in its state, and an event reports the refused
change. A broker that gets no request continues as before.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.clients.blocking import Admin
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.trace.events.controller import (
    ControllerRequestSent,
    StateChangeRefused,
    TopicDeletionChanged,
)
from kafka_edu.trace.events.replication import IsrShrunk

from ..learner_broker import BROKER, LearnerBroker
from ..learner_controller import (
    envelopes_of,
    kill_and_wait,
    learner_controllers,
    of_topic,
    send_to_all,
)
from ..runner.manifest import Exercise
from ..runner.verdict import Step

RECORDS: Final = 20


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in all brokers, and yield the result of each check. If `file` is
    None, run the course's own code.
    """
    topic = f"lab-{exercise.id.replace('-', '')}"
    with learner_controllers(exercise, file, topic, say, patience_s) as broker:
        yield from moment(broker, say)
        if file is not None:
            sent = len(envelopes_of(broker, ControllerRequestSent))
            yield broker.judge_calls(f"the controllers sent {sent:,} requests")


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check.

    A partition becomes Online, Offline, and Online again, and then it is deleted.
    """
    say(f"{RECORDS} records to a partition that has become Online by your code")
    yield send_to_all(broker, "the partition is Online: records are acked", RECORDS)
    yield _all_follow(broker)

    say(f"kill -9 of broker {BROKER}, which leads it: Offline, and Online again")
    yield kill_and_wait(broker, BROKER)
    yield send_to_all(broker, "records are acked again", RECORDS)

    say(f"broker {BROKER} comes back, and the topic is deleted")
    broker.cluster.start(BROKER)
    yield _deleted(broker)
    yield _nothing_refused(broker)


def _all_follow(broker: LearnerBroker) -> Step:
    """Check that all replicas are in the ISR. A replica that got no LeaderAndIsr request would
    leave it.
    """
    gone = of_topic(broker, IsrShrunk)
    says = "all replicas follow: none has left the ISR"
    if not gone:
        return Step(says, True, "the ISR is whole")
    left = sorted({*gone[0].before} - {*gone[0].after})
    return Step(says, False, f"broker {', '.join(map(str, left))} left it", late=True)


def _deleted(broker: LearnerBroker) -> Step:
    says = "the topic is deleted to its end"
    try:
        with Admin({"bootstrap.servers": broker.cluster.bootstrap_servers}) as admin:
            admin.delete_topics([broker.topic]).all()
    except ClientException as error:
        return Step(says, False, f"nobody took the order: {error.name}", late=True)

    def steps() -> list[str]:
        return [event.step for event in of_topic(broker, TopicDeletionChanged)]

    came = broker.listener.wait_for(lambda: "complete" in steps(), broker.patience_s)
    return Step(says, came, f"its steps: {', '.join(steps()) or 'none'}", late=not came)


def _nothing_refused(broker: LearnerBroker) -> Step:
    refused = of_topic(broker, StateChangeRefused)
    says = "no change was refused that the table has"
    if not refused:
        return Step(says, True, "the controller did all that it wanted")
    first = refused[0]
    return Step(
        says, False, f"from {first.before} to {first.after}: {first.reason} ({len(refused)} times)"
    )
