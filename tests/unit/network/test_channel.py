"""One connection: whole frames, and the time that they may take."""

import asyncio

from kafka_edu.network.request import Request
from kafka_edu.protocol.headers import encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.sim.memory_transport import MemoryWire
from kafka_edu.trace.events.network import ConnectionClosed
from tests.unit.network.test_socket_server import Bench


def test_a_frame_never_finished_is_idle_in_the_end_and_a_waiting_request_is_not() -> None:
    bench = Bench(max_idle_ms=10_000)

    async def late(request: Request) -> None:
        await bench.time.sleep(30_000)
        await bench.answer(request)

    bench.start(late, handlers=2)

    async def main() -> None:
        slow, patient = await bench.client(), await bench.client()
        assert slow._wire is not None
        slow._wire.send(
            [
                b"".join(
                    bytes(p)
                    for p in encode_request(ApiVersionsRequest(), 0, 1, "x")
                    if not isinstance(p, tuple)
                )[:9]
            ]
        )
        answer = asyncio.create_task(patient.send(ApiVersionsRequest(), 0, 60_000))
        await bench.time.sleep(20_000)
        assert not slow.connected
        await answer

    bench.loop.run_until_complete(main())


def test_a_frame_that_comes_byte_by_byte_must_be_complete_in_time() -> None:
    bench = Bench(max_idle_ms=10_000)
    bench.start(bench.answer)
    frame = b"".join(
        bytes(p)
        for p in encode_request(ApiVersionsRequest(), 0, 1, "x" * 100)
        if not isinstance(p, tuple)
    )

    async def main() -> None:
        clients = [await bench.client() for _ in range(3)]
        slow, slower, steady = (client._wire for client in clients)
        assert slow is not None
        assert slower is not None
        for at in range(20):
            slow.send(
                [frame[at * 10 : at * 10 + 10]]
            )  # complete after 8 s; the answer then matches no request of this client, so it leaves
            slower.send([frame[at : at + 1]])
            await clients[2].send(ApiVersionsRequest(), 0, 1000)
            await bench.time.sleep(700)
        assert clients[2]._wire is steady

    bench.loop.run_until_complete(main())
    reasons = [
        closed.reason
        for closed in bench.told(ConnectionClosed)
        if isinstance(closed, ConnectionClosed)
    ]
    assert reasons == ["closed by the other side", "idle for 10000 ms (connections.max.idle.ms)"]


def test_who_does_not_read_the_answer_is_closed_and_who_reads_slowly_is_not() -> None:
    bench = Bench(max_idle_ms=10_000)

    async def never(_: Request) -> None:
        await bench.time.sleep(1_000_000)

    bench.start(never, handlers=2)

    async def main() -> None:
        clients = [await bench.client() for _ in range(2)]
        for client in clients:
            bench.loop.create_task(client.send(ApiVersionsRequest(), 0, 1_000_000))
        await bench.time.sleep(100)
        channels = [
            channel
            for processor in bench.server.processors
            for channel in processor.channels.values()
        ]
        slow, stuck = (
            next(channel for channel in channels if channel.wire.peer == client.local)
            for client in clients
        )
        assert isinstance(slow.wire, MemoryWire)
        assert isinstance(stuck.wire, MemoryWire)
        slow.wire.unsent = stuck.wire.unsent = 1000  # as if the kernel accepted no more
        for _ in range(30):
            await bench.time.sleep(1000)
            slow.wire.unsent -= 1
        assert [client.connected for client in clients] == [True, False]
        bench.server.shutdown()

    bench.loop.run_until_complete(main())
