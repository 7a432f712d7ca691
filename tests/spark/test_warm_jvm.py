"""The JVM that the labs keep running between jobs: it stays the same process, and no job sees
anything of the job before.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exercises.ch16_spark.jobs import RECORDS, records_of
from exercises.runner.public_tests import SPARK_LIMITS
from exercises.runner.spark_learner import SparkLearner
from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.spark.driver_client import Drivers, Loan, NoDriver

pytestmark = pytest.mark.spark

JOBS = """
import os
import pyspark.sql.functions as F
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession


def build(spark, records):
    java = spark._jvm.java
    match records.count():
        case 1:
            spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
            spark.conf.set("spark.sql.shuffle.partitions", "77")
            records.createTempView("seen")
            spark.udf.register("mine", lambda: 1)
            java.lang.System.setProperty("spark.sql.ansi.enabled", "false")
            java.lang.System.setProperty("spark.executorEnv.MINE", "1")
            java.util.TimeZone.setDefault(java.util.TimeZone.getTimeZone("Asia/Tokyo"))
            java.util.Locale.setDefault(java.util.Locale.forLanguageTag("tr"))
        case 2:
            spark.range(3).write.parquet("left")
            F.col = lambda name: F.lit("patched")
            DataFrame.select = lambda self, *names: self
        case 3:
            spark.stop()
            SparkSession.builder.master("local[1]").config("spark.mine", "1").getOrCreate()
        case 4:
            spark._jvm.java.lang.System.exit(3)
        case 5:
            os._exit(4)
        case 6:
            os.environ["TZ"] = "Asia/Tokyo"
            os.chdir("/")
            raise ValueError("no")
        case 7:
            spark.readStream.format("rate").load().writeStream.format("noop").start()
            SparkContext._gateway.shutdown()
        case 11:  # as the classes of Spark's own connector do when they are loaded
            settings = spark._jvm.org.apache.spark.internal.config.ConfigBuilder
            settings("spark.kafka.producer.cache.timeout").stringConf().createWithDefault("10m")
        case 10:
            @F.udf("string")
            def leave(offset):
                os.makedirs("left/inner", exist_ok=True)
                with open("left.py", "w") as file:
                    file.write("raise SystemExit")
                return " ".join(sorted([os.path.basename(os.getcwd()), *os.listdir()]))

            return records.limit(1).select(leave("offset").alias("seen"), F.col("offset"))
        case 9:
            os.makedirs("in", exist_ok=True)
            with open("in/lines.txt", "w") as file:
                file.write("a line")
            called = []
            lines = spark.readStream.text(os.path.abspath("in")).writeStream
            writer = lines.foreachBatch(lambda batch, number: called.append(batch.count()))
            java.lang.System.gc()
            java.lang.System.runFinalization()
            writer.trigger(availableNow=True).start().awaitTermination()
            assert called == [1]
    seen = [
        spark.conf.get("spark.sql.session.timeZone"),
        spark.conf.get("spark.sql.shuffle.partitions"),
        spark.conf.get("spark.mine", ""),
        spark.conf.get("spark.sql.ansi.enabled"),
        spark.conf.get("spark.executorEnv.MINE", ""),
        spark.sparkContext.master,
        str(len(spark.catalog.listTables())),
        str(spark.catalog.functionExists("mine")),
        str(len(spark.streams.active)),
        java.util.TimeZone.getDefault().getID(),
        java.util.Locale.getDefault().toLanguageTag(),
        str(os.path.exists("left")),
        os.environ["TZ"],
        str(os.getcwd() == java.lang.System.getProperty("user.dir")),
    ]
    return records.limit(1).select(F.lit("|".join(seen)), F.col("offset"))
"""


@pytest.fixture
def jobs(tmp_path: Path, drivers: Drivers) -> Iterator[SparkLearner]:
    file = tmp_path / "jobs.py"
    file.write_text(JOBS, encoding="utf-8")
    learner = SparkLearner(file, "build", allowance=SPARK_LIMITS.call)
    yield learner
    learner.close()


def seen(learner: SparkLearner) -> tuple[object, ...]:
    """Return the settings of Spark and of the process, as a job sees them that changes nothing."""
    (row,) = learner.batch(RECORDS, records_of([b"x"] * 8)).rows
    return row


def loan_of(drivers: Drivers) -> tuple[int, int]:
    """The process id of the JVM, and how often it was lent."""
    status = drivers.status()
    assert status is not None
    return status["jvm"], status["loans"]


def test_nothing_of_a_job_reaches_the_next(jobs: SparkLearner, drivers: Drivers) -> None:
    clean = seen(jobs)
    assert clean == (
        "UTC|2||true||local[2]|0|False|0|UTC|" + str(clean[0]).split("|")[10] + "|False|UTC|True",
        0,
    )
    jvm, loans = loan_of(drivers)
    changed = jobs.batch(RECORDS, records_of([b"x"])).rows
    assert str(changed[0][0]).startswith("Asia/Tokyo|77|"), "the job has changed what it sees"
    assert seen(jobs) == clean, "settings, views and properties, in the same process"
    jobs.batch(RECORDS, records_of([b"x"]))
    jobs.close()
    assert seen(jobs) == clean, "the same, in the next process"
    jobs.batch(RECORDS, records_of([b"x"] * 2))
    assert seen(jobs) == clean, "files, and functions of PySpark"
    with pytest.raises(LearnerFailure, match="stopped the SparkSession"):
        jobs.batch(RECORDS, records_of([b"x"] * 3))
    assert seen(jobs) == clean, "another SparkContext"
    with pytest.raises(LearnerFailure, match="exit code 4"):
        jobs.batch(RECORDS, records_of([b"x"] * 5))
    assert seen(jobs) == clean, "a driver that has ended"
    with pytest.raises(LearnerFailure, match="ValueError: no"):
        jobs.batch(RECORDS, records_of([b"x"] * 6))
    assert seen(jobs) == clean, "the environment"
    jvm_now, loans_now = loan_of(drivers)
    assert jvm_now == jvm, "all this was in one JVM"
    assert loans_now == loans + 5


def test_files_that_a_worker_writes_do_not_reach_the_next_job(
    jobs: SparkLearner, drivers: Drivers
) -> None:
    for _ in range(2):
        (row,) = jobs.batch(RECORDS, records_of([b"x"] * 10)).rows
        assert row[0] == "left left.py work", "the folder holds nothing of the service"
        jobs.close()
        seen(jobs)
        assert list((drivers.folder / "work").iterdir()) == []
        jobs.close()


def test_the_garbage_of_a_former_process_does_not_reach_the_next(jobs: SparkLearner) -> None:
    """The JVM refers to a Python function by a number, and later tells Python to forget this
    number. The next process may use the same number.
    """
    for _ in range(3):
        jobs.batch(RECORDS, records_of([b"x"] * 9))
        jobs.close()


@pytest.mark.rotated
def test_a_jvm_with_the_classes_of_sparks_own_connector_is_not_lent_again(
    jobs: SparkLearner, drivers: Drivers
) -> None:
    for _ in range(2):  # a second job in the same JVM would fail
        jobs.batch(RECORDS, records_of([b"x"] * 11))
        used, _ = loan_of(drivers)
        jobs.close()
        seen(jobs)
        assert loan_of(drivers)[0] != used
        jobs.close()


@pytest.mark.parametrize(("records", "says"), [(4, "the job ended it"), (7, "")])
@pytest.mark.rotated
def test_a_job_that_breaks_the_jvm_gets_one_line_and_the_next_gets_another_jvm(
    jobs: SparkLearner, drivers: Drivers, records: int, says: str
) -> None:
    clean = seen(jobs)
    jvm, _ = loan_of(drivers)
    with pytest.raises(LearnerFailure) as failure:
        jobs.batch(RECORDS, records_of([b"x"] * records))
    assert says in failure.value.message
    assert "\n" not in failure.value.message
    jobs.close()
    assert seen(jobs) == clean
    assert loan_of(drivers)[0] != jvm


def test_a_killed_driver_and_jvm(jobs: SparkLearner, drivers: Drivers) -> None:
    clean = seen(jobs)
    jvm, _ = loan_of(drivers)
    jobs.kill()
    with pytest.raises(LearnerFailure):
        seen(jobs)
    assert seen(jobs) == clean
    assert loan_of(drivers)[0] != jvm


def test_two_checks_at_once_each_have_a_jvm(jobs: SparkLearner, drivers: Drivers) -> None:
    loan = drivers.borrow()
    assert isinstance(loan, Loan)
    assert isinstance(drivers.borrow(), NoDriver)
    clean = seen(jobs)
    assert loan_of(drivers)[0] == loan.jvm, "it is still that of the first"
    loan.close()
    jobs.close()
    assert seen(jobs) == clean, "a job sees the same in a warm JVM as in its own"
    assert os.path.exists(f"/proc/{loan.jvm}") or not os.path.exists("/proc")
