"""The command `learn`: which steps are done, which step comes next, and the progress file that it
shares with the labs.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from chapters.chapter import find_chapters
from chapters.learn import learn, next_step, open_progress, remember_chapter, way
from exercises.runner.manifest import load_manifest
from kafka_edu.learner.seams import BROKER, seams_of


def test_the_way_has_every_chapter_and_every_exercise_once() -> None:
    ids = [step.id for step in way(Path("/nonexistent"))]
    assert len(ids) == len(set(ids))
    assert [each for each in ids if each.startswith("chapter-")] == [
        f"chapter-{number}" for number in find_chapters()
    ]
    assert {each for each in ids if not each.startswith("chapter-")} == set(load_manifest())
    for exercise in load_manifest():
        if (chapter := exercise.partition("-")[0]) in find_chapters():
            assert ids.index(exercise) > ids.index(f"chapter-{chapter}")


def test_the_next_step_is_the_first_that_is_neither_passed_nor_given_up(tmp_path: Path) -> None:
    store = open_progress(tmp_path)

    def pass_(step: str) -> None:
        store.change(step, lambda record: record._replace(passed="2026-01-01"))

    coming = next_step(way(tmp_path))
    assert coming is not None
    assert coming.id == "chapter-00"
    assert coming.why
    for step in way(tmp_path):
        if step.id < "02" or step.id in ("chapter-00", "chapter-01", "chapter-02"):
            pass_(step.id)
    coming = next_step(way(tmp_path))
    assert coming is not None
    assert (coming.id, coming.command) == ("02-1", "lab start 02-1")
    store.change("02-1", lambda record: record._replace(started="2026-01-01", gave_up="2026-01-02"))
    coming = next_step(way(tmp_path))
    assert coming is not None
    assert coming.id == "02-2"
    store.change("02-2", lambda record: record._replace(started="2026-01-01"))
    coming = next_step(way(tmp_path))
    assert coming is not None
    assert coming.command == "lab check 02-2", "it was begun"
    for step in way(tmp_path):
        pass_(step.id)
    assert next_step(way(tmp_path)) is None


def test_a_chapter_that_was_seen_is_remembered_and_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    remember_chapter("00", finished=False)
    assert open_progress().of("chapter-00").state == "started"
    remember_chapter("00", finished=True)
    passed = open_progress().of("chapter-00").passed
    assert passed
    remember_chapter("00", finished=False)
    assert open_progress().of("chapter-00").passed == passed


def test_the_command_says_where_one_is_and_why_it_goes_on(tmp_path: Path) -> None:
    result = CliRunner(env={"COLUMNS": "160"}).invoke(learn, ["--dir", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "00 A first lesson" in result.output
    assert "Next: 00 A first lesson. See Kafka's main promise" in result.output
    assert "chapter 00" in result.output
    assert "cluster fresh" in result.output
    assert "[enter]" not in result.output, "there is no terminal to press a key in"


def test_at_the_end_there_is_no_next_step(tmp_path: Path) -> None:
    store = open_progress(tmp_path)
    for step in way(tmp_path):
        store.change(step.id, lambda record: record._replace(passed="2026-01-01"))
    result = CliRunner().invoke(learn, ["--dir", str(tmp_path)])
    assert "You have done all steps that exist" in result.output


def test_what_serves_in_a_broker_of_ones_own_is_counted(tmp_path: Path) -> None:
    """The number of the broker's parts that are the learner's own grows with each exercise that was
    passed. An exercise that was given up does not change it.
    """
    store = open_progress(tmp_path)
    words = ["--no-go", "--dir", str(tmp_path)]
    assert "lab my-broker" not in CliRunner().invoke(learn, words).output
    store.change("02-1", lambda record: record._replace(gave_up="2026-01-01"))
    store.change("05-1", lambda record: record._replace(passed="2026-01-01"))
    store.change("01-1", lambda record: record._replace(passed="2026-01-01"))
    output = " ".join(CliRunner().invoke(learn, words).output.split())
    assert f"1 of {len(seams_of(BROKER))} parts of your broker are yours" in output
