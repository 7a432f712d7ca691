"""The live part of 18-3: the learner's class shrinks a run of three brokers with a planted bug."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.sim.scenario.language import Scenario

from ..runner.manifest import Exercise
from ..runner.mismatch import Mismatch
from ..runner.verdict import Step
from .planted_run import play, scenario
from .shrink_rules import MORE, TIMES_OURS, runs_of_ours, shrink

PLANT: Final = "acked-too-early"
RULE: Final = "acked records are there"
SEED: Final = 1


class Runs:
    """Plays a run with some of its acts. The same acts are played only once."""

    def __init__(self, run: Scenario) -> None:
        self._run = run
        self._known: dict[tuple[int, ...], bool] = {}

    def fails(self, kept: tuple[int, ...]) -> bool:
        """Return whether the rule is broken."""
        if kept not in self._known:
            result = play(self._run, [self._run.acts[one] for one in kept], PLANT)
            broken = {violation.rule for violation in result.violations}
            self._known[kept] = RULE in broken
        return self._known[kept]


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Let the course's shrinker work on a run, and then the learner's shrinker."""
    assert file is not None  # no step of this part can be late
    run = scenario(SEED)
    runs = Runs(run)
    say(f"a run with {len(run.acts)} acts and the bug {PLANT}; the course's shrinker works on it")
    ours = runs_of_ours(len(run.acts), runs.fails)
    say("now yours")
    says = "your class shrinks the run, and plays few runs"
    learner = Learner(file, exercise.wanted)
    try:
        most = TIMES_OURS * ours.runs + MORE
        left = shrink(learner, len(run.acts), runs.fails, most)
    except (LearnerFailure, Mismatch) as error:
        yield Step(says, False, str(error))
        return
    finally:
        learner.close()
    yield Step(says, True, f"{left.runs} runs; the course's shrinker has played {ours.runs}")
    acts = "; ".join(str(run.acts[one]) for one in left.acts)
    yield Step("the acts that are left break the rule, and each is needed", True, acts)
    yield Step(
        "about as few acts are left as with the course's shrinker",
        len(left.acts) <= len(ours.acts) + 1,
        f"{len(left.acts)} acts, ours {len(ours.acts)}",
    )
