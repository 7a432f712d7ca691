"""The exercises in a live cluster: each reference works with it, and a wrong answer shows there
too.
"""

from pathlib import Path

import pytest

from exercises.ch02_timing_wheel.live import check_live
from exercises.ch03_delayed_operations.ex05_operate import trouble
from exercises.runner.check import live_part
from exercises.runner.manifest import ROOT, Exercise, find_exercise, load_manifest
from kafka_edu.supervisor.cluster import ClusterError

EXERCISE = find_exercise("02-1")
pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    "exercise",
    [one for one in load_manifest().values() if one.live == EXERCISE.live],
    ids=lambda one: one.id,
)
def test_the_reference_times_the_operations_of_broker_2(exercise: Exercise) -> None:
    steps = list(check_live(exercise, exercise.solution, lambda _: None))
    assert [step for step in steps if not step.passed] == []
    assert len(steps) == 4
    assert "asked" in steps[-1].seen


@pytest.mark.parametrize(
    ("exercise_id", "last"),
    [
        ("01-2", "104 records, with the offsets 0 to 103"),
        ("01-5", "asked with version 7, then 3; picked Fetch 11 and Metadata 8, and the broker"),
        ("01-6", "2,584 bytes; the broker opened session "),
        ("16-8", "4, the longest "),
    ],
)
def test_the_reference_holds_in_a_live_cluster(exercise_id: str, last: str) -> None:
    exercise = find_exercise(exercise_id)
    steps = list(live_part(exercise).check_live(exercise, exercise.solution, lambda _: None))
    assert [step for step in steps if not step.passed] == []
    assert steps[-1].seen.startswith(last)


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


def test_an_operator_brings_the_cluster_of_03_5_back(tmp_path: Path) -> None:
    """It is in trouble at first, for the two reasons that the ticket leaves open."""

    def failed() -> list[str]:
        steps = trouble.check_state(tmp_path, lambda _: None, tmp_path)
        return [step.says.partition(" ")[2] for step in steps if not step.passed]

    trouble.begin(0, tmp_path, lambda _: None, tmp_path)
    try:
        assert failed() == [
            "links are as they should be",
            "produce with acks=all is acknowledged within 3,000 ms",
        ]
        with pytest.raises(ClusterError, match=r"up already and in the way: .*lab reset 03-5"):
            trouble.begin(1, tmp_path, lambda _: None, tmp_path)
        trouble.perform([["heal-link", 2, 1]], tmp_path)
        assert failed() == []
    finally:
        assert trouble.end(tmp_path)
    assert not trouble.end(tmp_path)
    with pytest.raises(ClusterError, match="is not up"):
        failed()
