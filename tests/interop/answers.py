"""One connection to one broker that sends frames as they are given, and what came back in a form that two brokers can be compared by."""

import socket
from typing import Any, Final

from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.schema import Message, Struct
from tests.interop.frames import read_frame

TIMEOUT_S: Final = 20.0
CLOSED: Final = "closed"
#: What differs between two brokers without meaning anything: names and numbers that each makes for itself.
OWN: Final = {"host", "port", "cluster_id", "topic_id", "session_id", "producer_id", "log_append_time_ms"}
#: Texts for people are not compared; this broker also says something where Apache Kafka is silent.
TEXTS: Final = {"error_message", "batch_index_error_message"}


class Peer:
    """One broker, asked over one connection at a time: when it closes that, the next question opens another."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._socket: socket.socket | None = None
        self._correlation_id = 0

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, request: Message, version: int) -> object:
        """The answer, normalised; CLOSED when the broker closed the connection instead."""
        answer = self.answer(request, version)
        return CLOSED if answer is None else normalised(answer)

    def answer(self, request: Message, version: int) -> Message | None:
        assert request.KEY is not None
        self._correlation_id += 1
        frame = b"".join(bytes(part_bytes(part)) for part in encode_request(request, version, self._correlation_id, "answers"))
        raw = self.ask_raw(frame)
        if raw is None:
            return None
        correlation_id, response = decode_response(request.KEY, version, raw)
        assert correlation_id == self._correlation_id
        return response

    def ask_raw(self, frame: bytes) -> bytes | None:
        """Send these bytes; the next frame that comes, without its size, or None for the end of the connection."""
        if self._socket is None:
            self._socket = socket.create_connection(self._address, TIMEOUT_S)
        try:
            self._socket.sendall(frame)
            return read_frame(self._socket)
        except (ConnectionError, EOFError):
            self.close()
            return None


def normalised(value: Any, name: str = "") -> object:
    """Structs as dicts, records as their size, what a broker makes for itself as whether it is there; what has a name in the order of names."""
    if name in OWN:
        return "none" if value in (None, -1, 0) or str(value) == "00000000-0000-0000-0000-000000000000" else "some"
    if name in TEXTS:
        return "text"
    if name == "record_set":
        return len(bytes(part_bytes(value))) if value is not None else None
    if isinstance(value, Struct):
        return {field: normalised(getattr(value, field), field) for field in value.__slots__ if not field.startswith("_")}
    if isinstance(value, list):
        items = [normalised(item, name) for item in value]
        return sorted(items, key=lambda item: str(item["name"])) if items and isinstance(items[0], dict) and "name" in items[0] else items
    return value
