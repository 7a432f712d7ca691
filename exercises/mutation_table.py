"""The committed results of the mutation runs: `mutation.toml`.

A row belongs to one solution and one set of public tests, by their hashes. The reasons for the
survivors are written by hand, and a new run keeps them.
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
"""The seed of what the public tests choose by chance."""
WANTED_PERCENT: Final = 95
EQUIVALENT: Final = "equivalent: "
GIVEN: Final = "given: "
UNCOUNTED: Final = (EQUIVALENT, GIVEN)
"""How reasons begin for survivors that show no gap in the tests."""
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
    """Why that is no gap in the tests. Empty if nobody has said so yet."""


class Row(NamedTuple):
    """The outcomes of the mutants of one solution."""

    id: str
    solution: str
    tests: str
    mutants: int
    survivors: tuple[Survivor, ...]

    @property
    def found(self) -> int:
        """Return how many mutants the tests found."""
        return self.mutants - len(self.survivors)

    @property
    def percent(self) -> float:
        """Return how many of a hundred mutants the tests found, of those that count."""
        missed = sum(not survivor.reason.startswith(UNCOUNTED) for survivor in self.survivors)
        return 100 * self.found / (self.found + missed) if self.found + missed else 100.0


def hash_of_solution(exercise: Exercise) -> str:
    """Return the hash of an exercise's reference solution."""
    return _hash([exercise.solution])


def hash_of_tests(exercise: Exercise) -> str:
    """Return the hash of an exercise's public tests and of the exercises' modules they import.

    The runner is left out: it decides how results are shown, not what is right.
    """
    return _hash(sorted(_with_imports(exercise.public_tests)))


def read_table(path: Path = TABLE) -> dict[str, Row]:
    """Return id → row. Without a file there are none."""
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
    """Write the table, sorted by exercise, either completely or not at all. Raises OSError."""
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
    """Return the row with the reasons that were written by hand for the same survivors."""
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
    """Return what is wrong with the row of an exercise, one line each."""
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
    """Return a module's source with empty lines in place of its docstrings: no mutant changes
    those, so a better sentence needs no new run.
    """
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(lines)


def _with_imports(module: Path) -> set[Path]:
    """Return a module and the modules of the exercises that it imports, and so on."""
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
