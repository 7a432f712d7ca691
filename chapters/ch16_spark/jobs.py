"""The Spark jobs of chapter 16. All of them run in one session, and emit events of their work.

    plan      reads 1,000 records in micro-batches of at most 300 offsets
    follow    reads a topic while a load writes to it, until the next job comes
    catch-up  continues from the checkpoint of `follow`, and ends at the end of the topic
    late      counts visits by minute, with a watermark; some visits are late
    copies    writes each record at least once, once by folder, and once by transaction; then
              the mark of the last batch is removed and the queries run again

Each job first removes what its last run made, so it can run again. Only `catch-up` does not.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.clients.admin.topic_calls import usual_replicas
from kafka_edu.clients.blocking import Admin, Producer
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.spark.query_start import start_queries
from kafka_edu.trace.events.spark import (
    CommitMarkRemoved,
    JobStarted,
    MicroBatchDone,
    OffsetsRead,
    QueryEnded,
    QueryStarted,
    SinkCounted,
    WindowWritten,
)

from ..chapter import JobPlace
from .plan import (
    DELAY_MINUTES,
    FILLED,
    MOST_COPIED,
    MOST_PLANNED,
    MOST_VISITS,
    SLOTS,
    SOURCE,
    VISITS,
    WINDOW_MINUTES,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

JOBS: Final[Mapping[str, str]] = {
    "plan": "read 1,000 records in micro-batches of at most 300 offsets",
    "follow": "read the topic ch16-live while it grows",
    "catch-up": "read the rest of ch16-live, and end",
    "late": "count visits by minute, with a watermark of 2 minutes",
    "copies": "copy 1,000 records, delete the commit file of the last batch, and start again",
}
#: The group of packages that the jobs need, and modules that show whether the group is installed.
NEEDS: Final = ("spark", "pyspark", "pyarrow", "numpy")

LIVE: Final = "ch16-live"
LATE: Final = "ch16-late"
AT_LEAST_ONCE: Final = "ch16-at-least-once"
ONCE: Final = "ch16-once"
FOLDER: Final = "folder"

_LOOK_EVERY_S: Final = 0.1
_ANSWER_S: Final = 60.0
_OPTIONS: Final = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.metricsEnabled": "false",
}


class Progress(NamedTuple):
    """A micro-batch, as Spark reported it."""

    batch: int
    rows: int
    start: Mapping[str, int]
    """Partition → first offset."""
    end: Mapping[str, int]
    watermark: str
    dropped: int
    took_ms: int

    @classmethod
    def of(cls, found: Mapping[str, Any], topic: str) -> "Progress":
        source = found["sources"][0]
        mark = found.get("eventTime", {}).get("watermark", "")
        return cls(
            found["batchId"],
            found["numInputRows"],
            _offsets(source["startOffset"], topic),
            _offsets(source["endOffset"], topic),
            "" if mark.startswith("1970") else mark[11:19],
            sum(one["numRowsDroppedByWatermark"] for one in found["stateOperators"]),
            found["durationMs"].get("triggerExecution", 0),
        )


def _offsets(found: object, topic: str) -> dict[str, int]:
    """Return partition → offset, from Spark's report. The report is JSON as a text, or a map."""
    parsed = json.loads(found) if isinstance(found, str) else found
    return dict(parsed[topic]) if isinstance(parsed, dict) and topic in parsed else {}


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Start Spark, and yield the function that runs a job by its name.

    A user's mistake becomes one line of text, without a stack trace.
    """
    from kafka_edu.cli.spark_options import spark_errors
    from kafka_edu.spark.connectors import start_session

    with spark_errors(), start_session("chapter-16", "local[2]", config=_OPTIONS) as spark:
        yield SparkJobs(spark, place).run


class SparkJobs:
    """The jobs of chapter 16, on one Spark session and one cluster."""

    def __init__(self, spark: "SparkSession", place: JobPlace) -> None:
        self._spark = spark
        self._place = place
        self._topics = Topics(place.bootstrap_servers)

    def run(self, name: str) -> None:
        """Run the job with this name to its end."""
        jobs: Mapping[str, Callable[[], None]] = {
            "plan": self._plan,
            "follow": self._follow,
            "catch-up": self._catch_up,
            "late": self._late,
            "copies": self._copies,
        }
        self._place.emit(JobStarted(job=name))
        jobs[name]()

    def _plan(self) -> None:
        self._topics.fill(SOURCE, FILLED)
        self._forget("plan")
        rows = self._read(SOURCE, MOST_PLANNED)
        self._watch("plan", SOURCE, self._start("plan", rows, _count_rows))

    def _follow(self) -> None:
        self._topics.make(LIVE, 3)
        self._forget("follow")
        query = self._start("follow", self._read(LIVE, None), _count_rows, available_now=False)
        self._watch("follow", LIVE, query)

    def _catch_up(self) -> None:
        checkpoint = self._checkpoint("follow")
        query = self._start("catch-up", self._read(LIVE, None), _count_rows, checkpoint=checkpoint)
        self._watch("catch-up", LIVE, query, checkpoint=checkpoint)

    def _late(self) -> None:
        from pyspark.sql.functions import col, count, to_timestamp, window

        self._topics.make(LATE, 1, fresh=True)
        self._topics.write(LATE, [(0, f"2018-08-01 {visit}") for visit in VISITS])
        self._forget("late")
        visits = self._read(LATE, MOST_VISITS).select(
            to_timestamp(col("value").cast("string")).alias("time")
        )
        counts = (
            visits.withWatermark("time", f"{DELAY_MINUTES} minutes")
            .groupBy(window("time", f"{WINDOW_MINUTES} minutes"))
            .agg(count("*").alias("visits"))
        )
        self._watch("late", LATE, self._start("late", counts, self._write_windows))

    def _write_windows(self, windows: "DataFrame", batch: int) -> None:
        """Emit an event for each complete window.

        The windows are sorted here. If Spark sorted them, it would run the batch twice to find the
        range of the values, and would count each dropped row twice.
        """
        from pyspark.sql.functions import col, date_format

        begin = date_format(col("window.start"), "HH:mm").alias("begin")
        for start, visits in sorted(windows.select(begin, "visits").collect()):
            self._place.emit(WindowWritten(query="late", batch=batch, begin=start, rows=visits))

    def _copies(self) -> None:
        self._topics.fill(SOURCE, FILLED)
        for topic in (AT_LEAST_ONCE, ONCE):
            self._topics.make(topic, len(FILLED), fresh=True)
        for name in ("again", "once"):
            self._forget(name)
        shutil.rmtree(self._place.folder / FOLDER, ignore_errors=True)
        self._copy()
        for name in ("again", "once"):
            self._remove_mark(name)
        self._copy()
        for topic in (AT_LEAST_ONCE, ONCE):
            self._count(topic)
        folder = self._spark.read.parquet(str(self._place.folder / FOLDER))
        self._tell_count(FOLDER, folder)

    def _copy(self) -> None:
        """Run the queries `again` and `once` over the records that they have not read yet.

        The queries end by themselves.
        """
        from kafka_edu.spark.slots import by_slot

        lines = self._read(SOURCE, MOST_COPIED).select("value")
        self._watch("again", SOURCE, self._start("again", lines, self._write_twice))
        once = (
            by_slot(lines, SLOTS)
            .writeStream.format("kafka-edu")
            .option("kafka.bootstrap.servers", self._place.bootstrap_servers)
            .option("topic", ONCE)
            .option("delivery", "exactly-once")
            .option("checkpointLocation", str(self._checkpoint("once")))
            .queryName("once")
            .trigger(availableNow=True)
        )
        self._place.emit(QueryStarted(query="once", topic=SOURCE))
        self._watch("once", SOURCE, start_queries({"once": once})["once"])

    def _write_twice(self, rows: "DataFrame", batch: int) -> None:
        """Write a batch twice: to a topic, at least once, and to a folder named after the batch."""
        kept = rows.persist()  # otherwise both writes would read the batch from the brokers
        kept.write.format("kafka-edu").option(
            "kafka.bootstrap.servers", self._place.bootstrap_servers
        ).option("topic", AT_LEAST_ONCE).mode("append").save()
        kept.write.mode("overwrite").parquet(str(self._place.folder / FOLDER / f"batch={batch}"))
        kept.unpersist()

    def _read(self, topic: str, most: int | None) -> "DataFrame":
        """Return the topic as a stream from its beginning.

        A batch has at most `most` offsets. If `most` is None, it has all offsets that exist.
        """
        options = {
            "kafka.bootstrap.servers": self._place.bootstrap_servers,
            "subscribe": topic,
            "startingOffsets": "earliest",
        }
        if most is not None:
            options["maxOffsetsPerTrigger"] = str(most)
        return self._spark.readStream.format("kafka-edu").options(**options).load()

    def _start(
        self,
        name: str,
        rows: "DataFrame",
        write: Callable[["DataFrame", int], None],
        *,
        available_now: bool = True,
        checkpoint: Path | None = None,
    ) -> "StreamingQuery":
        """Start a query. With `available_now` it ends when it has read the records that exist now.

        Without `checkpoint` the query gets a checkpoint folder of its own.
        """
        writer = (
            rows.writeStream.queryName(name)
            .outputMode("append")
            .option("checkpointLocation", str(checkpoint or self._checkpoint(name)))
            .foreachBatch(write)
        )
        if available_now:
            writer = writer.trigger(availableNow=True)
        self._place.emit(QueryStarted(query=name, topic=_topic_of(name)))
        return start_queries({name: writer})[name]

    def _watch(
        self,
        name: str,
        topic: str,
        query: "StreamingQuery",
        *,
        checkpoint: Path | None = None,
    ) -> None:
        """Emit an event for each batch, until the query ends or another job waits.

        Raises the query's error if it fails.
        """
        seen, batches = -1, 0
        while True:
            over = not query.isActive
            if not over and self._place.another_waits():
                query.stop()
                over = True
            for found in query.recentProgress:
                if found["batchId"] > seen and "addBatch" in found["durationMs"]:
                    seen = found["batchId"]
                    done = Progress.of(found, topic)
                    batches += done.rows > 0
                    self._tell(name, topic, done)
            if over:
                break
            time.sleep(_LOOK_EVERY_S)
        if (failed := query.exception()) is not None:
            raise failed
        self._place.emit(
            QueryEnded(
                query=name,
                batches=batches,
                position=sum(
                    committed_offsets(checkpoint or self._checkpoint(name), topic).values()
                ),
                groups=self._topics.groups(),
            )
        )

    def _tell(self, name: str, topic: str, done: Progress) -> None:
        for partition, end in sorted(done.end.items()):
            start = done.start.get(partition, 0)
            if end > start:
                self._place.emit(
                    OffsetsRead(
                        query=name,
                        batch=done.batch,
                        topic=topic,
                        partition=int(partition),
                        start=start,
                        end=end,
                        records=end - start,
                    )
                )
        self._place.emit(
            MicroBatchDone(
                query=name,
                batch=done.batch,
                rows=done.rows,
                watermark=done.watermark,
                dropped=done.dropped,
                took_ms=done.took_ms,
            )
        )

    def _count(self, topic: str) -> None:
        """Emit how many committed records a topic has."""
        rows = (
            self._spark.read.format("kafka-edu")
            .option("kafka.bootstrap.servers", self._place.bootstrap_servers)
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", topic)
            .load()
        )
        self._tell_count(topic, rows)

    def _tell_count(self, sink: str, rows: "DataFrame") -> None:
        from pyspark.sql.functions import count, count_distinct

        [(all_rows, different)] = rows.agg(count("*"), count_distinct("value")).collect()
        self._place.emit(SinkCounted(sink=sink, rows=all_rows, different=different))

    def _checkpoint(self, name: str) -> Path:
        return self._place.folder / "checkpoints" / name

    def _forget(self, name: str) -> None:
        shutil.rmtree(self._checkpoint(name), ignore_errors=True)

    def _remove_mark(self, name: str) -> None:
        marks = self._checkpoint(name) / "commits"
        last = newest(marks)
        (marks / str(last)).unlink()
        (marks / f".{last}.crc").unlink(missing_ok=True)
        self._place.emit(CommitMarkRemoved(query=name, batch=last))


class Topics:
    """The topics of the chapter: creates, fills and counts them."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers

    def make(self, topic: str, partitions: int, *, fresh: bool = False) -> bool:
        """Create the topic if it does not exist. With `fresh`, a new topic replaces the old one.

        Return whether the topic is new.
        """
        with Admin({"bootstrap.servers": self._servers}) as admin:
            brokers = len(admin.describe_cluster().nodes)
            if topic in admin.list_topics():
                if not fresh:
                    return False
                admin.delete_topics([topic]).all()
        end = time.monotonic() + _ANSWER_S
        while True:
            try:
                make_topic(self._servers, topic, partitions, usual_replicas(brokers))
                return True
            except KafkaException as error:
                if error.error is not Errors.TOPIC_ALREADY_EXISTS or time.monotonic() > end:
                    raise
                if not fresh:
                    return False  # another process has created it meanwhile
            time.sleep(_LOOK_EVERY_S)

    def fill(self, topic: str, records: tuple[int, ...]) -> None:
        """Create a topic with `records[p]` records in each partition p, unless the topic exists."""
        if self.make(topic, len(records)):
            self.write(
                topic,
                [
                    (partition, f"{partition}/{number}")
                    for partition, count in enumerate(records)
                    for number in range(count)
                ],
            )

    def write(self, topic: str, records: list[tuple[int, str]]) -> None:
        """Write each value to its partition, in order and with acks=all."""
        settings = {"client.id": "filler", "acks": "all", "enable.idempotence": True}
        with Producer({"bootstrap.servers": self._servers, **settings}) as producer:
            sent = [producer.send(topic, value, partition=at) for at, value in records]
            for one in sent:
                one.result(_ANSWER_S)

    def groups(self) -> int:
        """Return the number of consumer groups that the brokers know."""
        with Admin({"bootstrap.servers": self._servers}) as admin:
            return sum(map(len, admin.list_consumer_groups().all().values()))


def _count_rows(rows: "DataFrame", batch: int) -> None:
    """Read all rows of the batch and drop them. The events report what was read."""
    rows.count()


def _topic_of(name: str) -> str:
    return {"follow": LIVE, "catch-up": LIVE, "late": LATE}.get(name, SOURCE)


def newest(folder: Path) -> int:
    """Return the highest number that is a file name in a folder of the checkpoint, or -1."""
    numbers = [int(file.name) for file in folder.glob("*") if file.name.isdigit()]
    return max(numbers, default=-1)


def committed_offsets(checkpoint: Path, topic: str) -> dict[str, int]:
    """Return partition → next offset, after the last batch that the checkpoint marks as done.

    A file in `offsets` has one line for its version, one line for Spark's own state, and one line
    for each source.
    """
    last = newest(checkpoint / "commits")
    if last < 0:
        return {}
    lines = (checkpoint / "offsets" / str(last)).read_text(encoding="utf-8").splitlines()
    return _offsets(lines[2], topic)
