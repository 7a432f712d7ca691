"""The many produce requests of `demo control-plane`: the contents of one request, and how the
responses are counted.
"""

import socket
import threading

from chapters.ch04_controller.produce_flood import IN_FLIGHT, ProduceFlood, backlog_frame
from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_edu.record.record_batch import read_records

ANSWERS = [Errors.NONE, Errors.NONE, Errors.NOT_LEADER_OR_FOLLOWER, Errors.REQUEST_TIMED_OUT]


def test_a_request_of_few_bytes_is_much_work() -> None:
    frame = backlog_frame("t", 2)
    assert len(frame) < 10_000
    header, offset = decode_request_header(frame[4:])
    request = ProduceRequest.decode(frame[4:], header.api_version, offset)
    assert request.acks == -1
    (data,) = request.topic_data[0].partition_data
    records = list(read_records(bytes(part_bytes(data.records))))
    assert sum(len(record.value or b"") for record in records) == 2 << 20


def answer(error: Errors) -> bytes:
    partition = PartitionProduceResponse(index=0, error_code=error, base_offset=0)
    response = ProduceResponse(
        responses=[TopicProduceResponse(name="t", partition_responses=[partition])]
    )
    return b"".join(bytes(part_bytes(part)) for part in encode_response(0, 7, 0, response))


def test_what_is_answered_is_counted_by_what_it_says() -> None:
    door = socket.create_server(("127.0.0.1", 0))
    size = len(backlog_frame("t", 1))
    got: list[int] = []

    def serve() -> None:
        connection, _ = door.accept()
        with connection:
            received = 0
            for number, error in enumerate(ANSWERS):
                while (
                    received < (number + IN_FLIGHT) * size
                ):  # the next is there before the last is answered
                    received += len(connection.recv(1 << 16))
                got.append(received // size)
                connection.sendall(answer(error))

    server = threading.Thread(target=serve)
    server.start()
    flood = ProduceFlood("127.0.0.1", door.getsockname()[1], "t", 1, 1)
    flood.start()
    server.join(30)
    flood.stop()
    door.close()
    assert got == [2, 3, 4, 5]
    assert (flood.answered, flood.refused) == (2, 1)
    assert flood.failures[0] == "REQUEST_TIMED_OUT"
    assert len(flood.failures) == 2, "and then the connection was closed"
