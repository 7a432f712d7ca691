"""A blocking Kafka client for Spark's workers: metadata, offsets, and the records of one partition.

A worker of Spark is a plain Python process with one task at a time, so the client needs neither
threads nor an event loop. It speaks the messages of `kafka_edu.protocol` over sockets, and imports
nothing beyond the standard library.

A question goes to whichever broker answers (metadata) or to the leader of each partition (offsets).
`read_range` fetches. It sends the next fetch before the caller has decoded the last one, so that
the broker works at the same time. When a leader moves or a connection breaks, both read the
metadata again and repeat the request, until their time is up.
"""

import contextlib
import re
import socket
import struct
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
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
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.spark.source_errors import ClusterError, DataLossError
from kafka_edu.spark.source_options import ConsumerOptions, Topics
from kafka_edu.spark.source_planning import OffsetRange, data_loss

R = TypeVar("R", bound=Message)
T = TypeVar("T")

CONNECT_TIMEOUT_S: Final = 10.0
MAX_FRAME_BYTES: Final = 2**31 - 1
#: A broker that has no batch from here to the end says so this often before it is believed.
EMPTY_ANSWERS: Final = 3
#: So many answers in a row without the topic mean that it was deleted. New metadata may lack it
#: for a moment while a broker starts.
UNKNOWN_ANSWERS: Final = 20
_SIZE: Final = struct.Struct(">i")
_OLDEST: Final = {1: 4, 2: 1, 3: 1}
"""api key → the oldest version that this client speaks: Fetch 4 has isolation levels."""


class _Refused(Exception):
    """A broker answered a request with an error."""

    def __init__(self, error: Errors, what: str) -> None:
        super().__init__(f"{what}: {error.name}. {error.message}")
        self.error = error


class _Connection:
    """One connection. At most one request is under way."""

    def __init__(self, host: str, port: int, options: ConsumerOptions, timeout_s: float) -> None:
        self._options = options
        self._correlation_id = 0
        self._asked: tuple[type[Message], int] | None = None
        self._socket = socket.create_connection((host, port), min(CONNECT_TIMEOUT_S, timeout_s))
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes
            )
            self._socket.settimeout(options.request_timeout_ms / 1000)
            self._versions: dict[int, tuple[int, int]] = {}
            answer = self.ask(ApiVersionsRequest(), ApiVersionsResponse, version=0)
            self._versions = {
                one.api_key: (one.min_version, one.max_version) for one in answer.api_keys
            }
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: Message, kind: type[R], version: int | None = None) -> R:
        self.send(request, version)
        return self.receive(kind)

    def send(self, request: Message, version: int | None = None) -> None:
        """Send in the newest version that both sides know. Raises OSError."""
        key = request.KEY
        assert key is not None
        assert self._asked is None
        if version is None:
            low, high = self._versions.get(int(key), (0, -1))
            version = min(high, type(request).VALID.highest)
            if version < max(low, _OLDEST[int(key)]):
                raise ClusterError(
                    f"the broker does not speak {key.name} in a version that this source knows"
                )
        self._correlation_id += 1
        parts = encode_request(request, version, self._correlation_id, self._options.client_id)
        self._asked = type(request), version
        self._socket.sendall(b"".join(map(part_bytes, parts)))

    def receive(self, kind: type[R]) -> R:
        """Return the answer to the request under way. Raises OSError and ProtocolError."""
        assert self._asked is not None
        request, version = self._asked
        size = _SIZE.unpack(self._exactly(4))[0]
        if not 4 <= size <= MAX_FRAME_BYTES:
            raise ProtocolError(f"a frame of {size} bytes is announced: is this a Kafka broker?")
        frame = self._exactly(size)
        key = request.KEY
        assert key is not None
        correlation_id, answer = decode_response(int(key), version, frame)
        if correlation_id != self._correlation_id or not isinstance(answer, kind):
            raise ProtocolError(f"answer {correlation_id} to request {self._correlation_id}")
        self._asked = None
        return answer

    def _exactly(self, size: int) -> bytearray:
        """Read `size` bytes. The size comes from a stranger, so memory grows with what arrives."""
        found = bytearray(min(size, 1 << 22))
        filled = 0
        while filled < size:
            if filled == len(found):
                found.extend(bytes(min(size - filled, len(found))))
            with memoryview(found) as view:
                got = self._socket.recv_into(view[filled:])
            if not got:
                raise ConnectionError("the broker closed the connection")
            filled += got
        return found


class Fetched(NamedTuple):
    """The answer to one fetch: whole batches, perhaps with a cut one after them."""

    records: memoryview
    aborted: tuple[tuple[int, int], ...]
    """Producer id and first offset of each aborted transaction that reaches into the records."""


class Layout(NamedTuple):
    """The partitions of the topics that a query reads, at one moment."""

    partitions: tuple[TopicPartition, ...]
    topic_ids: dict[str, str]
    missing: tuple[str, ...]
    """Wanted topics and partitions that do not exist."""


class FetchClient:
    """The brokers of one cluster, for one thread. Its `with` block closes all connections.

    Every method raises ClusterError when the time is up or a broker refuses for good.
    """

    def __init__(
        self, options: ConsumerOptions, rounds: int | None = None, pause_ms: int = 0
    ) -> None:
        """`rounds` limits how often the driver tries all bootstrap servers, or asks for a topic.

        It pauses `pause_ms` between them. None: until kafka.default.api.timeout.ms is over. That
        suits a task, which runs while the cluster may be electing. A driver that never reached the
        cluster has the wrong address.
        """
        self._options = options
        self._rounds = rounds
        self._pause_ms = options.retry_backoff_ms if rounds is None else pause_ms
        self._connections: dict[tuple[str, int], _Connection] = {}
        self._nodes: dict[int, tuple[str, int]] = {}
        self._leaders: dict[TopicPartition, int] = {}
        self._isolation = int(options.read_committed)

    def __enter__(self) -> "FetchClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    @property
    def servers(self) -> str:
        """The bootstrap servers as the user gave them, for messages."""
        return ",".join(f"{host}:{port}" for host, port in self._options.bootstrap_servers)

    # Brokers

    def _connection(self, address: tuple[str, int]) -> _Connection:
        found = self._connections.get(address)
        if found is None:
            timeout_s = self._options.request_timeout_ms / 1000
            found = self._connections[address] = _Connection(*address, self._options, timeout_s)
        return found

    def _drop(self, address: tuple[str, int]) -> None:
        if connection := self._connections.pop(address, None):
            connection.close()

    def _ask_at(self, address: tuple[str, int], request: Message, kind: type[R]) -> R:
        try:
            return self._connection(address).ask(request, kind)
        except (OSError, ProtocolError):
            self._drop(address)
            raise

    def _ask_any(self, request: Message, kind: type[R]) -> R:
        """Ask the known brokers, then the bootstrap servers, until one answers."""
        deadline = time.monotonic() + self._options.api_timeout_ms / 1000
        rounds = 0
        while True:
            reason = "no address"
            for address in dict.fromkeys((*self._nodes.values(), *self._options.bootstrap_servers)):
                try:
                    return self._ask_at(address, request, kind)
                except (OSError, ProtocolError) as error:
                    reason = f"{address[0]}:{address[1]}: {_reason(error)}"
            rounds += 1
            lost = not self._nodes and self._rounds is not None and rounds >= self._rounds
            if lost or time.monotonic() > deadline:
                raise ClusterError(
                    f"no broker of {self.servers} answers ({reason}). Is the cluster up, and is"
                    " kafka.bootstrap.servers right?"
                )
            time.sleep((self._options.retry_backoff_ms if self._nodes else self._pause_ms) / 1000)

    def _metadata(self, topics: Iterable[str] | None) -> MetadataResponse:
        names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer = self._ask_any(
            MetadataRequest(topics=names, allow_auto_topic_creation=False), MetadataResponse
        )
        self._nodes = {one.node_id: (one.host, one.port) for one in answer.brokers}
        for topic in answer.topics:
            for partition in topic.partitions:
                tp = TopicPartition(topic.name, partition.partition_index)
                self._leaders[tp] = partition.leader_id
        return answer

    # Questions of the driver

    def layout(self, topics: Topics) -> Layout:
        """Return the partitions that the options select, sorted.

        A topic that is not there is asked for again, because a new topic needs a moment to reach
        all brokers. Internal topics match no pattern.
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
        for topic in self._metadata(names).topics:
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
        """Return the end of each partition: its high watermark, or its LSO for read_committed."""
        found = self.offsets_for_times(dict.fromkeys(partitions, LATEST_TIMESTAMP))
        return {tp: offset or 0 for tp, offset in found.items()}

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int | None]:
        """Return the first offset whose timestamp is not older, or None if there is none.

        Each leader is asked once. What fails for a passing reason is asked again.
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
            if reason or any(tp not in self._leaders for tp in left):
                self._metadata(sorted({tp.topic for tp in left}))
            reason = "it has no leader"
            by_leader: dict[int, list[TopicPartition]] = {}
            for tp in left:
                by_leader.setdefault(self._leaders.get(tp, -1), []).append(tp)
            for leader, partitions in by_leader.items():
                if leader not in self._nodes:
                    continue
                try:
                    answer = self._ask_at(
                        self._nodes[leader],
                        self._list_offsets({tp: times[tp] for tp in partitions}),
                        ListOffsetsResponse,
                    )
                except (OSError, ProtocolError) as error:
                    reason = _reason(error)
                    continue
                for topic in answer.topics:
                    for one in topic.partitions:
                        tp = TopicPartition(topic.name, one.partition_index)
                        code = Errors.of(one.error_code)
                        if code is Errors.NONE:
                            found[tp] = None if one.offset < 0 else one.offset
                            left.pop(tp, None)
                        elif code.retriable or code in _MOVED:
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

    # Records

    def read_range(
        self,
        wanted: OffsetRange,
        *,
        next_offset: Callable[[memoryview, int], int],
        fail_on_data_loss: bool,
        poll_timeout_ms: int,
    ) -> Iterator[Fetched]:
        """Yield the batches from `wanted.start` to `wanted.end`, in order, each fetch as it comes.

        `next_offset` returns the offset after the batches of a fetch. Raises DataLossError when the
        records or the topic are gone and `fail_on_data_loss`; else it goes on where the log begins.
        """
        tp = TopicPartition(wanted.topic, wanted.partition)
        position, empty, unknown = wanted.start, 0, 0
        patience = poll_timeout_ms / 1000
        deadline = time.monotonic() + patience
        reason: str = ""
        asked: tuple[str, int] | None = None
        self._check_topic(wanted, fail_on_data_loss)
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
                    there = self._check_topic(wanted, fail_on_data_loss)
                    unknown = 0 if there else unknown + 1
                    if unknown == UNKNOWN_ANSWERS:
                        if fail_on_data_loss:
                            raise DataLossError(data_loss(f"{tp} does not exist any more"))
                        return
                try:
                    if asked is None:
                        asked = self._send_fetch(tp, position)
                    address, asked = asked, None
                    answer = self._receive_fetch(address, tp)
                except (OSError, ProtocolError) as broken:
                    reason = _reason(broken)
                    continue
                except _Refused as refused:
                    if refused.error is Errors.OFFSET_OUT_OF_RANGE:
                        position = self._inside(tp, position, wanted.end, fail_on_data_loss)
                    elif refused.error.retriable or refused.error in _MOVED:
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
                        raise ClusterError(f"{tp} sends no whole batch at offset {position}")
                    empty += 1
                    if limit >= wanted.end and empty >= EMPTY_ANSWERS:
                        return  # compaction has emptied the rest of the range
                    if time.monotonic() > deadline:
                        reason = f"its end is {limit}, and offset {wanted.end - 1} is wanted"
                    continue
                position, empty = after, 0
                deadline = time.monotonic() + patience
                if position < wanted.end:
                    with contextlib.suppress(OSError, _Refused):
                        asked = self._send_fetch(tp, position)
                aborted = tuple(
                    (one.producer_id, one.first_offset) for one in answer.aborted_transactions or ()
                )
                yield Fetched(view, aborted)
        finally:
            if asked is not None:  # its answer would be taken for that of the next request
                self._drop(asked)

    def _check_topic(self, wanted: OffsetRange, fail_on_data_loss: bool) -> bool:
        """Read the leader. Return whether the partition exists.

        Raises DataLossError if the topic is another one than was planned for.
        """
        exists = False
        for topic in self._metadata([wanted.topic]).topics:
            exists = any(one.partition_index == wanted.partition for one in topic.partitions)
            there = str(topic.topic_id) if topic.topic_id != uuid.UUID(int=0) else ""
            other = there and wanted.topic_id and there != wanted.topic_id
            if other and fail_on_data_loss:
                raise DataLossError(
                    data_loss(f"topic {wanted.topic} was deleted and created again")
                )
        return exists

    def _send_fetch(self, tp: TopicPartition, position: int) -> tuple[str, int]:
        """Send a fetch to the leader. Return its address."""
        leader = self._leaders.get(tp, -1)
        if leader not in self._nodes:
            raise _Refused(Errors.LEADER_NOT_AVAILABLE, str(tp))
        address = self._nodes[leader]
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
            self._connection(address).send(request)
        except OSError:
            self._drop(address)
            raise
        return address

    def _receive_fetch(
        self, address: tuple[str, int], tp: TopicPartition
    ) -> FetchablePartitionResponse:
        try:
            answer = self._connection(address).receive(FetchResponse)
        except (OSError, ProtocolError):
            self._drop(address)
            raise
        if answer.error_code:
            raise _Refused(Errors.of(answer.error_code), str(tp))
        for topic in answer.responses:
            for one in topic.partition_responses:
                if one.error_code:
                    raise _Refused(Errors.of(one.error_code), str(tp))
                return one
        raise ProtocolError(f"the answer to a fetch lacks {tp}")

    def _inside(self, tp: TopicPartition, position: int, end: int, fail: bool) -> int:
        """Return where to go on when `position` is outside of the log."""
        first, last = self.earliest([tp])[tp], self.latest([tp])[tp]
        if first <= position < last:
            return position  # the log has changed meanwhile
        if fail:
            raise DataLossError(
                data_loss(f"{tp} has offsets {first} to {last}, and {position} is wanted")
            )
        return min(first, end) if position < first else end


#: Errors of a stale leader that Kafka's table does not call retriable in every version.
_MOVED: Final = frozenset(
    {
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.LEADER_NOT_AVAILABLE,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.FENCED_LEADER_EPOCH,
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.KAFKA_STORAGE_ERROR,
    }
)


def _reason(error: Exception) -> str:
    """Return what a broken connection says, in one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())
