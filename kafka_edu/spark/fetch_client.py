"""A blocking Kafka client for Spark's workers: metadata, offsets, and the records of one partition.

Metadata are requested from any broker that answers, and offsets from the leader of each partition.
`read_range` fetches records. It sends the next fetch before the caller has decoded the previous
answer, so that broker and caller work at the same time. If a leader has moved or a connection
breaks, the client reads the metadata again and repeats the request, until a time-out.
"""

import contextlib
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.protocol.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.spark.brokers import MOVED, Brokers, Refused, reason_of
from kafka_edu.spark.notices import give_notice
from kafka_edu.spark.source_errors import ClusterError, DataLossError
from kafka_edu.spark.source_options import ConsumerOptions, Topics
from kafka_edu.spark.source_planning import OffsetRange, data_loss, loss_notice

#: A broker must answer this many times that it has no batch up to the wanted end, before the client
#: accepts this answer.
EMPTY_ANSWERS: Final = 3
#: After this many answers in a row without the topic, it counts as deleted. A single answer is not
#: enough, because the topic may be missing for a moment while a broker starts.
UNKNOWN_ANSWERS: Final = 20


class Fetched(NamedTuple):
    """The answer to one fetch: whole batches, perhaps followed by an incomplete batch."""

    records: memoryview
    aborted: tuple[tuple[int, int], ...]
    """Producer id and first offset of each aborted transaction with records in this answer."""
    start: int
    """The fetch offset. The first batch may begin before it. Its earlier records must be left
    out.
    """


class Layout(NamedTuple):
    """The partitions of the topics that a query reads, as the metadata show them at one moment."""

    partitions: tuple[TopicPartition, ...]
    topic_ids: dict[str, str]
    missing: tuple[str, ...]
    """Topics and partitions that the user wants, but that do not exist."""


class FetchClient:
    """A client for the brokers of one cluster, for use in one thread. At the end of its `with`
    block, all connections are closed.

    Every method raises ClusterError if its time is over, or if a broker refuses a request for a
    lasting reason.
    """

    def __init__(
        self, options: ConsumerOptions, rounds: int | None = None, pause_ms: int = 0
    ) -> None:
        """`rounds` limits how often the client tries all bootstrap servers, and how often it looks
        for a missing topic. Between two tries it waits `pause_ms`.

        A driver sets `rounds`, because it probably has a wrong address if it cannot reach the
        cluster. If `rounds` is None, the client tries until kafka.default.api.timeout.ms is over. A
        task uses None, because the cluster may just be electing leaders while the task runs.
        """
        self._options = options
        self._rounds = rounds
        self._pause_ms = options.retry_backoff_ms if rounds is None else pause_ms
        self._brokers = Brokers(options, rounds, self._pause_ms)
        self._isolation = int(options.read_committed)

    def __enter__(self) -> "FetchClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._brokers.close()

    @property
    def servers(self) -> str:
        """The bootstrap servers as the user wrote them, for use in messages."""
        return self._brokers.servers

    def layout(self, topics: Topics) -> Layout:
        """Return the partitions that the options select, sorted.

        A missing topic is requested again, because all brokers need a moment to learn of a new
        topic. A pattern never selects internal topics.
        """
        for turn in range(self._rounds or 1):
            if turn:
                time.sleep(self._pause_ms / 1000)
            found = self._layout(topics)
            if not found.missing:
                break
        return found

    def _layout(self, topics: Topics) -> Layout:
        if topics.pattern is not None:
            names, wanted = None, re.compile(topics.pattern)
        else:
            names, wanted = topics.names or tuple(sorted(topics.assigned or {})), None
        there: dict[str, list[int]] = {}
        ids: dict[str, str] = {}
        for topic in self._brokers.metadata(names).topics:
            error = Errors.of(topic.error_code)
            if error in (Errors.TOPIC_AUTHORIZATION_FAILED, Errors.INVALID_TOPIC_EXCEPTION):
                raise ClusterError(f"topic {topic.name}: {error.name}. {error.message}")
            if wanted and (topic.is_internal or not wanted.fullmatch(topic.name)):
                continue
            if topic.partitions:
                there[topic.name] = sorted(one.partition_index for one in topic.partitions)
                if topic.topic_id.int:
                    ids[topic.name] = str(topic.topic_id)
        missing = [f"topic {name}" for name in names or () if name not in there]
        partitions: list[TopicPartition] = []
        for name, numbers in sorted(there.items()):
            chosen = numbers if topics.assigned is None else topics.assigned[name]
            partitions += [TopicPartition(name, p) for p in chosen if p in numbers]
            missing += [f"partition {name}-{p}" for p in chosen if p not in numbers]
        return Layout(tuple(partitions), ids, tuple(missing))

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first offset of each partition."""
        found = self.offsets_for_times(dict.fromkeys(partitions, EARLIEST_TIMESTAMP))
        return {tp: offset or 0 for tp, offset in found.items()}

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the end offset of each partition: its high watermark, or its LSO with
        read_committed.
        """
        found = self.offsets_for_times(dict.fromkeys(partitions, LATEST_TIMESTAMP))
        return {tp: offset or 0 for tp, offset in found.items()}

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int | None]:
        """Return for each partition the first offset whose record has this time or a later one, or
        None if there is no such record.

        Each leader gets one request. The request is repeated for partitions that failed for a
        passing reason.
        """
        left = dict(times)
        found: dict[TopicPartition, int | None] = {}
        deadline = time.monotonic() + self._options.api_timeout_ms / 1000
        reason = ""
        while left:
            if reason:
                if time.monotonic() > deadline:
                    raise ClusterError(
                        f"{min(left)} gave no offsets within {self._options.api_timeout_ms} ms:"
                        f" {reason}"
                    )
                time.sleep(self._options.retry_backoff_ms / 1000)
            if reason or any(tp not in self._brokers.leaders for tp in left):
                self._brokers.metadata(sorted({tp.topic for tp in left}))
            reason = "it has no leader"
            by_leader: dict[int, list[TopicPartition]] = {}
            for tp in left:
                by_leader.setdefault(self._brokers.leaders.get(tp, -1), []).append(tp)
            for leader, partitions in by_leader.items():
                if leader not in self._brokers.nodes:
                    continue
                try:
                    answer = self._brokers.ask_at(
                        self._brokers.nodes[leader],
                        self._list_offsets({tp: times[tp] for tp in partitions}),
                        ListOffsetsResponse,
                    )
                except (OSError, ProtocolError) as error:
                    reason = reason_of(error)
                    continue
                for topic in answer.topics:
                    for one in topic.partitions:
                        tp = TopicPartition(topic.name, one.partition_index)
                        code = Errors.of(one.error_code)
                        if code is Errors.NONE:
                            found[tp] = None if one.offset < 0 else one.offset
                            left.pop(tp, None)
                        elif code.retriable or code in MOVED:
                            reason = f"{code.name}. {code.message}"
                        else:
                            raise ClusterError(f"{tp}: {code.name}. {code.message}")
        return found

    def _list_offsets(self, times: Mapping[TopicPartition, int]) -> ListOffsetsRequest:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for tp, timestamp in sorted(times.items()):
            topics.setdefault(tp.topic, []).append(
                ListOffsetsPartition(partition_index=tp.partition, timestamp=timestamp)
            )
        return ListOffsetsRequest(
            replica_id=-1,
            isolation_level=self._isolation,
            topics=[ListOffsetsTopic(name=name, partitions=of) for name, of in topics.items()],
        )

    def read_range(
        self,
        wanted: OffsetRange,
        *,
        next_offset: Callable[[memoryview, int], int],
        fail_on_data_loss: bool,
        poll_timeout_ms: int,
    ) -> Iterator[Fetched]:
        """Yield the batches from `wanted.start` up to `wanted.end`, in order. Each answer to a
        fetch is yielded when it arrives.

        `next_offset` returns the offset after the batches of an answer. If records or the topic no
        longer exist, and `fail_on_data_loss` is set, DataLossError is raised. If it is not set, the
        user gets a notice. Reading then continues at the log's first offset, or ends early at the
        log's end. If the topic was deleted and created again, nothing more is read.
        """
        tp = TopicPartition(wanted.topic, wanted.partition)
        position, empty, unknown = wanted.start, 0, 0
        patience = poll_timeout_ms / 1000
        deadline = time.monotonic() + patience
        reason, asks = "", True
        fetching: tuple[str, int] | None = None
        try:
            while position < wanted.end:
                if reason:
                    if time.monotonic() > deadline:
                        raise ClusterError(
                            f"{tp} gave nothing for {poll_timeout_ms} ms at offset {position}"
                            f" (kafkaConsumer.pollTimeoutMs): {reason}"
                        )
                    time.sleep(self._options.retry_backoff_ms / 1000)
                    reason = ""
                    asks = True
                if asks:
                    asks = False
                    exists, created_again = self._find_topic(wanted)
                    unknown = 0 if exists else unknown + 1
                    gone = f"{tp} does not exist any more" if unknown == UNKNOWN_ANSWERS else ""
                    if created_again:
                        gone = f"topic {wanted.topic} was deleted and created again"
                    if gone:
                        _lost(gone, fail_on_data_loss)
                        return
                try:
                    if fetching is None:
                        fetching = self._send_fetch(tp, position)
                    address, fetching = fetching, None
                    answer = self._receive_fetch(address, tp)
                except (OSError, ProtocolError) as broken:
                    reason = reason_of(broken)
                    continue
                except Refused as refused:
                    if refused.error is Errors.OFFSET_OUT_OF_RANGE:
                        position = self._inside(tp, position, wanted.end, fail_on_data_loss)
                    elif refused.error.retriable or refused.error in MOVED:
                        reason = str(refused)
                    else:
                        raise ClusterError(str(refused)) from None
                    continue
                records = answer.record_set
                view = memoryview(b"" if records is None else part_bytes(records))
                after = next_offset(view, position)
                if after == position:
                    limit = answer.last_stable_offset if self._isolation else answer.high_watermark
                    if len(view) and limit >= wanted.end:
                        raise ClusterError(f"{tp} sends no complete batch at offset {position}")
                    empty += 1
                    if limit >= wanted.end and empty >= EMPTY_ANSWERS:
                        return  # compaction has removed all records that are left
                    if time.monotonic() > deadline:
                        reason = f"its end is {limit}, and offset {wanted.end - 1} is wanted"
                        if not fail_on_data_loss:
                            _lost(f"{tp}: {reason}", fail_on_data_loss)
                            return
                    continue
                begun, position, empty = position, after, 0
                deadline = time.monotonic() + patience
                if position < wanted.end:
                    with contextlib.suppress(OSError, Refused):
                        fetching = self._send_fetch(tp, position)
                aborted = tuple(
                    (one.producer_id, one.first_offset) for one in answer.aborted_transactions or ()
                )
                yield Fetched(view, aborted, begun)
        finally:
            if fetching is not None:  # its answer must not be read as a later one
                self._brokers.drop(fetching)

    def _find_topic(self, wanted: OffsetRange) -> tuple[bool, bool]:
        """Look up the leader of the partition. Return whether the partition exists, and whether its
        topic was deleted and created again after the query was planned.
        """
        exists = created_again = False
        for topic in self._brokers.metadata([wanted.topic]).topics:
            exists = any(one.partition_index == wanted.partition for one in topic.partitions)
            there = str(topic.topic_id) if topic.topic_id != uuid.UUID(int=0) else ""
            created_again = bool(there and wanted.topic_id and there != wanted.topic_id)
        return exists, created_again

    def _send_fetch(self, tp: TopicPartition, position: int) -> tuple[str, int]:
        """Send a fetch request to the leader. Return the leader's address."""
        leader = self._brokers.leaders.get(tp, -1)
        if leader not in self._brokers.nodes:
            raise Refused(Errors.LEADER_NOT_AVAILABLE, str(tp))
        address = self._brokers.nodes[leader]
        options = self._options
        wait_ms = min(options.fetch_max_wait_ms, options.request_timeout_ms // 2)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=options.fetch_max_bytes,
            isolation_level=self._isolation,
            topics=[
                FetchTopic(
                    topic=tp.topic,
                    partitions=[
                        FetchPartition(
                            partition=tp.partition,
                            fetch_offset=position,
                            partition_max_bytes=options.max_partition_fetch_bytes,
                        )
                    ],
                )
            ],
        )
        try:
            self._brokers.connection(address).send(request)
        except OSError:
            self._brokers.drop(address)
            raise
        return address

    def _receive_fetch(
        self, address: tuple[str, int], tp: TopicPartition
    ) -> FetchablePartitionResponse:
        try:
            answer = self._brokers.connection(address).receive(FetchResponse)
        except (OSError, ProtocolError):
            self._brokers.drop(address)
            raise
        if answer.error_code:
            raise Refused(Errors.of(answer.error_code), str(tp))
        for topic in answer.responses:
            for one in topic.partition_responses:
                if one.error_code:
                    raise Refused(Errors.of(one.error_code), str(tp))
                return one
        raise ProtocolError(f"the answer to a fetch lacks {tp}")

    def _inside(self, tp: TopicPartition, position: int, end: int, fail: bool) -> int:
        """Return the offset at which to continue, because `position` is outside of the log."""
        first, last = self.earliest([tp])[tp], self.latest([tp])[tp]
        if first <= position < last:
            return position  # the log has changed in between
        _lost(f"{tp} has offsets {first} to {last}, and {position} is wanted", fail)
        return min(first, end) if position < first else end


def _lost(what: str, fail: bool) -> None:
    """Raise DataLossError if a query must not lose anything (`fail`). If it may, show the user a
    notice of what is lost.
    """
    if fail:
        raise DataLossError(data_loss(what))
    give_notice(loss_notice(what))
