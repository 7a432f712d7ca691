"""A bug while working for one connection closes that connection only. All other requests are
answered.
"""

import asyncio
import logging
import struct
from typing import Any

import pytest

from kafka_edu.common.log_limiter import LogLimiter
from kafka_edu.common.time import MockTime
from kafka_edu.network import processor as processor_module
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.network.processor import Processor, ProcessorSettings, SharedByProcessors
from kafka_edu.network.request import Request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.trace.events.network import ConnectionClosed, ConnectionFailed, ResponseSent
from tests.defaults import NETWORK_DEFAULTS
from tests.unit.network.test_socket_server import Bench

BROKEN = "broken"
"""The client id of the connection that meets the bug."""


class _Bug(Exception):
    """An exception that no error code covers."""


def _fail_once_for_broken(original: Any, client_id_of: Any) -> Any:
    def call(*arguments: Any) -> Any:
        if client_id_of(*arguments) == BROKEN:
            raise _Bug("injected")
        return original(*arguments)

    return call


async def _ask(bench: Bench, client_id: str) -> NetworkClient:
    client = NetworkClient(bench.network.transport(), client_id)
    await client.connect("127.0.0.1", 9092, 1000)
    return client


def _sends_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Processor._send
    monkeypatch.setattr(
        Processor,
        "_send",
        _fail_once_for_broken(send, lambda _, channel, request, parts: channel.client_id),
    )


def _sent_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Processor.on_all_sent
    monkeypatch.setattr(
        Processor, "on_all_sent", _fail_once_for_broken(sent, lambda _, channel: channel.client_id)
    )


def _headers_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    decode = processor_module.decode_request_header
    monkeypatch.setattr(
        processor_module,
        "decode_request_header",
        _fail_once_for_broken(decode, lambda frame: decode(frame)[0].client_id),
    )


@pytest.mark.parametrize("inject", [_sends_that_fail, _sent_that_fail, _headers_that_fail])
def test_a_bug_in_a_hop_closes_its_connection_and_the_others_are_answered(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, inject: Any
) -> None:
    inject(monkeypatch)
    bench = Bench()
    batch: list[Request] = []
    wanted = [1 if inject is _headers_that_fail else 7]

    async def answer_all_at_once(request: Request) -> None:
        """Answer seven requests in one batch, or as many as came.

        One of these requests came over the connection in which the test has planted a bug.
        """
        batch.append(request)
        if len(batch) == wanted[0]:
            bench.channel.begin_handling()
            for waiting in batch:
                await bench.answer(waiting)
            batch.clear()
            bench.channel.end_handling()

    bench.start(answer_all_at_once)

    async def main() -> list[object]:
        clients = [
            await _ask(bench, client_id) for client_id in ("a", "b", "c", BROKEN, "d", "e", "f")
        ]
        first = await asyncio.gather(
            *(client.send(ApiVersionsRequest(), 0, 5000) for client in clients),
            return_exceptions=True,
        )
        monkeypatch.undo()
        wanted[0] = 1
        second = await asyncio.gather(
            *(client.send(ApiVersionsRequest(), 0, 5000) for client in clients if client.connected),
            return_exceptions=True,
        )
        assert len(second) == 6
        assert all(isinstance(answer, ApiVersionsResponse) for answer in second)
        return list(first)

    with caplog.at_level(logging.ERROR):
        answers = bench.loop.run_until_complete(main())
    assert bench.loop.errors == []
    broken = answers.pop(3)
    assert isinstance(broken, ConnectionError) or inject is _sent_that_fail
    assert all(isinstance(answer, ApiVersionsResponse) for answer in answers)
    (failed,) = bench.told(ConnectionFailed)
    assert isinstance(failed, ConnectionFailed)
    assert failed.error == "_Bug: injected"
    assert [
        e.connection_id for e in bench.told(ConnectionClosed) if isinstance(e, ConnectionClosed)
    ] == [failed.connection_id]
    assert "_Bug: injected" in caplog.text
    assert "Traceback" in caplog.text


def test_a_processors_task_that_dies_is_told() -> None:
    failures: list[tuple[str, BaseException]] = []
    bench = Bench()

    async def main() -> None:
        processor = Processor(
            9,
            bench.time,
            bench.channel,
            SharedByProcessors(
                bench.time, on_failure=lambda name, error: failures.append((name, error))
            ),
            ProcessorSettings(
                "PLAINTEXT",
                NETWORK_DEFAULTS.socket_request_max_bytes,
                NETWORK_DEFAULTS.connections_max_idle_ms,
                NETWORK_DEFAULTS.max_pipelined_requests,
            ),
        )
        processor.start()
        processor.channels["broken"] = None  # type: ignore[assignment]
        await bench.time.sleep(600_000)

    bench.loop.run_until_complete(main())
    assert [name for name, _ in failures] == ["processor-9-idle"]


def test_a_log_is_not_filled_by_one_kind_of_line(caplog: pytest.LogCaptureFixture) -> None:
    time = MockTime(0)
    limiter = LogLimiter(time.hi_res_clock_ms, lines=2)
    assert [limiter.allows() for _ in range(5)] == [True, True, False, False, False]
    time.advance(60_000)
    with caplog.at_level(logging.WARNING):
        assert limiter.allows()
    assert "3 more lines" in caplog.text


def test_many_requests_ahead_are_answered_in_order_one_at_a_time() -> None:
    bench = Bench()
    in_progress: list[int] = []
    order: list[int] = []

    async def slow(request: Request) -> None:
        in_progress.append(request.header.correlation_id)
        assert len(in_progress) == 1, "a muted channel gave a second request"
        await bench.time.sleep(5)
        in_progress.clear()
        order.append(request.header.correlation_id)
        await bench.answer(request)

    bench.start(slow, handlers=8)

    async def main() -> None:
        client = await bench.client()
        await asyncio.gather(*(client.send(ApiVersionsRequest(), 0, 10_000) for _ in range(50)))

    bench.loop.run_until_complete(main())
    assert order == list(range(50))
    assert bench.loop.errors == []
    split = bench.told(ResponseSent)
    assert len(split) == 50
    first = split[0]
    assert isinstance(first, ResponseSent)
    assert first.local_us == 5000
    assert first.total_us >= 5000


@pytest.mark.parametrize(
    ("bytes_sent", "why"),
    [
        (struct.pack(">i", -1), "-1"),
        (struct.pack(">i", 0), "0"),
        (struct.pack(">i", (1 << 20) + 1), "1048577"),
        (struct.pack(">i", 3) + b"abc", "header"),
        (b"GET / HTTP/1.1\r\n\r\n", str(int.from_bytes(b"GET ", "big"))),
    ],
)
def test_a_hostile_frame_costs_its_connection_and_nothing_else(bytes_sent: bytes, why: str) -> None:
    bench = Bench()
    bench.start(bench.answer)

    async def main() -> None:
        bystander = await bench.client()
        hostile = await bench.client()
        assert hostile._wire is not None
        hostile._wire.send([bytes_sent])
        await bench.time.sleep(100)
        assert not hostile.connected
        await bystander.send(ApiVersionsRequest(), 0, 1000)

    bench.loop.run_until_complete(main())
    (closed,) = bench.told(ConnectionClosed)
    assert isinstance(closed, ConnectionClosed)
    assert why in closed.reason
