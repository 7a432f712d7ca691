"""Write a generated log to the pipeline's topic, all at once or at a given rate, and count its
lines correctly for later comparison.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from kafka_edu.clients.web_log.access_log import MONTHS
from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
from kafka_edu.clients.web_log.records import LogRecord, records
from kafka_edu.spark.log_topic import (
    TIMEOUT_S,
    TopicWriter,
    records_in_topic,
    topic_reader,
)
from kafka_edu.spark.web_log_topic import TopicNotFilled

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.truth import LogTruth
    from kafka_edu.spark.pipeline_settings import PipelineSettings

SLICES_A_SECOND: Final = 20
_SLICE: Final = 5_000
"""The number of lines that are written at once if there is no rate."""
_SLICES: Final = 100
"""A log that is written at a rate has at least this many slices.

A slice of a small log then covers less than a minute of the log's time.
"""


class LogFeeder:
    """Writes a log to a topic. `truth` has the correct counts for the lines that were written."""

    def __init__(
        self, bootstrap_servers: str, topic: str, lines: int, settings: LogSettings
    ) -> None:
        """Raise ValueError if the settings of the log contradict each other."""
        self._generator = LogGenerator(settings)
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._lines = lines
        self._writer = TopicWriter(bootstrap_servers, topic)
        self.sent = 0
        """The number of lines that were given to the producer."""
        self.failed: TopicNotFilled | None = None
        """The error that ended a feed in its own thread, or None."""

    @property
    def truth(self) -> "LogTruth":
        """Return the correct counts of the lines made so far. When the feed has ended, they are
        those of the whole topic.
        """
        return self._generator.truth

    @property
    def ends(self) -> dict[int, int]:
        """Return for each partition the offset after its last acknowledged line."""
        return dict(self._writer.ends)

    def feed(self, rate: float | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Write all lines: `rate` lines a second, or as fast as possible if `rate` is None. Return
        when every line is acknowledged. Raises TopicNotFilled if a line was refused.

        The lines are sent in slices. After every second slice, all lines must be acknowledged
        before the next slice is sent. So no partition gets far ahead of a partition whose broker is
        slow, and a stream that reads at the same time needs no longer watermark delay.
        """
        begin = time.monotonic()
        left = self._records()
        size = _SLICE
        if rate is not None:
            size = max(1, min(round(rate / SLICES_A_SECOND), self._lines // _SLICES))
        for number in itertools.count():
            if stop() or not (piece := list(itertools.islice(left, size))):
                break
            self._writer.send(piece)
            self.sent += len(piece)
            if number % 2:
                self._writer.flush()
            if rate is not None:
                time.sleep(max(0.0, begin + self.sent / rate - time.monotonic()))
        self._writer.flush()

    def start(self, rate: float | None, stop: threading.Event) -> threading.Thread:
        """Write the lines in a separate thread. When the thread has ended, check `failed`."""

        def run() -> None:
            try:
                self.feed(rate, stop.is_set)
            except TopicNotFilled as error:
                self.failed = error

        thread = threading.Thread(target=run, name="feeder", daemon=True)
        thread.start()
        return thread

    def is_there(self) -> bool:
        """Return True if the topic already contains exactly this log and its clock line. In this
        case, also compute the correct counts. Return False if the topic is empty.

        Raises TopicNotFilled if the topic contains anything else.
        """
        there = records_in_topic(self._bootstrap_servers, self._topic)
        if not there:
            return False
        if there != self._lines + 1 or not self._begins_like_topic():
            raise TopicNotFilled(
                f"topic {self._topic} holds {there:,} records that are not the log of these options"
                f" ({self._lines:,} lines, seed {self._generator.settings.seed}), so there is no"
                " truth to compare with. Choose another topic, or the options of the run that"
                " filled it"
            )
        while (left := self._lines - self._generator.truth.lines) > 0:
            self._generator.next_block(left)
        self.sent = self._lines
        self._writer.ends |= topic_ends(self._bootstrap_servers, self._topic)
        return True

    def _begins_like_topic(self) -> bool:
        """Return whether the first record of each partition is one of this log's lines, or a clock
        line.
        """
        from kafka_edu.spark.pipeline_lines import CLOCK_AGENT

        other = LogGenerator(self._generator.settings)
        block = other.next_block(self._lines)
        lines = {one.value for one in records(block, other.text.lines(block))}
        return all(
            value in lines or CLOCK_AGENT.encode() in value
            for value in first_values(self._bootstrap_servers, self._topic)
        )

    def send_clock(self, settings: "PipelineSettings") -> None:
        """Write the clock line, which closes all windows and sessions. Raises TopicNotFilled if it
        was refused.
        """
        self._writer.send([clock_record(self.truth.latest_s, settings)])
        self._writer.flush()

    def _records(self) -> Iterator[LogRecord]:
        made = self._generator
        while (left := self._lines - made.truth.lines) > 0:
            block = made.next_block(left)
            yield from records(block, made.text.lines(block))


def clock_record(latest_s: int, settings: "PipelineSettings") -> LogRecord:
    """Return a line whose time is so late that the watermark passes all other lines.

    Spark's watermark moves only when a line with a later time comes. So after the last line of a
    log, the last windows would stay open for ever. Real pipelines also send such heartbeats.
    """
    time_s = clock_time_s(latest_s, settings)
    return LogRecord(clock_line(time_s), None, time_s * 1000)


def clock_time_s(latest_s: int, settings: "PipelineSettings") -> int:
    """Return the time of the clock line. `latest_s` is the time of the log's latest line."""
    return latest_s + settings.delay_s + settings.window_s + settings.gap_s + 1


def clock_line(time_s: int) -> bytes:
    """Return the bytes of a clock line with this time. It looks like a log line, but is not a
    request.
    """
    from kafka_edu.spark.pipeline_lines import CLOCK_AGENT

    moment = datetime.fromtimestamp(time_s, UTC)
    text = f"{moment:%d}/{MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} +0000"
    return f'0.0.0.0 - - [{text}] "GET / HTTP/1.1" 200 - "-" "{CLOCK_AGENT}" 0'.encode()


def first_values(bootstrap_servers: str, topic: str) -> list[bytes]:
    """Return the first value of each partition that has a record. Raises TopicNotFilled if it
    cannot be read.
    """
    values: list[bytes] = []
    with topic_reader(bootstrap_servers, topic) as consumer:
        ends = consumer.end_offsets(consumer.partitions_for(topic))
        for tp, end in ends.items():
            if not end:
                continue
            consumer.assign([tp])
            consumer.seek_to_beginning()
            found = consumer.poll(TIMEOUT_S * 1000, max_records=1)
            if not found:
                raise TopicNotFilled(f"the first record of {tp} was not read: no answer")
            value = found[0].value
            values.append(value if isinstance(value, bytes) else b"")
    return values


def topic_ends(bootstrap_servers: str, topic: str) -> dict[int, int]:
    """Return the end offset of each partition of the topic. Raises TopicNotFilled if no broker
    answers.
    """
    with topic_reader(bootstrap_servers, topic) as consumer:
        ends = consumer.end_offsets(consumer.partitions_for(topic))
        return {tp.partition: end for tp, end in ends.items()}
