"""The lab: every exercise can be solved, each wrong answer fails for its own reason, and an
exercise that was not done does not pass (spec E2).
"""

import io
import json
import os
import pty
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from exercises.command import lab
from exercises.prove import prove_wrong
from exercises.runner.check import Verdict, check_public, objection
from exercises.runner.manifest import (
    PYTHON,
    ROOT,
    Exercise,
    UnknownExerciseError,
    find_exercise,
    load_manifest,
)
from exercises.runner.public_tests import CheckError, Outcome
from exercises.runner.verdict import Step
from exercises.runner.workplace import Workplace
from exercises.watch import saves, show_round
from exercises.wrong_answers import WrongAnswer, wrong_answer, wrong_answers
from kafka_edu.common.busy_machine import Allowance
from kafka_edu.common.python_process import command_line, python_environment
from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.learner.seams import BROKER, CONSUMER, PRODUCER, PROXY, SEAMS, ZOOKEEPER
from tests.drawn import drawn

EXERCISE = find_exercise("02-1")
PUBLIC_TESTS = 12
SEED = 1
CLASS = "class TimingWheel:\n    def __init__(self, *args): pass\n    def add(self, ms):\n"
SHIPPED = ROOT.parent / "kafka_edu" / "timer"

IN_PYTHON = [one for one in load_manifest().values() if one.engine == PYTHON]
"""Those with PySpark: tests/spark/test_spark_labs.py"""
SOME = drawn(IN_PYTHON, 30)
"""Those whose reference, wrong answers and starter CI tries at this commit: seconds each."""


def failures(verdict: Verdict) -> dict[str, str]:
    return {outcome.test: outcome.message for outcome in verdict.public if not outcome.passed}


def test_the_manifest_names_what_there_is() -> None:
    for exercise in load_manifest().values():
        for path in (exercise.readme, exercise.starter, exercise.public_tests, exercise.solution):
            assert path.is_file(), path
        assert len(exercise.hints()) == 3
        assert exercise.kind in ("build", "debug", "operate", "predict")
        for module in filter(None, (exercise.live, exercise.material)):
            assert (ROOT / (module.replace(".", "/") + ".py")).is_file()
        if exercise.id in SEAMS:
            assert exercise.live
            assert SEAMS[exercise.id].wanted == exercise.wanted
    with pytest.raises(UnknownExerciseError, match="there are: 01-1"):
        find_exercise("99-9")


@pytest.mark.parametrize("exercise", load_manifest().values(), ids=lambda one: one.id)
def test_pages_name_the_program_and_its_folder_as_they_are_here(
    exercise: Exercise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learner copies the commands. Clusters lie in ~/.local/state, and not in ~/.kafka-edu."""
    monkeypatch.setenv("KAFKA_EDU_HOME", "/elsewhere")
    text = "\n".join([exercise.task(), *exercise.hints()])
    assert not re.findall(r"`kafka-edu [^`]*`", text)
    assert set(re.findall(r"[^`\s]+/clusters/", text)) <= {"/elsewhere/clusters/"}
    monkeypatch.delenv("KAFKA_EDU_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    text = "\n".join([exercise.task(), *exercise.hints()])
    assert set(re.findall(r"[^`\s]+/clusters/", text)) <= {"~/.local/state/kafka-edu/clusters/"}


@pytest.mark.labs
@pytest.mark.parametrize("exercise", SOME, ids=lambda one: one.id)
def test_the_reference_passes_the_public_tests(exercise: Exercise) -> None:
    verdict = check_public(exercise, exercise.solution, SEED)
    assert failures(verdict) == {}
    assert verdict.public_passed


def test_without_the_live_part_it_does_not_count() -> None:
    verdict = check_public(EXERCISE, EXERCISE.solution, SEED)
    assert len(verdict.public) == PUBLIC_TESTS
    assert not verdict.passed


def without_cluster(exercise: Exercise) -> list[WrongAnswer]:
    return [wrong for wrong in wrong_answers(exercise) if not wrong.live]


@pytest.mark.long
@pytest.mark.parametrize("exercise", load_manifest().values(), ids=lambda one: one.id)
def test_each_wrong_answer_fails_for_its_own_reason(exercise: Exercise) -> None:
    proofs = list(prove_wrong(wrong_answers(exercise), SEED))
    assert [proof.seen for proof in proofs if not proof.as_expected] == []
    assert len(proofs) == len(without_cluster(exercise)) >= 4


@pytest.mark.labs
@pytest.mark.parametrize("exercise", SOME, ids=lambda one: one.id)
def test_two_wrong_answers_fail_for_their_own_reasons(exercise: Exercise) -> None:
    two = random.Random(exercise.id).sample(without_cluster(exercise), 2)
    proofs = list(prove_wrong(two, SEED))
    assert [proof.seen for proof in proofs if not proof.as_expected] == []
    assert len(proofs) == 2


def test_wrong_answers_differ_in_what_they_fail() -> None:
    for exercise in load_manifest().values():
        answers = wrong_answers(exercise)
        assert len({(wrong.test, wrong.reason) for wrong in answers}) == len(answers) >= 4


PLACES = {
    BROKER: "serves in a broker",
    ZOOKEEPER: "serves in ZooKeeper",
    PROXY: "serves in a proxy",
    PRODUCER: "serves in a producer",
    CONSUMER: "serves in a consumer",
}


def test_the_page_of_the_labs_lists_them_all() -> None:
    page = (ROOT.parent / "docs" / "labs.md").read_text(encoding="utf-8")
    for exercise in load_manifest().values():
        live = (
            PLACES[SEAMS[exercise.id].process]
            if exercise.id in SEAMS
            else "serves in the simulator"
            if exercise.live.startswith("ch18_two_clocks.")
            else "is checked on a cluster"
            if exercise.live
            else "the cluster is the exercise"
            if exercise.trouble
            else ""
        )
        hidden = "yes" if exercise.hidden_tests.is_file() else ""
        cells = (exercise.id, exercise.kind, exercise.title, f"{exercise.minutes}", live, hidden)
        assert "|".join(f" {cell} ".replace("  ", " ") for cell in cells) in page
    assert len(re.findall(r"^\| \d\d-\d+s? \|", page, re.MULTILINE)) == len(load_manifest())


def test_a_wrong_answer_that_fails_otherwise_is_found() -> None:
    wrong = wrong_answer(EXERCISE, "no_overflow")
    other = (wrong._replace(reason="no such reason"), wrong._replace(test="test_2_ms"))
    reason, test = prove_wrong(other, SEED)
    assert not reason.as_expected
    assert "test_350_ms failed for another reason" in reason.seen
    assert not test.as_expected
    assert "test_2_ms did not fail" in test.seen


def test_the_checks_are_proved_in_a_table(tmp_path: Path) -> None:
    run, report = CliRunner(env={"COLUMNS": "250"}), tmp_path / "report.json"
    words = ["check", "02-1", "--solutions", "--no-live"]
    good = run.invoke(lab, [*words, "--json", str(report)])
    assert good.exit_code == 0
    assert "12 of 12 public tests" in good.output
    (proof,) = json.loads(report.read_text())
    assert (proof["exercise"], proof["as_expected"]) == ("02-1", True)
    assert proof["seen"] == "12 of 12 public tests"
    for ignored in (["--only", "test_2_ms"], [str(tmp_path / "timing_wheel.py")]):
        refused = run.invoke(lab, [*words, *ignored])
        assert refused.exit_code == 2
        assert "leave out FILE and --only" in refused.output
    for arguments in (["check"], ["check", "--all"], ["check", "02-1", "--all"]):
        assert run.invoke(lab, arguments).exit_code == 2


def test_a_copy_of_the_shipped_class_fails(tmp_path: Path) -> None:
    """The shipped class imports modules that the learner's process cannot import. Without the
    imports, its `add` takes another argument and gives another answer.
    """
    shipped = (SHIPPED / "timing_wheel.py").read_text(encoding="utf-8")
    copy = tmp_path / "timing_wheel.py"
    copy.write_text(shipped, encoding="utf-8")
    assert "No module named 'kafka_edu'" in check_public(EXERCISE, copy).objection
    alone = [line for line in shipped.splitlines() if not line.startswith("from kafka_edu")]
    copy.write_text("\n".join(alone), encoding="utf-8")
    failed = failures(check_public(EXERCISE, copy))
    assert len(failed) == PUBLIC_TESTS


def test_what_was_not_done_is_not_tried(tmp_path: Path) -> None:
    file = tmp_path / "timing_wheel.py"
    assert "lab start 02-1" in str(objection(EXERCISE, file))
    file.write_text(" \n")
    assert "is empty" in str(objection(EXERCISE, file))
    file.write_bytes(EXERCISE.starter.read_bytes())
    assert "still the starter" in str(objection(EXERCISE, file))
    verdict = check_public(EXERCISE, file)
    assert verdict.public == ()
    assert not verdict.public_passed


@pytest.mark.labs
@pytest.mark.parametrize("exercise", SOME, ids=lambda one: one.id)
def test_the_starter_with_a_comment_fails_and_says_what_is_asked(
    tmp_path: Path, exercise: Exercise
) -> None:
    file = tmp_path / exercise.file
    file.write_bytes(exercise.starter.read_bytes() + b"\n# mine\n")
    failed = failures(check_public(exercise, file, SEED))
    assert any("is not written yet: it returns" in message for message in failed.values())


def checked(tmp_path: Path, source: str) -> Verdict:
    file = tmp_path / "timing_wheel.py"
    file.write_text(source, encoding="utf-8")
    return check_public(EXERCISE, file, SEED)


def test_the_first_endless_loop_ends_the_check(tmp_path: Path) -> None:
    source = EXERCISE.solution.read_text(encoding="utf-8")
    loop = source.replace("        return self.overflow_wheel.add(", "        while True: pass\n#")
    verdict = checked(tmp_path, loop)
    assert [outcome.passed for outcome in verdict.public] == [True, True, True, False]
    last = verdict.public[-1]
    assert last.timed_out
    assert "did not come back within" in last.message


def test_a_file_that_cannot_be_loaded_is_told_once_with_its_line(tmp_path: Path) -> None:
    verdict = checked(tmp_path, "class TimingWheel:\n    def add(self, ms)\n        pass\n")
    assert verdict.public == ()
    assert verdict.objection == (
        "timing_wheel.py, line 2: SyntaxError: expected ':'\n"
        "    2 |     def add(self, ms)\n"
        "                             ^"
    )
    verdict = checked(tmp_path, "import no_such_module\n")
    assert verdict.objection == (
        "timing_wheel.py, line 1: ModuleNotFoundError: No module named 'no_such_module': your"
        " file can import Python's own library, but no other package, and nothing of the course\n"
        "    1 | import no_such_module"
    )
    (tmp_path / "latin.py").write_bytes("x = 1  # caf\xe9\n".encode("latin-1"))
    assert "line 1: SyntaxError: byte 0xe9 is not UTF-8; save" in (
        check_public(EXERCISE, tmp_path / "latin.py").objection
    )


def test_a_wrong_answer_is_shown_with_all_that_explains_it(tmp_path: Path) -> None:
    """The first failure is drawn; the others have a line each."""
    wrong = wrong_answer(EXERCISE, "rounded_up").write(tmp_path)
    result = CliRunner(env={"COLUMNS": "200"}).invoke(
        lab, ["check", "02-1", str(wrong), "--seed", "7"]
    )
    assert result.exit_code == 1
    shown = "\n".join([line.rstrip() for line in result.output.splitlines()])
    for line in (
        " ✗ 350 ms go up to level 2, slot 17 (图 6-8)",
        "   expected  (2, 17, 10)",
        "   came      (2, 18, -10)",
        "     level 2: 20 slots of 20 ms; the hand ▲ is at 0 ms, slot 0",
        "              ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ·  ✓  ✗  ·",
        "   look at: the line that computes the slot",
    ):
        assert f"{line}\n" in shown, line
    source = wrong.read_text(encoding="utf-8").splitlines()
    (number,) = [n for n, line in enumerate(source, 1) if "return self.level" in line]
    assert f"rounded_up.py, line {number}\n" in shown
    assert f"{number} | {source[number - 1]}" in shown
    assert "rounded_up.py --seed 7 --only test_350_ms" in shown
    assert "expected (3, 1, 50), came (3, 2, -350)" in shown
    assert shown.count("level 2: 20 slots") == 1


def test_the_same_error_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "timing_wheel.py"
    source = EXERCISE.starter.read_text(encoding="utf-8")
    file.write_text(source.replace("raise NotImplementedError", "raise KeyError"), encoding="utf-8")
    shown = (
        CliRunner(env={"COLUMNS": "200"})
        .invoke(lab, ["check", "02-1", str(file), "--seed", "7"])
        .output
    )
    assert shown.count("KeyError") == 2, "the error, and its source line"
    assert f"✗ {PUBLIC_TESTS - 1} more tests, by the same error" in shown


def test_one_test_is_run_again_with_the_same_numbers(tmp_path: Path) -> None:
    wrong = wrong_answer(EXERCISE, "slot_by_delay").write(tmp_path)
    (first,) = check_public(EXERCISE, wrong, 7, only="test_many").public
    (again,) = check_public(EXERCISE, wrong, 7, only="test_many").public
    (other,) = check_public(EXERCISE, wrong, 8, only="test_many").public
    assert not first.passed
    assert first == again
    assert first.asked != other.asked
    with pytest.raises(CheckError, match="has no test test_x"):
        check_public(EXERCISE, wrong, 7, only="test_x")


def test_prints_stand_next_to_the_test_that_ran(tmp_path: Path) -> None:
    source = EXERCISE.solution.read_text(encoding="utf-8")
    add = "        if expiration_ms < self.current_time_ms + self.tick_ms:\n"
    assert add in source
    verdict = checked(tmp_path, source.replace(add, f"        print('add', expiration_ms)\n{add}"))
    prints = {outcome.test: outcome.prints for outcome in verdict.public}
    assert prints["test_2_ms"] == "add 2"
    assert prints["test_8_and_19_ms"] == "add 10\nadd 21"
    assert prints["test_many"].endswith("\n…"), "too long to be kept whole"


def test_watch_checks_again_after_each_save(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    done: list[str] = []

    def pause(_: float) -> None:
        done.append("pause")
        match len(done):
            case 2:
                file.write_text("longer")
            case 3:
                file.unlink()
            case 5:
                file.write_text("longer still")

    file.write_text("1")
    watched = saves(file, pause)
    next(watched)
    assert done == []
    next(watched)
    assert len(done) == 2
    next(watched)
    assert len(done) == 5


def test_a_watched_round_shows_the_first_failure_only(tmp_path: Path) -> None:
    wrong = check_public(EXERCISE, wrong_answer(EXERCISE, "rounded_up").write(tmp_path), SEED)
    console = Console(width=200, record=True, file=io.StringIO())
    show_round(console, wrong)
    shown = console.export_text()
    assert shown.count("✗ 350 ms") == 1
    assert "446" not in shown, "the next failing test is not shown"
    assert "4 of 12 tests pass." in shown


def test_breakpoint_stops_at_the_terminal_of_the_unit_part(tmp_path: Path) -> None:
    """At the breakpoint the learner looks at values and goes on. No time limit applies there."""
    file = tmp_path / "x.py"
    file.write_text(CLASS + "        breakpoint()\n        return ms + 1\n", encoding="utf-8")
    keyboard, terminal = pty.openpty()
    hurry = Allowance(processor_s=0.5, idle_s=0.5)
    learner = Learner(file, "TimingWheel", allowance=hurry, terminal=os.ttyname(terminal))
    try:
        made = learner.make(1, [20], 0)
        os.write(keyboard, b"p ms\nms = 41\nc\n")
        assert made.call("add", 350) == 42
        said = b""
        while b"350" not in said:  # a terminal may deliver it in pieces
            said += os.read(keyboard, 65536)
        assert b"breakpoint(): n next line" in said
    finally:
        learner.close()
        os.close(terminal)
        os.close(keyboard)


@pytest.mark.parametrize("learner_of", [CLASS + "        breakpoint()\n"], indirect=True)
def test_breakpoint_without_a_terminal_says_where_it_works(learner_of: Learner) -> None:
    with pytest.raises(LearnerFailure, match=r"only the unit part.*--no-live.*line 4"):
        ask(learner_of)


@pytest.fixture
def learner_of(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Learner]:
    file = tmp_path / "é timing wheel.py"
    file.write_text(request.param, encoding="utf-8")
    learner = Learner(file, "TimingWheel", allowance=Allowance(processor_s=0.5))
    yield learner
    learner.close()


def ask(learner: Learner) -> object:
    return learner.make(1, [20], 0).call("add", 350)


@pytest.mark.parametrize(
    ("learner_of", "told"),
    [
        (
            CLASS + "        while True: pass\n",
            r"add\(350\): did not come back within 0.5 s of processor time.*line 4",
        ),
        (CLASS + "        return 1 // 0\n", r"add\(350\): ZeroDivisionError.*line 4"),
        (
            CLASS + "        import os; os._exit(3)\n",
            r"add\(350\): ended the process \(exit code 3\)",
        ),
        (
            CLASS + "        return object()\n",
            r"add\(350\): TypeError: the answer is <object .*, of type object.*line 3",
        ),
        (
            CLASS.replace("self, ms", "self") + "        pass\n",
            r"add\(350\): TypeError: .* takes 1 positional argument but 2 were given.*line 3",
        ),
        (
            CLASS + "        return [0] * 10**10\n",
            r"MemoryError: a learner's process may use 2 GB.*line 4",
        ),
        (
            "class TimingWheel:\n    pass\n",
            r"TimingWheel\(1, \[20\], 0\): TypeError: TimingWheel\(\) takes no arguments",
        ),
        ("class TimingWheel\n", r"SyntaxError.*line 1"),
        ("", "does not define TimingWheel"),
        ("raise SystemExit(5)\n", "ended the process"),
    ],
    indirect=["learner_of"],
)
def test_whatever_the_learner_does_is_told(learner_of: Learner, told: str) -> None:
    with pytest.raises(LearnerFailure, match=told):
        ask(learner_of)
    with pytest.raises(LearnerFailure, match=told):
        ask(learner_of)


@pytest.mark.parametrize(
    "learner_of", [CLASS + "        print('hello'); return (1, 2, [3])\n"], indirect=True
)
def test_what_the_learner_prints_does_not_disturb(learner_of: Learner) -> None:
    assert ask(learner_of) == (1, 2, (3,))


def test_start_hint_and_list(tmp_path: Path) -> None:
    run = CliRunner(env={"COLUMNS": "200"})
    where = ["--dir", str(tmp_path)]
    assert "is ready for you" in run.invoke(lab, ["start", "02-1", *where]).output
    work = Workplace(EXERCISE, tmp_path)
    assert work.unedited
    readme = (work.folder / "README.md").read_text(encoding="utf-8")
    assert f"    {command_line('lab check 02-1')} " in readme, "as it is typed here"
    work.file.write_text("mine")
    assert "left as it is" in run.invoke(lab, ["start", "02-1", *where]).output
    assert work.file.read_text() == "mine"
    said = [run.invoke(lab, ["hint", "02-1", *where]).output for _ in range(4)]
    assert "Hint 1 of 3" in said[0]
    assert "Hint 3 of 3" in said[2]
    assert "all 3 hints" in said[3]
    assert "started" in run.invoke(lab, ["list", *where]).output
    unknown = run.invoke(lab, ["start", "7-7"])
    assert unknown.exit_code == 2
    assert "there is no exercise '7-7'" in unknown.output


def test_check_tells_and_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live_steps = [
        Step("fetches time out when they should", True, "6 timed out"),
        Step("your add did it", True, "asked 9 times"),
    ]

    class Live:
        def check_live(self, *_: object) -> list[Step]:
            return live_steps

    def public(exercise: Exercise, file: Path, *_: object, **__: object) -> Verdict:
        return Verdict(
            exercise.id,
            str(file),
            SEED,
            "",
            (Outcome("test_2_ms", "2 ms go into slot 2", True),),
            None,
        )

    monkeypatch.setattr("exercises.runner.live.live_part", lambda _: Live())
    monkeypatch.setattr("exercises.command.check_public", public)
    work = Workplace(EXERCISE, tmp_path)
    work.start()
    report = tmp_path / "report.json"
    result = CliRunner().invoke(
        lab, ["check", "02-1", "--dir", str(tmp_path), "--json", str(report)]
    )
    assert result.exit_code == 0
    assert "02-1 passed" in result.output
    assert work.record.passed
    document = json.loads(report.read_text())
    assert document["passed"]
    assert [step["seen"] for step in document["live"]] == ["6 timed out", "asked 9 times"]
    live_steps[1] = Step("your add did it", False, "line 7: KeyError: 7 (3 times)")
    result = CliRunner().invoke(lab, ["check", "02-1", "--dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "line 7: KeyError" in result.output
    assert work.record.passed, "what has passed once stays passed"
    assert work.record.checks == 2


def test_a_check_that_fails_in_public_does_not_start_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: Exercise) -> None:
        raise AssertionError("the live part was run")

    monkeypatch.setattr("exercises.runner.live.live_part", never)
    wrong = wrong_answer(EXERCISE, "rounded_up").write(tmp_path)
    result = CliRunner().invoke(lab, ["check", "02-1", str(wrong), "--dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "due 10 ms after the task" in result.output.replace("\n", " ")


def test_pytest_runs_the_public_tests_on_the_file_in_the_lab(tmp_path: Path) -> None:
    """The tests run as in any course: by pytest, without a command of ours. Each exercise tests the
    file of its own workplace.
    """
    work = tmp_path / "lab" / "02-1" / EXERCISE.file
    work.parent.mkdir(parents=True)
    work.write_text(wrong_answer(EXERCISE, "end_included").source(), encoding="utf-8")

    def run(*options: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-rs", *options, str(EXERCISE.folder.parent)],
            cwd=tmp_path,
            env={**python_environment(), "KAFKA_EDU_LEARNER_SEED": "5"},
            capture_output=True,
            text=True,
            check=False,
        )

    wrong = run("-k", "ex01 or ex05")
    assert wrong.returncode == 1
    assert "exercises: KAFKA_EDU_LEARNER_SEED=5" in wrong.stdout
    assert "test_ends_of_level_1" in wrong.stdout
    assert "lab check 02-5" in wrong.stdout
    work.write_bytes(EXERCISE.solution.read_bytes())
    right = run()
    assert right.returncode == 0, right.stdout
    assert f"{PUBLIC_TESTS} passed" in right.stdout
    assert "lab start 02-2" in right.stdout


@pytest.mark.parametrize("exercise", load_manifest().values(), ids=lambda one: one.id)
def test_each_page_says_why_it_matters(exercise: Exercise) -> None:
    page = exercise.readme.read_text(encoding="utf-8")
    assert page.count("## Why it matters\n") == 1
    why = page.partition("## Why it matters\n")[2].partition("\n## ")[0]
    assert why.count(".") >= 2


@pytest.mark.parametrize(
    "exercise",
    [one for one in load_manifest().values() if one.kind in ("build", "debug")],
    ids=lambda one: one.id,
)
def test_a_page_says_why_there_is_no_live_part(exercise: Exercise) -> None:
    page = exercise.readme.read_text(encoding="utf-8")
    why = page.partition("## Why there is no live part\n")[2].partition("\n## ")[0]
    assert (why.count(".") >= 1) == (not exercise.live)


@pytest.mark.parametrize(
    "exercise",
    [one for one in load_manifest().values() if one.kind == "build"],
    ids=lambda one: one.id,
)
def test_each_build_exercise_has_hidden_tests(exercise: Exercise) -> None:
    """There are at least three hidden tests, and a wrong answer that only hidden tests find."""
    tests = exercise.hidden_tests.read_text(encoding="utf-8")
    assert tests.count("\ndef test_") >= 3
    assert any(wrong.hidden for wrong in wrong_answers(exercise))
