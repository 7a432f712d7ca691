"""Grade submissions by public tests, the same tests with other seeds, and hidden tests.

The tests run outside the jail. Only the learner's process is in a jail of its own
(`kafka_edu.learner.learner_jail`), and only its answers come out.
"""

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.busy_machine import NotJudgedError
from kafka_edu.learner.learner import NAMESPACES, Jail, JailError, Learner, LearnerFailure
from kafka_edu.learner.memory_cgroup import remove_left_behind
from kafka_edu.spark.driver_keeper import IDLE

from ..runner.check import Attempt, attempt, fair_attempt, objection
from ..runner.manifest import Exercise
from ..runner.public_tests import (
    CheckError,
    Grading,
    Limits,
    Outcome,
    Run,
    references_limits,
    run_public_tests,
    usual_limits,
)
from ..runner.spark_learner import SPARK, FileReader, why_no_spark
from .submissions import Roster, Submission

OTHER_SEEDS: Final = 2
PARTS: Final = ("public", "seeds", "hidden")
SPARK_LOADING_S: Final = 400
"""The limit of processor time (s) for loading the file of a Spark job, which may start a JVM."""


class Result(StrEnum):
    """The result of one submission."""

    PASSED = "passed"
    FAILED = "failed"
    MISSING = "missing"
    NOT_GRADED = "not graded"
    """Not judged: the reference solution failed too, or the student's numbers are unknown.

    This result says nothing about the student's work.
    """


class Kind(StrEnum):
    """How the learner's process is isolated from the grader and from other submissions."""

    NAMESPACES = NAMESPACES
    SPARK = SPARK
    """A jail for Spark jobs, which need more: a JVM, threads, memory and brokers."""
    USER = "user"
    TRUSTED = "trusted"
    """No jail: only the same limits as in `lab check`."""


class Row(NamedTuple):
    """The result of one test in a grade."""

    part: str
    test: str
    says: str
    points: float
    """The points that a passed test gives."""
    passed: bool
    message: str

    @property
    def earned(self) -> float:
        return self.points if self.passed else 0.0


class Grade(NamedTuple):
    """One student's grade."""

    student: str
    path: str
    result: Result
    rows: tuple[Row, ...]
    reason: str
    """Why points are missing, in one line."""
    seconds: float
    note: str = ""
    """A remark for the teacher, for example: the same work as another student, or not in the
    roster.
    """

    @property
    def earned(self) -> float:
        return sum(row.earned for row in self.rows)

    @property
    def possible(self) -> float:
        return sum(row.points for row in self.rows)

    @property
    def percent(self) -> float:
        return 100 * self.earned / self.possible if self.rows else 0.0


class RefusedError(Exception):
    """This system cannot grade in the wanted way. The message says why, and what to do."""


def jail_of(number: int, kind: Kind) -> Jail | None:
    """Return a jail with a user id that no other submission has, or None for trusted work."""
    if kind is Kind.TRUSTED:
        return None
    first, size = 1_000_000_000, 1_000_000_000
    with open("/proc/self/uid_map", encoding="ascii") as table:  # a container may know fewer
        known = sum(int(line.split()[2]) for line in table)
    if known < first + size:
        first, size = known // 2, known // 4
    uid = first + (os.getpid() * 1000 + number) % size
    return Jail(uid, kind, SPARK_LOADING_S) if kind is Kind.SPARK else Jail(uid, kind)


def why_no_jail(kind: Kind) -> str:
    """Return the reason why this system has no jail of that kind; empty if it has one."""
    if kind is Kind.TRUSTED:
        return ""
    if not sys.platform.startswith("linux"):
        return "its isolation needs Linux"
    if os.geteuid() != 0:
        return "only root can give each submission a user id of its own"
    if kind is Kind.SPARK:
        if missing := why_no_spark():
            return missing
        remove_left_behind()
    with tempfile.TemporaryDirectory(prefix="kafka-edu-grade-") as folder:
        file = Path(folder) / "probe.py"
        file.write_text("def probe():\n    return {}\n", encoding="utf-8")
        with open(Path(folder) / "output", "w+b") as output:
            runs = FileReader if kind is Kind.SPARK else Learner
            learner = runs(file, "probe", jail=jail_of(0, kind), output=output)
            try:
                learner.start()
            except (JailError, LearnerFailure, OSError) as error:
                output.seek(0)
                said = output.read().decode("utf-8", "replace").strip().splitlines()
                return said[-1] if said else str(error)
            finally:
                learner.close()
    return ""


class Grader:
    """Grades submissions of one exercise."""

    def __init__(self, exercise: Exercise, seed: int, kind: Kind) -> None:
        """Run the reference solution, and compute the limits of all submissions from that run.

        `seed` determines all random numbers, so the same work always gets the same grade. Raises
        RefusedError.
        """
        if exercise.engine == SPARK:
            kind = {Kind.NAMESPACES: Kind.SPARK}.get(kind, kind)
        if exercise.engine == SPARK and kind is Kind.USER:
            raise RefusedError(
                f"{exercise.id} is a Spark job, and its jail needs namespaces, which this container"
                " does not allow: use `lab grade` as root on Linux"
            )
        if why := why_no_jail(kind):
            raise RefusedError(
                f"this system cannot keep submissions from each other ({why}). Grade as root on"
                " Linux, or in a container that may make namespaces; --trusted grades people whose"
                " code you would run yourself"
            )
        if exercise.engine == SPARK:  # a submission shares no JVM with the others or the teacher
            os.environ[IDLE] = "0"
        random = Random(f"{exercise.id} {seed}")
        self.exercise = exercise
        self._seeds = [random.randrange(1, 1_000_000) for _ in range(1 + OTHER_SEEDS)]
        self._kind = kind
        run = self._reference()
        self._all = self._rows(run.outcomes)
        self._limits = run.limits_of_others(usual_limits(exercise))

    @property
    def possible(self) -> float:
        """The points of all tests together."""
        return sum(row.points for row in self._all)

    def _reference(self) -> Run:
        """Return a run of the reference solution, which must get all points. Raises RefusedError.

        The time that it needs sets the limits of all submissions.
        """
        if not self.exercise.solution.is_file():
            raise RefusedError(
                "this copy of the course has no solutions and no hidden tests: grade with the whole"
                " course"
            )
        try:
            return self._run_reference()
        except (CheckError, JailError) as error:
            raise RefusedError(f"the tests cannot run here: {error}") from error
        except NotJudgedError as error:
            raise RefusedError(
                f"the reference solution of {self.exercise.id} fails {error.reference_failed}, so"
                " the tests cannot be trusted here"
            ) from error

    def _run_reference(self) -> Run:
        """Run the tests on the reference solution. Raises NotJudgedError if it fails.

        If the grader itself fails, it raises CheckError, JailError or OSError.
        """
        run = run_public_tests(
            self.exercise,
            self.exercise.solution,
            self._seeds[0],
            grading=Grading(tuple(self._seeds[1:]), jail_of(0, self._kind)),
            limits=references_limits(self.exercise),
        )
        failed = next((row for row in self._rows(run.outcomes) if not row.passed), None)
        if failed is not None:
            raise NotJudgedError(f"{failed.test} ({failed.message})")
        return run

    def _rows(self, outcomes: Iterable[Outcome]) -> tuple[Row, ...]:
        """Return a row for each test. A test that runs with several seeds must pass with all of
        them.
        """
        rows: dict[tuple[str, str], Row] = {}
        for outcome in outcomes:
            row = Row(
                outcome.part,
                outcome.test,
                outcome.says,
                self.exercise.points_of(outcome.test),
                outcome.passed,
                outcome.message.partition("\n")[0],
            )
            before = rows.get((row.part, row.test))
            if before is None or before.passed:
                rows[row.part, row.test] = row
        return tuple(sorted(rows.values(), key=lambda row: PARTS.index(row.part)))

    def grade(self, submission: Submission, number: int) -> Grade:
        """Return the grade of one submission. `number`, from 1, determines the user id of its
        jail.
        """
        began = time.monotonic()

        def made(result: Result, rows: Sequence[Row], reason: str) -> Grade:
            seconds = time.monotonic() - began
            return Grade(submission.student, submission.path, result, tuple(rows), reason, seconds)

        if submission.content is None:
            return made(Result.FAILED, self._none_of_it(""), submission.problem)
        if self.exercise.material and not submission.material:
            return made(
                Result.NOT_GRADED,
                (),
                "the numbers of this student are unknown: hand in progress.json too, or give the"
                " roster a column `material`",
            )
        content, material = submission.content, submission.material
        try:
            try:
                rows, reason = self._try(content, material, number)
            except (CheckError, JailError, OSError):
                limits = self._limits_now()
                rows, reason = self._try(content, material, number, limits)
        except NotJudgedError as error:
            return made(Result.NOT_GRADED, (), str(error))
        except (JailError, OSError) as error:  # no work can cause these
            wrong = str(error).partition("\n")[0]
            return made(Result.NOT_GRADED, (), f"the grader itself failed twice: {wrong}")
        except CheckError as error:
            # The reference solution has just passed, so this submission is what makes the tests
            # fail to run.
            wrong = f"the tests cannot run with this work: {error}".partition("\n")[0]
            return made(Result.FAILED, self._none_of_it(wrong), wrong)
        passed = all(row.passed for row in rows)
        return made(Result.PASSED if passed else Result.FAILED, rows, reason)

    def _limits_now(self) -> Limits:
        """Return the limits for submissions, from a new run of the reference solution.

        Raises NotJudgedError if that run fails.
        """
        try:
            return self._run_reference().limits_of_others(usual_limits(self.exercise))
        except (CheckError, JailError, OSError) as error:
            raise NotJudgedError(str(error).partition("\n")[0]) from error

    def _try(
        self, content: bytes, material: int, number: int, limits: Limits | None = None
    ) -> tuple[tuple[Row, ...], str]:
        """Run the tests on a submission. Return the rows, and why points are missing.

        Raises NotJudgedError. If the grader itself fails, it raises CheckError, JailError or
        OSError.
        """
        with tempfile.TemporaryDirectory(prefix="kafka-edu-grade-") as folder:
            file = Path(folder) / self.exercise.file
            file.write_bytes(content)
            if (against := objection(self.exercise, file)) is not None:
                nothing = against.what.replace(f"{folder}{os.sep}", "")
                return self._none_of_it(nothing), nothing
            tried = fair_attempt(
                lambda limits: self._attempt(file, number, material, limits),
                limits or self._limits,
                self._limits_now,
            )
            if tried.run is None:
                reason = tried.against.partition("\n")[0].replace(f"{folder}{os.sep}", "")
                return self._none_of_it(reason), reason
        return self._graded(tried.run.outcomes)

    def _attempt(self, file: Path, number: int, material: int, limits: Limits) -> Attempt:
        return attempt(
            self.exercise,
            file,
            self._seeds[0],
            limits,
            material=material,
            grading=Grading(tuple(self._seeds[1:]), jail_of(number, self._kind)),
        )

    def _graded(self, outcomes: Sequence[Outcome]) -> tuple[tuple[Row, ...], str]:
        """Return a row for each test of the exercise, and why points are missing."""
        ran = {(row.part, row.test): row for row in self._rows(outcomes)}
        stopped = "not run, because the tests ended before"
        rows = tuple(
            ran.get((row.part, row.test), row._replace(passed=False, message=stopped))
            for row in self._all
        )
        first = next((row for row in rows if not row.passed), None)
        return rows, f"{first.test}: {first.message}" if first else ""

    def _none_of_it(self, reason: str) -> tuple[Row, ...]:
        return tuple(row._replace(passed=False, message=reason) for row in self._all)

    def missing(self, student: str) -> Grade:
        """Return the grade of a student who handed in nothing."""
        reason = "nothing was handed in"
        return Grade(student, "", Result.MISSING, self._none_of_it(reason), reason, 0.0)


def grade_class(
    grader: Grader,
    submissions: Sequence[Submission],
    roster: Roster | None,
    *,
    jobs: int,
    report: Callable[[Grade], None] = lambda _: None,
) -> list[Grade]:
    """Return the grades of a class, sorted by student. Students without a submission are included.

    `report` is called with each grade as soon as it is known.
    """
    work = [roster.named(one) if roster is not None else one for one in submissions]
    notes = list(_notes(grader.exercise, work, roster))

    def one(index: int) -> Grade:
        grade = grader.grade(work[index], index + 1)._replace(note=notes[index])
        report(grade)
        return grade

    with ThreadPoolExecutor(jobs) as pool:
        grades = list(pool.map(one, range(len(work))))
    if roster is not None:
        there = {submission.student for submission in work}
        absent = [one.student for one in roster.students if one.student not in there]
        grades += [grader.missing(student) for student in absent]
    return sorted(grades, key=lambda grade: grade.student.casefold())


def _notes(
    exercise: Exercise, submissions: Sequence[Submission], roster: Roster | None
) -> Iterator[str]:
    """Yield a remark for each submission, for example about a copied file, the numbers of another
    student, or a name that is not in the roster. The remark is empty if all is in order.
    """
    reference = fingerprint(exercise.solution.read_bytes())
    starter = fingerprint(exercise.starter.read_bytes())
    known = {one.student for one in roster.students} if roster is not None else set()
    prints = [fingerprint(one.content or b"") for one in submissions]
    for submission, mine in zip(submissions, prints, strict=True):
        others = [
            (other, theirs)
            for other, theirs in zip(submissions, prints, strict=True)
            if other is not submission
        ]
        same = [
            one.student for one, theirs in others if mine == theirs and mine not in ("", starter)
        ]
        numbers = [one.student for one, _ in others if one.material == submission.material != 0]
        said = [
            f"the same work as {', '.join(same)}" if same else "",
            f"the same numbers as {', '.join(numbers)}" if numbers else "",
            "the reference solution" if mine == reference else "",
            f"another submission of {submission.student}"
            if any(one.student == submission.student for one, _ in others)
            else "",
            "not in the roster" if roster is not None and submission.student not in known else "",
            submission.note,
        ]
        yield "; ".join(filter(None, said))


def fingerprint(content: bytes) -> str:
    """Return a hash of a file. Comments, blank lines and white space do not change the hash.

    An empty file has the empty text as its hash.
    """
    lines = [b"".join(line.partition(b"#")[0].split()) for line in content.splitlines()]
    joined = b"\n".join(filter(None, lines))
    return hashlib.sha256(joined).hexdigest() if joined else ""
