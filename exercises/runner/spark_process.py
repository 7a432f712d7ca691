"""Run a learner's Spark jobs in a process of their own:
`python -m …spark_process FILE WANTED LIMIT_S`.

The public tests and the live part start this program and send it jobs (`spark_learner`). As in
`kafka_edu.learner.learner_process`, questions and answers are lines of JSON, the learner's prints
go to standard error, and the process ends when the asking process ends. The difference is that it
has PySpark, a JVM and the network, so it is not isolated: use it on the learner's own machine only.

A question is one job:
  {"batch": [row, …], "schema": DDL}            records as a DataFrame; WANTED(spark, records)
  {"streams": [[input, [row, …]], …], "schemas": {input: DDL}, …}
      some streams; each micro-batch brings rows for one of them; WANTED(spark, input, …)
  {"topic": name, "servers": …, "streams": bool, "parsed": seconds}      records of a live topic
  {"topics": {topic: DDL}, "servers": …, "connector": …, …}
      live topics with JSON values, one stream of each; WANTED(spark, input, …)
  {"sink": [[batch id, [row, …]], …], "schema": DDL, "folder": …}    WANTED(rows, batch id, folder)
  {"query": folder, "checkpoint": folder, "topic": …, "servers": …}  the same, in a stream
  {"run": [value, …], "connector": …}                                WANTED(spark, value, …)

With "tables": {name: [DDL, [row, …]]}, a question about streams or topics also gives WANTED these
tables, after the streams.

The answer has the rows of the DataFrame that WANTED returned, by micro-batch, with the columns,
their types, the physical plan, and how many rows the state held after each batch:
  {"columns": […], "types": […], "batches": [[row, …], …], "plan": text, "state_rows": […]}

A time is a text in UTC in answers, and µs since 1970 in questions. Bytes are {"bytes": "ac02"}.
"""

import json
import os
import queue
import re
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from kafka_edu.learner.learner_process import (
    LOADING_LIMIT_S,
    bytes_of,
    cpu_limit,
    document_of,
    error_of,
    load,
    read_questions,
)

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from kafka_edu.spark.connectors import Connector
    from kafka_edu.spark.warm_jvm import JavaDefaults

MOST_ROWS: Final = 20_000
"""The largest number of rows that a job may return. The exercises' jobs return far fewer."""
CONFIG: Final = {"spark.sql.shuffle.partitions": "2"}
BATCH_LINES: Final = 2_000
"""The largest number of records of a live topic in one micro-batch."""
_LINES: Final = (r'File "{file}", line (\d+)', r"was called from\s+{file}:(\d+)")
"""Patterns that find a line number of the learner's file in a Spark error.

The first finds a line of a function that ran in a worker, the second the line of an expression.
"""
_STREAM_FAILED: Final = r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: "
_LOG_LEVEL: Final = "OFF"
STOPPED: Final = "the job has stopped the SparkSession that it was given: leave `stop` out"
JVM_ENDED: Final = (
    "Spark's JVM ended in the middle of the job: the job ended it; or an expression recursed for"
    " each character of a long text, and Java's stack was full; or there was too little memory"
)
STACK_IS_FULL: Final = "StackOverflowError"
GOES_WITHIN_S: Final = 3.0
NO_SESSION: Final = "SESSION_OR_CONTEXT_NOT_EXISTS"


def main() -> None:
    """Read questions and write answers until the end, on pipes that the learner's code cannot
    reach.
    """
    questions, answers = (
        os.fdopen(os.dup(0), encoding="utf-8"),
        os.fdopen(os.dup(1), "w", encoding="utf-8"),
    )
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.environ["TZ"] = "UTC"
    time.tzset()
    from kafka_edu.spark.driver_service import JVM_OPTIONS

    os.environ.setdefault("SPARK_SUBMIT_OPTS", JVM_OPTIONS)
    from pyspark import cloudpickle

    file, wanted_name, limit_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=read_questions, args=(questions, waiting), daemon=True).start()

    def say(what: Mapping[str, object]) -> None:
        with suppress(OSError):
            sys.stdout.flush()
        answers.write(json.dumps(what, default=document_of) + "\n")
        answers.flush()

    with Sessions() as sessions:
        try:
            wanted = loaded(file, wanted_name, limit_s, sessions)
        except BaseException as error:  # any exception of the learner's file is the learner's error
            say(said_of(error, file, limit_s))
            return
        # A worker process cannot import the learner's file, so the functions are sent to it by
        # value.
        cloudpickle.register_pickle_by_value(sys.modules["learner"])
        say({"loaded": wanted_name, "used_s": time.process_time()})
        while True:
            question = json.loads(waiting.get(), object_hook=bytes_of)
            began_s = time.process_time()
            patches: Patches | None = None
            try:
                with cpu_limit(limit_s):
                    session = sessions.get()
                    patches = Patches()
                    said: Mapping[str, object] = run_job(session, wanted, question)
            except BaseException as error:
                if has_ended_the_jvm(error):
                    say({"error": JVM_ENDED, "line": 0, "changed": True})
                    os._exit(1)
                said = said_of(error, file, limit_s)
                if not sessions.running:
                    said["error"] = STOPPED
            changed = not sessions.running or (patches is not None and patches.found())
            say({**said, "changed": changed, "used_s": time.process_time() - began_s})


def loaded(file: str, wanted: str, limit_s: float, sessions: "Sessions") -> Callable[..., object]:
    """Load the learner's file, and return its function. Raises any exception that the file raises.

    The file is first loaded without Spark, so a syntax error is found quickly. If it needs the JVM
    while it is loaded, as `@udf("int")` does, Spark is started first, as in a script.
    """
    limit_s = max(limit_s, LOADING_LIMIT_S)
    try:
        with cpu_limit(limit_s):
            function: Callable[..., object] = load(file, wanted)
    except Exception as error:
        if NO_SESSION not in str(error):
            raise
        sessions.get()
        with cpu_limit(limit_s):
            function = load(file, wanted)
    return function


class Sessions:
    """Makes the Spark session for a job. Each job gets a new session, so settings, views and
    functions of one job do not reach the next. Java's properties are set back too. If a job has
    stopped the SparkContext, or has made a different SparkContext, the next job gets a new
    SparkContext.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._context: SparkContext | None = None
        self._defaults: JavaDefaults | None = None

    def __enter__(self) -> "Sessions":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def running(self) -> bool:
        """Whether the SparkContext of this object still runs. Only a job can have stopped it."""
        from pyspark import SparkContext

        return self._context is not None and SparkContext._active_spark_context is self._context

    def get(self) -> "SparkSession":
        """Return a new Spark session."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        from kafka_edu.spark.connectors import start_session
        from kafka_edu.spark.data_source import register
        from kafka_edu.spark.warm_jvm import JavaDefaults

        if self.running:
            active = SparkSession.active()
            for query in active.streams.active:  # a job before has left it
                query.stop()
            active.catalog.clearCache()
            if self._defaults is not None:
                self._defaults.restore()
            SparkSession._instantiatedSession = None  # so the new one takes its place
            session = active.newSession()
            register(session)
            return session
        if SparkContext._active_spark_context is not None:  # made by a job, instead of ours
            SparkContext._active_spark_context.stop()
        SparkSession._instantiatedSession = None
        folder = Path.cwd()
        attach(folder)
        warehouse = {"spark.sql.warehouse.dir": str(folder / "spark-warehouse")}
        session = self._stack.enter_context(
            start_session("kafka-edu-lab", "local[2]", config={**CONFIG, **warehouse})
        )
        session.sparkContext.setLogLevel(_LOG_LEVEL)
        self._context = session.sparkContext
        self._defaults = JavaDefaults(SparkContext._jvm)
        return session


def attach(folder: Path) -> None:
    """Connect to the JVM, and let the JVM use `folder` for relative paths. A warm JVM was started
    in a different folder.

    For foreachBatch, the JVM calls functions of this process by their numbers. py4j begins with 0
    in each process. When a warm JVM collects the garbage of an earlier process, it asks the current
    process to forget those numbers. So in this process the numbers begin with the time in ns, and
    no two processes have the same numbers.
    """
    from pyspark import SparkContext

    from kafka_edu.spark.connectors import set_environment
    from kafka_edu.spark.java_gateway import java_gateway

    set_environment(on_loopback=True)
    with java_gateway(with_home=False):
        SparkContext._ensure_initialized()
    gateway, java = SparkContext._gateway, SparkContext._jvm
    assert gateway is not None
    assert java is not None
    gateway.gateway_property.pool.next_id = time.time_ns()
    java.java.lang.System.setProperty("user.dir", str(folder))


class Patches:
    """Notices whether a job has changed this process in a way that the next job would see: it has
    replaced functions or classes of PySpark, or has changed the environment or the working folder.
    """

    def __init__(self) -> None:
        self._environment = dict(os.environ), os.getcwd()
        self._before = {
            (holder, name): (value, code_of(value))
            for holder in self._holders()
            for name, value in list(vars(holder).items())
            if is_code(value)
        }

    def _holders(self) -> Iterator[Any]:
        """Yield the modules of PySpark and py4j, and the classes that they define."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in ("pyspark", "py4j") and module is not None:
                yield module
                for value in list(vars(module).values()):
                    if isinstance(value, type) and value.__module__ == name:
                        yield value

    def found(self) -> bool:
        """Return whether the job has changed something."""
        return self._environment != (dict(os.environ), os.getcwd()) or any(
            code_of(now := vars(holder).get(name)) is not code
            or (now is not value and origin(now) != origin(value))
            for (holder, name), (value, code) in self._before.items()
        )


def origin(value: object) -> tuple[str, str]:
    """Return where a function or class was defined. Each time PySpark makes a session, it replaces
    two functions by new functions of the same origin.
    """
    return getattr(value, "__module__", ""), getattr(value, "__qualname__", "")


def code_of(value: object) -> object:
    """Return the code of a function or method; None for any other value. A new function of the same
    origin has the same code.
    """
    inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    return inner.__code__ if isinstance(inner, FunctionType) else None


def is_code(value: object) -> bool:
    """Return whether a value of a module or class is a function, a class or a property. Other
    values may change while PySpark works.
    """
    return callable(value) or isinstance(value, property | staticmethod | classmethod)


def run_job(
    spark: "SparkSession", wanted: Callable[..., object], question: Mapping[str, Any]
) -> dict[str, object]:
    """Run one job, and return its answer. Raises any exception of the learner's code or of
    Spark.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-edu-job-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if "run" in question:
            add_connector(spark, question["connector"])
            wanted(spark, *question["run"])
            return {"batches": []}
        if "sink" in question:
            for batch_id, batch in question["sink"]:
                rows = table(spark, batch, question["schema"])
                wanted(rows, batch_id, question["folder"])
            return {"batches": []}
        if "query" in question:
            return write_stream(spark, wanted, question)
        inputs: dict[str, DataFrame] = {}
        stream = True
        if "topic" in question:
            inputs["records"] = topic_records(spark, question)
            stream = bool(question["streams"])
        elif "topics" in question:
            inputs = topics_of_json(spark, question)
        elif "streams" in question:
            for name, schema in question["schemas"].items():
                inputs[name] = watched_folder(spark, folder / name, schema)
        else:
            stream = False
            inputs["records"] = table(spark, question["batch"], question["schema"])
        for name, (schema, rows) in question.get("tables", {}).items():
            inputs[name] = table(spark, rows, schema)
        result = wanted(spark, *inputs.values())
        check_result(result, wanted.__name__, stream)
        if stream:
            return run_stream(result, folder, question)
        rows = collected(result)
        plan = result._jdf.queryExecution().executedPlan().toString()  # type: ignore[attr-defined]
        return {**shape(result), "batches": [rows], "plan": plan, "state_rows": []}


def check_result(result: object, name: str, stream: bool) -> None:
    """Raise TypeError if a job's result has the wrong type."""
    from pyspark.sql import DataFrame

    if not isinstance(result, DataFrame):
        what = "nothing" if result is None else f"a {type(result).__name__}"
        raise TypeError(f"{name} returns a DataFrame; it returned {what}")
    if stream and not result.isStreaming:
        raise TypeError(
            f"{name} was given a stream and returned a DataFrame that is none: build the result"
            " from `records`"
        )


def table(spark: "SparkSession", rows: Sequence[Sequence[Any]], schema: str) -> "DataFrame":
    """Return the rows of a question as a DataFrame with two partitions."""
    from pyspark.sql.types import StructType

    of = StructType.fromDDL(schema)
    made = [tuple(map(from_question, row, of.fields)) for row in rows]
    return spark.createDataFrame(made, of).repartition(2)


def from_question(value: Any, field: Any) -> Any:
    """Return a value of a question in the form that Spark needs: times are sent in µs."""
    if value is not None and field.dataType.typeName() == "timestamp":
        return datetime.fromtimestamp(value / 1_000_000, UTC)
    return value


def watched_folder(spark: "SparkSession", folder: Path, schema: str) -> "DataFrame":
    """Return a stream over a folder of files. Each new file becomes a micro-batch."""
    folder.mkdir()
    return (
        spark.readStream.schema(schema)
        .option("maxFilesPerTrigger", 1)
        .option("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")
        .json(str(folder))
    )


def topic_records(spark: "SparkSession", question: Mapping[str, Any]) -> "DataFrame":
    """Return the records of a live topic as a DataFrame.

    If the question has `parsed`, return the log lines that `pipeline_lines.parse` finds in them.
    """
    from kafka_edu.spark.connectors import Connector, format_of

    options = {
        "kafka.bootstrap.servers": question["servers"],
        "subscribe": question["topic"],
        "startingOffsets": "earliest",
    }
    reader = spark.readStream if question["streams"] else spark.read
    if question["streams"]:
        options["maxOffsetsPerTrigger"] = str(BATCH_LINES)
    records = reader.format(format_of(Connector.PYTHON)).options(**options).load()
    if question.get("parsed"):
        from pyspark.sql.functions import col

        from kafka_edu.spark.pipeline_lines import CLOCK, GOOD, parse

        lines = parse(records, int(question["parsed"])).where(col("kind").isin(GOOD, CLOCK))
        return lines.select("client", "time", "status", "duration_us")
    return records


def add_connector(spark: "SparkSession", name: str) -> "Connector":
    """Return the connector `name`, and let Spark use it.

    Raises OfficialConnectorMissing if Spark's own connector is needed and cannot be downloaded.
    """
    from kafka_edu.spark.connectors import Connector, add_official_connector

    connector = Connector(name)
    if connector is Connector.OFFICIAL:
        add_official_connector(spark)
    return connector


def topics_of_json(spark: "SparkSession", question: Mapping[str, Any]) -> "dict[str, DataFrame]":
    """Return a stream for each live topic, with the fields of its JSON values as columns.

    Raises OfficialConnectorMissing if the question wants Spark's own connector, and it cannot be
    downloaded.
    """
    from pyspark.sql.functions import col, from_json

    from kafka_edu.spark.connectors import format_of

    connector = add_connector(spark, question["connector"])
    found = {}
    for topic, schema in question["topics"].items():
        records = (
            spark.readStream.format(format_of(connector))
            .option("kafka.bootstrap.servers", question["servers"])
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", str(question["at_once"]))
            .load()
        )
        value = from_json(col("value").cast("string"), schema)
        found[topic] = records.select(value.alias("row")).select("row.*")
    return found


def started(writer: "DataStreamWriter") -> "StreamingQuery":
    """Start a query, again and again if this machine is too busy for Spark. Raises its error."""
    from kafka_edu.spark.query_start import start_queries

    return start_queries({"job": writer})["job"]


def run_stream(result: "DataFrame", folder: Path, question: Mapping[str, Any]) -> dict[str, object]:
    """Run a stream over the batches, one after the other, and return the rows written for each.

    After each batch, Spark runs an empty micro-batch. The next batch is put in only after this
    empty micro-batch has ended. So the stream never has a backlog.
    """
    written: list[list[object]] = []
    rows_of: list[list[list[object]]] = []

    def keep(batch: "DataFrame", _: int) -> None:
        written.extend(collected(batch))

    query = started(
        result.writeStream.outputMode("append")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .foreachBatch(keep)
    )
    try:
        steps = question["streams"] if "schemas" in question else ()
        for number, (name, batch) in enumerate(steps):
            put_file(folder / name, number, batch, question["schemas"][name])
            query.processAllAvailable()
            rows_of.append(list(written))
            written.clear()
        if not steps:  # the records are in a topic
            query.processAllAvailable()
            rows_of.append(list(written))
        progress = [json.loads(one.json) for one in query.recentProgress]
    finally:
        query.stop()
    held = [
        sum(state["numRowsTotal"] for state in one["stateOperators"])
        for one in progress
        if one["stateOperators"]
    ]
    return {**shape(result), "batches": rows_of, "plan": "", "state_rows": held}


def write_stream(
    spark: "SparkSession", wanted: Callable[..., object], question: Mapping[str, Any]
) -> dict[str, object]:
    """Let the learner's sink write the records of a topic, micro-batch by micro-batch, to the
    end.
    """
    records = topic_records(spark, {**question, "streams": True}).select("partition", "offset")
    query = started(
        records.writeStream.option("checkpointLocation", question["checkpoint"]).foreachBatch(
            lambda rows, batch_id: wanted(rows, batch_id, question["query"])
        )
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return {"batches": []}


def put_file(folder: Path, number: int, rows: Sequence[Sequence[Any]], schema: str) -> None:
    """Put a file with `rows` into a watched folder. The stream never sees an incomplete file."""
    from pyspark.sql.types import StructType

    fields = StructType.fromDDL(schema).fields
    lines = []
    for row in rows:
        made = {}
        for field, value in zip(fields, row, strict=True):
            if value is not None and field.dataType.typeName() == "timestamp":
                moment = datetime.fromtimestamp(value / 1_000_000, UTC)
                value = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            made[field.name] = value
        lines.append(json.dumps(made))
    hidden = folder / f"_{number:05}.json"  # Spark passes over names that begin with _
    hidden.write_text("\n".join(lines) + "\n", encoding="utf-8")
    hidden.rename(folder / f"{number:05}.json")


def shape(frame: "DataFrame") -> dict[str, object]:
    """Return the names and types of a DataFrame's columns."""
    return {
        "columns": frame.columns,
        "types": [field.dataType.simpleString() for field in frame.schema.fields],
    }


def collected(frame: "DataFrame") -> list[list[object]]:
    """Return the rows of a DataFrame as JSON values. Raises ValueError if there are too many."""
    rows = frame.limit(MOST_ROWS + 1).collect()
    if len(rows) > MOST_ROWS:
        raise ValueError(f"the result has more than {MOST_ROWS:,} rows")
    return [[sayable(value) for value in row] for row in rows]


def sayable(value: object) -> object:
    """Return a value of a row in a form that JSON can represent."""
    match value:
        case datetime():
            return value.replace(tzinfo=None).isoformat(" ")
        case bytearray() | bytes() | None | bool() | int() | float() | str():
            return bytes(value) if isinstance(value, bytearray) else value
        case list() | tuple():
            return [sayable(one) for one in value]
        case dict():
            return {str(key): sayable(one) for key, one in value.items()}
    return str(value)


def has_ended_the_jvm(error: BaseException) -> bool:
    """Return whether Spark's JVM has ended, or will end soon.

    A stack overflow ends the JVM. Until it is gone, Spark may report a StackOverflowError, a null
    pointer error or nothing. The text of a Java error comes from the JVM, so reading this text may
    fail too. Therefore, after a Java error that is not one of Spark's own errors, this function
    waits for a while to see whether the JVM ends.
    """
    from pyspark import SparkContext

    from kafka_edu.spark.source_errors import lost_the_jvm

    if lost_the_jvm(error):
        return True
    if type(error).__name__ != "Py4JJavaError":
        return False
    began = time.monotonic()
    while time.monotonic() - began < GOES_WITHIN_S:
        try:
            context = SparkContext._active_spark_context
            if STACK_IS_FULL in str(error) or context is None or context._jsc.sc().isStopped():
                return True
        except Exception as lost:
            if lost_the_jvm(lost):
                return True
            raise
        time.sleep(0.1)  # nothing would report it
    return False


def said_of(error: BaseException, file: str, limit_s: float) -> dict[str, object]:
    """Return the answer that reports an exception: one line of text, and the learner's line number.

    Java's stack frames are left out.
    """
    said = error_of(error, file, limit_s)
    text = str(error)
    if isinstance(error, ModuleNotFoundError):
        said["error"] = f"ModuleNotFoundError: {error}"
    elif type(error).__module__.startswith(("pyspark.", "py4j.")):
        from kafka_edu.spark.source_errors import user_error

        said["error"] = user_error(error) or words_of(text)
        if not said["line"]:
            named = [re.findall(line.format(file=re.escape(file)), text) for line in _LINES]
            lines = [int(line) for found in named for line in found]
            said["line"] = lines[-1] if lines else last_line(error, file)
    return said


def words_of(text: str) -> str:
    """Return the line of Spark's error message that says what was wrong."""
    raised = re.findall(r"^(\w+(?:Error|Exception)): (.*)$", text, re.MULTILINE)
    if raised and "Traceback (most recent call last)" in text:
        return f"a function of yours failed in a worker: {raised[-1][0]}: {raised[-1][1]}"
    text, of_stream = re.subn(_STREAM_FAILED, "", text)
    found = (
        re.search(r"(\[[A-Z][A-Z0-9_.]+\] [^\n]+)", text)
        or re.match(r"([^\n]+);\n", text)  # after it comes the plan, which has many lines
        or (re.match("(.+)", text) if of_stream else None)
    )
    if found is not None:
        line = re.split(r" SQLSTATE: \w+|;$", found[1])[0]
        return line.rstrip(" ;.")
    from kafka_edu.spark.java_gateway import last_words

    return last_words(text)


def last_line(error: BaseException, file: str) -> int:
    """Return the last line of the learner's file in the traceback of an exception or of its
    causes.
    """
    seen: BaseException | None = error
    while seen is not None:
        for frame in reversed(traceback.extract_tb(seen.__traceback__)):
            if frame.filename == file and frame.lineno:
                return frame.lineno
        seen = seen.__cause__ or seen.__context__
    return 0


if __name__ == "__main__":
    main()
