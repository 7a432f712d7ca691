"""The live part of 06-2: the learner's rule handles the shutdown of broker 2 in the controller."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.cluster_calls import CLUSTER, controlled_shutdown
from kafka_edu.common.errors import Errors
from kafka_edu.trace.events.controller import ControlledShutdownProcessed
from kafka_edu.trace.events.server import ControlledShutdownAttempted, ServerStopped

from ..learner_broker import BROKER, LearnerBroker
from ..learner_controller import envelopes_of, learner_controllers, send_to_all
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-062"
FOLLOWED: Final = "lab-062-followed"
ALONE: Final = "lab-062-alone"
RECORDS: Final = 20


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in all brokers, and yield the result of each check. If `file` is
    None, run the course's own code.
    """
    with learner_controllers(exercise, file, TOPIC, say, patience_s) as broker:
        cluster = broker.cluster
        make_topic(cluster, FOLLOWED, [0, 1, BROKER])
        make_topic(cluster, ALONE, [BROKER])
        yield send_to_all(broker, "records are acked by broker 2", RECORDS)
        say("broker 2 is stopped: it leads one partition, follows in one, and has one alone")
        cluster.stop(BROKER)
        yield _processed(broker)
        yield _let_go(broker)
        yield send_to_all(broker, "records are acked by the next leader", RECORDS)
        say("a request asks to stop broker 2 again, although it is gone")
        error = asyncio.run(_ask(cluster.bootstrap_servers))
        yield Step(
            "for a broker that is gone the request is refused",
            error == "BROKER_NOT_AVAILABLE",
            f"the answer was {error}",
        )
        if file is not None:
            yield broker.judge_calls("one broker stopped, and one request came too late")


def _processed(broker: LearnerBroker) -> Step:
    """Check that the controller moved the leader of one partition, stopped the replica of one, and
    had no partition left.
    """
    says = "the controller moves one, stops one, and none remains"

    def all_processed() -> list[ControlledShutdownProcessed]:
        events = [each.event for each in envelopes_of(broker, ControlledShutdownProcessed)]
        return [one for one in events if isinstance(one, ControlledShutdownProcessed)]

    if not broker.listener.wait_for(lambda: bool(all_processed()), broker.patience_s):
        return Step(says, False, "the controller has answered no request", late=True)
    first = all_processed()[0]
    return Step(
        says,
        (first.led, first.followed, first.remaining) == (1, 1, 0),
        f"{first.led} moved, {first.followed} stopped, {first.remaining} remaining",
    )


def _let_go(broker: LearnerBroker) -> Step:
    """Check that broker 2's first attempt succeeded, with no partition remaining."""
    broker.listener.wait_for(lambda: broker.listener.count(ServerStopped) > 0, broker.patience_s)
    attempts = [
        event
        for event in broker.listener.events()
        if isinstance(event, ControlledShutdownAttempted)
    ]
    says = "broker 2 is let go at the first attempt"
    if not attempts:
        return Step(says, False, "broker 2 has asked nobody")
    last = attempts[-1]
    return Step(
        says,
        (last.attempt, last.error, last.partitions_remaining) == (1, "NONE", 0),
        f"attempt {last.attempt}: {last.error}, {last.partitions_remaining} remaining",
    )


async def _ask(servers: str) -> str:
    """Send the controller a shutdown request for broker 2, and return the name of the error."""
    async with Admin({"bootstrap.servers": servers, "client.id": "lab-062"}) as admin:
        outcome = await admin.ask(controlled_shutdown(BROKER))
    refused = outcome.errors.get(CLUSTER)
    return Errors.NONE.name if refused is None else refused.error.name
