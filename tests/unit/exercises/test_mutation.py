"""The mutants of the reference solutions: which mutants there are, and whether the stored table
belongs to them.

The mutants themselves are run by `./kafka-edu lab mutate --all`, which takes some minutes.
"""

from collections import Counter
from pathlib import Path
from threading import Barrier

import pytest
from click.testing import CliRunner

from exercises import mutation_run
from exercises.command import lab
from exercises.mutants import Mutant, mutants
from exercises.mutation_run import Memory, Result, mutants_of, mutate
from exercises.mutation_table import (
    Row,
    Survivor,
    hash_of_solution,
    hash_of_tests,
    objections,
    read_table,
    with_reasons,
    write_table,
)
from exercises.runner.check import Verdict
from exercises.runner.manifest import ROOT, Exercise, find_exercise, load_manifest
from exercises.runner.public_tests import LIMITS, CheckError, Outcome, run_public_tests
from kafka_edu.spark.driver_client import Drivers

EXERCISE = find_exercise("02-1")
PROGRAM = '''\
"""A docstring with a 1."""
Place = tuple[int, int] | None
LIMIT = 9
ASKED = 3


def given(a: int) -> int:
    """Not asked for."""
    return a + 1


def slot(deadline: int, size: int = 20) -> tuple[str, int] | None:
    """Return the slot."""
    if deadline < 0 or not size:
        raise ValueError(f"{size + 1} is wrong" + "!")
    deadline -= size
    return "slot", deadline // 2 % size if size else -1
'''
STARTER = '''\
LIMIT = 9
def given(a: int) -> int:
    """This works; you need not change it."""
    return a + 1


def slot(deadline: int, size: int = 20) -> tuple[str, int] | None:
    raise NotImplementedError
'''


def changes(source: str, starter: str = "") -> list[tuple[int, str]]:
    return [(mutant.line, mutant.change) for mutant in mutants(source, starter)]


def test_each_operator_condition_and_constant_is_changed_once() -> None:
    assert changes(PROGRAM) == [
        (3, "9 becomes 10"),
        (4, "3 becomes 4"),
        (9, "+ becomes -"),
        (9, "1 becomes 2"),
        (12, "20 becomes 21"),
        (14, "or becomes and"),
        (14, "< becomes <="),
        (14, "0 becomes 1"),
        (14, "`not` is left out"),
        (16, "-= becomes +="),
        (17, "'slot' becomes 'slot_'"),
        (17, "// becomes *"),
        (17, "2 becomes 3"),
        (17, "% becomes //"),
        (17, "the condition is turned around"),
        (17, "the sign - is left out"),
        (17, "1 becomes 2"),
    ]


def test_a_mutant_has_one_change_and_still_runs() -> None:
    mutant = next(m for m in mutants(PROGRAM) if m.change == "// becomes *")
    scope: dict[str, object] = {}
    exec(mutant.source, scope)
    slot = scope["slot"]
    assert callable(slot)
    assert slot(25) == ("slot", 10)  # (25 - 20) * 2 % 20; the solution returns 2
    assert mutant.code == 'return "slot", deadline // 2 % size if size else -1'


def test_equal_changes_of_one_line_are_numbered() -> None:
    assert changes("x = f(0, 0)\n") == [(1, "0 becomes 1"), (1, "0 becomes 1, number 2")]


def test_functions_of_the_starter_are_given() -> None:
    given = {mutant.line for mutant in mutants(PROGRAM, STARTER) if mutant.given}
    assert given == {3, 9}
    assert not [mutant for mutant in mutants(PROGRAM) if mutant.given]


@pytest.mark.parametrize("exercise_id", load_manifest())
def test_every_exercise_has_a_row(exercise_id: str) -> None:
    assert exercise_id in read_table(), f"run ./kafka-edu lab mutate {exercise_id}"


@pytest.mark.parametrize("row", read_table().values(), ids=lambda one: one.id)
def test_the_table_belongs_to_the_present_sources(row: Row) -> None:
    exercise = find_exercise(row.id)
    assert objections(exercise, row) == []
    found = mutants_of(exercise)
    assert row.mutants == len(found)
    known = {(mutant.line, mutant.code, mutant.change): mutant for mutant in found}
    for survivor in row.survivors:
        mutant = known[survivor.line, survivor.code, survivor.change]
        assert mutant.given or not survivor.reason.startswith("given: ")


def row_with(*survivors: Survivor, mutants: int = 40) -> Row:
    return Row(
        "02-1", hash_of_solution(EXERCISE), hash_of_tests(EXERCISE), mutants, tuple(survivors)
    )


SURVIVOR = Survivor(19, "if a < b:", "< becomes <=", "")


def test_survivors_need_a_reason_and_gaps_are_counted() -> None:
    assert objections(EXERCISE, row_with()) == []
    assert objections(EXERCISE, row_with(SURVIVOR)) == [
        "02-1, line 19, < becomes <=: say in mutation.toml why the tests let it pass, or"
        " strengthen them"
    ]
    gap = SURVIVOR._replace(reason="a test of this would need an hour")
    assert objections(EXERCISE, row_with(gap, mutants=20)) == []
    assert objections(EXERCISE, row_with(gap, mutants=19)) == [
        "02-1: the tests find 94.7 % of the mutants, less than 95 %: strengthen them"
    ]
    same = SURVIVOR._replace(reason="equivalent: b is never a")
    given = SURVIVOR._replace(reason="given: the starter has this code too")
    assert row_with(same, given, mutants=3).percent == 100.0


def test_a_changed_solution_or_test_makes_the_row_old() -> None:
    old = row_with()._replace(solution="0", tests="1")
    assert objections(EXERCISE, old) == [
        "02-1: the solution has changed: run ./kafka-edu lab mutate 02-1",
        "02-1: the public tests have changed: run ./kafka-edu lab mutate 02-1",
    ]


def test_a_better_docstring_makes_no_row_old() -> None:
    from exercises.mutation_table import _without_docstrings

    old = 'def f(a: int) -> str:\n    """Old\n    words."""\n    return "x" * a\n'
    new = 'def f(a: int) -> str:\n    """Better\n    sentence."""\n    return "x" * a\n'
    assert _without_docstrings(old) == _without_docstrings(new)
    assert _without_docstrings(old) != _without_docstrings(old.replace('"x"', '"y"'))


def test_the_hash_of_tests_covers_what_they_import() -> None:
    from exercises.mutation_table import _with_imports

    names = {path.relative_to(ROOT).as_posix() for path in _with_imports(EXERCISE.public_tests)}
    assert names == {
        "ch02_timing_wheel/ex01_timing_wheel_add/public_tests.py",
        "ch02_timing_wheel/places.py",
    }


def test_the_table_is_read_as_it_was_written_and_keeps_reasons(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    told = SURVIVOR._replace(reason='equivalent: "a" is never b', code='x = "\\n" + 时')
    write_table({"02-1": row_with(told)}, path)
    assert read_table(path) == {"02-1": row_with(told)}
    again = with_reasons(row_with(told._replace(line=23, reason=""), SURVIVOR), row_with(told))
    assert [survivor.reason for survivor in again.survivors] == [told.reason, ""]
    given = row_with(SURVIVOR._replace(reason="given: the starter has this code too"))
    assert with_reasons(row_with(SURVIVOR), given) == row_with(SURVIVOR)  # no longer given
    assert with_reasons(given, None) == given
    assert read_table(tmp_path / "none.toml") == {}


def verdict(*outcomes: Outcome, objection: str = "") -> Verdict:
    return Verdict("02-1", "timing_wheel.py", 1, objection, outcomes, None)


def test_a_run_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second mutant hangs and the last one survives. All mutants have the reference's
    limits.
    """
    hangs = Outcome("test_due", "", False, timed_out=True)
    wide = LIMITS._replace(call=LIMITS.call.widened(0.2, 0.0))
    passes, fails = Outcome("test_due", "", True), Outcome("test_many", "", False)
    everything = mutants_of(EXERCISE)[:5]
    scripts = {
        everything[0].source: [verdict(passes, fails)],
        everything[1].source: [verdict(hangs)],
        everything[2].source: [verdict(fails)],
        everything[3].source: [verdict(objection="line 1: wrong")],
        everything[4].source: [verdict(passes)],
    }
    tried: list[str] = []

    def check(exercise: object, file: Path, seed: int, **options: object) -> Verdict:
        if file == EXERCISE.solution:
            return verdict(passes)._replace(limits=wide)
        assert options["limits"] == wide
        source = file.read_text(encoding="utf-8")
        tried.append(source)
        return scripts[source].pop(0)

    monkeypatch.setattr(mutation_run, "check_public", check)
    monkeypatch.setattr(mutation_run, "mutants_of", lambda exercise: everything)
    memory = Memory(tmp_path, EXERCISE, resume=False)
    memory.keep(everything[0], Result("test_many"))
    (kept,) = (tmp_path / "mutation").iterdir()
    with kept.open("a", encoding="utf-8") as file:
        file.write('["19 < beco')  # stopped while it wrote
    heard: list[tuple[int, int]] = []
    memory = Memory(tmp_path, EXERCISE, resume=True)
    row = mutate(EXERCISE, memory, lambda done, of: heard.append((done, of)), jobs=1)
    assert everything[0].source not in tried
    assert heard == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert [(survivor.line, survivor.change) for survivor in row.survivors] == [
        (everything[4].line, everything[4].change)
    ]
    results = [memory.result(mutant) for mutant in everything]
    assert [result and result.killed_by for result in results] == [
        "test_many",
        "test_due",
        "test_many",
        "line 1: wrong",
        "",
    ]
    assert Memory(tmp_path, EXERCISE, resume=False).results == {}


def test_a_solution_that_fails_is_no_ground_to_stand_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fails = Outcome("test_many", "", False)
    monkeypatch.setattr(mutation_run, "check_public", lambda *_, **__: verdict(fails))
    with pytest.raises(CheckError, match="reference solution of 02-1 does not pass"):
        mutate(EXERCISE, Memory(tmp_path, EXERCISE, resume=True), lambda done, of: None)


def test_one_mutant_in_earnest(tmp_path: Path) -> None:
    """A mutant is really run. The first test that fails finds it, in the process that `lab check`
    uses.
    """
    wrong = next(m for m in mutants_of(EXERCISE) if m.code.startswith("if expiration_ms <"))
    assert isinstance(wrong, Mutant)
    assert mutation_run.try_mutant(EXERCISE, wrong, tmp_path) == Result("test_ends_of_level_1")


def test_a_mutant_that_cannot_be_loaded_fails_in_the_first_test(tmp_path: Path) -> None:
    broken = Mutant(1, "", "", "raise ValueError\n", given=False)
    assert mutation_run.try_mutant(EXERCISE, broken, tmp_path) == Result("test_due")


def test_mutants_of_a_spark_job_that_run_at_once_have_a_jvm_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    exercise = find_exercise("16-1s")
    used: list[tuple[Path, Path]] = []
    both_run, ended = Barrier(2, timeout=60.0), list[Path]()

    def check(exercise: Exercise, file: Path, seed: int, **options: object) -> Verdict:
        drivers = options.get("drivers")
        if file != exercise.solution:
            assert isinstance(drivers, Drivers)
            both_run.wait()
            used.append((file.parent, drivers.folder))
        return verdict(Outcome("test_all", "", True))

    monkeypatch.setattr(mutation_run, "check_public", check)
    monkeypatch.setattr(mutation_run, "mutants_of", lambda _: mutants_of(exercise)[:4])
    monkeypatch.setattr(Drivers, "end", lambda drivers: ended.append(drivers.folder))
    memory = Memory(tmp_path, exercise, resume=False)
    assert mutate(exercise, memory, lambda done, of: None, jobs=2).mutants == 4
    learners, other = tmp_path / "spark-driver", tmp_path / "spark-driver-2"
    assert Counter(folder for _, folder in used) == {learners: 2, other: 2}
    assert len({folder for folder, _ in used}) == 4
    assert ended == [other], "the learner's own JVM stays"


def test_public_tests_use_the_jvm_that_they_are_given(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "public_tests.py").write_text(
        "from kafka_edu.spark.driver_client import Drivers\n"
        f"def test_folder():\n    assert str(Drivers().folder) == {str(tmp_path / 'jvm')!r}\n",
        encoding="utf-8",
    )
    exercise = EXERCISE._replace(folder=folder)
    run = run_public_tests(exercise, EXERCISE.solution, 1, drivers=Drivers(tmp_path / "jvm"))
    assert [outcome.passed for outcome in run.outcomes] == [True]
    run = run_public_tests(exercise, EXERCISE.solution, 1)
    assert [outcome.passed for outcome in run.outcomes] == [False]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name one EXERCISE"),
        (["02-1", "--all"], "name one EXERCISE"),
        (["99-9"], "there is no"),
    ],
)
def test_bad_input(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(lab, ["mutate", *arguments])
    assert result.exit_code == 2
    assert says in result.output
