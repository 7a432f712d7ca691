"""Feed the pipeline: a generated log on a topic, all at once or at a rate, and its truth."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kafka_edu.clients.web_log.access_log import MONTHS
from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
from kafka_edu.clients.web_log.records import LogRecord, records
from kafka_edu.spark.log_topic import (
    QUIET,
    TIMEOUT_S,
    TopicWriter,
    records_in_topic,
)
from kafka_edu.spark.web_log_topic import TopicNotFilled

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.truth import LogTruth
    from kafka_edu.spark.pipeline_settings import PipelineSettings

SLICES_A_SECOND: Final = 20
_SLICE: Final = 5_000
"""Lines of a slice when there is no rate."""


class LogFeeder:
    """Writes a log to a topic. `truth` has the right answers for what was written."""

    def __init__(
        self, bootstrap_servers: str, topic: str, lines: int, settings: LogSettings
    ) -> None:
        """Raises ValueError if the settings of the log contradict each other."""
        self._generator = LogGenerator(settings)
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._lines = lines
        self._writer = TopicWriter(bootstrap_servers, topic)
        self.sent = 0
        """Lines that are on their way."""
        self.failed: TopicNotFilled | None = None
        """Why a feed in a thread of its own ended early."""

    @property
    def truth(self) -> "LogTruth":
        """Return the right answers. They are those of the topic when the feed has ended."""
        return self._generator.truth

    @property
    def ends(self) -> dict[int, int]:
        """Return partition → the offset behind its last acknowledged line."""
        return dict(self._writer.ends)

    def feed(self, rate: float | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Write all lines, `rate` of them a second or as fast as it goes. Return when every line is
        acknowledged. Raises TopicNotFilled.

        A slice of lines is acknowledged before the next but one is sent. So no partition gets far
        ahead of another whose broker is slow, and a stream that reads on the way needs no longer
        watermark for it.
        """
        begin = time.monotonic()
        left = self._records()
        size = _SLICE if rate is None else max(1, round(rate / SLICES_A_SECOND))
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
        """Feed in a thread of its own. When the thread ends, look at `failed`."""

        def run() -> None:
            try:
                self.feed(rate, stop.is_set)
            except TopicNotFilled as error:
                self.failed = error

        thread = threading.Thread(target=run, name="feeder", daemon=True)
        thread.start()
        return thread

    def is_there(self) -> bool:
        """Return whether the topic holds this very log, clock line included, and count its truth
        then. False says that the topic is empty.

        Raises TopicNotFilled if it holds anything else.
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
        """Return whether the first record of each partition is one of the log's first lines."""
        from kafka_edu.spark.pipeline_lines import CLOCK_AGENT

        other = LogGenerator(self._generator.settings)
        block = other.next_block(self._lines)
        lines = {one.value for one in records(block, other.text.lines(block))}
        return all(
            value in lines or CLOCK_AGENT.encode() in value
            for value in first_values(self._bootstrap_servers, self._topic)
        )

    def send_clock(self, settings: "PipelineSettings") -> None:
        """Write the line that closes all windows and sessions. Raises TopicNotFilled."""
        self._writer.send([clock_record(self.truth.latest_s, settings)])
        self._writer.flush()

    def _records(self) -> Iterator[LogRecord]:
        made = self._generator
        while (left := self._lines - made.truth.lines) > 0:
            block = made.next_block(left)
            yield from records(block, made.text.lines(block))


def clock_record(latest_s: int, settings: "PipelineSettings") -> LogRecord:
    """Return a line that is so late in the log's time that the watermark passes all others.

    Spark's watermark moves only when a line moves it. After the last line of a log, the last
    windows would stay open for ever. Real pipelines send such a heartbeat too.
    """
    time_s = clock_time_s(latest_s, settings)
    return LogRecord(clock_line(time_s), None, time_s * 1000)


def clock_time_s(latest_s: int, settings: "PipelineSettings") -> int:
    """Return the time of the clock line of a log whose latest line has the time `latest_s`."""
    return latest_s + settings.delay_s + settings.window_s + settings.gap_s + 1


def clock_line(time_s: int) -> bytes:
    """Return a line with that time, which nobody's request made."""
    from kafka_edu.spark.pipeline_lines import CLOCK_AGENT

    moment = datetime.fromtimestamp(time_s, UTC)
    text = f"{moment:%d}/{MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} +0000"
    return f'0.0.0.0 - - [{text}] "GET / HTTP/1.1" 200 - "-" "{CLOCK_AGENT}" 0'.encode()


def first_values(bootstrap_servers: str, topic: str) -> list[bytes]:
    """Return the first value of each partition that has one. Raises TopicNotFilled."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "kafka-edu-counts",
            "enable.auto.commit": False,
            **QUIET,
        }
    )
    try:
        values: dict[int, bytes] = {}
        for partition, end in topic_ends(bootstrap_servers, topic).items():
            if not end:
                continue
            consumer.assign([TopicPartition(topic, partition, 0)])
            found = consumer.poll(TIMEOUT_S)
            if found is None or found.error() is not None:
                why = "no answer" if found is None else found.error()
                raise TopicNotFilled(f"the first record of {topic}-{partition} was not read: {why}")
            values[partition] = found.value() or b""
        return list(values.values())
    except KafkaException as error:
        raise TopicNotFilled(f"topic {topic} could not be read: {error.args[0]}") from error
    finally:
        consumer.close()


def topic_ends(bootstrap_servers: str, topic: str) -> dict[int, int]:
    """Return partition → end of the topic. Raises TopicNotFilled."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "kafka-edu-counts", **QUIET}
    )
    try:
        partitions = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions
        ends = {}
        for one in partitions:
            found = consumer.get_watermark_offsets(TopicPartition(topic, one), timeout=TIMEOUT_S)
            if found is None:
                raise TopicNotFilled(
                    f"the end of {topic}-{one} is not known: no broker answered within"
                    f" {TIMEOUT_S:.0f} s. Are all brokers up?"
                )
            ends[one] = found[1]
        return ends
    except KafkaException as error:
        raise TopicNotFilled(f"topic {topic} could not be read: {error.args[0]}") from error
    finally:
        consumer.close()
