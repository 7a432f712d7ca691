"""`lab grade`: which files count, what a grade is, and what is written. No jail is needed here."""

import ast
import csv
import io
import json
import os
import zipfile
from collections import Counter
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from exercises.command import lab
from exercises.grading import grade as grading
from exercises.grading.grade import (
    Grade,
    Grader,
    Kind,
    RefusedError,
    Result,
    Row,
    fingerprint,
    grade_class,
)
from exercises.grading.outputs import cell, one_line, write_csv, write_json, write_junit
from exercises.grading.rehearse import NAMES, login, made_up, rehearse
from exercises.grading.submissions import (
    Roster,
    Submission,
    SubmissionsError,
    find_submissions,
)
from exercises.runner import spark_sandbox
from exercises.runner.check import Attempt
from exercises.runner.manifest import Exercise, find_exercise
from exercises.runner.progress import Record, serialize
from exercises.runner.public_tests import LIMITS, CheckError, Limits, Outcome, Run, TooSlowError
from kafka_edu.common.busy_machine import NotJudgedError, Spent
from kafka_edu.learner.learner import JailError, Used
from kafka_edu.learner.memory_cgroup import NoCgroupError

EXERCISE: Final = find_exercise("02-1")
PREDICT: Final = find_exercise("02-5")
SPARK_JOB: Final = find_exercise("16-1s")
WORK: Final = b"class TimingWheel: pass\n"


def put(folder: Path, *names: str, content: bytes = WORK) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def students(folder: Path) -> list[str]:
    return [one.student for one in find_submissions(folder, EXERCISE) if one.content == WORK]


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("anna.py", "anna"),
        ("anna_timing_wheel.py", "anna"),
        ("anna/timing_wheel.py", "anna"),
        ("anna/lab/02-1/timing_wheel.py", "anna"),
        ("anna/mine.py", "anna"),
        ("Anna Berg_123456_assignsubmission_file_/timing_wheel.py", "Anna Berg"),
        ("Anna Berg_123456_assignsubmission_file_timing_wheel.py", "Anna Berg"),
        ("berganna_1234_56789_timing_wheel.py", "berganna"),
        ("berganna_LATE_1234_56789_timing_wheel-2.py", "berganna"),
        ("Lab 1_aberg_attempt_2026-11-23-10-15-20_timing_wheel.py", "aberg"),
    ],
)
def test_names_of_files_of_folders_and_of_three_systems(
    tmp_path: Path, name: str, student: str
) -> None:
    put(tmp_path, name)
    assert students(tmp_path) == [student]


def test_zip_files_are_looked_into(tmp_path: Path) -> None:
    for name in ("anna.zip", "Bo Chen_7_assignsubmission_file_/work.zip"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("lab/02-1/timing_wheel.py", WORK)
            archive.writestr("__MACOSX/timing_wheel.py", b"not this")
    assert students(tmp_path) == ["anna", "Bo Chen"]
    whole = tmp_path / "download.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("chenbo_1_2_timing_wheel.py", WORK)
        archive.writestr("Cleo_3_assignsubmission_file_/timing_wheel.py", WORK)
    assert students(whole) == ["chenbo", "Cleo"]


def test_the_latest_attempt_counts(tmp_path: Path) -> None:
    put(tmp_path, "Lab_aberg_attempt_2026-11-09-10-15-20_timing_wheel.py", content=b"old")
    put(tmp_path, "Lab_aberg_attempt_2026-11-10-10-15-20_timing_wheel.py")
    put(tmp_path, "Lab_aberg_attempt_2026-11-10-10-15-20.txt", content=b"what was handed in")
    put(tmp_path, "chenbo_1_22_timing_wheel-9.py", content=b"old")
    put(tmp_path, "chenbo_1_22_timing_wheel-10.py")
    assert students(tmp_path) == ["aberg", "chenbo"]


def test_traps_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(WORK)
    folder = tmp_path / "work"
    put(folder, "big/timing_wheel.py", content=bytes(2 << 20))
    (folder / "link.py").symlink_to(secret)
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "timing_wheel.py")
    (folder / "nothing").mkdir()
    put(folder, "two/a.py", "two/b.py", "text/essay.txt", ".DS_Store")
    put(folder, "broken.zip", content=b"PK no zip")
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("timing_wheel.py", bytes(50 << 20))
    found = {one.student: one for one in find_submissions(folder, EXERCISE)}
    assert [one for one in found.values() if one.content is not None] == []
    said = {student: one.problem for student, one in found.items()}
    nothing = "there is nothing in it: an empty folder, or a zip file that is broken"
    assert said == {
        "big": "cannot be read: timing_wheel.py has more than 1 MB",
        "bomb": "cannot be read: timing_wheel.py has more than 1 MB",
        "broken": nothing,
        "link": "cannot be read: Too many levels of symbolic links",
        "nothing": nothing,
        "pipe": "cannot be read: timing_wheel.py is not a regular file",
        "text": "no timing_wheel.py was handed in",
        "two": "none of the 2 files is called timing_wheel.py",
    }


def test_a_zip_file_may_be_broken_in_any_way(tmp_path: Path) -> None:
    """Change each byte of a good zip file. The worst result may be a file that cannot be read."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("timing_wheel.py", WORK)
    good = whole.getvalue()
    unread = 0
    for place in range(len(good)):
        for value in (0, 0xFF, good[place] ^ 1):
            broken = good[:place] + bytes([value]) + good[place + 1 :]
            put(tmp_path, "anna.zip", content=broken)
            (one,) = find_submissions(tmp_path, EXERCISE)
            assert (one.content is None) == bool(one.problem)
            unread += one.content is None
    assert unread > len(good)


def test_no_folder_and_no_submission_are_said(tmp_path: Path) -> None:
    with pytest.raises(SubmissionsError, match="name the folder"):
        find_submissions(tmp_path / "nowhere", EXERCISE)
    with pytest.raises(SubmissionsError, match="holds no submission"):
        find_submissions(tmp_path, EXERCISE)


def test_the_numbers_of_a_student_come_from_the_store_of_progress(tmp_path: Path) -> None:
    put(tmp_path, "anna/lab/02-5/answers.py", "bo/answers.py", "eve/answers.py")
    put(tmp_path, "anna/lab/progress.json", content=serialize({"02-5": Record(seed=77)}))
    put(tmp_path, "eve/progress.json", content=b"[" * 100_000)
    found = {one.student: one.material for one in find_submissions(tmp_path, PREDICT)}
    assert found == {"anna": 77, "bo": 0, "eve": 0}


def roster(folder: Path, text: str) -> Roster:
    file = folder / "roster.csv"
    file.write_text(text, encoding="utf-8")
    return Roster(file)


def test_a_roster_knows_a_student_by_any_name_but_not_by_one_of_two(tmp_path: Path) -> None:
    text = 'student,name,id,material\naberg,"Berg, Anna",12,5\nb1,Bo Chen,13\nb2,Bo Chen,14\n'
    known = roster(tmp_path, text)

    def found(student: str, *ids: str) -> str:
        named = known.named(Submission(student, "", WORK, ids=ids))
        return f"{named.student} {named.material}"

    assert found("Anna Berg") == found("berganna", "99") == found("aberg") == "aberg 5"
    assert found("Bo Chen", "14") == "b2 0"
    assert found("Bo Chen") == "Bo Chen 0"
    for bad in ("", "student\n"):
        with pytest.raises(SubmissionsError, match="line of headings"):
            roster(tmp_path, bad)


@pytest.mark.parametrize(
    ("file", "student", "note"),
    [
        # Canvas's number 1234 happens to be a student's number in the roster
        ("dengel_1234_56789_timing_wheel.py", "dengel", "its number 1234 is that of aberg"),
        ("dengel_77_56789_timing_wheel.py", "dengel", ""),
        ("aberg_1234_56789_timing_wheel.py", "aberg", ""),
        ("bergjan_1234_56789_timing_wheel.py", "bergjan", "its number 1234 is that of aberg"),
        ("bergjan_LATE_9_56789_timing_wheel-1.py", "bergjan", ""),
        ("zoe_1234_56789_timing_wheel.py", "aberg", "its number 1234 is that of aberg; no name is"),
        ("Bo Chen_14_assignsubmission_file_", "b2", ""),
        (
            "Bo Chen_1234_assignsubmission_file_",
            "Bo Chen",
            "2 students are called Bo Chen; its number 1234 is that of aberg",
        ),
        ("Bo Chen_99_assignsubmission_file_", "Bo Chen", "2 students are called Bo Chen"),
        ("zoe_99_56789_timing_wheel.py", "zoe", ""),
    ],
)
def test_an_exact_name_wins_and_a_conflict_is_a_line_in_the_report(
    tmp_path: Path, file: str, student: str, note: str
) -> None:
    known = roster(
        tmp_path,
        "student,name,number\naberg,Anna Berg,1234\ndengel,Dora Engel,1235\n"
        "b1,Bo Chen,13\nb2,Bo Chen,14\nbergjan,Jan B.,15\njan,Jan Berg,16\n",
    )
    work = tmp_path / "work"
    if file.endswith("_"):
        (work / file).mkdir(parents=True)
        (work / file / "timing_wheel.py").write_bytes(WORK)
    else:
        work.mkdir()
        (work / file).write_bytes(WORK)
    grades = grade_class(Fake([A, MANY]), find_submissions(work, EXERCISE), known, jobs=1)
    (grade,) = [one for one in grades if one.result is not Result.MISSING]
    assert grade.student == student
    there = {one.student for one in known.students}
    if student not in there:
        note = f"not in the roster; {note}" if note else "not in the roster"
    assert grade.note.startswith(note)
    assert bool(grade.note) == bool(note)


def test_two_submissions_of_one_student_are_noted() -> None:
    submissions = [Submission("anna", "a.py", WORK), Submission("anna", "b.py", WORK + b"x = 1\n")]
    grades = grade_class(Fake(*[[A, MANY]] * 2), submissions, None, jobs=1)
    assert [one.note for one in grades] == ["another submission of anna"] * 2


class Fake(Grader):
    """A grader whose runs end as the test says: each gives rows of results, or raises an exception.

    `reference` is what a new run of the reference solution gives.
    """

    def __init__(
        self, *comes: list[Outcome] | Exception, reference: Limits | Exception = LIMITS
    ) -> None:
        self.exercise = EXERCISE
        self._seeds = [1, 2]
        self._kind = Kind.TRUSTED
        self._all = self._rows([Outcome("test_a", "", True), Outcome("test_many", "", True)])
        self._comes = list(comes)
        self._limits = LIMITS
        self._reference_now = reference
        self.within: list[Limits] = []

    @property
    def runs(self) -> int:
        return len(self.within)

    def _attempt(self, file: Path, number: int, material: int, limits: Limits) -> Attempt:
        self.within.append(limits)
        came = self._comes.pop(0)
        if isinstance(came, TooSlowError):
            return Attempt(str(came), timed_out=True)
        if isinstance(came, Exception):
            raise came
        run = Run(tuple(came), Used(), Spent(1.0, 1.0, 0.0))
        return Attempt("", run, run.timed_out)

    def _run_reference(self) -> Run:
        if isinstance(self._reference_now, Exception):
            raise self._reference_now
        used_s = self._reference_now.call.processor_s / 20
        return Run((), Used(used_s), Spent(1.0, 1.0, 0.0))


def graded(
    *comes: list[Outcome] | Exception, reference: Limits | Exception = LIMITS
) -> tuple[Grade, int]:
    grader = Fake(*comes, reference=reference)
    return grader.grade(Submission("anna", "anna.py", WORK), 1), grader.runs


A, MANY = Outcome("test_a", "", True), Outcome("test_many", "", True)


def test_points_come_from_the_manifest_and_every_seed_must_hold() -> None:
    assert EXERCISE.points_of("test_many") == EXERCISE.points_of("test_many[3]") == 3
    grade, _ = graded([A, MANY])
    assert (grade.result, grade.earned, grade.possible) == (Result.PASSED, 4, 4)
    unlucky = MANY._replace(passed=False, message="with this seed")
    grade, _ = graded([A, MANY, unlucky, MANY])
    assert (grade.result, grade.earned, grade.percent) == (Result.FAILED, 1, 25)
    assert grade.reason == "test_many: with this seed"


def test_a_test_that_was_not_run_has_no_points() -> None:
    grade, _ = graded([A._replace(passed=False, message="did not come back")])
    assert (grade.result, grade.earned, grade.possible) == (Result.FAILED, 0, 4)
    assert "not run" in grade.rows[1].message


@pytest.mark.parametrize("fault", [JailError("no"), OSError("full")])
def test_a_fault_of_the_grader_is_tried_once_more(fault: Exception) -> None:
    grade, runs = graded(fault, [A, MANY])
    assert (grade.result, runs) == (Result.PASSED, 2)
    grade, runs = graded(fault, fault)
    assert (grade.result, runs, grade.rows) == (Result.NOT_GRADED, 2, ())
    assert str(fault) in grade.reason
    grade, runs = graded(fault, [A, MANY], reference=fault)
    assert (grade.result, runs) == (Result.NOT_GRADED, 1), "the reference meets it as well"
    assert str(fault) in grade.reason


def test_work_by_which_the_tests_break_fails_if_the_reference_passes() -> None:
    broken = CheckError("pytest is gone")
    grade, runs = graded(broken, [A, MANY])
    assert (grade.result, runs) == (Result.PASSED, 2)
    grade, runs = graded(broken, broken)
    assert (grade.result, runs, grade.earned) == (Result.FAILED, 2, 0)
    assert "pytest is gone" in grade.reason
    grade, _ = graded(broken, reference=broken)
    assert grade.result is Result.NOT_GRADED


HANGS = A._replace(passed=False, message="did not come back", timed_out=True)


def test_who_does_not_come_back_fails_when_the_reference_does() -> None:
    grade, runs = graded([HANGS])
    assert (grade.result, runs, grade.earned) == (Result.FAILED, 1, 0)
    grade, runs = graded(TooSlowError("not through within 60 s of processor time"))
    assert (grade.result, runs, grade.earned) == (Result.FAILED, 1, 0)
    assert "60 s" in grade.reason


def test_nobody_is_graded_while_the_reference_fails_too() -> None:
    busy = NotJudgedError("test_a: did not come back")
    grade, runs = graded([HANGS], reference=busy)
    assert (grade.result, runs, grade.rows) == (Result.NOT_GRADED, 1, ())
    assert "try later" in grade.reason


def test_a_reference_that_needs_more_now_gives_others_more() -> None:
    """The most expensive call of the reference now took 0.2 s. So submissions get 4 s, and are
    tried once more.
    """
    wide = LIMITS._replace(call=LIMITS.call.widened(0.2, 0.0))
    grader = Fake([HANGS], [A, MANY], reference=wide)
    grade = grader.grade(Submission("anna", "anna.py", WORK), 1)
    assert grade.result is Result.PASSED
    assert [limits.call.processor_s for limits in grader.within] == [1.0, 4.0]


def test_answers_without_their_numbers_are_not_graded() -> None:
    grader = Fake()
    grader.exercise = PREDICT
    grade = grader.grade(Submission("anna", "anna.py", WORK), 1)
    assert grade.result is Result.NOT_GRADED
    assert "progress.json" in grade.reason


def test_the_same_work_is_noted_and_who_is_missing_too(tmp_path: Path) -> None:
    known = roster(tmp_path, "student\nanna\nbo\ncleo\n")
    copy = b"# mine\n\nclass TimingWheel:   pass  # all mine\n"
    submissions = [
        Submission("anna", "anna.py", WORK),
        Submission("bo", "bo.py", copy),
        Submission("eve", "eve.py", EXERCISE.solution.read_bytes() + b"\n# eve\n"),
    ]
    grades = grade_class(Fake(*[[A, MANY]] * 3), submissions, known, jobs=1)
    assert [(one.student, one.result.value, one.note) for one in grades] == [
        ("anna", "passed", "the same work as bo"),
        ("bo", "passed", "the same work as anna"),
        ("cleo", "missing", ""),
        ("eve", "passed", "the reference solution; not in the roster"),
    ]
    assert fingerprint(b"\n# nothing\n") == ""


def test_what_is_written_is_harmless(tmp_path: Path) -> None:
    row = Row("hidden", "test_a", "", 2.0, False, "\x00\ud800<&>")
    grades = [
        Grade("=cmd|' /C calc'!A0", "x.py", Result.FAILED, (row,), "two\nlines \ud800", 1.0),
        Grade("bo", "bo.py", Result.NOT_GRADED, (), "the disk is full", 0.0),
    ]
    write_csv(tmp_path / "a.csv", grades)
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert first["student"].startswith("'=cmd")
    assert (first["points"], first["possible"], first["reason"]) == ("0", "2", "two lines �")
    assert (second["points"], second["result"]) == ("", "not graded")
    assert cell("-1") == "'-1"
    assert one_line("\x1b[2J red\r\n") == "�[2J red"
    write_json(tmp_path / "a.json", EXERCISE, 1, grades)
    assert json.loads((tmp_path / "a.json").read_bytes())["grades"][0]["possible"] == 2
    write_junit(tmp_path / "a.xml", EXERCISE, grades)
    top = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert [(one.get("failures"), one.get("errors")) for one in top] == [("1", "0"), ("0", "1")]


def test_grade_of_trusted_work_writes_all(tmp_path: Path) -> None:
    put(tmp_path / "work", "anna.py", content=EXERCISE.solution.read_bytes())
    files = [f"--{kind}={tmp_path / kind}" for kind in ("csv", "json", "junit")]
    arguments = ["grade", str(tmp_path / "work"), "--exercise", "02-1", "--trusted", *files]
    run = CliRunner(env={"COLUMNS": "200"}).invoke(lab, arguments)
    assert run.exit_code == 0, run.output
    assert "24 of 24" in run.output
    assert "anna,passed,24,24,100,,the reference solution,anna.py" in (tmp_path / "csv").read_text()
    tests = json.loads((tmp_path / "json").read_bytes())["grades"][0]["tests"]
    parts = {
        row["test"]: {one["part"] for one in tests if one["test"] == row["test"]} for row in tests
    }
    assert parts["test_many"] == {"public", "seeds"}
    assert parts["test_due"] == {"public"}
    assert parts["test_wall_clock"] == {"hidden"}


def test_a_system_without_jails_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    put(tmp_path, "anna.py")
    run = CliRunner().invoke(lab, ["grade", str(tmp_path), "--exercise", "02-1"])
    assert run.exit_code == 1
    assert "only root" in run.output
    assert "--trusted" in run.output


def refusal_of_spark(kind: Kind) -> str:
    with pytest.raises(RefusedError) as refused:
        Grader(SPARK_JOB, 1, kind)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_system_without_a_jail_for_spark_refuses_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "does not allow" in refusal_of_spark(Kind.USER)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "only root" in refusal_of_spark(Kind.NAMESPACES)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(grading, "why_no_spark", lambda: "PySpark is missing: install it")
    said = refusal_of_spark(Kind.NAMESPACES)
    assert "PySpark is missing: install it" in said
    assert "--trusted" in said


def test_without_a_cgroup_for_memory_no_spark_job_is_graded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_cgroup(*_: object) -> None:
        raise NoCgroupError("this system has no cgroups")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(grading, "why_no_spark", lambda: "")
    monkeypatch.setattr(grading, "remove_left_behind", lambda: None)
    monkeypatch.setattr(spark_sandbox, "MemoryCgroup", no_cgroup)
    assert "this system has no cgroups" in refusal_of_spark(Kind.NAMESPACES)


def test_a_reference_that_fails_grades_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> Run:
        failed = A._replace(passed=False, message="boom")
        return Run((failed,), Used(), Spent(1.0, 1.0, 0.0))

    monkeypatch.setattr(grading, "run_public_tests", run)
    with pytest.raises(RefusedError, match=r"reference solution of 02-1 fails test_a \(boom\)"):
        Grader(EXERCISE, 1, Kind.TRUSTED)


def test_a_made_up_class_of_a_spark_job_has_its_own_attacks_and_a_slow_answer() -> None:
    exercise = find_exercise("16-4s")
    made = made_up(exercise)
    kinds = Counter(one.kind for one in made)
    assert kinds == {"right": 5, "slow": 1, "wrong": 6, "empty": 2, "copied": 3, "hostile": 13}
    bad = {one.content for one in made if one.kind in ("slow", "hostile")}
    assert len(bad) == 14
    for content in bad:
        functions = [one for one in ast.parse(content).body if isinstance(one, ast.FunctionDef)]
        assert exercise.wanted in [one.name for one in functions]


@pytest.mark.parametrize("exercise", [EXERCISE, SPARK_JOB], ids=lambda one: one.id)
def test_a_made_up_class_is_found_as_its_roster_has_it(tmp_path: Path, exercise: Exercise) -> None:
    made = rehearse(tmp_path / "class", exercise)
    known = Roster(tmp_path / "class" / "roster.csv")
    found = find_submissions(tmp_path / "class" / "submissions", exercise)
    by_login = {known.named(one).student: one for one in found}
    assert set(by_login) == {login(name) for name in NAMES[:30]}
    for name, one in zip(NAMES, made, strict=False):
        content = (by_login[login(name)].content or b"").decode()
        assert len(content) >= len(one.content) if one.kind == "hostile" else content == one.content
    again = CliRunner().invoke(lab, ["rehearse", str(tmp_path / "class")])
    assert again.exit_code == 1
    assert "name a new folder" in again.output
