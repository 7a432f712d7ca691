"""The shell around a client's connections: when it reports that the state of a connection has
changed.
"""

import asyncio
from collections.abc import Callable

import pytest

from kafka_edu.clients.client_connections import ConnectionState
from kafka_edu.clients.connection_shell import ConnectionShell
from kafka_edu.common.time import MockTime
from kafka_edu.common.transport import Wire, WireReceiver
from kafka_edu.protocol.api_keys import ApiKey
from tests.unit.clients.test_client_connections import connections, frame, versions


class FakeWire:
    """A connection that takes everything."""

    local = "here:5"
    closed = False

    def send(self, parts: object) -> None: ...

    def close(self) -> None:
        self.closed = True


class FakeTransport:
    """Opens one connection, and keeps its receiver."""

    def __init__(self) -> None:
        self.wire = FakeWire()
        self.receivers: list[WireReceiver] = []

    async def connect(
        self, host: str, port: int, on_wire: Callable[[Wire], WireReceiver], timeout_ms: float
    ) -> FakeWire:
        self.receivers.append(on_wire(self.wire))  # type: ignore[arg-type]  # a fake
        return self.wire


ANSWER = frame(ApiKey.API_VERSIONS, 3, 0, versions())
ANSWER_ON_THE_WIRE = len(ANSWER).to_bytes(4, "big") + ANSWER


@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_only_a_whole_response_is_a_change(pieces: int) -> None:
    """A large response comes in many pieces. The shell reports no change before the last piece."""

    async def body() -> None:
        changes: list[ConnectionState] = []
        client, transport = connections(), FakeTransport()
        opened = asyncio.Event()

        def changed() -> None:
            changes.append(client.state(-1))
            opened.set()

        shell = ConnectionShell(client, transport, MockTime(), changed)  # type: ignore[arg-type]  # a fake
        assert not client.ready(-1, 0)
        shell.perform()
        await opened.wait()
        (receiver,) = transport.receivers
        step = len(ANSWER_ON_THE_WIRE) // pieces + 1
        for at in range(0, len(ANSWER_ON_THE_WIRE), step):
            receiver.data_received(memoryview(ANSWER_ON_THE_WIRE)[at : at + step])
        assert changes == [ConnectionState.CHECKING_API_VERSIONS, ConnectionState.READY]
        receiver.data_received(memoryview(b"\xff\xff\xff\xff"))
        assert changes[2:] == [ConnectionState.DISCONNECTED]
        assert transport.wire.closed
        await shell.close()

    asyncio.run(body())
