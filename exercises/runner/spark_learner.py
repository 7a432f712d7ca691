"""Send jobs to a learner's Spark program. The program runs in a separate process (`spark_process`).

The process uses the warm JVM of this learner (`kafka_edu.spark.driver_client`), which saves the
start of a JVM. If a different check uses the warm JVM, or if there is no warm JVM, the process
starts its own JVM. The notices of the JVM's workers (`kafka_edu.spark.notices`) go where the
learner's prints go.

In a grade the process runs in a jail (`spark_sandbox`), with a JVM of its own.
"""

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_edu.common.busy_machine import Allowance, Usage, family_of, family_usage
from kafka_edu.common.package_group import how_to_install
from kafka_edu.common.python_process import python_environment
from kafka_edu.learner.learner import Jail, Learner, LearnerFailure
from kafka_edu.learner.learner_here import HERE, LearnerHere
from kafka_edu.spark.notices import MARK

from . import parquet_files

if TYPE_CHECKING:
    from kafka_edu.spark.driver_client import Drivers, Loan, NoDriver, ServiceState

    from .spark_sandbox import JobFolders, Sandbox

Row = tuple[object, ...]
Tables = Mapping[str, tuple[str, Sequence[Row]]]
"""The tables of a job: name → (schema as DDL, rows)."""
NO_TABLES: Final[Tables] = MappingProxyType({})
DRIVER_S: Final = 10.0
"""The processor time in seconds that the learner's own Python code may use in one job.

Spark's own time does not count.
"""


class Rows(NamedTuple):
    """The result of a job: rows with their columns and types."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    """Spark's name for the type of each column, such as string, int, bigint or timestamp."""
    batches: tuple[tuple[Row, ...], ...]
    """The rows of each micro-batch. A batch job has them all as one micro-batch."""
    plan: str
    """The physical plan of a batch job; empty for a stream."""
    state_rows: tuple[int, ...]
    """The number of rows in the state after each micro-batch, including micro-batches without
    data.
    """

    @property
    def rows(self) -> list[Row]:
        """All rows, sorted by their text, because Spark does not promise an order."""
        return sorted((row for batch in self.batches for row in batch), key=repr)

    def column(self, name: str) -> list[object]:
        """Return the values of one column, in the same order as `rows`. Raises ValueError."""
        at = self.columns.index(name)
        return [row[at] for row in self.rows]


class LeftFile(NamedTuple):
    """A Parquet file that a job has left."""

    path: str
    """Its path below the folder that was read, with / between the names."""
    columns: Sequence[str]
    rows: Sequence[Row]

    def column(self, name: str) -> list[object]:
        """Return the values of one column. Raises KeyError."""
        if name not in self.columns:
            raise KeyError(name)
        at = self.columns.index(name)
        return [row[at] for row in self.rows]


READING: Final = "reading what was written"
MEMORY_USED_UP: Final = "a process was killed, because the job has used up its 2 GB of memory"


class SparkLearner(Learner):
    """Runs a learner's Spark jobs in another process.

    All jobs of one SparkLearner run in one process and one SparkContext. Each job has a new
    session. If a job breaks or changes the process, the next job gets a new process.
    """

    max_answer_bytes = 32 << 20
    _loan: "Loan | None" = None
    no_warm_jvm = ""
    """Why the current process has a JVM of its own; empty if it has the warm one."""
    folders: "JobFolders | None" = None
    """The folders that tests and jobs share. Only a jail needs them."""
    _sandbox: "Sandbox | None" = None
    _reader: "FileReader | None" = None
    _memory_is_used_up = False
    """Whether the kernel has killed a process of the last jail because memory ran out."""
    _servers: tuple[str, ...] = ()
    """The brokers that jobs may reach, as in bootstrap.servers."""

    def start(self) -> object:
        """Return the process, which has loaded the learner's file. Start the process if necessary,
        with the warm JVM if this JVM is free. Raises LearnerFailure.
        """
        if self._process is None and self._jail is None:
            self._borrow()
        try:
            process = super().start()
            if self._sandbox is not None:
                assert self._process is not None
                self._sandbox.reach(self._process.pid, self._servers)
        except OSError:  # the process could not be started
            self.close()
            raise
        return process

    def may_reach(self, servers: str) -> None:
        """Let later jobs connect to the brokers `servers`. Without a jail, jobs can reach all
        brokers.
        """
        self._servers = tuple(dict.fromkeys((*self._servers, *servers.split(","))))

    def _borrow(self) -> None:
        """Borrow the warm JVM. If that fails for a reason that the user can change, print it."""
        from kafka_edu.spark.driver_client import NOT_WANTED, Loan
        from kafka_edu.spark.driver_keeper import BUSY

        loan = borrowed()
        if isinstance(loan, Loan):
            self._loan, self.no_warm_jvm = loan, ""
            self._usage_of = lambda pid: family_usage(pid, loan.service)
            return
        self.no_warm_jvm = str(loan)
        if self.no_warm_jvm not in (BUSY, NOT_WANTED):
            self._tell(f"no JVM of Spark is kept ({loan}); this job starts one of its own")

    def _tell(self, line: str) -> None:
        """Show a line where the learner's prints are shown."""
        shown = f"{MARK}{line}\n"
        if self._stderr is None:
            sys.stderr.write(shown)
        elif not isinstance(self._stderr, int):
            self._stderr.write(shown.encode())
            self._stderr.flush()

    def _tell_notices(self) -> None:
        if self._loan is not None:
            for notice in self._loan.notices():
                self._tell(notice)

    def _command(self) -> list[str]:
        arguments = [self._wanted, str(min(self._allowance.processor_s, DRIVER_S))]
        if self._jail is not None:
            self._memory_is_used_up = False
            self._sandbox = self._new_sandbox(self._jail)
            return self._sandbox.command(self._file.absolute(), arguments)
        file = str(self._file.absolute())
        return [sys.executable, "-m", f"{__package__}.spark_process", file, *arguments]

    def _new_sandbox(self, jail: Jail) -> "Sandbox":
        from .spark_sandbox import Sandbox

        return Sandbox(jail, self.folders)

    def _environment(self) -> dict[str, str]:
        # The judge's own variables are kept from the learner's code.
        if self._jail is not None:
            return super()._environment()
        return {
            **{
                name: value
                for name, value in python_environment().items()
                if not name.startswith("KAFKA_EDU_LEARNER_")
            },
            **(self._loan.environment if self._loan is not None else {}),
        }

    def _answer(
        self, process: "subprocess.Popen[bytes]", allowance: Allowance, shown: str
    ) -> dict[str, object]:
        """Read a line of answer. If memory in the jail ran out, the raised error says so."""
        try:
            return super()._answer(process, allowance, shown)
        except LearnerFailure:
            if self._sandbox is not None and self._sandbox.cgroup.has_killed():
                self._memory_is_used_up = True
            if not self._memory_is_used_up:
                raise
            raise LearnerFailure(shown, MEMORY_USED_UP, self._file, changed=True) from None

    def close(self) -> None:
        """End the process and all processes that it started. Give the warm JVM back."""
        super().close()
        self._tell_notices()
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            self._memory_is_used_up = sandbox.cgroup.has_killed()
            sandbox.close()
        loan, self._loan = self._loan, None
        self._usage_of = None
        if loan is not None:
            loan.close()

    def kill(self) -> None:
        """Kill the process and its JVM in the middle of their work. Called from another thread.

        A JVM that the process has started reads a pipe of the process, so this JVM ends with the
        process. A call that waits for an answer raises LearnerFailure.
        """
        process, loan = self._process, self._loan
        if loan is not None:
            loan.kill_jvm()
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def batch(self, schema: str, rows: Sequence[Sequence[object]]) -> Rows:
        """Run the job as a batch job over `rows`. `schema` is DDL. Raises LearnerFailure."""
        shown = f"{self._wanted}(spark, records), of {len(rows):,} records"
        return self._job({"batch": rows, "schema": schema}, shown)

    def stream(self, schema: str, batches: Sequence[Sequence[Sequence[object]]]) -> Rows:
        """Run the job as a stream. Each entry of `batches` is one micro-batch.

        Raises LearnerFailure.
        """
        return self.streams({"records": schema}, [("records", batch) for batch in batches])

    def streams(
        self,
        schemas: Mapping[str, str],
        batches: Sequence[tuple[str, Sequence[Sequence[object]]]],
        *,
        tables: Tables = NO_TABLES,
    ) -> Rows:
        """Run the job over several streams. Each micro-batch has the name of a stream, and rows for
        it.

        `tables` are given to the job after the streams. Raises LearnerFailure.
        """
        question = {
            "streams": batches,
            "schemas": dict(schemas),
            "tables": dict(tables),
        }
        given = ", ".join((*schemas, *tables))
        shown = f"{self._wanted}(spark, {given}), a stream of {len(batches)} micro-batches"
        return self._job(question, shown)

    def topics(
        self,
        servers: str,
        schemas: Mapping[str, str],
        *,
        connector: str,
        tables: Tables = NO_TABLES,
        at_once: int = 2_000,
    ) -> Rows:
        """Run the job over one stream for each topic in `schemas`. The values of the records are
        JSON.

        A micro-batch reads at most `at_once` records of a topic. Raises LearnerFailure.
        """
        question = {
            "topics": dict(schemas),
            "servers": servers,
            "connector": connector,
            "tables": dict(tables),
            "at_once": at_once,
        }
        given = ", ".join((*schemas, *tables))
        return self._job(question, f"{self._wanted}(spark, {given}), with connector {connector}")

    def topic(self, servers: str, topic: str, *, streams: bool, parsed_s: int = 0) -> Rows:
        """Run the job over the records of a live topic. Raises LearnerFailure.

        With `parsed_s`, the job gets parsed log lines instead of records. This number is the
        latest time, in seconds, that a line may have.
        """
        question = {"topic": topic, "servers": servers, "streams": streams, "parsed": parsed_s}
        return self._job(question, f"{self._wanted}(spark, records of topic {topic})")

    def sink(self, schema: str, batches: Sequence[tuple[int, Sequence[Row]]], folder: str) -> None:
        """Call the job as a sink for each pair (batch id, rows) in `batches`, in order. Raises
        LearnerFailure.
        """
        question = {"sink": batches, "schema": schema, "folder": folder}
        self._job(question, f"{self._wanted}(rows, batch_id, folder)")

    def query(self, servers: str, topic: str, folder: str, checkpoint: str) -> None:
        """Run the job as a sink that writes the records of a live topic, until all are written.

        Raises LearnerFailure.
        """
        question = {
            "query": folder,
            "checkpoint": checkpoint,
            "servers": servers,
            "topic": topic,
        }
        self._job(question, f"{self._wanted}(rows, batch_id, folder), in a stream")

    def run_with(self, *values: object, connector: str) -> None:
        """Call the job with `values`, which must be values that JSON can hold. Raises
        LearnerFailure.
        """
        shown = f"{self._wanted}(spark, …), with the connector {connector}"
        self._job({"run": values, "connector": connector}, shown)

    def read(self, folder: str) -> Rows:
        """Return the rows of the Parquet files that jobs have left in a folder. Raises
        LearnerFailure.
        """
        return _rows(self._read({"read": folder}))

    def read_each(self, folder: str) -> list[LeftFile]:
        """Return each Parquet file that jobs have left in a folder. Raises LearnerFailure."""
        files: Iterable[Iterable[object]] = self._read({"files": folder})["files"]  # type: ignore[assignment]
        return [LeftFile(*file) for file in files]  # type: ignore[arg-type]

    def _read(self, question: Mapping[str, str]) -> Mapping[str, object]:
        """Answer a question about files that jobs have left, outside the process of the jobs."""
        if self._jail is None:
            answer = parquet_files.answer_to(question)
            if "error" in answer:
                raise LearnerFailure(READING, str(answer["error"]), self._file)
            return answer
        assert self.folders is not None  # the job has its folder from there
        if self._reader is None:
            self._reader = FileReader(
                self._file, self._wanted, allowance=self._allowance, jail=self._jail
            )
            self._reader.folders = self.folders
        copies = {name: str(self.folders.outside(Path(path))) for name, path in question.items()}
        return self._reader.ask(self._reader.start(), {**copies}, READING)

    def _job(self, question: Mapping[str, object], shown: str) -> Rows:
        try:
            answer = self.ask(self.start(), dict(question), shown)
            self._tell_notices()
        except LearnerFailure as failure:
            if failure.changed:
                self.close()  # the next job gets another process
            raise
        if answer.get("changed"):
            self.close()
        return _rows(answer)


class FileReader(SparkLearner):
    """Reads the files that a jailed job has left, in a second jail. No code of a learner runs in
    the second jail, but a learner may have made the files to harm the program that reads them.
    """

    def _new_sandbox(self, jail: Jail) -> "Sandbox":
        from .spark_sandbox import Sandbox

        return Sandbox(jail, self.folders, reads=True)


def _rows(answer: Mapping[str, object]) -> Rows:
    """Return the rows of an answer, unchecked: the judge compares them later."""
    values = [answer.get(name, ()) for name in Rows._fields]
    return Rows(*values)  # type: ignore[arg-type]


def borrowed() -> "Loan | NoDriver":
    """Return the warm JVM, or the reason why it is not available now."""
    from kafka_edu.spark.driver_client import Drivers, NoDriver

    return Drivers().borrow() if not (why := why_no_spark()) else NoDriver(why)


class SparkUsage:
    """Measures what a run uses: a process and its descendants, and also the keeper of the warm JVM.
    The keeper's usage counts only while the process or a descendant has this JVM or waits for it.
    """

    def __init__(self, drivers: "Drivers") -> None:
        self._drivers = drivers
        self._known: tuple[int, float] | None = None
        """The process id of the keeper, and its usage at the last measurement."""
        self._looked = False
        self._charged_s = 0.0

    def __call__(self, pid: int) -> Usage:
        """Measure the run of this process until now."""
        used = family_usage(pid)
        state = self._drivers.running()
        if used.processor_s is None:  # this system does not say it
            return used
        if state is not None:
            used = self._with_keeper(used, state, state.user in family_of(pid))
        self._looked = True
        return used._replace(processor_s=(used.processor_s or 0.0) + self._charged_s)

    def _with_keeper(self, used: Usage, state: "ServiceState", is_ours: bool) -> Usage:
        """Add the keeper's usage since the last measurement, if the keeper works for this run. If
        the keeper has started since the last measurement, all of its usage counts.
        """
        keeper = family_usage(state.pid)
        now_s = keeper.processor_s or 0.0
        if self._known is not None and self._known[0] == state.pid:
            before_s = self._known[1]
        else:
            before_s = 0.0 if self._looked else now_s
        self._known = state.pid, now_s
        if not is_ours:
            return used
        self._charged_s += max(now_s - before_s, 0.0)
        return used._replace(
            waited_s={**used.waited_s, **keeper.waited_s},
            ready=used.ready or keeper.ready,
            read_s=used.read_s + keeper.read_s,
        )


SPARK: Final = "spark"
"""The engine of an exercise whose answer is a PySpark program."""


def why_no_spark() -> str:
    """Return why no Spark job can run on this system; empty if one can."""
    if importlib.util.find_spec("pyspark") is None:
        return f"this exercise is written in PySpark: run `{how_to_install('spark')}` first"
    return ""


def learner_class(engine: str) -> type[Learner]:
    """Return the class that runs the learner's file for this engine."""
    return {SPARK: SparkLearner, HERE: LearnerHere}.get(engine, Learner)
