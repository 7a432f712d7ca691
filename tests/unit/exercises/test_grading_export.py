"""`lab export`: a student's copy has no answers and works, a copy with wheels needs no network, and
the autograder works where Gradescope puts it.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from exercises.command import lab
from exercises.grading.export import export_student
from exercises.grading.grade import Grade, Kind, Result, Row, jail_of, why_no_jail
from exercises.grading.gradescope import results_of
from exercises.runner.manifest import ROOT, find_exercise, load_manifest
from exercises.wrong_answers import wrong_answer, wrong_answers
from kafka_edu.common import environment_setup
from kafka_edu.learner.learner import Learner

EXERCISE: Final = find_exercise("02-1")
NO_JAIL: Final = why_no_jail(Kind.NAMESPACES)
SYSTEM_PYTHON: Final = Path("/usr/bin/python3")


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy") / "course"
    export_student(folder)
    return folder


def in_copy(copy: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run kafka-edu of a copy."""
    return subprocess.run(
        [sys.executable, "-m", "kafka_edu", *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_students_copy_has_no_answers(student: Path) -> None:
    answers = {
        file.read_bytes()
        for exercise in load_manifest().values()
        for file in (exercise.solution, exercise.hidden_tests, exercise.wrong)
        if file.is_file()
    }
    files = [path for path in student.rglob("*") if path.is_file()]
    assert [path for path in files if path.read_bytes() in answers] == []
    assert not (student / "tests").exists()
    assert not (student / "exercises" / "wrong").exists()
    assert (student / "docs" / "labs.md").is_file()
    assert os.access(student / "kafka-edu", os.X_OK)
    assert load_manifest(student / "exercises").keys() == load_manifest().keys()


def test_no_line_of_an_answer_is_quoted_in_a_students_copy(student: Path) -> None:
    """Search pages and tables for lines of a solution that are not in the starter. The checks are
    not searched, because they must know what is right.
    """
    public = "\n".join(
        file.read_text(encoding="utf-8")
        for folder in ("exercises", "docs", "chapters")
        for file in (student / folder).rglob("*")
        if file.suffix in (".md", ".toml")
    )
    quoted = [
        f"{exercise.id}: {line.strip()}"
        for exercise in load_manifest().values()
        for line in exercise.solution.read_text(encoding="utf-8").splitlines()
        if len(line.strip()) >= 40 and line.strip() in public
        if line.strip() not in exercise.starter.read_text(encoding="utf-8")
    ]
    assert quoted == []


def test_a_copy_does_not_say_how_answers_fail(student: Path) -> None:
    manifest = (student / "exercises" / "manifest.toml").read_text(encoding="utf-8")
    reasons = [one.reason for each in load_manifest().values() for one in wrong_answers(each)]
    assert len(reasons) > 200
    assert not [reason for reason in reasons if reason in manifest]
    shown = in_copy(student, "lab", "show-wrong", "02-1/3")
    assert shown.returncode == 1
    assert "no wrong answers: ask your teacher" in shown.stderr


@pytest.mark.labs
def test_a_students_copy_works(student: Path, tmp_path: Path) -> None:
    shutil.copy(EXERCISE.solution, tmp_path / "mine.py")
    checked = in_copy(student, "lab", "check", "02-1", str(tmp_path / "mine.py"), "--no-live")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    given_up = in_copy(
        student, "lab", "solution", "02-1", "--give-up", "--yes", f"--dir={tmp_path}"
    )
    assert given_up.returncode == 1
    assert "no solutions: ask your teacher" in given_up.stderr
    graded = in_copy(student, "lab", "grade", str(tmp_path), "--exercise=02-1", "--trusted")
    assert graded.returncode == 1
    assert "grade with the whole course" in graded.stderr


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("here", encoding="utf-8")
    run = CliRunner().invoke(lab, ["export", "--student", str(tmp_path)])
    assert run.exit_code == 1
    assert "is not empty" in run.output
    assert CliRunner().invoke(lab, ["export"]).exit_code == 2


def test_a_copy_with_wheels_installs_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lab export --offline` fetches wheels by pip, and the setup of the copy uses no package
    index.
    """
    ran: list[list[str]] = []

    def fetch(command: list[str], **_: object) -> "subprocess.CompletedProcess[bytes]":
        ran.append(command)
        if "download" in command:
            wheels = Path(command[command.index("--dest") + 1])
            wheels.mkdir(exist_ok=True)
            (wheels / "click-8.5.1-py3-none-any.whl").write_bytes(bytes(2_000_000))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("exercises.grading.export.subprocess.run", fetch)
    copy = tmp_path / "copy"
    arguments = ["export", "--offline", str(copy), "--for-python=3.11", "--for-python=3.12"]
    run = CliRunner().invoke(lab, arguments)
    assert run.exit_code == 0, run.output
    assert "2 MB" in run.output
    downloads = [command for command in ran if "download" in command]
    assert ["--python-version=3.11" in command for command in downloads] == [True, False]
    assert all("--require-hashes" in command for command in downloads)
    installs: list[list[str]] = []
    monkeypatch.setattr(environment_setup, "_WHEELS", copy / "wheels")
    monkeypatch.setattr(environment_setup, "_uv", lambda _: ["uv"])
    monkeypatch.setattr(environment_setup, "_run", lambda command: installs.append(command) or 0)
    environment_setup._install(tmp_path, "main", False)
    environment_setup._install(tmp_path, "test", False)
    assert ["--no-index" in command for command in installs] == [True, False]
    assert str(copy / "wheels") in installs[0]


def test_a_student_sees_the_public_tests_only() -> None:
    rows = (
        Row("public", "test_a", "a", 2.0, True, ""),
        Row("seeds", "test_a", "a", 1.0, False, "with 17: expected 4"),
        Row("hidden", "test_b", "b", 1.0, False, "secret"),
    )
    results: Any = results_of(Grade("", "", Result.FAILED, rows, "test_a: with 17", 1.5))
    assert [test["visibility"] for test in results["tests"]] == ["visible", "hidden", "hidden"]
    assert [test["score"] for test in results["tests"]] == [2, 0, 0]
    assert results["output"] == ""
    assert results["stdout_visibility"] == "hidden"


@pytest.mark.labs
@pytest.mark.skipif(bool(NO_JAIL), reason=f"no jail on this system: {NO_JAIL}")
@pytest.mark.parametrize("right", [True, False])
def test_the_autograder_works_where_gradescope_puts_it(tmp_path: Path, right: bool) -> None:
    """`setup.sh` is not run, because it fetches packages. The environment of the tests is used."""
    top, file = tmp_path / "autograder", tmp_path / "new" / "a.zip"
    for name in ("source", "submission", "results"):
        (top / name).mkdir(parents=True)
    run = CliRunner().invoke(lab, ["export", "--gradescope", "02-1", str(file), "--seed=5"])
    assert run.exit_code == 0, run.output
    assert "give the assignment 24 points" in run.output
    subprocess.run(
        [sys.executable, "-m", "zipfile", "-e", str(file), str(top / "source")], check=True
    )
    names = zipfile.ZipFile(file).namelist()
    assert {"setup.sh", "run_autograder", "kafka-edu", "requirements/main.txt"} <= set(names)
    assert not [name for name in names if "/wrong/ch" in name]
    assert [name for name in names if "/solutions/ch" in name and "__init__" not in name] == [
        EXERCISE.solution.relative_to(ROOT.parent).as_posix()
    ]
    subprocess.run(["bash", "-n", str(top / "source" / "setup.sh")], check=True)
    shutil.copy(top / "source" / "run_autograder", top)
    (top / "run_autograder").chmod(0o755)
    wrong = wrong_answer(EXERCISE, "all_wheels_alike").write(tmp_path)
    shutil.copy(EXERCISE.solution if right else wrong, top / "submission" / "timing_wheel.py")
    done = subprocess.run(
        [str(top / "run_autograder")],
        cwd="/",
        env={"PATH": os.environ["PATH"], "KAFKA_EDU_VENV": sys.prefix},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((top / "results" / "results.json").read_bytes())
    tests = results["tests"]
    assert sum(test["max_score"] for test in tests) == 24
    assert (sum(test["score"] for test in tests) == 24) is right
    assert {test["visibility"] for test in tests} == {"visible", "hidden"}
    assert (top / "source").stat().st_mode & 0o777 == 0o700


def processes_of(user: int) -> list[int]:
    """Return the processes of this user that run."""
    found = []
    for entry in os.scandir("/proc"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if entry.name.isdecimal() and b") Z " not in Path(entry.path, "stat").read_bytes():
                found += [int(entry.name)] if entry.stat().st_uid == user else []
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give away a user id")
def test_without_namespaces_a_user_of_its_own_keeps_the_work_from_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is like a container of Gradescope: every user may run its Python."""
    old = "import sys; sys.exit(sys.version_info < (3, 11))"
    if subprocess.run([SYSTEM_PYTHON, "-c", old], check=False).returncode != 0:
        pytest.skip("no Python 3.11 that every user may run")
    monkeypatch.setattr(sys, "executable", str(SYSTEM_PYTHON))
    secret = tmp_path / "secret"
    secret.write_text("hidden tests", encoding="utf-8")
    secret.chmod(0o600)
    private = tmp_path / "private"  # of root alone, as a TMPDIR may be
    private.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    work = tmp_path / "work.py"
    work.write_text(
        f"""
import ctypes, os, time
libc = ctypes.CDLL(None)
def stay():
    if libc.fork() == 0:
        os.setsid()
        time.sleep(600)
def found():
    stay()
    return {{
        "uid": os.getuid(),
        "read": libc.open(b"{secret}", 0),
        "root": libc.setuid(0),
        "signal": libc.kill({os.getpid()}, 0),
    }}
""",
        encoding="utf-8",
    )
    jail = jail_of(3, Kind.USER)
    assert jail is not None
    learner = Learner(work, "found", jail=jail)
    try:
        made = learner.make()
        assert made.call("get", "uid") == jail.uid
        assert [made.call("get", name) for name in ("read", "root", "signal")] == [-1, -1, -1]
    finally:
        learner.close()
    left = [os.pidfd_open(pid) for pid in processes_of(jail.uid)]
    assert left  # the forked child has its own session
    again = Learner(work, "found", jail=jail)
    try:
        again.start()
        for one in left:  # it was killed, and may need a moment to end
            select.select([one], [], [])
        assert len(processes_of(jail.uid)) == 1
    finally:
        again.close()
        for one in left:
            os.close(one)
