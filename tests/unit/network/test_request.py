"""One request on its way."""

import asyncio
import contextlib

from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from tests.unit.network.test_socket_server import Bench
from tests.without_collector import left_in_cycles


def test_whom_a_handler_answers_is_told_when_it_has_done_its_part() -> None:
    """While a handler works, its responses are collected. When it ends, they are sent at once.

    A response that is made when no handler works is sent in the loop's next turn.
    """
    bench = Bench()
    bench.start(None)

    def waiting() -> list[int]:
        return [processor.response_queue_size for processor in bench.server.processors]

    async def main() -> None:
        clients = [await bench.client() for _ in range(4)]  # two processors with two clients each
        answers = [
            asyncio.ensure_future(client.send(ApiVersionsRequest(), 0, 1000)) for client in clients
        ]
        requests = [await bench.channel.receive_request() for _ in clients]
        bench.channel.begin_handling()
        for request in requests[:3]:
            await bench.answer(request)
        await asyncio.sleep(0)
        assert sorted(waiting()) == [1, 2]
        bench.channel.end_handling()
        assert waiting() == [0, 0]
        await bench.answer(requests[3])
        assert sorted(waiting()) == [0, 1]
        await asyncio.sleep(0)
        assert waiting() == [0, 0]
        await asyncio.gather(*answers)

    bench.loop.run_until_complete(main())


def test_a_request_that_is_not_answered_leaves_nothing_for_the_garbage_collector() -> None:
    bench = Bench()
    bench.start(None)

    async def main() -> None:
        client = await bench.client()
        with contextlib.suppress(TimeoutError):
            await client.send(ApiVersionsRequest(), 0, 100)

    assert left_in_cycles(lambda: bench.loop.run_until_complete(main()), TimeoutError) == []
