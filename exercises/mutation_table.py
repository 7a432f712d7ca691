"""The results of the mutation runs, in the committed file `mutation.toml`.

A row has hashes of the solution and of the public tests that it belongs to. The reasons for the
surviving mutants are written by hand, and a new run keeps them.
"""

import ast
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.python_process import command_line

from .runner.manifest import ROOT, Exercise

TABLE: Final = ROOT / "mutation.toml"
SEED: Final = 1
"""The seed of the random numbers in the public tests."""
WANTED_PERCENT: Final = 95
EQUIVALENT: Final = "equivalent: "
GIVEN: Final = "given: "
UNCOUNTED: Final = (EQUIVALENT, GIVEN)
"""The first words of reasons by which a survivor shows no gap in the tests."""
_HEAD: Final = """\
# Which mutants of the reference solutions the public tests find, wrong answers included: written by
# `lab mutate`. Only the lines `reason` are written by hand, and a new run keeps them:
# each says why the tests let a mutant pass. A reason that begins with `equivalent:` says why the
# mutant does the same as the solution. `given:` is written by the command: the starter has this
# code too, so the exercise does not ask for it. Both kinds are not counted. `solution` and
# `tests` are hashes: after a change of either, run the command again.
"""


class Survivor(NamedTuple):
    """A mutant that passes all public tests."""

    line: int
    code: str
    change: str
    reason: str
    """Why the survivor shows no gap in the tests. Empty if nobody has written a reason yet."""


class Row(NamedTuple):
    """The results of all mutants of one solution."""

    id: str
    solution: str
    tests: str
    mutants: int
    survivors: tuple[Survivor, ...]

    @property
    def found(self) -> int:
        """Return the number of mutants that the tests found."""
        return self.mutants - len(self.survivors)

    @property
    def percent(self) -> float:
        """Return the percentage of the mutants that the tests found. Mutants that no test can or
        must find are left out.
        """
        missed = sum(not survivor.reason.startswith(UNCOUNTED) for survivor in self.survivors)
        return 100 * self.found / (self.found + missed) if self.found + missed else 100.0


def hash_of_solution(exercise: Exercise) -> str:
    """Return the hash of an exercise's reference solution."""
    return _hash([exercise.solution])


def hash_of_tests(exercise: Exercise) -> str:
    """Return the hash of an exercise's public tests and of the modules in `exercises` that they
    import.

    The package `runner` is left out: it shows results, and does not decide what is right.
    """
    return _hash(sorted(_with_imports(exercise.public_tests)))


def read_table(path: Path = TABLE) -> dict[str, Row]:
    """Return the rows of the table by exercise id. If the file does not exist, there are no
    rows.
    """
    if not path.is_file():
        return {}
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("exercise", [])
    return {
        row["id"]: Row(
            row["id"],
            row["solution"],
            row["tests"],
            row["mutants"],
            tuple(Survivor(**survivor) for survivor in row.get("survivor", [])),
        )
        for row in rows
    }


def write_table(rows: dict[str, Row], path: Path = TABLE) -> None:
    """Write the table, sorted by exercise. A failed write leaves the old file. Raises OSError."""
    text = [_HEAD]
    for row in sorted(rows.values()):
        text.append(
            f"\n[[exercise]]  # {row.found} of {row.mutants} found: {row.percent:.1f} %\n"
            f'id = "{row.id}"\nsolution = "{row.solution}"\ntests = "{row.tests}"\n'
            f"mutants = {row.mutants}\n"
        )
        text += [
            f"\n[[exercise.survivor]]\nline = {survivor.line}\n"
            f"code = {_quoted(survivor.code)}\nchange = {_quoted(survivor.change)}\n"
            f"reason = {_quoted(survivor.reason)}\n"
            for survivor in row.survivors
        ]
    aside = path.with_suffix(".partial")
    aside.write_text("".join(text), encoding="utf-8")
    aside.replace(path)


def with_reasons(row: Row, old: Row | None) -> Row:
    """Return the new row with the reasons that were written by hand in the old row.

    A survivor is a mutant that passes the tests. Its reason is kept if the new row has a survivor
    with the same code and the same change.
    """
    reasons = {
        (survivor.code, survivor.change): survivor.reason
        for survivor in (old.survivors if old is not None else ())
        if not survivor.reason.startswith(GIVEN)
    }
    return row._replace(
        survivors=tuple(
            survivor._replace(
                reason=reasons.get((survivor.code, survivor.change)) or survivor.reason
            )
            for survivor in row.survivors
        )
    )


def objections(exercise: Exercise, row: Row) -> list[str]:
    """Return the objections to an exercise's row, one line each. An empty list: the row is
    correct.
    """
    found = []
    again = f"run {command_line(f'lab mutate {exercise.id}')}"
    if row.solution != hash_of_solution(exercise):
        found.append(f"{exercise.id}: the solution has changed: {again}")
    if row.tests != hash_of_tests(exercise):
        found.append(f"{exercise.id}: the public tests have changed: {again}")
    if row.percent < WANTED_PERCENT:
        found.append(
            f"{exercise.id}: the tests find {row.percent:.1f} % of the mutants, less than"
            f" {WANTED_PERCENT} %: strengthen them"
        )
    found += [
        f"{exercise.id}, line {survivor.line}, {survivor.change}: say in {TABLE.name} why the tests"
        " let it pass, or strengthen them"
        for survivor in row.survivors
        if not survivor.reason
    ]
    return found


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _hash(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0")
        digest.update(_without_docstrings(file.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


def _without_docstrings(source: str) -> str:
    """Return a module's source with empty lines instead of its docstrings.

    Mutants do not change docstrings, so other words in a docstring do not need a new mutation run.
    A docstring with more or fewer lines does: the table names surviving mutants by their line.
    """
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(lines)


def _with_imports(module: Path) -> set[Path]:
    """Return the module's file, and the files in `exercises` that it imports, directly or
    indirectly.
    """
    found: set[Path] = set()
    ahead = [module]
    while ahead:
        file = ahead.pop()
        if file in found or file.is_relative_to(ROOT / "runner"):
            continue
        found.add(file)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                package = file.parents[node.level - 1]
                base = package.joinpath(*(node.module or "").split("."))
                candidates = [base, *(base / alias.name for alias in node.names)]
                ahead += [
                    path
                    for path in (one.with_suffix(".py") for one in candidates)
                    if path.is_file()
                ]
    return found
