"""A cluster that uses a learner's own parts: which parts are used, why the others are not, and what
is refused.
"""

import importlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from exercises.command import lab
from exercises.my_broker import BROKERS, OF_LABS, Part, my_parts, parts_of, setting, wish_of
from exercises.runner.manifest import find_exercise, load_manifest
from exercises.runner.verdict import Step
from exercises.runner.workplace import Workplace
from kafka_edu.learner.seams import BROKER, parse, seams_of

SEAMS = seams_of(BROKER)
EXERCISES = [exercise for exercise in load_manifest().values() if exercise.id in SEAMS]


def passed(folder: Path, *ids: str) -> list[Workplace]:
    """Return the workplaces of a learner who has passed these exercises with the reference."""
    for id_ in ids:
        exercise = find_exercise(id_)
        work = Workplace(exercise, folder)
        work.start()
        work.file.write_bytes(exercise.solution.read_bytes())
        work.remember(True)
    return [Workplace(exercise, folder) for exercise in load_manifest().values()]


def whose(parts: list[Part]) -> dict[str, str]:
    return {part.exercise.id: part.why or "mine" for part in parts}


def test_each_seam_belongs_to_an_exercise() -> None:
    assert [exercise.id for exercise in EXERCISES] == list(SEAMS)


def test_the_parts_of_lab_topics_are_those_whose_adapters_look_at_the_topic() -> None:
    modules = {id_: seam.adapter.partition(":")[0] for id_, seam in SEAMS.items()}
    names = {id_: vars(importlib.import_module(module)) for id_, module in modules.items()}
    assert {id_ for id_, has in names.items() if has.keys() & {"LAB_TOPICS", "all_of_labs"}} == {
        *OF_LABS
    }


def test_what_has_passed_serves(tmp_path: Path) -> None:
    parts = my_parts(passed(tmp_path, "02-1", "03-2"))
    found = whose(parts)
    assert [id_ for id_, why in found.items() if why == "mine"] == ["02-1", "03-2"]
    assert {found[id_] for id_ in found.keys() - {"02-1", "03-2"}} == {"not passed yet"}
    notes = {part.exercise.id: part.note for part in parts}
    assert notes["03-2"] == "for topics that begin with lab-"
    assert notes["02-1"] == ""
    assert {seam.exercise for seam, _ in parse(setting(parts))} == {"02-1", "03-2"}
    wish = wish_of(parts)
    assert wish.broker_props is not None
    assert {*wish.broker_props} == {*BROKERS}


def test_the_later_timer_serves_and_the_wheel_beside_it(tmp_path: Path) -> None:
    works = passed(tmp_path, "02-1", "02-2", "02-3")
    found = whose(my_parts(works))
    assert found["02-3"] == "mine"
    assert found["02-1"] == "mine"
    assert found["02-2"] == "passed; your 02-3 does its work (--without 02-3)"
    found = whose(my_parts(works, ["02-2", "02-3"]))
    assert (found["02-1"], found["02-3"]) == ("mine", "left out, as you wanted")


def test_a_fetcher_does_the_work_of_the_truncation_too(tmp_path: Path) -> None:
    works = passed(tmp_path, "07-3", "10-6")
    found = whose(my_parts(works))
    assert found["10-6"] == "mine"
    assert found["07-3"] == "passed; your 10-6 does its work (--without 10-6)"
    found = whose(my_parts(works, ["10-6"]))
    assert (found["07-3"], found["10-6"]) == ("mine", "left out, as you wanted")


def test_a_file_that_was_broken_since_does_not_serve(tmp_path: Path) -> None:
    works = passed(tmp_path, "02-1", "02-2", "04-1")
    file = Workplace(find_exercise("02-2"), tmp_path).file
    file.write_text("def broken(:\n", encoding="utf-8")
    Workplace(find_exercise("04-1"), tmp_path).file.unlink()
    found = whose(my_parts(works))
    assert found["02-2"].startswith("cannot be loaded: line 1:")
    assert found["02-1"] == "mine"
    assert found["04-1"].startswith("passed, but ")
    assert found["04-1"].endswith(" is gone")


def test_nothing_passed_is_said_in_a_sentence(tmp_path: Path) -> None:
    run = CliRunner(env={"KAFKA_EDU_HOME": str(tmp_path)})
    result = run.invoke(lab, ["my-broker", "--dir", str(tmp_path / "lab")])
    assert result.exit_code == 1
    assert f"0 of {len(SEAMS)} parts are yours" in result.output
    assert "nothing in it would be yours: pass an exercise first" in result.output
    result = run.invoke(lab, ["my-broker", "--without", "99-9", "--list"])
    assert result.exit_code == 2
    assert "no part of a broker has that number; there are: 02-1" in result.output


def test_the_list_as_json(tmp_path: Path) -> None:
    file = tmp_path / "parts.json"
    words = ["my-broker", "--list", "--solutions", "--without", "02-4", "--json", str(file)]
    result = CliRunner().invoke(lab, words)
    assert result.exit_code == 0, result.output
    rows = {row["exercise"]: row for row in json.loads(file.read_text(encoding="utf-8"))}
    assert rows["05-1"] == {"exercise": "05-1", "part": "Candidate", "mine": True, "why": ""}
    assert rows["02-4"]["why"] == "left out, as you wanted"
    assert rows["02-3"]["mine"]
    result = CliRunner().invoke(lab, [*words[:-1], str(tmp_path / "none" / "x.json")])
    assert result.exit_code == 1
    assert "cannot write" in result.output


def test_a_part_that_is_not_written_is_ours() -> None:
    exercise = find_exercise("02-1")
    [part] = parts_of([exercise], {}, {}, ())
    assert (part.mine, part.note) == (False, "not written yet")


def test_a_check_that_passed_says_that_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = find_exercise("04-1")
    work = Workplace(exercise, tmp_path)
    work.start()
    work.file.write_bytes(exercise.solution.read_bytes())
    words = ["check", "04-1", "--no-live", "--dir", str(tmp_path)]
    result = CliRunner().invoke(lab, words)
    assert result.exit_code == 0, result.output
    assert "lab my-broker" not in result.output, "without the live part it does not count"
    steps = (Step("it serves", True, "asked once"),)
    monkeypatch.setattr("exercises.command.show_live", lambda *_: steps)
    result = CliRunner().invoke(lab, ["check", "04-1", "--dir", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "It is part of your own broker from now on" in " ".join(result.output.split())


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.id)
def test_each_part_with_a_seam_has_a_live_part_too(exercise: object) -> None:
    assert getattr(exercise, "live", "")
