"""A client's end of a connection: each request has its own deadline."""

import asyncio

import pytest

from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from tests.unit.network.test_socket_server import Bench


def test_an_unanswered_request_closes_the_client() -> None:
    bench = Bench()
    bench.start(None)

    async def main() -> None:
        client = await bench.client()
        with pytest.raises(TimeoutError):
            await client.send(ApiVersionsRequest(), 0, 500)
        assert not client.connected
        with pytest.raises(ConnectionError):
            await client.send(ApiVersionsRequest(), 0, 500)

    bench.loop.run_until_complete(main())


def test_each_request_has_a_deadline_of_its_own() -> None:
    """A connection has one alarm, set for the earliest deadline of its requests. When this request
    is answered, the alarm is set again.
    """
    bench = Bench()
    bench.start(None)

    async def main() -> None:
        client = await bench.client()
        patient = asyncio.ensure_future(client.send(ApiVersionsRequest(), 0, 10_000))
        await asyncio.sleep(0)  # it is under way
        began = bench.time.hi_res_clock_ms()
        with pytest.raises(TimeoutError):
            await client.send(ApiVersionsRequest(), 0, 500)
        assert bench.time.hi_res_clock_ms() - began == 500
        with pytest.raises(ConnectionError):
            await patient

        client = await bench.client()
        answered = asyncio.ensure_future(client.send(ApiVersionsRequest(), 0, 500))
        for _ in range(2):  # the first was the patient client's
            request = await bench.channel.receive_request()
        await bench.answer(request)
        await answered
        began = bench.time.hi_res_clock_ms()
        with pytest.raises(TimeoutError):
            await client.send(ApiVersionsRequest(), 0, 2000)
        assert bench.time.hi_res_clock_ms() - began == 2000

    bench.loop.run_until_complete(main())
