"""The exercises whose answer is a PySpark program: references, wrong answers, a starter, jobs that
do harm, and the live part with its kills.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from exercises.ch16_spark.both_connectors import why_no_official
from exercises.ch16_spark.jobs import RECORDS, records_of
from exercises.ch16_spark.live_streams import SCENES, check_on
from exercises.prove import prove_wrong
from exercises.runner import spark_learner
from exercises.runner.check import check_public, live_part
from exercises.runner.manifest import Exercise, load_manifest
from exercises.runner.public_tests import SPARK_LIMITS, Grading
from exercises.runner.spark_learner import SPARK, SparkLearner
from exercises.wrong_answers import wrong_answers
from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.drawn import drawn
from tests.interop.external_programs import missing

pytestmark = pytest.mark.spark

SEED = 7
EXERCISES = [one for one in load_manifest().values() if one.engine == SPARK]
LONG = ("16-3s", "16-8s", "16-11s", "16-13s", "16-15s", "16-17s", "16-19s", "16-20s")
"""The exercises of which only the long tier runs the reference and the hidden tests."""
SOME = drawn([one for one in EXERCISES if one.id not in LONG], 3)
"""Those whose reference CI tries at this commit: half a minute each."""


@pytest.mark.parametrize(
    "exercise",
    [
        # CI's time is short: the others try a part of what those in LONG teach
        pytest.param(one, id=one.id, marks=() if one in SOME else pytest.mark.long)
        for one in EXERCISES
    ],
)
def test_the_reference_passes_with_the_hidden_tests(exercise: Exercise) -> None:
    verdict = check_public(exercise, exercise.solution, SEED, grading=Grading((), None))
    assert [(one.test, one.message) for one in verdict.public if not one.passed] == []
    assert {one.part for one in verdict.public} == {"public", "hidden"}


@pytest.mark.parametrize(
    "exercise", [one for one in EXERCISES if one.id in ("16-1s", "16-4s")], ids=lambda one: one.id
)
def test_a_wrong_answer_fails_for_its_own_reason(exercise: Exercise) -> None:
    one = random.Random(exercise.id).sample(wrong_answers(exercise), 1)
    assert [proof.seen for proof in prove_wrong(one, SEED) if not proof.as_expected] == []


def test_the_starter_with_a_comment_fails_and_says_what_is_asked(tmp_path: Path) -> None:
    exercise = EXERCISES[0]
    file = tmp_path / exercise.file
    file.write_bytes(exercise.starter.read_bytes() + b"\n# mine\n")
    verdict = check_public(exercise, file, SEED, only="test_columns")
    (outcome,) = verdict.public
    assert "build is not written yet: it returns a DataFrame" in outcome.message


ALONE = [one for one in EXERCISES if one.live and one.id not in SCENES]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One cluster for all exercises whose live parts only fill topics and read them."""
    with running_cluster("lab-spark") as cluster:
        yield cluster


@pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(one, id=one.id, marks=() if one.id == "16-10s" else pytest.mark.long)
        for one in EXERCISES
        if one.id in SCENES
    ],
)
def test_the_reference_works_with_both_connectors(cluster: Cluster, exercise: Exercise) -> None:
    if why := why_no_official():
        missing(why)
    steps = list(check_on(cluster, exercise, None, lambda _: None))
    assert [(step.says, step.seen) for step in steps if not step.passed] == []
    assert len(steps) >= 2


@pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(one, id=one.id, marks=pytest.mark.long if one.id in LONG else ())
        for one in ALONE
    ],
)
def test_the_reference_works_with_a_live_cluster(exercise: Exercise) -> None:
    steps = list(live_part(exercise).check_live(exercise, None, lambda _: None, 60.0))
    assert [(step.says, step.seen) for step in steps if not step.passed] == []
    assert len(steps) >= 3


@pytest.mark.rotated
def test_kills_find_a_sink_that_appends(tmp_path: Path) -> None:
    """Each kill comes after a batch's rows were written, and before Spark has noted that the batch
    is done.
    """
    (exercise,) = [one for one in EXERCISES if one.id == "16-4s"]
    (appends,) = [one for one in wrong_answers(exercise) if one.name == "appends"]
    file = appends.write(tmp_path)
    steps = list(live_part(exercise).check_live(exercise, file, lambda _: None, 60.0))
    assert [step.says for step in steps if not step.passed] == ["no record is there twice"]


JOBS = """
from pyspark.sql import functions as F
from pyspark.sql.functions import udf


@udf("int")
def divided(offset):
    return 1 // 0


def build(spark, records):
    match records.count():
        case 1:
            return [1]
        case 2:
            return records.select("nothing")
        case 3:
            return records.select(divided("offset"))
        case 4:
            return records.select(F.col("value").cast("string").cast("int"))
        case 5:
            spark.stop()
            return records
        case 6:
            raise SystemExit(3)
        case 7:
            while True: pass
    return records.select("offset")
"""


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkLearner]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_learner, "DRIVER_S", 2.0)
        file = tmp_path_factory.mktemp("jobs") / "jobs.py"
        file.write_text(JOBS, encoding="utf-8")
        learner = SparkLearner(file, "build", allowance=SPARK_LIMITS.call)
        yield learner
        learner.close()


@pytest.mark.parametrize(
    ("records", "line", "says"),
    [
        (1, 0, "TypeError: build returns a DataFrame; it returned a list"),
        (2, 16, "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter"),
        (3, 8, "a function of yours failed in a worker: ZeroDivisionError: integer division"),
        (4, 20, "[CAST_INVALID_INPUT] The value 'abc'"),
        (5, 0, "the job has stopped the SparkSession that it was given: leave `stop` out"),
        (6, 25, "SystemExit: 3"),
        (7, 27, "did not come back within 2 s of processor time"),
    ],
)
def test_a_job_that_does_harm_gets_one_line_and_the_next_one_runs(
    jobs: SparkLearner, records: int, line: int, says: str
) -> None:
    with pytest.raises(LearnerFailure) as failure:
        jobs.batch(RECORDS, records_of([b"abc"] * records))
    assert failure.value.message.startswith(says)
    assert "\n" not in failure.value.message
    assert failure.value.line == line
    assert len(jobs.batch(RECORDS, records_of([b"abc"] * 8)).rows) == 8
