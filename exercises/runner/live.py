"""Judge the live part of an exercise, even on a busy machine.

A live part waits for events, and gives up after some time (its patience). A step is `late` if it
fails because something did not come in time. A late step does not fail the learner at once. The
live part first runs again with the reference solution. (In a copy of the course without solutions,
it runs with the course's own code.) If this run fails too, the learner cannot be judged now.
Otherwise the patience becomes twice the time that the reference solution needed. If the new
patience is longer than the old one, the learner's file runs again.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.common.busy_machine import NotJudgedError
from kafka_edu.common.errors import KafkaException

from .check import live_part
from .manifest import Exercise
from .verdict import Step

PATIENCE_S: Final = 30.0
REFERENCES_PATIENCE_S: Final = 300.0
TIMES_THE_REFERENCE: Final = 2


def check_live(
    exercise: Exercise,
    file: Path,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Step]:
    """Run the live part of an exercise with a learner's file, and yield each step.

    Raises NotJudgedError, and ClusterError or TimeoutError when the cluster itself fails.
    """
    from kafka_edu.supervisor.cluster import ClusterError

    part = live_part(exercise)
    shown, rest = 0, list[Step]()
    failed = ""
    try:
        for step in part.check_live(exercise, file, say, PATIENCE_S):
            if step.late or rest:
                rest.append(step)
            else:
                shown += 1
                yield step
    except (ClusterError, KafkaException, TimeoutError) as error:  # not the learner's fault
        failed = str(error)
    if not rest and not failed:
        return
    has_solution = exercise.solution.is_file()
    if failed and not has_solution:
        raise ClusterError(failed)
    say("something did not come in time: is it your code, or is this machine busy?")
    began = clock()
    reference = exercise.solution if has_solution else None
    try:
        for step in part.check_live(exercise, reference, say, REFERENCES_PATIENCE_S):
            if not step.passed:
                raise NotJudgedError(f"{step.says}: {step.seen}")
    except (ClusterError, KafkaException, TimeoutError) as error:
        raise NotJudgedError(str(error)) from error
    patience_s = TIMES_THE_REFERENCE * (clock() - began)
    if failed or patience_s > PATIENCE_S:
        rest = list(part.check_live(exercise, file, say, max(patience_s, PATIENCE_S)))[shown:]
    yield from rest
