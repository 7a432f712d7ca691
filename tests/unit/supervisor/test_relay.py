"""The relay's routes, in virtual time: bytes pass, wait while the link is cut, and go on when it is
healed.
"""

import asyncio
import json
import random
import socket
from pathlib import Path

import pytest

from kafka_edu.common.link_faults import WHOLE, LinkFault
from kafka_edu.common.transport import Wire
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import SimLoop
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.relay import Route, control, run

HOST, TARGET, PORT = "127.0.0.1", 9092, 19092


class Heard:
    """Keeps what arrives, and answers each piece if asked to."""

    def __init__(self, answer: bytes = b"") -> None:
        self.pieces: list[bytes] = []
        """The network may cut one message into pieces."""
        self.lost = False
        self.wires: list[Wire] = []
        self._answer = answer

    def __call__(self, wire: Wire) -> "Heard":
        self.wires.append(wire)
        return self

    @property
    def text(self) -> bytes:
        return b"".join(self.pieces)

    def data_received(self, data: memoryview) -> None:
        self.pieces.append(bytes(data))
        if self._answer:
            self.wires[-1].send([self._answer])

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        self.lost = True


def test_bytes_pass_are_held_by_a_cut_and_an_end_is_heard_when_it_heals() -> None:
    loop = SimLoop()
    transport = MemoryNetwork(loop, random.Random(7), (0.0, 0.0)).transport()
    server, client = Heard(b"."), Heard()

    async def story() -> None:
        route = Route(transport, HOST, TARGET)
        await transport.listen(HOST, TARGET, server)
        await transport.listen(HOST, PORT, route.accept)
        wire = await transport.connect(HOST, PORT, client, 1000)
        wire.send([b"one"])
        await asyncio.sleep(0.01)
        assert server.text == b"one"
        assert len(client.text) == len(server.pieces)

        route.set_fault(LinkFault(100))
        wire.send([b"two"])
        await asyncio.sleep(0.09)
        assert server.text == b"one"
        await asyncio.sleep(0.2)
        assert server.text == b"onetwo"
        assert len(client.text) == len(server.pieces), "the relay passes each answer back"

        route.set_fault(LinkFault(cut=True))
        wire.send([b"three"])
        late = Heard()
        await transport.connect(HOST, PORT, late, 1000)
        await asyncio.sleep(5)
        server.wires[0].close()
        await asyncio.sleep(5)
        assert server.text == b"onetwo"
        assert not client.lost, "behind a cut nobody hears of an end"

        route.set_fault(WHOLE)
        await asyncio.sleep(0.01)
        assert client.lost
        assert len(server.wires) == 2, "the connection that waited is open now"
        late.wires[0].close()
        await asyncio.sleep(0.01)
        assert server.lost

    loop.run_until_complete(story())


def test_a_target_that_does_not_listen_ends_the_connection() -> None:
    loop = SimLoop()
    transport = MemoryNetwork(loop, random.Random(7), (0.0, 0.0)).transport()
    client = Heard()

    async def story() -> None:
        route = Route(transport, HOST, TARGET)
        await transport.listen(HOST, PORT, route.accept)
        await transport.connect(HOST, PORT, client, 1000)
        await asyncio.sleep(0.01)
        assert client.lost

    loop.run_until_complete(story())


def test_a_connection_given_up_behind_a_cut_brings_nothing_to_the_target() -> None:
    loop = SimLoop()
    transport = MemoryNetwork(loop, random.Random(7), (0.0, 0.0)).transport()
    server, client = Heard(), Heard()

    async def story() -> None:
        route = Route(transport, HOST, TARGET)
        await transport.listen(HOST, TARGET, server)
        await transport.listen(HOST, PORT, route.accept)
        route.set_fault(LinkFault(cut=True))
        wire = await transport.connect(HOST, PORT, client, 1000)
        wire.send([b"a session that is given up"])
        await asyncio.sleep(1)
        wire.close()
        await asyncio.sleep(1)
        route.set_fault(WHOLE)
        await asyncio.sleep(1)
        assert server.text == b""

    loop.run_until_complete(story())


@pytest.mark.parametrize("fault", [WHOLE, LinkFault(100), LinkFault(cut=True)])
def test_an_end_overtakes_no_bytes_in_either_direction(fault: LinkFault) -> None:
    loop = SimLoop()
    transport = MemoryNetwork(loop, random.Random(7), (0.0, 0.0)).transport()
    server, client, other = Heard(), Heard(), Heard()

    async def story() -> None:
        route = Route(transport, HOST, TARGET)
        await transport.listen(HOST, TARGET, server)
        await transport.listen(HOST, PORT, route.accept)
        leaving = await transport.connect(HOST, PORT, client, 1000)
        await transport.connect(HOST, PORT, other, 1000)
        await asyncio.sleep(0.01)

        route.set_fault(fault)
        leaving.send([b"a request"])
        leaving.close()
        server.wires[1].send([b"an answer"])
        server.wires[1].close()
        await asyncio.sleep(0.05)
        if fault != WHOLE:
            assert (server.text, server.lost) == (b"", True), "its own close alone"
            assert (other.text, other.lost) == (b"", False)
        await asyncio.sleep(1)
        route.set_fault(WHOLE)
        await asyncio.sleep(0.01)
        assert server.text == b"a request"
        assert other.text == b"an answer"
        assert other.lost

    loop.run_until_complete(story())


def test_a_reset_ends_the_connections_and_new_ones_pass() -> None:
    loop = SimLoop()
    transport = MemoryNetwork(loop, random.Random(7), (0.0, 0.0)).transport()
    server, client, again = Heard(b"."), Heard(), Heard()

    async def story() -> None:
        route = Route(transport, HOST, TARGET)
        await transport.listen(HOST, TARGET, server)
        await transport.listen(HOST, PORT, route.accept)
        await transport.connect(HOST, PORT, client, 1000)
        await asyncio.sleep(0.01)
        answer = await control(
            {"clients-0": route}, {"control": "reset-route", "prefix": "clients-0"}
        )
        assert answer == {"connections": 1}
        await asyncio.sleep(0.01)
        assert client.lost
        assert server.lost
        wire = await transport.connect(HOST, PORT, again, 1000)
        wire.send([b"again"])
        await asyncio.sleep(0.01)
        assert again.text

    loop.run_until_complete(story())


def test_a_line_names_all_routes_of_one_broker_and_no_other() -> None:
    loop = SimLoop()
    transport = MemoryNetwork(loop, random.Random(7), (0.0, 0.0)).transport()
    names = ("zookeeper-1-1", "zookeeper-1-2", "zookeeper-11-1", "clients-1")
    routes = {name: Route(transport, HOST, TARGET) for name in names}
    line = {"control": "route", "prefix": "zookeeper-1", "delay_ms": 0, "cut": True}

    async def story() -> None:
        await control(routes, line)
        assert [name for name, route in routes.items() if route.fault.cut] == [
            "zookeeper-1-1",
            "zookeeper-1-2",
        ]
        with pytest.raises(ValueError, match="there is no route zookeeper-2"):
            await control(routes, {**line, "prefix": "zookeeper-2"})
        with pytest.raises(ValueError, match="'route' and 'reset-route'"):
            await control(routes, {"control": "link"})

    loop.run_until_complete(story())


def test_a_relay_whose_port_is_taken_ends_and_says_so(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        folder.relay_routes.write_text(json.dumps({"clients-0": [port, HOST, TARGET]}), "utf-8")
        with pytest.raises(SystemExit, match=f"the relay cannot start: .*{HOST}:{port}: Address"):
            asyncio.run(run(folder))
    assert not folder.relay_events.exists()
