"""An acceptor gives new connections to the processors, and refuses some connections."""

from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.trace.events.network import ConnectionRefused
from tests.unit.network.test_socket_server import Bench


def test_connections_are_dealt_to_processors_in_turn() -> None:
    bench = Bench()
    bench.start(bench.answer)

    async def main() -> None:
        for _ in range(4):
            await (await bench.client()).send(ApiVersionsRequest(), 0, 1000)

    bench.loop.run_until_complete(main())
    assert [len(p.channels) for p in bench.server.processors] == [2, 2]


def test_one_connection_too_many_is_refused() -> None:
    bench = Bench(max_connections_per_ip=2)
    bench.start(bench.answer)

    async def main() -> None:
        clients = [await bench.client() for _ in range(3)]
        await bench.time.sleep(10)
        assert [c.connected for c in clients] == [True, True, False]
        clients[0].close()
        await bench.time.sleep(10)
        await (await bench.client()).send(ApiVersionsRequest(), 0, 1000)

    bench.loop.run_until_complete(main())
    assert len(bench.told(ConnectionRefused)) == 1
