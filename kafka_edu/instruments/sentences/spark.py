"""Sentences for the events of Spark jobs."""

from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.trace.events import spark


@sentence.register
def job_started(e: spark.JobStarted) -> Sentence:
    return Sentence(f"the job {e.job} begins", loud=False)


@sentence.register
def query_started(e: spark.QueryStarted) -> Sentence:
    return Sentence(f"Spark's query {e.query} begins on", f"topic {e.topic}")


@sentence.register
def offsets_read(e: spark.OffsetsRead) -> Sentence:
    return Sentence(
        f"batch {e.batch} of {e.query} has read",
        f"{e.topic}-{e.partition}",
        f"from {e.start:,} to {e.end:,}: {plural(e.records, 'record')}",
    )


@sentence.register
def micro_batch_done(e: spark.MicroBatchDone) -> Sentence:
    mark = f", watermark {e.watermark}" if e.watermark else ""
    dropped = f", {e.dropped:,} dropped as too late" if e.dropped else ""
    return Sentence(
        f"batch {e.batch} of {e.query} is done:",
        after=f"{plural(e.rows, 'row')} in {duration(e.took_ms)}{mark}{dropped}",
    )


@sentence.register
def window_written(e: spark.WindowWritten) -> Sentence:
    return Sentence(
        f"batch {e.batch} of {e.query} writes",
        f"the window of {e.begin}",
        f"with {plural(e.rows, 'row')}",
    )


@sentence.register
def commit_mark_removed(e: spark.CommitMarkRemoved) -> Sentence:
    return Sentence(f"the commit file of batch {e.batch} of {e.query} is deleted")


@sentence.register
def sink_counted(e: spark.SinkCounted) -> Sentence:
    return Sentence(
        "a reader finds in",
        e.sink,
        f"{plural(e.rows, 'record')}, {e.different:,} different ones",
    )


@sentence.register
def query_ended(e: spark.QueryEnded) -> Sentence:
    return Sentence(
        f"Spark's query {e.query} ends",
        after=f"after {plural(e.batches, 'batch')}",
    )
