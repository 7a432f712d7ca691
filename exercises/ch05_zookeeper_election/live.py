"""The live part of 05-1: in all three brokers, the learner's code tries to become the controller.

A broker creates /controller. Then /controller is deleted by hand, it is overwritten by hand, and
the controller is killed with -9. Each time a broker must become the controller with a higher epoch,
and the cluster must still serve clients.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from kazoo.exceptions import NoNodeError  # type: ignore[import-untyped]  # no types

from kafka_edu.trace.events.controller import ControllerElected, ControllerResigned

from ..lab_cluster import zookeeper_of
from ..learner_broker import LearnerBroker
from ..learner_controller import controller, envelopes_of, learner_controllers, send_to_all
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-051"
RECORDS: Final = 20
OFFICE: Final = "/controller"


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in all brokers, and yield the result of each check. If `file` is
    None, run the course's own code.
    """
    with learner_controllers(exercise, file, TOPIC, say, patience_s) as broker:
        yield from moment(broker, say)
        if file is not None:
            yield broker.judge_calls(
                f"{len(envelopes_of(broker, ControllerElected))} elections seen"
            )


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check.

    /controller is deleted, then overwritten, and then the controller is killed.
    """
    first = controller(broker)
    yield Step("one of your candidates is the controller", True, f"it is broker {first}")

    say("/controller is deleted by hand, and all three run")
    yield _vacant(broker, "/controller is deleted: one of them takes it", _delete)

    say("another id is written into /controller by hand")
    yield _vacant(broker, "/controller is overwritten: its holder resigns", _overwrite)

    dies = controller(broker)
    say(f"kill -9 of broker {dies}, the controller")
    yield _killed(broker, dies)
    yield send_to_all(broker, "records are acked under the new controller", RECORDS)


def _delete(broker: LearnerBroker) -> None:
    with zookeeper_of(broker.cluster) as zookeeper, suppress(NoNodeError):
        zookeeper.delete(OFFICE)


def _overwrite(broker: LearnerBroker) -> None:
    """Write the id of a broker that was not elected into /controller."""
    with zookeeper_of(broker.cluster) as zookeeper, suppress(NoNodeError):
        data = json.loads(zookeeper.get(OFFICE)[0])
        data["brokerid"] = (data["brokerid"] + 1) % 3
        zookeeper.set(OFFICE, json.dumps(data).encode())


def _vacant(broker: LearnerBroker, says: str, act: Callable[[LearnerBroker], None]) -> Step:
    """Change /controller by `act`. Check that the controller resigns, and that a controller with a
    higher epoch follows.
    """
    before, resigned = _epochs(broker), len(envelopes_of(broker, ControllerResigned))
    act(broker)
    came = broker.listener.wait_for(
        lambda: (
            len(_epochs(broker)) > len(before)
            and len(envelopes_of(broker, ControllerResigned)) > resigned
        ),
        broker.patience_s,
    )
    epochs = _epochs(broker)
    if not came:
        left = len(envelopes_of(broker, ControllerResigned)) > resigned
        seen = "nobody was elected" if left else "its holder did not resign"
        return Step(says, False, seen, late=True)
    if sorted(set(epochs)) != epochs:
        last = ", ".join(map(str, epochs[-3:]))
        return Step(says, False, f"the epochs are {last}: each must be higher than the last")
    return Step(says, True, f"broker {controller(broker)} leads epoch {epochs[-1]}")


def _epochs(broker: LearnerBroker) -> list[int]:
    return [
        e.epoch
        for envelope in envelopes_of(broker, ControllerElected)
        if isinstance(e := envelope.event, ControllerElected)
    ]


def _killed(broker: LearnerBroker, dies: int) -> Step:
    """Kill the controller, and check that one of the other brokers becomes the controller."""
    before = len(_epochs(broker))
    broker.cluster.kill(dies)
    came = broker.listener.wait_for(lambda: len(_epochs(broker)) > before, broker.patience_s)
    says = f"broker {dies} is killed: another one takes the office"
    if not came:
        return Step(says, False, "nobody was elected", late=True)
    return Step(says, True, f"broker {controller(broker)} leads epoch {_epochs(broker)[-1]}")
