"""The live part of 18-1: a scenario of three brokers runs on the learner's agenda.

The course's loop plays the scenario first. The learner's run must have the same steps and the same
digest of its facts. So must a second run with a different seed for Python's hashes.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.busy_machine import Allowance
from kafka_edu.learner.learner import Learner
from kafka_edu.sim.scenario.language import Scenario, parse
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun
from kafka_edu.sim.sim_cluster import coroutines_of_dead_processes, silent_brokers
from kafka_edu.sim.sim_loop import SimLoop

from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .learner_loop import CourseLoop, LearnerLoop, LearnerStalledError, LoopStep

SEED: Final = 18
SCENARIO: Final = """\
> cluster brokers=3 min.insync.replicas=2
> topic t partitions=2 rf=3
> producer p topic=t rate=20
> consumer c topic=t
> seed 18
> at 300ms pause 1 for 700ms
> at 600ms cut 2 3 for 600ms
> at 1s kill 2 for 1s
> run 2s
> settle 3s
"""
CALL: Final = Allowance(processor_s=1.0)
HASH_SEEDS: Final = (1, 2)


def scenario() -> Scenario:
    """Return the scenario that is played."""
    return parse(SCENARIO, "lab-18-1")


class Played(NamedTuple):
    """A run, and the steps of its loop."""

    result: ScenarioResult
    steps: list[LoopStep]


def play_ours() -> Played:
    """Play the scenario on the course's loop."""
    loop = CourseLoop()
    return Played(_play(loop), loop.steps)


def play_learners(learner: Learner) -> Played:
    """Play the scenario on the learner's agenda. Raises LearnerStalledError."""
    loop = LearnerLoop(learner)
    result = _play(loop)
    if loop.blamed:
        raise LearnerStalledError(loop.blamed)
    return Played(result, loop.steps)


def _play(loop: SimLoop) -> ScenarioResult:
    with silent_brokers(), coroutines_of_dead_processes():
        return ScenarioRun(scenario(), SEED, make_loop=lambda: loop).play()


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Play the scenario with the course's loop, and twice with the learner's agenda."""
    assert file is not None  # no step of this part can be late
    say("the course's loop plays three brokers, with a pause, a cut and a kill")
    ours = play_ours()
    learner = Learner(file, exercise.wanted, allowance=CALL)
    runs = []
    for hash_seed in HASH_SEEDS:
        say(f"your agenda plays the same, with the hash seed {hash_seed}")
        other = learner.with_hash_seed(hash_seed)
        try:
            runs.append(play_learners(other))
        except LearnerStalledError as error:
            yield Step("the scenario runs to its end", False, str(error))
            return
        finally:
            other.close()
    first, second = runs
    yield _repeats(first, second)
    yield _same_steps(ours, first)
    yield Step(
        "the digest of all facts is that of the course's run",
        first.result.digest == ours.result.digest,
        f"{first.result.facts:,} facts, {first.result.digest[:12]}; ours"
        f" {ours.result.facts:,} facts, {ours.result.digest[:12]}",
    )
    violations = first.result.violations
    seen = str(violations[0]) if violations else f"{first.result.acked} records are acknowledged"
    yield Step("every rule of the checker holds", not violations, seen)


def _repeats(first: Played, second: Played) -> Step:
    """Compare the learner's two runs."""
    says = "the same calls give the same run again"
    one, other = HASH_SEEDS
    if (first.steps, first.result.digest) == (second.steps, second.result.digest):
        return Step(says, True, f"with the hash seeds {one} and {other}: one run")
    return Step(says, False, "not deterministic: the same calls have given two different runs")


def _same_steps(ours: Played, first: Played) -> Step:
    """Compare the learner's steps with ours. Name the first step that differs."""
    says = "each event runs at its turn"
    for number, (right, came) in enumerate(zip(ours.steps, first.steps, strict=False), 1):
        if right != came:
            return Step(says, False, f"step {number:,} is {came}; with ours it is {right}")
    if len(ours.steps) != len(first.steps):
        seen = f"your run ends after {len(first.steps):,} steps, and ours after {len(ours.steps):,}"
        return Step(says, False, seen)
    return Step(says, True, f"{len(ours.steps):,} steps are those of the course's loop")
