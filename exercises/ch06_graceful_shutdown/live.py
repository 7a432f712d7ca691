"""The live part of 06-1: broker 2 stops twice, and both times it follows the learner's steps. The
first time the controller answers broker 2. The second time the controller is paused.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from kazoo.exceptions import NoNodeError  # type: ignore[import-untyped]  # no types

from kafka_edu.trace.events.server import ControlledShutdownAttempted, ServerStopped

from ..lab_cluster import wait_until, zookeeper_of
from ..learner_broker import BROKER, LearnerBroker, learner_broker
from ..learner_controller import send_to_all
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-061"
RECORDS: Final = 20
BACKOFF_MS: Final = 500
PROPS: Final[Mapping[str, str]] = {
    "zookeeper.session.timeout.ms": "6000",
    "controller.socket.timeout.ms": "3000",
    "controlled.shutdown.max.retries": "30",
    "controlled.shutdown.retry.backoff.ms": str(BACKOFF_MS),
}


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in broker 2, and yield the result of each check. If `file` is None,
    run the course's own code.
    """
    with learner_broker(exercise, file, TOPIC, say, patience_s, props=PROPS) as broker:
        yield from moment(broker, say)
        if file is not None:
            yield broker.judge_calls("the broker stopped twice")


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check.

    Broker 2 is stopped twice. The second time, the controller is paused.
    """
    cluster = broker.cluster
    yield send_to_all(broker, "records are acked by broker 2", RECORDS)
    say("broker 2 is stopped, and asks the controller to let it go")
    cluster.stop(BROKER)
    yield _let_go(broker, "broker 2 gets permission to stop, and asks no more", 1)
    yield send_to_all(broker, "records are acked by the next leader", RECORDS)
    cluster.start(BROKER)
    broker.listen_again()
    asleep = _controller_is_another(broker)
    say(f"broker {asleep}, the controller, is paused, and broker 2 is stopped")
    cluster.pause(asleep)
    cluster.stop(BROKER)
    yield _let_go(broker, "the controller does not answer: broker 2 asks on", 2)
    yield _waits(broker)
    cluster.resume(asleep)
    yield send_to_all(broker, "records are acked by the last leader", RECORDS)


def _attempts(broker: LearnerBroker) -> list[tuple[float, ControlledShutdownAttempted]]:
    """Return broker 2's attempts since its last start, each with its time in ms."""
    return [
        (envelope.mono_us / 1_000, envelope.event)
        for envelope in list(broker.listener.envelopes)
        if isinstance(envelope.event, ControlledShutdownAttempted)
    ]


def _let_go(broker: LearnerBroker, says: str, least: int) -> Step:
    """Check that there were at least `least` attempts, and that only the last attempt succeeded.

    A controller on a busy machine may not answer the first attempt in time.
    """
    broker.listener.wait_for(lambda: broker.listener.count(ServerStopped) > 0, broker.patience_s)
    attempts = [event for _, event in _attempts(broker)]
    if not attempts:
        return Step(says, False, "it stopped without asking")
    last = attempts[-1]
    if last.error != "NONE" or last.partitions_remaining:
        return Step(
            says,
            False,
            f"it stopped after attempt {last.attempt} at broker {last.controller_id}, which ended"
            f" with {last.error or 'no answer'}, {last.partitions_remaining} partitions remaining",
        )
    let_go = [one for one in attempts if one.error == "NONE" and not one.partitions_remaining]
    if len(attempts) < least or len(let_go) > 1:
        return Step(says, False, f"it asked {len(attempts)} times")
    return Step(says, True, f"attempt {last.attempt}, at broker {last.controller_id}")


def _waits(broker: LearnerBroker) -> Step:
    """Check that broker 2 waits at least BACKOFF_MS between two attempts."""
    times = [ms for ms, _ in _attempts(broker)]
    shortest = min((b - a for a, b in itertools.pairwise(times)), default=BACKOFF_MS)
    return Step(
        f"between two attempts it waits {BACKOFF_MS} ms",
        shortest >= BACKOFF_MS,
        f"the shortest time from one to the next was {shortest:,.0f} ms",
    )


def _controller_is_another(broker: LearnerBroker) -> int:
    """Return the id of the controller. If broker 2 is the controller, first let a different broker
    be elected.
    """
    found = BROKER

    def is_another() -> bool:
        nonlocal found
        with zookeeper_of(broker.cluster) as zookeeper, suppress(NoNodeError):
            found = int(json.loads(zookeeper.get("/controller")[0])["brokerid"])
            if found == BROKER:
                zookeeper.delete("/controller")
        return found != BROKER

    wait_until(is_another, "a controller that is not broker 2")
    return found
