"""Measure how many produce requests with one record each a broker answers in a second.

The result shows the cost of a request if records are not batched. The client makes one frame in
advance. It sends this frame again and again on eight connections, with five unanswered requests on
each, and checks only the error code of the answers. The client needs only a tenth of the broker's
time, so the result depends on the broker.
"""

import selectors
import socket
import struct
import time
from collections.abc import Sequence

from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import encode_request
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

CONNECTIONS = 8
IN_FLIGHT = 5
VERSION = 7
RECORD_BYTES = 100
TIMEOUT_S = 30.0


class _Connection:
    """One connection to the leader of one partition."""

    def __init__(self, address: tuple[str, int], topic: str, partition: int, acks: int) -> None:
        entry = PartitionProduceData(
            index=partition,
            records=build_batch([Record(0, 1_700_000_000_000, None, b"x" * RECORD_BYTES)]),
        )
        request = ProduceRequest(
            acks=acks,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name=topic, partition_data=[entry])],
        )
        self.frame = b"".join(
            bytes(part_bytes(part)) for part in encode_request(request, VERSION, 1, "request-rate")
        )
        self.socket = socket.create_connection(address, TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Position of the error code. Before it are size, correlation id, number of topics, topic
        # name with its length, number of partitions, and partition index.
        self._error_at = 4 + 4 + 4 + 2 + len(topic.encode()) + 4 + 4
        self._rest = b""

    def answers(self) -> int:
        """Read the answers that have arrived, and return how many they are.

        Raises RuntimeError if an answer has an error code.
        """
        data = self._rest + self.socket.recv(1 << 16)
        position = count = 0
        while len(data) - position >= 4:
            size = 4 + int.from_bytes(data[position : position + 4], "big")
            if len(data) - position < size:
                break
            (error,) = struct.unpack_from(">h", data, position + self._error_at)
            if error:
                raise RuntimeError(f"a produce was answered with error {error}")
            position += size
            count += 1
        self._rest = data[position:]
        if not data:
            raise RuntimeError("the broker closed a connection")
        return count


def request_rate(
    leaders: Sequence[tuple[str, int]], topic: str, *, acks: int, seconds: float
) -> float:
    """Send requests for `seconds`, and return the requests/s. Each request has one record.

    `leaders` has the address of each partition's leader. The connections use the partitions in
    turn.
    """
    connections = [
        _Connection(leaders[i % len(leaders)], topic, i % len(leaders), acks)
        for i in range(CONNECTIONS)
    ]
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.socket.sendall(connection.frame * IN_FLIGHT)
        done = 0
        began = time.perf_counter()
        while (elapsed := time.perf_counter() - began) < seconds:
            ready = selector.select(TIMEOUT_S)
            if not ready:
                raise RuntimeError(f"no answer within {TIMEOUT_S:g} s")
            for key, _ in ready:
                answered = key.data.answers()
                done += answered
                key.data.socket.sendall(key.data.frame * answered)
    for connection in connections:
        connection.socket.close()
    return done / elapsed
