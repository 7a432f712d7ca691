"""Brokers on loopback that answer as the test says. They run in threads of the test."""

import contextlib
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping

from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_edu.protocol.messages.metadata import MetadataResponseBroker
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message


class ScriptedBrokers(ABC):
    """Brokers with the ids 1 to `count`. They decode each request and pass it to `answer`."""

    def __init__(self, count: int, served: Mapping[ApiKey, int]) -> None:
        """`served` holds the highest version of each request. The brokers serve ApiVersions too."""
        self._served = {ApiKey.API_VERSIONS: 0, **served}
        self.listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        self._open: list[socket.socket] = []
        self._threads = [
            threading.Thread(target=self._accept, args=(i + 1, one))
            for i, one in enumerate(self.listeners)
        ]
        for thread in self._threads:
            thread.start()

    @abstractmethod
    def answer(self, broker: int, request: Message) -> Message | None:
        """Return the response of a broker to one request. None breaks the connection."""

    def close(self) -> None:
        for one in [*self.listeners, *self._open]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()

    @property
    def ports(self) -> list[int]:
        return [one.getsockname()[1] for one in self.listeners]

    @property
    def nodes(self) -> list[MetadataResponseBroker]:
        """The brokers as metadata lists them."""
        return [
            MetadataResponseBroker(node_id=i + 1, host="127.0.0.1", port=port)
            for i, port in enumerate(self.ports)
        ]

    def _accept(self, broker: int, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = listener.accept()
                self._open.append(accepted)
                thread = threading.Thread(target=self._serve, args=(broker, accepted))
                self._threads.append(thread)
                thread.start()

    def _serve(self, broker: int, accepted: socket.socket) -> None:
        with contextlib.suppress(OSError), accepted, accepted.makefile("rb") as stream:
            while size := stream.read(4):
                frame = stream.read(struct.unpack(">i", size)[0])
                header, at = decode_request_header(frame)
                kind = REGISTRY[ApiKey(header.api_key)].request
                request = kind.decode(frame, header.api_version, at)
                answer = (
                    self._api_versions()
                    if isinstance(request, ApiVersionsRequest)
                    else self.answer(broker, request)
                )
                if answer is None:
                    return  # the connection breaks
                parts = encode_response(
                    header.api_key, header.api_version, header.correlation_id, answer
                )
                accepted.sendall(b"".join(map(part_bytes, parts)))

    def _api_versions(self) -> ApiVersionsResponse:
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=key, min_version=0, max_version=most)
                for key, most in self._served.items()
            ]
        )
