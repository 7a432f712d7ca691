"""Let plain pytest check your own file, as in any course.

`pytest exercises/ch02_timing_wheel/ex01_timing_wheel_add` tests the file in `lab/02-1` below the
current folder. The tests of an exercise share one `learner`. KAFKA_EDU_LEARNER_SEED sets the seed
of the random numbers. `lab check` and `lab grade` replace this file's fixtures by those of
`runner.pytest_plugin`.
"""

import os
from collections.abc import Iterator

import pytest

from kafka_edu.common.python_process import command_line
from kafka_edu.learner.learner import Learner

from .runner.manifest import Exercise, load_manifest
from .runner.material import new_seed
from .runner.public_tests import usual_limits
from .runner.spark_learner import learner_class
from .runner.workplace import Workplace

if "KAFKA_EDU_LEARNER_RESULTS" not in os.environ:
    _SEED = int(os.environ.get("KAFKA_EDU_LEARNER_SEED") or new_seed())

    def pytest_report_header() -> str:
        """Print the seed of this run, so that you can use the same random numbers again."""
        return f"exercises: KAFKA_EDU_LEARNER_SEED={_SEED}"

    @pytest.fixture(scope="module")
    def workplace(request: pytest.FixtureRequest) -> Workplace:
        """Your folder for the exercise that is tested."""
        exercise = exercise_of(request)
        work = Workplace(exercise)
        if exercise.kind == "predict":
            check = command_line(f"lab check {exercise.id}")
            pytest.skip(f"its numbers can be used for one try, which `{check}` counts")
        if not work.started:
            pytest.skip(f"begin with `{command_line(f'lab start {exercise.id}')}`")
        return work

    @pytest.fixture(scope="module")
    def learner(workplace: Workplace) -> Iterator[Learner]:
        """Your code, which runs in a process of its own."""
        exercise = workplace.exercise
        runs = learner_class(exercise.engine)
        limits = usual_limits(exercise)
        learner = runs(workplace.file, exercise.wanted, allowance=limits.call, prints=True)
        yield learner
        learner.close()

    @pytest.fixture
    def seed() -> int:
        """The seed of the random numbers that a test chooses."""
        return _SEED

    @pytest.fixture
    def material(workplace: Workplace) -> int:
        """The seed from which the files in your folder were made."""
        return workplace.record.seed


def exercise_of(request: pytest.FixtureRequest) -> Exercise:
    """Return the exercise that a test module belongs to."""
    folder = request.path.parent
    return next(one for one in load_manifest().values() if one.folder == folder)
