"""The queue between processors and handlers."""

import asyncio
from collections.abc import Callable

from kafka_edu.common.time import MockTime
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import DataPlaneRequestChannel, RequestChannel
from kafka_edu.protocol.headers import RequestHeader
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from tests.unit.network.test_socket_server import CONNECTION, Bench


def test_a_full_request_queue_holds_processors_back_and_loses_nothing() -> None:
    bench = Bench(capacity=3)
    bench.start(None)

    async def main() -> int:
        clients = [await bench.client() for _ in range(20)]
        waiting = [asyncio.create_task(c.send(ApiVersionsRequest(), 0, 60_000)) for c in clients]
        await bench.time.sleep(1000)
        full = bench.channel.queue_size
        for _ in clients:
            await bench.answer(await bench.channel.receive_request())
        await asyncio.gather(*waiting)
        return full

    assert bench.loop.run_until_complete(main()) == 3


def test_where_there_is_a_control_plane_the_loop_turns_between_two_requests_of_the_data_plane() -> (
    None
):
    """Three handlers find twenty requests. After each request the loop runs whatever has become
    ready. No request is lost or out of order.
    """
    order: list[str] = []

    async def scenario(make: Callable[[MockTime, int], RequestChannel]) -> None:
        channel = make(MockTime(), 100)
        order.clear()
        for number in range(20):
            assert channel.try_send_request(
                Request(CONNECTION, RequestHeader(3, 0, number, None), b"", 0, 0)
            )

        async def handle() -> None:
            while True:
                order.append(str((await channel.receive_request()).header.correlation_id))

        async def others() -> None:
            for _ in range(30):
                order.append("turn")
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(work) for work in (handle(), handle(), handle(), others())]
        for _ in range(100):
            await asyncio.sleep(0)
        late = Request(CONNECTION, RequestHeader(3, 0, 20, None), b"", 0, 0)
        assert channel.try_send_request(late)
        for _ in range(5):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    requests = [str(number) for number in range(21)]
    asyncio.run(scenario(RequestChannel))
    assert order[:20] == requests[:20]
    asyncio.run(scenario(DataPlaneRequestChannel))
    assert [each for each in order if each != "turn"] == requests
    gaps = "".join("." if each == "turn" else "R" for each in order[: order.index("14")])
    assert "RR" not in gaps


def test_who_waits_for_room_gets_it_in_turn_and_is_not_overtaken() -> None:
    taken: list[str] = []

    def request(name: str) -> Request:
        made = Request(CONNECTION, None, b"", 0, 0)  # type: ignore[arg-type]
        made.connection_id = name
        return made

    async def main() -> None:
        channel = RequestChannel(MockTime(), 1)
        assert channel.try_send_request(request("first"))
        waiting = [
            asyncio.create_task(channel.send_request(request(name)))
            for name in ("second", "given up", "third")
        ]
        await asyncio.sleep(0)
        taken.append((await channel.receive_request()).connection_id)
        assert not channel.try_send_request(request("pushy")), (
            "the place was promised to who waited"
        )
        await asyncio.sleep(0)
        taken.append((await channel.receive_request()).connection_id)
        waiting[1].cancel()  # it has its place and will not take it
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        taken.append((await channel.receive_request()).connection_id)
        assert channel.try_send_request(request("pushy"))

    asyncio.run(main())
    assert taken == ["first", "second", "third"]
