"""Blocking connections of a Spark worker to the brokers of one cluster.

A Spark worker is a plain Python process that runs one task at a time. So these connections need
neither threads nor an event loop. They use the messages of `kafka_edu.protocol`, and no package
outside of the standard library. `fetch_client` reads over these connections, and `produce_client`
writes.
"""

import socket
import struct
import time
from collections.abc import Iterable
from typing import Final, Protocol, TypeVar

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response_as, encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.spark.source_errors import ClusterError

R = TypeVar("R", bound=Message)
Address = tuple[str, int]

CONNECT_TIMEOUT_S: Final = 10.0
MAX_FRAME_BYTES: Final = 2**31 - 1
#: As the size of a connection's receive buffer: let the operating system choose the size, and
#: enlarge the buffer when much data arrives.
SYSTEM_BUFFER: Final = -1
_SIZE: Final = struct.Struct(">i")
_OLDEST: Final = {
    ApiKey.PRODUCE: 3,  # the first version with record batches v2
    ApiKey.FETCH: 4,  # the first version with isolation levels
    ApiKey.LIST_OFFSETS: 1,
    ApiKey.METADATA: 1,
    ApiKey.OFFSET_FETCH: 7,  # the first version with require_stable
    ApiKey.FIND_COORDINATOR: 1,  # the first version for transactions
    ApiKey.INIT_PRODUCER_ID: 0,
    ApiKey.ADD_PARTITIONS_TO_TXN: 0,
    ApiKey.ADD_OFFSETS_TO_TXN: 0,
    ApiKey.TXN_OFFSET_COMMIT: 0,
    ApiKey.END_TXN: 0,
}
"""The oldest version of each request that these clients can send."""


class ConnectionOptions(Protocol):
    """The settings that source and sink share. Times are in ms, sizes in bytes."""

    @property
    def bootstrap_servers(self) -> tuple[Address, ...]: ...
    @property
    def client_id(self) -> str: ...
    @property
    def request_timeout_ms(self) -> int: ...
    @property
    def api_timeout_ms(self) -> int: ...
    @property
    def retry_backoff_ms(self) -> int: ...
    @property
    def receive_buffer_bytes(self) -> int: ...


class Refused(Exception):
    """Raised if a broker answers a request with an error code."""

    def __init__(self, error: Errors, what: str) -> None:
        super().__init__(f"{what}: {error.name}. {error.message}")
        self.error = error


class Connection:
    """One connection to a broker. It has at most one request in flight."""

    def __init__(self, host: str, port: int, options: ConnectionOptions, timeout_s: float) -> None:
        self._options = options
        self._correlation_id = 0
        self._sent: tuple[type[Message], int] | None = None
        self._socket = socket.create_connection((host, port), min(CONNECT_TIMEOUT_S, timeout_s))
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if options.receive_buffer_bytes != SYSTEM_BUFFER:
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
        """Send a request in the newest version that client and broker both know. Raises OSError if
        the connection fails.
        """
        key = request.KEY
        assert key is not None
        assert self._sent is None
        if version is None:
            low, high = self._versions.get(int(key), (0, -1))
            version = min(high, type(request).VALID.highest)
            if version < max(low, _OLDEST[key]):
                raise ClusterError(
                    f"the broker does not speak {key.name} in a version that this client knows"
                )
        self._correlation_id += 1
        parts = encode_request(request, version, self._correlation_id, self._options.client_id)
        self._sent = type(request), version
        self._socket.sendall(b"".join(map(part_bytes, parts)))

    def receive(self, kind: type[R]) -> R:
        """Wait for the answer to the request that was sent, and return it. Raises OSError if the
        connection fails, and ProtocolError if the answer cannot be decoded.
        """
        assert self._sent is not None
        request, version = self._sent
        size = _SIZE.unpack(self._exactly(4))[0]
        if not 4 <= size <= MAX_FRAME_BYTES:
            raise ProtocolError(f"a frame of {size} bytes is announced: is this a Kafka broker?")
        frame = self._exactly(size)
        assert kind.KEY is request.KEY
        correlation_id, answer = decode_response_as(kind, version, frame)
        if correlation_id != self._correlation_id:
            raise ProtocolError(f"answer {correlation_id} to request {self._correlation_id}")
        self._sent = None
        return answer

    def _exactly(self, size: int) -> bytearray:
        """Read exactly `size` bytes. `size` came over the network and may be wrong, so memory is
        allocated only for bytes that arrive.
        """
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


class Brokers:
    """The brokers of one cluster, for use in one thread: their addresses, the partitions' leaders,
    and the connections.
    """

    def __init__(self, options: ConnectionOptions, rounds: int | None, pause_ms: int) -> None:
        """`rounds` limits how often all bootstrap servers are tried. Between two rounds there is a
        pause of `pause_ms`.

        If `rounds` is None, the servers are tried until kafka.default.api.timeout.ms is over.
        """
        self._options = options
        self._rounds = rounds
        self._pause_ms = pause_ms
        self._connections: dict[Address, Connection] = {}
        self.nodes: dict[int, Address] = {}
        """Broker id → address, as in the last metadata."""
        self.leaders: dict[TopicPartition, int] = {}
        """Partition → id of its leader, or −1 if it has no leader."""

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    @property
    def servers(self) -> str:
        """The bootstrap servers as the user wrote them, for use in messages."""
        return ",".join(f"{host}:{port}" for host, port in self._options.bootstrap_servers)

    def connection(self, address: Address) -> Connection:
        """Return the connection to `address`. If there is none, open one. Raises OSError if that
        fails.
        """
        found = self._connections.get(address)
        if found is None:
            timeout_s = self._options.request_timeout_ms / 1000
            found = self._connections[address] = Connection(*address, self._options, timeout_s)
        return found

    def drop(self, address: Address) -> None:
        """Close the connection to `address`. Called when an answer on it is missing or wrong."""
        if connection := self._connections.pop(address, None):
            connection.close()

    def ask_at(self, address: Address, request: Message, kind: type[R]) -> R:
        """Send a request to the broker at `address`, and return its answer. Raises OSError or
        ProtocolError if there is no valid answer.
        """
        try:
            return self.connection(address).ask(request, kind)
        except (OSError, ProtocolError):
            self.drop(address)
            raise

    def ask_any(self, request: Message, kind: type[R]) -> R:
        """Send a request to the known brokers and then to the bootstrap servers, until one of them
        answers. Return the answer.

        Raises ClusterError if no broker answers in time.
        """
        deadline = time.monotonic() + self._options.api_timeout_ms / 1000
        rounds = 0
        while True:
            reason = "no address"
            for address in dict.fromkeys((*self.nodes.values(), *self._options.bootstrap_servers)):
                try:
                    return self.ask_at(address, request, kind)
                except (OSError, ProtocolError) as error:
                    reason = f"{address[0]}:{address[1]}: {reason_of(error)}"
            rounds += 1
            lost = not self.nodes and self._rounds is not None and rounds >= self._rounds
            if lost or time.monotonic() > deadline:
                raise ClusterError(
                    f"no broker of {self.servers} answers ({reason}). Is the cluster up, and is"
                    " kafka.bootstrap.servers right?"
                )
            time.sleep((self._options.retry_backoff_ms if self.nodes else self._pause_ms) / 1000)

    def metadata(self, topics: Iterable[str] | None) -> MetadataResponse:
        """Request the metadata of `topics`, or of all topics for None. Store the brokers in `nodes`
        and the leaders in `leaders`, and return the metadata.
        """
        names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer = self.ask_any(
            MetadataRequest(topics=names, allow_auto_topic_creation=False), MetadataResponse
        )
        self.nodes = {one.node_id: (one.host, one.port) for one in answer.brokers}
        for topic in answer.topics:
            for partition in topic.partitions:
                tp = TopicPartition(topic.name, partition.partition_index)
                self.leaders[tp] = partition.leader_id
        return answer


#: Errors after which the leader must be looked up again, although Kafka's table does not call them
#: retriable in every version.
MOVED: Final = frozenset(
    {
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.LEADER_NOT_AVAILABLE,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.FENCED_LEADER_EPOCH,
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.KAFKA_STORAGE_ERROR,
    }
)


def reason_of(error: Exception) -> str:
    """Return the reason why a connection failed, as one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())
