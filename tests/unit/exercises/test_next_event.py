"""Exercise 18-1: a learner's agenda chooses the events of a cluster, and the run is compared with
ours.
"""

from pathlib import Path

import pytest

from exercises.ch18_two_clocks.live_loop import check_live, play_ours
from exercises.runner.manifest import find_exercise
from exercises.runner.verdict import Step

pytestmark = pytest.mark.labs
EXERCISE = find_exercise("18-1")
#: what is wrong, its edit of the reference, the step that fails, and what is seen there
WRONG = (
    (
        "the seed of the hashes decides between timers of the same time",
        ("self.count, event", "hash(process), event"),
        "the same calls give the same run again",
        "not deterministic",
    ),
    (
        "a killed broker goes on",
        (" or process in self.dead", ""),
        "the scenario runs to its end",
        "of broker-2, which is killed",
    ),
    (
        "an event runs twice",
        ("self.waiting.remove(event)", "self.ready.append((event, process))"),
        "the scenario runs to its end",
        "which does not wait",
    ),
)


def steps(file: Path) -> list[Step]:
    return list(check_live(EXERCISE, file, lambda _: None, 30.0))


def test_a_cluster_runs_on_the_reference_as_on_our_loop() -> None:
    """Two processes have timers that are due at the same time, so the order of the timers
    matters.
    """
    came = steps(EXERCISE.solution)
    assert [step for step in came if not step.passed] == []
    assert len(came) == 4
    times = {(step.time, step.process) for step in play_ours().steps}
    of_zookeeper = {time for time, process in times if process == "zookeeper"}
    assert len({time for time, process in times if process != "zookeeper"} & of_zookeeper) > 1


@pytest.mark.parametrize(("edit", "says", "seen"), [row[1:] for row in WRONG])
def test_a_wrong_agenda_is_named(
    tmp_path: Path, edit: tuple[str, str], says: str, seen: str
) -> None:
    right = EXERCISE.solution.read_text(encoding="utf-8")
    assert right.count(edit[0]) == 1
    file = tmp_path / EXERCISE.file
    file.write_text(right.replace(*edit), encoding="utf-8")
    failed = {step.says: step.seen for step in steps(file) if not step.passed}
    assert seen in failed[says]
