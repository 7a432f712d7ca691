"""A backlog of Produce requests on one broker.

Many connections send their next request before the previous one is answered. The request is built
once and sent again and again, so sending costs almost nothing. A request holds megabytes of zeros
in one compressed batch: only some thousand bytes on the wire, but much work for the broker, which
must decompress the batch and check every record.
"""

import socket
import threading
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.framing import FrameReceiver
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

ACKS_ALL: Final = -1
PRODUCE_VERSION: Final = 7
#: The time limit of a request, in ms. It is longer than any backlog, so each request is answered.
TIMEOUT_MS: Final = 600_000
IN_FLIGHT: Final = 2
RECORD_BYTES: Final = 1 << 16
_SOCKET_TIMEOUT_S: Final = 600.0
_BUFFER_BYTES: Final = 1 << 16


def backlog_frame(topic: str, megabytes: int) -> bytes:
    """Return the frame of one Produce request, its size field included.

    It has acks=all and is for partition 0 of `topic`. Its batch has `megabytes` MiB when it is
    decompressed.
    """
    zeros = bytes(RECORD_BYTES)
    batch = build_batch(
        [Record(n, 0, None, zeros) for n in range(megabytes * (1 << 20) // RECORD_BYTES)],
        compression=CompressionType.GZIP,
    )
    data = TopicProduceData(
        name=topic, partition_data=[PartitionProduceData(index=0, records=batch)]
    )
    request = ProduceRequest(acks=ACKS_ALL, timeout_ms=TIMEOUT_MS, topic_data=[data])
    return b"".join(
        bytes(part_bytes(part)) for part in encode_request(request, PRODUCE_VERSION, 0, "flood")
    )


class ProduceFlood:
    """Connections that keep one broker busy from `start` until `stop`.

    Each connection has a thread of its own.
    """

    def __init__(self, host: str, port: int, topic: str, connections: int, megabytes: int) -> None:
        self.answered = 0
        """The number of requests that were answered without an error."""
        self.refused = 0
        """The number of requests that were answered with NOT_LEADER_OR_FOLLOWER.

        The broker already knew that it was no longer the leader.
        """
        self.failures: list[str] = []
        """The other failures, one text for each connection or request."""
        self._at = (host, port)
        self._frame = backlog_frame(topic, megabytes)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"flood-{n}", daemon=True)
            for n in range(connections)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Send no more requests.

        Return when all sent ones are answered, or their connections are closed.
        """
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        try:
            with socket.create_connection(self._at, _SOCKET_TIMEOUT_S) as connection:
                self._converse(connection)
        except OSError as error:
            with self._lock:
                self.failures.append(str(error))

    def _converse(self, connection: socket.socket) -> None:
        receiver = FrameReceiver(1 << 20)
        connection.sendall(self._frame * IN_FLIGHT)
        waiting = IN_FLIGHT
        while waiting:
            data = connection.recv(_BUFFER_BYTES)
            if not data:
                raise ConnectionError("the broker closed the connection")
            for frame in receiver.feed(memoryview(data)):
                self._count(frame)
                waiting -= 1
                if not self._stop.is_set():
                    connection.sendall(self._frame)
                    waiting += 1

    def _count(self, frame: bytes) -> None:
        _, response = decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, frame)
        assert isinstance(response, ProduceResponse)
        error = Errors.of(response.responses[0].partition_responses[0].error_code)
        with self._lock:
            if error is Errors.NONE:
                self.answered += 1
            elif error is Errors.NOT_LEADER_OR_FOLLOWER:
                self.refused += 1
            else:
                self.failures.append(error.name)
