"""The learner's own cluster: all parts that the learner has passed run in all three brokers.

If a part of the learner cannot run, the course's own part runs instead. The list of parts says why:
the exercise is not passed yet, its file cannot be loaded any more, a different part of the learner
does the same work, or the exercise is not about a part of a broker.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.learner.lab_partitions import LAB_TOPICS
from kafka_edu.learner.seams import BROKER, LearnerCode, LearnerError, Seam, seams_of
from kafka_edu.supervisor.cluster_spec import Wish

from .runner.manifest import Exercise
from .runner.workplace import Workplace

NAME: Final = "my-broker"
SEAMS: Final = seams_of(BROKER)
BROKERS: Final = (0, 1, 2)
OF_LABS: Final = frozenset(
    {"03-2", "03-3", "04-3", "09-1", "09-2", "09-5", "10-1", "10-6", "15-1", "15-2"}
)
"""The exercises whose parts run only for topics of the labs. Most parts are called often."""
NEEDS: Final[Mapping[str, Mapping[str, str]]] = {
    "10-2": {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
}
"""The broker settings that an exercise needs: without them its part is never called."""


class Part(NamedTuple):
    """A part of the broker that a learner can write."""

    exercise: Exercise
    file: Path | None
    """The learner's file, if it runs; None if the course's own part runs."""
    why: str = ""
    """Why the course's own part runs; empty if the learner's part runs."""

    @property
    def mine(self) -> bool:
        """Whether the learner's part runs."""
        return self.file is not None

    @property
    def note(self) -> str:
        """A short remark about this part; it may be empty."""
        if not self.mine:
            return self.why
        return f"for topics that begin with {LAB_TOPICS}" if self.exercise.id in OF_LABS else ""


def my_parts(works: Iterable[Workplace], without: Collection[str] = ()) -> list[Part]:
    """Return all parts that a learner can write, with the learner's file if the exercise is
    passed.
    """
    files: dict[str, Path] = {}
    reasons: dict[str, str] = {}
    exercises = []
    for work in works:
        exercise = work.exercise
        if exercise.id not in SEAMS:
            continue
        exercises.append(exercise)
        if not work.record.passed:
            reasons[exercise.id] = "not passed yet"
        elif not work.started:
            reasons[exercise.id] = f"passed, but {work.file} is gone"
        else:
            files[exercise.id] = work.file
    return parts_of(exercises, files, reasons, without)


def reference_parts(exercises: Iterable[Exercise], without: Collection[str] = ()) -> list[Part]:
    """Return all parts that a learner can write, each with its reference solution."""
    wanted = [exercise for exercise in exercises if exercise.id in SEAMS]
    files = {exercise.id: exercise.solution for exercise in wanted}
    return parts_of(wanted, files, {}, without)


def parts_of(
    exercises: Sequence[Exercise],
    files: Mapping[str, Path],
    reasons: Mapping[str, str],
    without: Collection[str],
) -> list[Part]:
    """Return the parts. If two parts do the same work in the broker, the part of the later exercise
    runs.
    """
    taken: dict[tuple[str, str], str] = {}
    parts: list[Part] = []
    for exercise in reversed(exercises):
        seam, file = SEAMS[exercise.id], files.get(exercise.id)
        place = seam.module, seam.name
        if exercise.id in without:
            why = "left out, as you wanted"
        elif file is None:
            why = reasons.get(exercise.id, "not written yet")
        elif place in taken:
            other = taken[place]
            why = f"passed; your {other} does its work (--without {other})"
        else:
            why = _cannot_load(seam, file)
        if not why:
            for seam_there in (seam, *(SEAMS[one] for one in seam.includes)):
                taken[seam_there.module, seam_there.name] = exercise.id
        parts.append(Part(exercise, file if not why else None, why))
    return parts[::-1]


def _cannot_load(seam: Seam, file: Path) -> str:
    """Return why a file cannot be loaded; empty if it can."""
    try:
        LearnerCode(seam, file).close()
    except LearnerError as error:
        where = f"line {error.line}: " if error.line else ""
        return f"cannot be loaded: {where}{error.message}"
    return ""


def setting(parts: Iterable[Part]) -> str:
    """Return the value of the broker setting edu.learner with which `parts` run in the broker."""
    return ";".join(f"{part.exercise.id}={part.file}" for part in parts if part.file is not None)


def wish_of(parts: Iterable[Part]) -> Wish:
    """Return the description of a cluster whose brokers run `parts`."""
    mine = [part for part in parts if part.mine]
    serves = {"edu.learner": setting(mine)}
    for part in mine:
        serves |= NEEDS.get(part.exercise.id, {})
    return Wish(brokers=len(BROKERS), broker_props=dict.fromkeys(BROKERS, serves))
