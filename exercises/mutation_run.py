"""Run the public tests of an exercise on each mutant and each wrong answer (`lab mutate`).

Each result is stored at once in the state folder, so a stopped run can go on later.
"""

import json
import os
import queue
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.user_files import state_folder
from kafka_edu.spark.driver_client import FOLDER, Drivers

from .mutants import Mutant, mutants
from .mutation_table import GIVEN, SEED, Row, Survivor, hash_of_solution, hash_of_tests
from .runner.check import check_public
from .runner.manifest import Exercise
from .runner.public_tests import LIMITS, CheckError, Limits, references_limits
from .runner.spark_learner import SPARK
from .wrong_answers import WrongAnswer, wrong_answers

SURVIVED: Final = ""


class Result(NamedTuple):
    """The result of one mutant."""

    killed_by: str
    """The name of the first failed test, or why the file was not tried. SURVIVED if all tests
    passed.
    """


class Memory:
    """Stores the results of mutants, in one file for each exercise.

    A result is used again only for the same solution and the same public tests.
    """

    def __init__(self, folder: Path, exercise: Exercise, *, resume: bool) -> None:
        hashes = f"{hash_of_solution(exercise)}-{hash_of_tests(exercise)}"
        self._path = folder / "mutation" / f"{exercise.id}-{hashes}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            self._path.unlink(missing_ok=True)
        self.results: dict[str, Result] = {}
        if self._path.is_file():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    key, killed_by = json.loads(line)[:2]
                except ValueError:
                    continue  # the run was stopped while it wrote this line
                self.results[key] = Result(killed_by)

    def result(self, mutant: Mutant) -> Result | None:
        """Return the stored result of a mutant, or None if it was not tried yet."""
        return self.results.get(_key(mutant))

    def keep(self, mutant: Mutant, result: Result) -> None:
        """Store the result of a mutant, and write the result to the file at once."""
        self.results[_key(mutant)] = result
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([_key(mutant), *result], ensure_ascii=False) + "\n")


def _key(mutant: Mutant) -> str:
    return f"{mutant.line} {mutant.change}"


def try_mutant(
    exercise: Exercise,
    mutant: Mutant,
    folder: Path,
    limits: Limits = LIMITS,
    drivers: Drivers | None = None,
) -> Result:
    """Check one mutant as `lab check` does, up to the first failed test. Return the result.

    A Spark job uses the warm JVM of `drivers`.
    """
    file = folder / exercise.file
    file.write_text(mutant.source, encoding="utf-8")
    verdict = check_public(
        exercise, file, SEED, stop_at_failure=True, drivers=drivers, limits=limits
    )
    if verdict.objection:
        return Result(verdict.objection.splitlines()[0])
    for outcome in verdict.public:
        if not outcome.passed:
            return Result(outcome.test)
    return Result(SURVIVED)


def mutants_of(exercise: Exercise) -> list[Mutant]:
    """Return all mutants of an exercise: first the changed reference solutions, and then the wrong
    answers.

    Wrong answers that only a cluster or only the hidden tests can find are left out. Raises
    WrongAnswerError.
    """
    solution = exercise.solution.read_text(encoding="utf-8")
    by_rule = mutants(solution, exercise.starter.read_text(encoding="utf-8"))
    by_hand = [one for one in wrong_answers(exercise) if not (one.live or one.hidden)]
    return [*by_rule, *(_by_hand(solution, one) for one in by_hand)]


def _by_hand(solution: str, wrong: WrongAnswer) -> Mutant:
    source = wrong.source()  # it says so if an edit does not apply
    line = solution[: solution.index(wrong.edits[0].old)].count("\n") + 1
    return Mutant(
        line=line,
        code=solution.splitlines()[line - 1].strip(),
        change=f"wrong answer {wrong.name}",
        source=source,
        given=False,
    )


@contextmanager
def warm_jvms(
    exercise: Exercise, jobs: int
) -> Iterator[Callable[[], AbstractContextManager[Drivers | None]]]:
    """Yield a function that lends a warm JVM to a mutant of a Spark job. There are `jobs` JVMs, so
    each mutant that runs gets its own JVM. For other exercises the function lends None, because
    they need no JVM.

    With only one warm JVM, each other mutant would start a JVM, which takes 10 s of processor time.
    At the end of the `with` block, all JVMs end except the one that `lab check` uses too.
    """
    others = [state_folder() / f"{FOLDER}-{number}" for number in range(2, jobs + 1)]
    drivers = [Drivers(), *map(Drivers, others)] if exercise.engine == SPARK else [None] * jobs
    free: queue.SimpleQueue[Drivers | None] = queue.SimpleQueue()
    for one in drivers:
        free.put(one)

    @contextmanager
    def lent() -> Iterator[Drivers | None]:
        one = free.get()
        try:
            yield one
        finally:
            free.put(one)

    try:
        yield lent
    finally:
        for one in drivers[1:]:
            if one is not None:
                one.end()


def mutate(
    exercise: Exercise, memory: Memory, say: Callable[[int, int], None], jobs: int | None = None
) -> Row:
    """Try all mutants of an exercise, and return its row of the table, without reasons.

    The reference solution runs first, and the time that it needs sets the limits of all mutants.
    The time for which a mutant waits for a core does not count, so many mutants can run at once.
    `say` is called with the number of finished mutants and the number of all. Raises CheckError and
    WrongAnswerError.
    """
    everything, jobs = mutants_of(exercise), jobs or os.cpu_count() or 1
    reference = check_public(exercise, exercise.solution, SEED, limits=references_limits(exercise))
    if not reference.public_passed:
        raise CheckError(f"the reference solution of {exercise.id} does not pass its public tests")
    left = [mutant for mutant in everything if memory.result(mutant) is None]
    done = len(everything) - len(left)
    say(done, len(everything))
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-mutants-") as folder,
        warm_jvms(exercise, jobs) as jvms,
    ):

        def run(mutant: Mutant) -> Result:
            with tempfile.TemporaryDirectory(dir=folder) as own, jvms() as drivers:
                return try_mutant(exercise, mutant, Path(own), reference.limits, drivers)

        with ThreadPoolExecutor(jobs) as pool:
            for mutant, result in zip(left, pool.map(run, left), strict=True):
                memory.keep(mutant, result)
                done += 1
                say(done, len(everything))
    survivors = tuple(
        Survivor(
            mutant.line,
            mutant.code,
            mutant.change,
            f"{GIVEN}the starter has this code too" if mutant.given else "",
        )
        for mutant in everything
        if memory.result(mutant) == Result(SURVIVED)
    )
    return Row(
        exercise.id,
        hash_of_solution(exercise),
        hash_of_tests(exercise),
        len(everything),
        survivors,
    )
