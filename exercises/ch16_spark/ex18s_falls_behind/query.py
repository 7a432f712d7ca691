"""The query of exercise 16-18s: a program that writes the clicks of a topic into files, with Spark.
`python -m … FOLDER SUPERVISOR-PID SERVERS SETTINGS` runs it until the cluster ends.

Each micro-batch writes one file into `rows`, next to the settings. A micro-batch that comes again
after a restart replaces its file.
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_edu.spark.connectors import start_session
from kafka_edu.spark.query_start import start_queries
from kafka_edu.spark.source_errors import user_error
from kafka_edu.spark.stream_lag import stream_lag, with_metrics

from ...lab_program import SettingsFile, while_cluster_is_up, write_notes
from .material import MOST_ROWS, PROGRESS, SLOTS, TOPIC, WORK_MS
from .shop import QUERY_NOTES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

LOOK_EVERY_S: Final = 0.25
ROWS: Final = "rows"
CHECKPOINT: Final = "checkpoint"
TRIGGER: Final = "trigger"
LIMIT: Final = "maxOffsetsPerTrigger"
SMALL: Final = 40
"""A lag of this many clicks or fewer counts as zero. This many clicks come in 2 s."""
SHOWN: Final = 20
"""The number of last micro-batches whose progress the learner sees."""
#: Each worker reads and handles only a few clicks: the JVM needs little memory.
CONFIG: Final = {"spark.sql.streaming.numRecentProgressUpdates": f"{SHOWN}"}


class Seen(NamedTuple):
    """The query's notes."""

    pid: int
    file: str
    """The path of the settings."""
    complaint: str
    """Why the query does not run, or not with the newest settings. Empty if it does."""
    read: int
    """How many versions of the settings the program has read. It may have refused the last one."""
    run: int
    """The number of the current run. New settings need a new run."""
    id: str
    """The id that Spark gave to the query. It is in the checkpoint, so a restart keeps it."""
    batch: int
    """The number of the last micro-batch that is finished. -1: there was none."""
    ends: dict[str, int]
    """Partition → the offset of the last click that was written, plus 1."""
    lag: int
    """The clicks that existed when this micro-batch began, and that it did not read."""
    zeros: int
    """How many of this run's last micro-batches in a row have left at most SMALL clicks."""


class Done(NamedTuple):
    """A finished micro-batch."""

    batch: int
    ends: dict[str, int]
    lag: int | None
    """None: it was planned in an earlier run, which knew the end of the log."""


class Account:
    """Counts the clicks that the micro-batches of all runs have written."""

    def __init__(self) -> None:
        self.batch = -1
        self.ends: dict[str, int] = {}
        self.lag = self.zeros = 0

    def begin_run(self) -> None:
        """Count the micro-batches without a lag from 0 again, because new settings are in use."""
        self.zeros = 0

    def add(self, done: Done) -> None:
        """Add a micro-batch. If it is known already, nothing changes."""
        if done.batch <= self.batch:
            return
        self.batch, self.ends = done.batch, done.ends
        if done.lag is not None:
            self.lag = done.lag
            self.zeros = self.zeros + 1 if done.lag <= SMALL else 0


def done_of(progress: Mapping[str, Any]) -> Done | None:
    """Return the micro-batch in a progress report of Spark. None: it had no clicks."""
    (source,) = progress["sources"]
    if not progress["numInputRows"]:
        return None
    end = source["endOffset"]
    offsets = json.loads(end) if isinstance(end, str) else end
    lag = stream_lag(source)
    behind = None if lag is None else sum(lag.by_partition.values())
    return Done(progress["batchId"], offsets[TOPIC], behind)


def look_up(click: str) -> str:
    """Return the title of a click's page from the catalogue. The catalogue is slow."""
    time.sleep(WORK_MS / 1_000)  # stands for the work of a slow catalogue: the lesson is its cost
    return f"title of {click.partition(' ')[2]}"


def options_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the options of the source. Raises ValueError if a micro-batch would be too large."""
    options = {key: value for key, value in settings.items() if key != TRIGGER}
    limit = options.get(LIMIT, "")
    if not (limit.isdecimal() and 0 < int(limit) <= MOST_ROWS):
        raise ValueError(
            f"{LIMIT}={limit}: the executor has memory for 1 to {MOST_ROWS:,} clicks in a"
            " micro-batch"
        )
    return options


class ClickQuery:
    """The query. It has one run at a time."""

    def __init__(self, spark: "SparkSession", folder: Path, servers: str, file: Path) -> None:
        self._spark = spark
        self._notes = folder / QUERY_NOTES
        self._servers = servers
        self._settings = SettingsFile(file)
        self._out = file.parent
        self._query: StreamingQuery | None = None
        self._account = Account()
        self._read = self._run = 0
        self._id = ""
        self._shown = ""
        self._failed = ""

    def look(self) -> None:
        """Begin a new run if the settings have changed, and write the notes."""
        settings = self._settings.changed()
        if settings is not None:
            self._with_new_settings(settings)
            self._read += 1
        if self._query is not None:
            self._see(self._query)
        seen = Seen(
            pid=os.getpid(),
            file=str(self._settings.file),
            complaint=self._settings.complaint or self._failed,
            read=self._read,
            run=self._run,
            id=self._id,
            batch=self._account.batch,
            ends=self._account.ends,
            lag=self._account.lag,
            zeros=self._account.zeros,
        )
        write_notes(self._notes, seen._asdict())

    def _with_new_settings(self, settings: Mapping[str, str]) -> None:
        try:
            writer = self._writer(options_of(settings), settings.get(TRIGGER, "0 seconds"))
        except Exception as error:  # Spark and the options have many kinds of errors
            self._settings.refused = _line_of(error)
            return
        if self._query is not None:
            self._query.stop()
            self._see(self._query)
        self._run += 1
        self._account.begin_run()
        self._query, self._failed = None, ""
        try:
            self._query = start_queries({"clicks": writer})["clicks"]
        except Exception as error:
            self._failed = f"the query did not start: {_line_of(error)}"
            return
        if self._id not in ("", self._query.id):
            self._account = Account()  # a new checkpoint: the micro-batches begin with 0 again
        self._id = self._query.id

    def _writer(self, options: Mapping[str, str], trigger: str) -> "DataStreamWriter":
        from pyspark.sql.functions import col, udf

        fixed = {"kafka.bootstrap.servers": self._servers, "subscribe": TOPIC}
        records = (
            self._spark.readStream.format("kafka-edu")
            .options(**{"startingOffsets": "earliest", **options, **fixed})
            .load()
        )
        click = col("value").cast("string")
        rows = records.select(
            "partition", "offset", click.alias("click"), udf(look_up, "string")(click).alias("page")
        )
        return (
            rows.writeStream.foreachBatch(self._write)
            .option("checkpointLocation", str(self._out / CHECKPOINT))
            .trigger(processingTime=trigger)
        )

    def _write(self, rows: "DataFrame", number: int) -> None:
        file = self._out / ROWS / f"{number:06}.jsonl"
        file.parent.mkdir(exist_ok=True)
        new = file.with_suffix(".new")
        lines = (json.dumps(row.asDict()) + "\n" for row in rows.collect())
        new.write_text("".join(lines), encoding="utf-8")
        new.replace(file)

    def _see(self, query: "StreamingQuery") -> None:
        """Add the micro-batches that are finished, and show them to the learner."""
        error = None if query.isActive else query.exception()
        if error is not None:
            self._failed = f"the query has ended: {_line_of(error)}"
        last = query.lastProgress
        if last is None or last.json == self._shown:
            return
        self._shown = last.json
        reports = [json.loads(one.json) for one in query.recentProgress]
        for one in reports:
            if (done := done_of(one)) is not None:
                self._account.add(done)
        text = json.dumps([with_metrics(one) for one in reports], indent=1)
        with suppress(OSError):
            (self._out / PROGRESS).write_text(text + "\n", encoding="utf-8")


def _line_of(error: Exception) -> str:
    """Return one line that says what has gone wrong."""
    return user_error(error) or str(error).strip().partition("\n")[0] or type(error).__name__


def files_of(folder: Path) -> list[Path]:
    """Return the files with the rows of all micro-batches."""
    return sorted((folder / ROWS).glob("*.jsonl"))


def rows_of(files: Iterable[Path], last: int) -> Iterator[dict[str, Any]]:
    """Yield the rows in the files, without the file of micro-batch `last` + 1: `last` is the last
    finished one, and the next is not finished. Files with higher numbers come from an old
    checkpoint, and count.

    Raises ValueError for a file that the query has not written.
    """
    for file in files:
        if int(file.stem) != last + 1:
            yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def main() -> None:
    folder, supervisor, servers, file = sys.argv[1:]
    is_up = while_cluster_is_up(Path(folder), int(supervisor))
    with start_session("lab-16-18s", f"local[{SLOTS}]", config=CONFIG) as spark:
        query = ClickQuery(spark, Path(folder), servers, Path(file))
        while is_up():
            query.look()
            time.sleep(LOOK_EVERY_S)  # files and Spark's progress announce nothing
        os._exit(0)  # the cluster is gone: the query would wait for it. The JVM ends too


if __name__ == "__main__":
    main()
