"""The live part of 04-3: the learner's code decides the moves of a partition, in all three brokers.

The partition moves from three brokers to two of them, and then to a different pair. Producers must
get acks before, between and after the moves. No old replica may stop before all replicas of the
target are in sync.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kafka_edu.trace.events.reassignment import (
    ReassignmentCaughtUp,
    ReassignmentCompleted,
    ReassignmentReplicasStopped,
)

from ..lab_cluster import order_move
from ..learner_broker import LearnerBroker
from ..learner_controller import envelopes_of, learner_controllers, of_topic, send_to_all
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-043"
RECORDS: Final = 20
TARGETS: Final = ((0, 1), (1, 2))


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in all brokers, and yield the result of each check. If `file` is
    None, run the course's own code.
    """
    with learner_controllers(exercise, file, TOPIC, say, patience_s) as broker:
        yield send_to_all(broker, "records are acked before the first move", RECORDS)
        for target in TARGETS:
            say(f"the partition moves to brokers {_words(target)}")
            moved = _move(broker, target)
            yield moved
            if not moved.passed:
                return
            yield send_to_all(broker, f"records are acked by brokers {_words(target)}", RECORDS)
        yield _none_too_early(broker)
        if file is not None:
            moves = len(of_topic(broker, ReassignmentCompleted))
            yield broker.judge_calls(f"{moves} moves were completed")


def _move(broker: LearnerBroker, target: Sequence[int]) -> Step:
    says = f"the partition comes to brokers {_words(target)}, and nowhere else"
    order_move(broker.cluster, TOPIC, target)

    def ends() -> list[tuple[int, ...]]:
        return [event.replicas for event in of_topic(broker, ReassignmentCompleted)]

    if not broker.listener.wait_for(lambda: tuple(target) in ends(), broker.patience_s):
        last = f"it came to {_words(ends()[-1])}" if ends() else "it has not ended"
        return Step(says, False, last, late=True)
    return Step(says, True, f"its replicas are {_words(target)}")


def _none_too_early(broker: LearnerBroker) -> Step:
    """Check that no old replica was stopped before the controller saw all replicas of the target in
    sync.
    """
    says = "no old replica was stopped before all of the target were in sync"
    caught_up = False
    early = 0
    events = [
        *envelopes_of(broker, ReassignmentCaughtUp),
        *envelopes_of(broker, ReassignmentReplicasStopped),
    ]
    for envelope in sorted(events, key=lambda envelope: envelope.mono_us):
        if isinstance(envelope.event, ReassignmentCaughtUp):
            caught_up = True
        else:
            early += not caught_up
            caught_up = False
    return Step(says, not early, f"{early} were" if early else "none was")


def _words(brokers: Sequence[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"
