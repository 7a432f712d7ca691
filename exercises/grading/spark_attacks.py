"""Hostile submissions of Spark jobs: they try to get points without work, or to do harm.

`python -m exercises.grading.spark_attacks docs/grading.md` writes a table of the attacks into this
page. Each source is put behind a job that answers wrongly. COURSE, OTHER and PORT mean the same as
in `attacks`, and LEFT is the folder into which the job may write.
"""

import sys
from pathlib import Path
from typing import Final

from .attacks import ATTACK, READ, Attack, write_table

TABLE: Final = "attack of a Spark job"
#: The job before each attack. It returns one row, where the right answer has one for each record.
WRONG_JOB: Final = """
def build(spark, records):
    return records.select("offset").limit(1)
"""
NOTHING_WON: Final = r"1 row\b"
"""The expected reason for an attack without effect: the job's wrong answer counts."""

SPARK_ATTACKS: Final = (
    Attack(
        "forged_report",
        "a report of passed tests, and answers in advance, on every open file descriptor",
        """
import json, os
report = json.dumps({"test": "test_columns", "passed": True, "batches": [[[1], [2], [3]]]})
for number in range(3, 64):
    try:
        os.write(number, report.encode() + b"\\n" + report.encode() + b"\\n")
    except OSError:
        pass
""",
        "wrote something that is not an answer",
        "The judge is another process. A question has one line as its answer, and the rows in it"
        " are compared with the right ones.",
    ),
    Attack(
        "patched_pyspark",
        "a PySpark in which all comparisons are true, also for the jobs that follow",
        """
import pyspark.sql, sys, types
for name in ("exercises.runner.mismatch", "exercises.ch16_spark.jobs", "pytest"):
    sys.modules[name] = types.ModuleType(name)
pyspark.sql.Row.__eq__ = lambda *_: True
pyspark.sql.DataFrame.count = lambda self: 3
""",
        NOTHING_WON,
        "Nothing is compared in the job's process. A process whose PySpark was changed is not used"
        " again.",
    ),
    Attack(
        "stopped_context",
        "that the jobs of others fail",
        """
def build(spark, records):
    spark.stop()
    raise ValueError("stopped")
""",
        "the job has stopped the SparkSession",
        "Each submission has a JVM of its own. After this one, its next job gets another.",
    ),
    ATTACK["early_exit"],
    ATTACK["endless_loop"]._replace(
        stopped_by="The limits of processor time and of idle time, for a job and for the grade."
    ),
    Attack(
        "fork_bomb",
        "all processes of the machine, and some that stay behind",
        """
import ctypes, time
libc = ctypes.CDLL(None)
refused = 0
for _ in range(1000):
    pid = libc.fork()
    if pid == 0:
        while True:
            time.sleep(60)
    refused += pid < 0
raise RuntimeError(f"{refused} of 1000 forks were refused")
""",
        r"[34]\d\d of 1000 forks were refused",
        "600 processes or threads (`RLIMIT_NPROC`). Their namespace ends with the grade.",
    ),
    ATTACK["memory"]._replace(
        reason="MemoryError: a learner's process may use 2 GB",
        stopped_by="2 GB of data for a process (`RLIMIT_DATA`).",
    ),
    Attack(
        "memory_of_many",
        "4 GB of memory in four processes",
        """
import os, time
for _ in range(4):
    if os.fork() == 0:
        hoard = bytearray(b"x") * (1 << 30)
        time.sleep(600)
for _ in range(4):
    os.wait()
    os._exit(9)
""",
        "has used up its 2 GB of memory",
        "2 GB for all processes together (a cgroup). The kernel kills what needs more.",
    ),
    ATTACK["shared_memory"],
    Attack(
        "hidden_tests",
        "to read the hidden tests",
        READ + 'read("COURSE/exercises/ch16_spark/ex01s_parse_job/hidden_tests.py")\n',
        "PermissionError.*cannot be read",
        "The exercises are not in the jail's file system. It holds PySpark, Java and our"
        " connector.",
    ),
    Attack(
        "solution",
        "to read the reference solution with Spark",
        """
def build(spark, records):
    path = "COURSE/exercises/solutions/ch16_spark/ex01s_parse_job.py"
    raise SystemExit("read " + spark.read.text(path).first()[0])
""",
        "PATH_NOT_FOUND",
        "The JVM is in the same jail.",
    ),
    ATTACK["others_work"],
    ATTACK["network"]._replace(
        wants="to ask a friend, this machine's services, or the broker of another submission",
        stopped_by="A network namespace with a loopback of its own. The judge opens the port of"
        " this submission's broker there, and no other.",
    ),
    ATTACK["output"]._replace(
        stopped_by="64 MB for each file (`RLIMIT_FSIZE`), prints included; 32 MB for an answer."
    ),
    Attack(
        "big_file",
        "to fill the disk",
        """
for number in range(100):
    with open(f"full{number}", "wb") as full:
        full.write(bytes(30 << 20))
""",
        "No space left on device",
        "The working folder is a file system of 256 MB in memory.",
    ),
    Attack(
        "big_results",
        "to fill the disk by results",
        """
for number in range(100):
    with open(f"LEFT/full{number}", "wb") as full:
        full.write(bytes(30 << 20))
""",
        "No space left on device",
        "The folder for results is a file system of 128 MB in memory.",
    ),
    Attack(
        "links",
        "that the judge reads, or writes, a file of the course instead of a result",
        """
import os
os.makedirs("LEFT/0")
os.symlink("OTHER", "LEFT/0/a.parquet")
os.symlink("COURSE/exercises", "LEFT/0/b")
os.mkfifo("LEFT/0/c.parquet")
raise SystemExit("links are there")
""",
        "links are there",
        "The judge copies plain files out of this folder, follows no links, and writes nothing"
        " there.",
    ),
    Attack(
        "broken_parquet",
        "to harm the program that reads the results",
        """
import os
os.makedirs("LEFT/0")
open("LEFT/0/a.parquet", "wb").write(b"PAR1" + b"\\xff" * 1000 + b"PAR1")
raise SystemExit("a file is there")
""",
        "a file is there",
        "Results are read in a jail of their own. An error there is a failed test.",
    ),
    Attack(
        "left_behind",
        "a process that continues after the grade",
        """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(60)
    os._exit(0)
raise SystemExit("a process is there")
""",
        "a process is there",
        "The process namespace ends with the jail, and the kernel kills all in it.",
    ),
    ATTACK["signals"],
    ATTACK["root"],
)


if __name__ == "__main__":
    write_table(Path(sys.argv[1]), SPARK_ATTACKS, TABLE)
