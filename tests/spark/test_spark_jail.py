"""The jail in which graded Spark jobs run: its folders, the ports that a job can reach, and hostile
jobs (docs/grading.md).

Without root these tests are skipped.
"""

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from exercises.ch16_spark.jobs import RECORDS, records_of
from exercises.ch16_spark.made_again import Topic
from exercises.grading.attacks import Attack, table
from exercises.grading.grade import Grader, Kind, Result, jail_of, why_no_jail
from exercises.grading.spark_attacks import SPARK_ATTACKS, TABLE, WRONG_JOB
from exercises.grading.submissions import Submission
from exercises.runner import spark_learner
from exercises.runner.manifest import ROOT, Exercise, find_exercise, load_manifest
from exercises.runner.public_tests import SPARK_LIMITS, Grading, run_public_tests
from exercises.runner.spark_learner import SPARK, SparkLearner
from exercises.runner.spark_sandbox import READER_UID, JobFolders
from exercises.wrong_answers import wrong_answer
from kafka_edu.learner.learner import Jail, LearnerFailure
from kafka_edu.supervisor.cluster import running_cluster
from tests.drawn import drawn

pytestmark = pytest.mark.spark

SEED: Final = 7


@pytest.fixture(scope="module")
def jail() -> Jail:
    """A jail for Spark jobs."""
    if why := why_no_jail(Kind.SPARK):
        pytest.skip(f"no jail for Spark on this system: {why}")
    jail = jail_of(1, Kind.SPARK)
    assert jail is not None
    return jail


@pytest.fixture(scope="module")
def folders(jail: Jail, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobFolders]:
    """Yield the folders of a jail. They are in a separate mount namespace, which this thread leaves
    at the end.
    """
    with own_mounts():
        yield JobFolders(tmp_path_factory.mktemp("job"), jail.uid)


@contextmanager
def own_mounts() -> Iterator[None]:
    """Return to the present mount namespace when the `with` block ends."""
    import ctypes

    own, folder = os.open("/proc/self/ns/mnt", os.O_RDONLY), Path.cwd()
    try:
        yield
    finally:
        assert ctypes.CDLL(None).setns(own, 0) == 0
        os.close(own)
        os.chdir(folder)


class World:
    """The targets of an attack: another learner's file, an open port of this machine, and the
    folder for results.
    """

    def __init__(self, folder: Path, listener: socket.socket, jail: Jail, folders: JobFolders):
        self.other = folder / "parse.py"
        self.other.write_text("# somebody's work\n", encoding="utf-8")
        self.listener = listener
        self.jail = jail
        self.folders = folders
        self.output = folder / "prints"

    @contextmanager
    def learner(self, source: str) -> Iterator[SparkLearner]:
        """Yield a learner's process in the jail, which runs this source. Its output goes to a
        file.
        """
        for name, value in {
            "COURSE": str(ROOT.parent),
            "OTHER": str(self.other),
            "PORT": str(self.listener.getsockname()[1]),
            "LEFT": str(self.folders.left),
        }.items():
            source = source.replace(name, value)
        file = self.other.with_name("job.py")
        file.write_text(source, encoding="utf-8")
        with open(self.output, "w+b") as output:
            learner = SparkLearner(
                file, "build", allowance=SPARK_LIMITS.call, jail=self.jail, output=output
            )
            learner.folders = self.folders
            try:
                yield learner
            finally:
                learner.close()
        for path in self.folders.left.iterdir():
            path.unlink() if path.is_symlink() or path.is_file() else shutil.rmtree(path)


@pytest.fixture(scope="module")
def world(
    jail: Jail, folders: JobFolders, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield World(tmp_path_factory.mktemp("world"), listener, jail, folders)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless loop ends soon."""
    monkeypatch.setattr(spark_learner, "DRIVER_S", 2.0)


def owners() -> set[int]:
    """Return the user ids of all processes."""
    found = set()
    for entry in os.scandir("/proc"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            found.add(entry.stat().st_uid)
    return found


@pytest.mark.parametrize("attack", drawn(SPARK_ATTACKS, 4), ids=lambda attack: attack.name)
@pytest.mark.usefixtures("short")
def test_an_attack_fails_with_its_reason_and_nobody_is_hurt(world: World, attack: Attack) -> None:
    with world.learner(WRONG_JOB + attack.source) as learner:
        try:
            rows = learner.batch(RECORDS, records_of([b"abc"] * 3)).rows
            reason = f"{len(rows)} row"
        except LearnerFailure as failure:
            reason = failure.message
        if "LEFT" in attack.source:
            with suppress(LearnerFailure):
                assert learner.read(str(world.folders.left / "0")).rows == []
    assert re.search(attack.reason, reason), reason
    assert world.other.read_text(encoding="utf-8") == "# somebody's work\n"
    assert (ROOT / "manifest.toml").is_file()
    with pytest.raises(BlockingIOError):
        world.listener.accept()
    while owners() & {world.jail.uid, world.jail.uid + READER_UID}:
        pass  # killed processes end on their own; the test has a limit of time


def test_only_plain_files_are_copied_out(folders: JobFolders) -> None:
    """Links are not followed, not even links to folders."""
    left = folders.made(folders.left)
    (left / "a" / "b").mkdir(parents=True)
    (left / "a" / "b" / "plain").write_text("text", encoding="utf-8")
    (left / "a" / "link").symlink_to("/etc/passwd")
    (left / "a" / "folder").symlink_to("/etc")
    os.mkfifo(left / "a" / "pipe")
    with open(left / "sparse", "wb") as sparse:
        sparse.truncate(1 << 40)
    copy = folders.outside(left)
    files = {str(path.relative_to(copy)) for path in copy.rglob("*") if not path.is_dir()}
    assert files == {"a/b/plain"}
    (folders.left / "link").symlink_to("/etc")
    assert list(folders.outside(folders.left / "link").iterdir()) == []
    assert list(folders.outside(folders.left / "none").iterdir()) == []


REACHES: Final = """
import socket
from pyspark.sql.functions import col

def build(spark, source, options, other, left):
    records = spark.read.format(source).options(**options).load()
    records.select(col("value").cast("string")).write.parquet(left)
    servers = options["kafka.bootstrap.servers"]
    writer = spark.createDataFrame([("mine",)], "value string").write.format(source)
    writer.mode("append").option("kafka.bootstrap.servers", servers).save(topic="friends")
    socket.create_connection(("127.0.0.1", other), timeout=2)
"""


def test_a_job_reaches_the_broker_of_its_submission_and_leaves_files(world: World) -> None:
    """The job reads a topic on this broker, and may write into a second topic. It cannot reach any
    other port.
    """
    port = world.listener.getsockname()[1]
    left = world.folders.made(world.folders.left)
    with running_cluster("lab-jail", brokers=1) as cluster, world.learner(REACHES) as learner:
        topic, _ = (Topic(cluster.bootstrap_servers, name) for name in ("lines", "friends"))
        topic.write(["a", "b", "c"])
        learner.may_reach(cluster.bootstrap_servers)
        with pytest.raises(LearnerFailure, match="ConnectionRefusedError") as failure:
            learner.run_with("kafka-edu", topic.options, port, str(left), connector="python")
        assert failure.value.line == 11
        assert learner.read(str(left)).rows == [("a",), ("b",), ("c",)]
        (file, *_) = learner.read_each(str(left))
        assert file.columns == ("value",)


@pytest.mark.long
@pytest.mark.parametrize(
    "exercise",
    [one for one in load_manifest().values() if one.engine == SPARK],
    ids=lambda one: one.id,
)
def test_every_reference_passes_in_a_jail(jail: Jail, exercise: Exercise) -> None:
    grading = Grading((SEED + 1, SEED + 2), jail)
    run = run_public_tests(exercise, exercise.solution, SEED, grading=grading, limits=SPARK_LIMITS)
    assert [(one.test, one.message) for one in run.outcomes if not one.passed] == []
    assert {one.part for one in run.outcomes} >= {"public", "hidden"}


@pytest.mark.long
def test_a_grade(jail: Jail) -> None:
    """The reference solution gets all points. A wrong answer loses the points of the test that it
    fails.
    """
    exercise = find_exercise("16-4s")
    grader = Grader(exercise, SEED, Kind.NAMESPACES)
    right = Submission("right", "right.py", exercise.solution.read_bytes())
    appends = wrong_answer(exercise, "appends").source().encode()
    grade = grader.grade(right, 1)
    assert (grade.result, grade.earned) == (Result.PASSED, grader.possible)
    grade = grader.grade(Submission("wrong", "wrong.py", appends), 2)
    assert grade.result is Result.FAILED
    assert "is there 2 times" in grade.reason


def test_the_page_has_the_table() -> None:
    """`python -m exercises.grading.spark_attacks docs/grading.md` writes the table of attacks into
    the page.
    """
    page = ROOT.parent / "docs" / "grading.md"
    assert table(SPARK_ATTACKS, TABLE) in page.read_text(encoding="utf-8")
