"""The tools' admin client takes the user's settings, and ends soon if no broker can be reached."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from kafka_edu.clients.admin import AdminTimeoutError, BootstrapAddressError
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.tools.admin_client import open_admin
from kafka_edu.tools.consumer_groups import main as consumer_groups
from kafka_edu.tools.tool import ToolError


def opened(servers: str, **properties: str) -> str:
    """Open and close a client. Return its client.id."""

    async def enter() -> str:
        named = {name.replace("_", "."): value for name, value in properties.items()}
        async with open_admin(servers, named) as admin:
            return admin.config.client_id

    return asyncio.run(enter())


@pytest.fixture
def closed() -> Iterator[list[str]]:
    """Yield two addresses at which nobody listens: their sockets are bound and do not listen."""
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
        yield [f"127.0.0.1:{each.getsockname()[1]}" for each in (first, second)]


def test_it_gives_up_when_each_server_has_failed_once(
    closed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AdminTimeoutError, match="Timed out waiting for a node assignment"):
        opened(",".join(closed), client_id="mine")
    told = capsys.readouterr().err
    for server in closed:
        assert f"WARN [clientId=mine] cannot connect to {server}: Connection refused" in told


def test_it_says_why_a_server_that_is_no_broker_did_not_help() -> None:
    """The server accepts each connection, reads a byte and closes."""

    async def attempt() -> str:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(1)
            writer.close()

        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            host, port = server.sockets[0].getsockname()
            with pytest.raises(AdminTimeoutError) as failed:
                async with open_admin(f"{host}:{port}", {}):
                    pass
            return str(failed.value).replace(str(port), "PORT")

    told = asyncio.run(attempt())
    assert told.startswith("Timed out waiting for a node assignment. The last connection ended")
    assert "is it a Kafka broker" in told
    assert told.endswith(" Check that a Kafka broker listens at 127.0.0.1:PORT.")


def test_a_silent_server_and_a_time_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """The system accepts connections for the socket, and nobody ever answers on them."""

    async def enter(server: str) -> None:
        async with open_admin(server, {}, timeout_ms=50):
            pass

    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        with pytest.raises(TimeoutException):
            asyncio.run(enter(f"{host}:{port}"))
        assert consumer_groups(f"--bootstrap-server {host}:{port} --list --timeout 50".split()) == 0
    assert "describe_cluster took longer than its time" in capsys.readouterr().out


def test_an_address_without_port() -> None:
    with pytest.raises(BootstrapAddressError, match=r"Invalid url in bootstrap\.servers: nohost"):
        opened("nohost")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"security_protocol": "SSL"}, "connections are never encrypted"),
        ({"request_timeout_ms": "soon"}, "Not a number of type INT"),
    ],
)
def test_a_setting_that_the_client_does_not_take(
    closed: list[str], properties: dict[str, str], message: str
) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        opened(closed[0], **properties)
    assert caught.value.java_class == "org.apache.kafka.common.config.ConfigException"


def test_an_unknown_setting_is_a_warning(
    closed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AdminTimeoutError):
        opened(closed[0], no_such="1")
    assert "'no.such' was supplied but isn't a known config" in capsys.readouterr().err
