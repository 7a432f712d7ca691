"""A connection that is closed for its input leaves a line in the log: the peer, the input, and the
broken rule.
"""

import logging
import struct

import pytest

from kafka_edu.common.log_limiter import LINES_A_MINUTE
from kafka_edu.common.transport import Wire
from kafka_edu.network.processor import bytes_text
from kafka_edu.network.request import Request
from kafka_edu.trace.events.network import ConnectionClosed
from tests.unit.network.test_socket_server import Bench

UNREADABLE = struct.pack(">ihhih", 12, 18, 0, 1, 9) + b"ab"


class Stranger:
    """A program that speaks another protocol; a WireReceiver."""

    def data_received(self, data: memoryview) -> None:
        raise AssertionError("it is not answered")

    def all_sent(self) -> None:
        pass

    def connection_lost(self, reason: str) -> None:
        pass


def refuse_all(bench: Bench) -> None:
    async def handler(request: Request) -> None:
        bench.channel.refuse(request, "version 8 is not served")

    bench.start(handler)


def sent(bench: Bench, *frames: bytes) -> None:
    """Send each frame by a connection of its own."""

    async def main() -> None:
        for frame in frames:
            wire: Wire = await bench.network.transport().connect(
                "127.0.0.1", 9092, lambda wire: Stranger(), 1000
            )
            wire.send([frame])
            await bench.time.sleep(10)

    bench.loop.run_until_complete(main())


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("frame", "rule", "came"),
    [
        (
            b"GET / HTTP/1.1\r\n",
            "a frame of 1195725856 bytes is announced",
            "4 bytes that begin with 'GET '",
        ),
        (
            struct.pack(">i", -1),
            "a frame of -1 bytes is announced",
            "4 bytes that begin with ff ff ff ff",
        ),
        (UNREADABLE, "unreadable request header", "12 bytes that begin with 00 12 00 00"),
        (
            struct.pack(">ihhih", 10, 3, 8, 7, -1),
            "version 8 is not served",
            "METADATA (3) version 8, correlation id 7, 10 bytes",
        ),
        (
            struct.pack(">ihhih", 10, 999, 0, 7, -1),
            "unreadable request header: unknown api key 999",
            "10 bytes that begin with 03 e7 00 00 00 00",
        ),
    ],
)
def test_it_says_what_came_and_which_rule_it_breaks(
    caplog: pytest.LogCaptureFixture, frame: bytes, rule: str, came: str
) -> None:
    bench = Bench()
    refuse_all(bench)
    with caplog.at_level(logging.WARNING):
        sent(bench, frame)
    (line,) = lines(caplog)
    (closed,) = bench.told(ConnectionClosed)
    assert isinstance(closed, ConnectionClosed)
    assert line.startswith(
        f"connection {closed.connection_id} (no client id yet) is closed for its input: {rule}"
    )
    assert line.endswith(f"What came: {came}") or f"What came: {came} " in line
    assert rule in closed.reason


def test_it_names_the_client(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    refuse_all(bench)
    with caplog.at_level(logging.WARNING):
        sent(bench, struct.pack(">ihhih", 13, 3, 8, 7, 3) + b"app")
    (line,) = lines(caplog)
    assert "(client id 'app')" in line


def test_the_log_is_not_filled_and_says_how_many_lines_are_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    refuse_all(bench)
    with caplog.at_level(logging.WARNING):
        sent(bench, *[UNREADABLE] * (LINES_A_MINUTE + 5))
        assert len(lines(caplog)) == LINES_A_MINUTE
        bench.loop.run_until_complete(bench.time.sleep(60_000))
        caplog.clear()
        sent(bench, UNREADABLE)
    assert [line.split(" ")[0] for line in lines(caplog)] == ["5", "connection"]
    assert len(bench.told(ConnectionClosed)) == LINES_A_MINUTE + 6, "the events tell of every one"


def test_a_connection_that_its_client_closes_is_no_line(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.start(bench.answer)

    async def main() -> None:
        (await bench.client()).close()
        await bench.time.sleep(10)

    with caplog.at_level(logging.DEBUG, logger="kafka_edu"):
        bench.loop.run_until_complete(main())
    assert lines(caplog) == []


def test_binary_is_shown_in_hexadecimal_and_text_as_text() -> None:
    assert bytes_text(b"\x16\x03\x01") == "3 bytes that begin with 16 03 01"
    assert bytes_text(b"hello\r\n") == "7 bytes that begin with 'hello'"
    assert bytes_text(b"x" * 100) == f"100 bytes that begin with '{'x' * 16}'"
