"""Connections to a real or a simulated broker, and a form of its responses in which two brokers can
be compared.
"""

import contextlib
import socket
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from kafka_edu.common.transport import Wire, part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.framing import FrameReceiver, InvalidReceive
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafka_edu.protocol.schema import Struct
from kafka_edu.record.compression import CompressionType, decompress
from kafka_edu.record.memory_records import read_entry
from kafka_edu.record.record import decode_records
from kafka_edu.record.record_batch import (
    HEADER_BYTES,
    MAGIC_V2,
    BatchHeader,
    TimestampType,
    iter_headers,
)
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from tests.interop.frames import read_frame

PATIENCE_S: Final = 30.0
CLOSED: Final = "closed"
#: Fields whose values differ between two brokers without meaning anything: names and numbers that
#: each broker makes for itself.
OWN: Final = {
    "host",
    "port",
    "cluster_id",
    "topic_id",
    "session_id",
    "producer_id",
    "log_append_time_ms",
    "last_timestamp",
    "member_id",
    "log_dir",
    "hmac",
    "token_id",
}
#: These fields count as OWN only when they hold text: a partition's leader is a number, and that
#: number is compared.
OWN_TEXTS: Final = {"leader"}
#: Config keys that say where a broker runs.
PLACES: Final = {"listeners", "log.dirs", "zookeeper.connect"}
#: Fields with a text for people. A comparison always shows whether the text is null, empty or
#: present. The comparison shows the words only where a case asks for them.
TEXTS: Final = {"error_message", "batch_index_error_message"}
#: A struct whose error text is not compared. This broker also explains errors for which Apache
#: Kafka gives no text (docs/differences.md).
EXPLAINED: Final = "PartitionProduceResponse"


class Line(Protocol):
    """A connection to a broker."""

    def send(self, frame: bytes) -> None: ...

    def receive(self) -> bytes | None:
        """Return the next frame without its size, or None at the end of the connection. Raises
        TimeoutError.
        """
        ...

    def close(self) -> None: ...


class Broker(Protocol):
    """The broker under test."""

    def connect(self) -> Line: ...

    def pause(self, ms: int) -> None:
        """Let time pass, where the case needs it."""
        ...


class SocketLine:
    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), PATIENCE_S)

    def send(self, frame: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # `receive` reports the closed connection
            self._socket.sendall(frame)

    def receive(self) -> bytes | None:
        try:
            return read_frame(self._socket)
        except (ConnectionError, EOFError):
            return None

    def close(self) -> None:
        self._socket.close()


class ListeningBroker(NamedTuple):
    """A broker that listens on a socket: Apache Kafka's or ours."""

    host: str
    port: int

    def connect(self) -> Line:
        return SocketLine(self.host, self.port)

    def pause(self, ms: int) -> None:
        time.sleep(
            ms / 1000
        )  # some recorded answers depend on time, and a broker needs some between two retries


class SimulatedBroker:
    """This project's broker in virtual time: it has no process and no socket, and a second of pause
    costs only the events that happen in it.

    Its id is 0. With `is_beside_controller` there are two brokers, and the simulated connection
    goes to the one that is not the controller.
    """

    def __init__(
        self, properties: Mapping[str, str], *, is_beside_controller: bool = False
    ) -> None:
        self.cluster = SimCluster(
            seed=1, broker_ids=(0, 1) if is_beside_controller else (0,), properties=properties
        )
        self.cluster.start_all()
        self.client = SimProcess("asker")
        self.broker_id = 0
        if is_beside_controller:
            self.broker_id = beside_controller(self)

    def connect(self) -> Line:
        return SimLine(self)

    def pause(self, ms: int) -> None:
        self.cluster.advance(ms)

    def close(self) -> None:
        self.cluster.close()


def beside_controller(broker: Broker) -> int:
    """Return the id of the broker, 0 or 1, that is not the controller. `broker` itself names the
    controller.
    """
    line = broker.connect()
    line.send(
        b"".join(
            bytes(part_bytes(part))
            for part in encode_request(DescribeClusterRequest(), 0, 0, "answers")
        )
    )
    frame = line.receive()
    line.close()
    assert frame is not None
    answer = decode_response(ApiKey.DESCRIBE_CLUSTER, 0, frame)[1]
    assert isinstance(answer, DescribeClusterResponse)
    return 1 - answer.controller_id


class SimLine:
    """The client's end of a simulated connection. It is also the object that receives the bytes."""

    def __init__(self, broker: SimulatedBroker) -> None:
        self._broker = broker
        self._receiver = FrameReceiver(1 << 30)
        self._frames: deque[bytes] = deque()
        self._closed = False
        cluster = broker.cluster
        connecting: Awaitable[Wire] = cluster.network.transport().connect(
            "127.0.0.1", cluster.port(broker.broker_id), lambda _: self, PATIENCE_S * 1000
        )
        self._wire = cluster.run_as(broker.client, connecting)

    def send(self, frame: bytes) -> None:
        self._wire.send([frame])

    def receive(self) -> bytes | None:
        loop = self._broker.cluster.loop
        end_ns = loop.now_ns + round(PATIENCE_S * 1e9)
        while not self._frames and not self._closed:
            if not loop.step() or loop.now_ns > end_ns:
                raise TimeoutError("no answer")
        self._broker.cluster.advance(0)  # raises the exceptions that the broker did not catch
        return self._frames.popleft() if self._frames else None

    def close(self) -> None:
        self._wire.close()

    def data_received(self, data: memoryview) -> None:
        try:
            self._frames.extend(self._receiver.feed(data))
        except InvalidReceive as error:
            raise AssertionError("the broker sent bytes that are not a frame") from error

    def all_sent(self) -> None: ...

    def connection_lost(self, _: str) -> None:
        self._closed = True


def is_own(name: str, value: object) -> bool:
    return name in OWN or (name in OWN_TEXTS and isinstance(value, str))


def size_of_records(data: bytes) -> object:
    return len(data)


def decoded_records(data: bytes) -> object:
    """Return the header fields and the records of each entry. Where no compression is used, also
    return how many bytes are left over. With compression, that number depends on the codec's
    implementation.
    """
    entries: list[object] = []
    end, packed = 0, False
    for at, header in iter_headers(data):
        end = at + header.size_in_bytes
        by_broker = header.timestamp_type is TimestampType.LOG_APPEND_TIME
        packed = packed or header.compression is not CompressionType.NONE
        entries.append(
            [
                (
                    f"v{header.magic} {header.compression.name} at {header.base_offset} to"
                    f" {header.last_offset} of epoch {header.partition_leader_epoch}"
                ),
                (
                    f"attributes {header.attributes} until"
                    f" {'some' if by_broker else header.max_timestamp}"
                    f"{_times_by_producer(header, data[at:end])}"
                ),
                *(
                    f"{r.offset} {'some' if by_broker else r.timestamp} {r.key!r} {r.value!r}"
                    f" {' '.join(map(repr, r.headers))}".rstrip()
                    for r in read_entry(data[at:end])
                ),
            ]
        )
    return [
        *entries,
        "some bytes" if packed or len(data) - end >= HEADER_BYTES else f"{len(data) - end} bytes",
    ]


def _times_by_producer(header: BatchHeader, entry: bytes) -> str:
    """Return the timestamps that the producer set. With log append time, every reader sees the
    broker's timestamps from the header instead.
    """
    if header.magic < MAGIC_V2 or header.timestamp_type is not TimestampType.LOG_APPEND_TIME:
        return ""
    body = (
        decompress(header.compression, entry[HEADER_BYTES:])
        if header.compression
        else entry[HEADER_BYTES:]
    )
    records = decode_records(body, header.records_count, header.base_offset, header.base_timestamp)
    return f", by the producer {' '.join(str(record.timestamp) for record in records)}"


def normalised(
    value: Any,
    name: str = "",
    *,
    records: Callable[[bytes], object] = size_of_records,
    words: bool = False,
) -> object:
    """Return the response in a form that JSON can hold, and in which the responses of two brokers
    can be compared. Structs become dicts, bytes become hex, records become the result of `records`,
    and lists of structs are sorted. For a value that a broker makes for itself, only its presence
    is kept.

    A text for people becomes "text", unless `words` are wanted. Null and the empty text stay as
    they are.
    """
    if is_own(name, value):
        return "none" if value in (None, -1, 0, "", b"") or value == uuid.UUID(int=0) else "some"
    if name == "documentation":
        return "text" if value else value
    if name in TEXTS:
        return "text" if value and not words else value
    if name == "record_set":
        return records(bytes(part_bytes(value))) if value is not None else None
    if isinstance(value, Struct):
        fields = {
            f.name: normalised(getattr(value, f.name), f.name, records=records, words=words)
            for f in type(value).FIELDS
        }
        if type(value).__name__ == EXPLAINED:
            fields["error_message"] = "text"
        if fields.get("name") in PLACES and fields.get("value"):
            fields["value"] = "some"
        return fields
    if isinstance(value, list):
        items = [normalised(item, name, records=records, words=words) for item in value]
        return sorted(_by_topic(items), key=repr) if items and isinstance(items[0], dict) else items
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return str(value) if isinstance(value, uuid.UUID) else value


def _by_topic(items: list[Any]) -> list[Any]:
    """Merge the entries of one topic name in a list of topics that hold only a name and partitions.
    Apache Kafka merges only neighbouring entries, and not in every response.
    """
    name, *rest = items[0]
    if name not in ("topic", "name") or len(rest) != 1 or not isinstance(items[0][rest[0]], list):
        return items
    partitions: dict[str, list[Any]] = {}
    for item in items:
        partitions.setdefault(item[name], []).extend(item[rest[0]])
    return [{name: topic, rest[0]: sorted(found, key=repr)} for topic, found in partitions.items()]


def own_bytes(value: Any, name: str = "") -> Iterator[bytes]:
    """Yield the values that this broker made for itself and that a later request may repeat, as
    they stand on the wire. Outer structs come first, in the order of `normalised`.
    """
    if is_own(name, value):
        if isinstance(value, str) and value and name != "host":
            yield value.encode()
        elif isinstance(value, uuid.UUID) and value.int:
            yield value.bytes
        elif isinstance(value, bytes) and value:
            yield value
        elif name == "session_id" and value:
            yield int(value).to_bytes(4, "big")
    elif isinstance(value, Struct):
        fields = [(field.name, getattr(value, field.name)) for field in type(value).FIELDS]
        for field, inner in sorted(fields, key=lambda each: isinstance(each[1], list | Struct)):
            yield from own_bytes(inner, field)
    elif isinstance(value, list) and value and isinstance(value[0], Struct):
        for item in sorted(value, key=lambda item: repr(normalised(item))):
            yield from own_bytes(item, name)
