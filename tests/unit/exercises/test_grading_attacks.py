"""Hostile submissions: each fails with its reason and does no damage (docs/grading.md)."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from exercises.grading.attacks import ATTACKS, Attack, table, write_table
from exercises.grading.grade import (
    Grade,
    Grader,
    Kind,
    Result,
    grade_class,
    jail_of,
    why_no_jail,
)
from exercises.grading.submissions import Submission
from exercises.runner.manifest import PYTHON, ROOT, Exercise, find_exercise, load_manifest
from exercises.runner.public_tests import Grading, run_public_tests
from exercises.wrong_answers import wrong_answer
from tests.drawn import drawn

EXERCISE: Final = find_exercise("02-1")
pytestmark = pytest.mark.labs  # they take longer than the fast suite may
NO_JAIL: Final = why_no_jail(Kind.NAMESPACES)
SEED: Final = 7

needs_a_jail = pytest.mark.skipif(bool(NO_JAIL), reason=f"no jail on this system: {NO_JAIL}")


class Lesson(NamedTuple):
    """A class in which everybody attacks, after it was graded."""

    grades: dict[str, Grade]
    other: Path
    """A file that the attackers know of."""
    listener: socket.socket
    uids: set[int]


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lesson]:
    """Grade all attacks, two at once."""
    other = tmp_path_factory.mktemp("others") / "timing_wheel.py"
    other.write_text("# somebody's work\n", encoding="utf-8")
    other.chmod(0o644)
    wrong = wrong_answer(EXERCISE, "no_overflow").source()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        submissions = [
            Submission(
                attack.name,
                attack.name,
                (
                    attack.source.replace("COURSE", str(ROOT.parent))
                    .replace("OTHER", str(other))
                    .replace("PORT", str(listener.getsockname()[1]))
                    + wrong
                ).encode(),
            )
            for attack in ATTACKS
        ]
        grader = Grader(EXERCISE, SEED, Kind.NAMESPACES)
        grades = grade_class(grader, submissions, None, jobs=2)
        jails = [jail_of(number, Kind.NAMESPACES) for number in range(len(ATTACKS) + 1)]
        uids = {jail.uid for jail in jails if jail is not None}
        yield Lesson({grade.student: grade for grade in grades}, other, listener, uids)


@needs_a_jail
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_fails_with_its_reason(lesson: Lesson, attack: Attack) -> None:
    grade = lesson.grades[attack.name]
    assert grade.result is Result.FAILED, grade.reason
    assert re.search(attack.reason, grade.reason), grade.reason
    assert grade.earned < grade.possible / 2


@needs_a_jail
def test_nobody_is_hurt(lesson: Lesson) -> None:
    """No file is damaged, no attack has opened a connection, and no process stays behind."""
    assert lesson.other.read_text(encoding="utf-8") == "# somebody's work\n"
    assert (ROOT / "manifest.toml").is_file()
    with pytest.raises(BlockingIOError):
        lesson.listener.accept()
    owners = set()
    for entry in os.scandir("/proc"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            owners.add(entry.stat().st_uid)
    assert len(lesson.uids) == len(ATTACKS) + 1
    assert not owners & lesson.uids


@needs_a_jail
def test_the_reference_passes_in_a_jail_and_the_same_seed_gives_the_same_grade() -> None:
    submissions = [
        Submission("right", "right.py", EXERCISE.solution.read_bytes()),
        Submission(
            "wrong", "wrong.py", wrong_answer(EXERCISE, "all_wheels_alike").source().encode()
        ),
    ]
    once, again = (
        grade_class(Grader(EXERCISE, SEED, Kind.NAMESPACES), submissions, None, jobs=2)
        for _ in range(2)
    )
    assert [grade._replace(seconds=0) for grade in once] == [
        grade._replace(seconds=0) for grade in again
    ]
    right, wrong = once
    assert right.result is Result.PASSED
    assert right.earned == right.possible == 24
    assert {row.part for row in right.rows} == {"public", "seeds", "hidden"}
    assert wrong.result is Result.FAILED
    assert 0 < wrong.earned < wrong.possible


@needs_a_jail
@pytest.mark.parametrize(
    "exercise",
    drawn([one for one in load_manifest().values() if one.engine == PYTHON], 25),
    ids=lambda one: one.id,
)
def test_every_reference_passes_in_a_jail(exercise: Exercise) -> None:
    """Each reference stays within the jail's limits, and passes other seeds and the hidden
    tests.
    """
    grading = Grading((SEED + 1, SEED + 2), jail_of(1, Kind.NAMESPACES))
    outcomes = run_public_tests(exercise, exercise.solution, SEED, grading=grading).outcomes
    assert [(one.test, one.message) for one in outcomes if not one.passed] == []
    assert {one.part for one in outcomes} >= ({"public"} if exercise.material else {"seeds"})


def test_the_page_has_the_table(tmp_path: Path) -> None:
    """The table of docs/grading.md is up to date. `python -m exercises.grading.attacks
    docs/grading.md` writes it.
    """
    page = ROOT.parent / "docs" / "grading.md"
    assert table() in page.read_text(encoding="utf-8")
    old = tmp_path / "page.md"
    old.write_text("before\n\n| attack | wants | x |\n| - | - | - |\n\nafter\n", encoding="utf-8")
    write_table(old)
    assert old.read_text(encoding="utf-8") == f"before\n\n{table()}\nafter\n"
