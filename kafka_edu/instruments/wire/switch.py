"""Switch a capture on or off: a change of `edu.capture.clients`, asked of a broker.

The broker writes it to ZooKeeper for all brokers, and each starts or ends its capture. This is a
request like any other, over the same wire that the microscope shows.
"""

import socket
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    OpType,
)
from kafka_edu.protocol.types import ProtocolError

_BROKER: Final = 4
_TIMEOUT_S: Final = 10.0
_MAX_RESPONSE: Final = 1024 * 1024
CLIENT_ID: Final = "kafka-edu-wire"


class SwitchError(Exception):
    """The capture could not be switched. The text says why."""


def set_capture(host: str, port: int, clients: str) -> None:
    """Capture the frames of `clients` on all brokers: client ids with commas, `*` for all, empty
    for none. Blocks for a few ms. Raises SwitchError.
    """
    operation = OpType.SET if clients else OpType.DELETE
    config = AlterableConfig(
        name="edu.capture.clients", config_operation=operation, value=clients or None
    )
    resource = AlterConfigsResource(resource_type=_BROKER, resource_name="", configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    frame = b"".join(bytes(part_bytes(part)) for part in encode_request(request, 0, 1, CLIENT_ID))
    try:
        with socket.create_connection((host, port), _TIMEOUT_S) as connection:
            connection.sendall(frame)
            size = int.from_bytes(_read(connection, 4), "big")
            if size > _MAX_RESPONSE:
                raise SwitchError(f"{host}:{port} answers {size:,} bytes; is it a broker?")
            _, response = decode_response(request.KEY or 0, 0, _read(connection, size))
    except (OSError, ProtocolError) as error:
        raise SwitchError(f"the broker at {host}:{port} does not answer: {error}") from error
    if not isinstance(response, IncrementalAlterConfigsResponse):
        raise SwitchError(f"the broker at {host}:{port} answers something else")
    for result in response.responses:
        if result.error_code:
            words = result.error_message or Errors.of(result.error_code).message
            raise SwitchError(f"the broker refuses: {words}")


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("it has closed the connection")
        data += piece
    return bytes(data)
