"""The exercises in a live cluster: each reference serves in broker 2, and a wrong answer shows
there too.
"""

from pathlib import Path

import pytest

from exercises.ch02_timing_wheel.live import check_live
from exercises.runner.manifest import ROOT, Exercise, find_exercise, load_manifest
from kafka_edu.supervisor.cluster import ClusterError

EXERCISE = find_exercise("02-1")
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(280)]


@pytest.mark.parametrize(
    "exercise",
    [exercise for exercise in load_manifest().values() if exercise.live],
    ids=lambda one: one.id,
)
def test_the_reference_times_the_operations_of_broker_2(exercise: Exercise) -> None:
    steps = list(check_live(exercise, exercise.solution, lambda _: None))
    assert [step for step in steps if not step.passed] == []
    assert len(steps) == 4
    assert "asked" in steps[-1].seen


def test_a_wheel_that_never_stores_lets_operations_run_early(tmp_path: Path) -> None:
    source = (ROOT / "solutions" / "ch02_timing_wheel" / "ex01_timing_wheel_add.py").read_text(
        encoding="utf-8"
    )
    wrong = tmp_path / "timing_wheel.py"
    head, add, _ = source.partition(
        "        if expiration_ms < self.current_time_ms + self.tick_ms:"
    )
    wrong.write_text(head + "        return None\n", encoding="utf-8")
    assert add
    steps = {step.says: step for step in check_live(EXERCISE, wrong, lambda _: None)}
    fetches = steps["fetches time out when they should"]
    assert not fetches.passed
    assert "ran too early" in fetches.seen


def test_a_broker_does_not_start_with_a_file_that_imports_our_modules(tmp_path: Path) -> None:
    """The course is out of reach of the learner's process in a live broker too."""
    file = tmp_path / "timing_wheel.py"
    swap = (
        f"import sys; sys.path.insert(0, {str(ROOT.parent)!r})\n"
        "import kafka_edu.learner.learner_timing_wheel as adapter\n"
    )
    file.write_text(swap, encoding="utf-8")
    with pytest.raises(ClusterError, match=r"timing_wheel.py:2: ModuleNotFoundError"):
        list(check_live(EXERCISE, file, lambda _: None))
