"""The query of exercise 16-4 that is killed at every step."""

from typing import Any

import pytest

from exercises.ch16_spark.replay import Plan, Refused, World, worlds
from exercises.runner.manifest import find_exercise
from exercises.wrong_answers import wrong_answer


def code(name: str = "") -> Any:
    """Return an object of the class in the reference solution, or in a wrong answer."""
    exercise = find_exercise("16-4")
    source = exercise.solution.read_text(encoding="utf-8")
    module: dict[str, Any] = {"__name__": "exactly_once"}
    exec(wrong_answer(exercise, name).source() if name else source, module)
    return module["ExactlyOnce"]()


def test_there_is_a_world_for_each_step_and_one_without_a_kill() -> None:
    whole = World(code(), Plan(10**6, None), (2, 1), (2, 1))
    whole.run()
    assert whole.trace[0] == "  driver  plans batch 0: web-0 0 to 2, web-1 0 to 1"
    # plan; begin, two rows, mark, commit; begin, a row, mark, commit; commit log
    assert whole.steps == 1 + 5 + 4 + 1
    found = list(worlds(code, (2, 1), (2, 1), zombies=False))
    assert len(found) == whole.steps + 1
    assert [one.faults() for one in found] == [([], [])] * len(found)


def test_a_zombie_is_fenced_or_commits_before_the_rows_are_written_again() -> None:
    found = list(worlds(code, (2, 1), (3, 2), zombies=True))
    with_zombie = [one for one in found if one.left_a_zombie]
    assert all(one.faults() == ([], []) for one in found)
    fenced = [one for one in with_zombie if any("is fenced" in line for line in one.trace)]
    assert 0 < len(fenced) < len(with_zombie)


@pytest.mark.parametrize(
    ("name", "lost", "doubled"),
    [("no_mark", False, True), ("mark_of_the_task", True, True), ("one_off", True, False)],
)
def test_wrong_sinks_lose_or_double(name: str, lost: bool, doubled: bool) -> None:
    faults = [one.faults() for one in worlds(lambda: code(name), (2, 1), (2, 1), zombies=False)]
    assert any(rows for rows, _ in faults) == lost
    assert any(rows for _, rows in faults) == doubled


def test_an_answer_of_another_form_is_refused() -> None:
    class Other:
        def next_batch(self, *_: object) -> object:
            return 0, [0, 0], [1, 1]

        def transactional_id(self, *_: object) -> object:
            return "id"

        def steps(self, *_: object) -> object:
            return [("rows", "web-0@0")]

    with pytest.raises(Refused, match="none of"):
        World(Other(), Plan(100, None), (1, 1), (1, 1)).run()
