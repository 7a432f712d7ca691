"""A relay between a cluster's brokers and the world: ZooKeeper on one side, clients on the other.

`python -m kafka_edu.supervisor.relay FOLDER` reads FOLDER/relay.json, which names the routes:

    {"clients-0": [listen port, target host, target port], "zookeeper-0-1": […]}

Each route is a port at which it listens, and a target to which it passes every byte. Its transport
is the one that brokers use between each other, so a route is slowed, cut and healed in the same way
(`kafka_edu/common/link_faults.py`). The supervisor sets the state over the relay's event socket.

The kernel still accepts connections for a route that is cut. They get no answer until it is healed
or the other side gives up. A connection that ends meanwhile on one side ends on the other when the
route is healed, because behind a cut nobody hears of it. On a slow route, too, the end arrives
after the bytes that were sent before it.
"""

import asyncio
import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kafka_edu.common.link_faults import WHOLE, FaultyTransport, LinkFault
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.common.transport import Transport, Wire, WireReceiver
from kafka_edu.common.words import cause_of
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import PROXY
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.trace_ring import SMALL_BYTES
from kafka_edu.trace.tracer import Tracer

HOST: Final = "127.0.0.1"
CONNECT_TIMEOUT_MS: Final = 30_000
MAX_HELD_BYTES: Final = 4 * 1024 * 1024
"""A connection whose target does not read is not read either."""


class Route:
    """One port of the relay, its target, and the connections that pass."""

    def __init__(self, transport: Transport, host: str, port: int) -> None:
        self._faulty = FaultyTransport(transport)
        self._host, self._port = host, port
        self._opening: set[asyncio.Task[None]] = set()

    @property
    def fault(self) -> LinkFault:
        """The state of the route."""
        return self._faulty.faults().get(self._port, WHOLE)

    def set_fault(self, fault: LinkFault) -> None:
        """Set the state of the route. O(connections)."""
        self._faulty.set_fault(self._port, fault)

    def reset(self) -> int:
        """End every connection that has reached the target. Return how many there were.
        O(connections).
        """
        return self._faulty.reset(self._port)

    def accept(self, wire: Wire) -> WireReceiver:
        """Take a connection and open its other half."""
        pipe = Pipe(wire)
        task = asyncio.get_running_loop().create_task(self._open(pipe))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        return pipe.inward

    async def _open(self, pipe: "Pipe") -> None:
        try:
            await self._faulty.connect(self._host, self._port, pipe.accepted, CONNECT_TIMEOUT_MS)
        except OSError:
            pipe.inward.wire.close()
        else:
            pipe.join()


class Half:
    """One half of a connection: what it receives goes to the other half."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.other: Half | None = None
        self.ended = False
        self._finishing = False
        self._waiting: list[bytes] = []

    def join(self, other: "Half") -> None:
        """Connect to the other half, and send it the bytes that arrived before."""
        self.other = other
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            other.wire.send(waiting)
            self.wire.resume_reading()

    def data_received(self, data: memoryview) -> None:
        if self.other is None:
            self._waiting.append(bytes(data))
            held = sum(map(len, self._waiting))
        else:
            self.other.wire.send([bytes(data)])
            held = self.other.wire.unsent
        if held > MAX_HELD_BYTES:
            self.wire.pause_reading()

    def finish(self) -> None:
        """Close the wire when everything that was sent has left, because the other half has ended.

        Nothing is sent once more: it leaves in its turn, behind what the route holds back, and then
        `all_sent` comes.
        """
        self._finishing = True
        self.wire.send([])

    def all_sent(self) -> None:
        if self._finishing:
            self.wire.close()
        elif self.other is not None and not self.other.ended:
            self.other.wire.resume_reading()

    def connection_lost(self, reason: str) -> None:
        self.ended = True
        if self.other is not None and not self.other.ended:
            self.other.finish()


class Pipe:
    """Both halves of one connection."""

    def __init__(self, wire: Wire) -> None:
        self.inward = Half(wire)
        self._outward: Half | None = None

    def accepted(self, wire: Wire) -> WireReceiver:
        """Return the other half. It may not send yet: a wire without a receiver cannot."""
        outward = Half(wire)
        outward.other = self.inward
        self._outward = outward
        return outward

    def join(self) -> None:
        """Join the halves, because the target has accepted.

        If the first half gave up before, the target gets none of its bytes: over a link that was
        cut from the beginning, such a connection would never have reached it.
        """
        assert self._outward is not None
        if self.inward.ended:
            self._outward.wire.close()
        else:
            self.inward.join(self._outward)


async def control(
    routes: Mapping[str, Route], request: Mapping[str, object]
) -> Mapping[str, object]:
    """Set the state of routes, or reset them. `prefix` names them: `clients-0`, or `zookeeper-0`
    for the routes of broker 0 to all servers of ZooKeeper. Raises ValueError.
    """
    match request:
        case {"control": "route", "prefix": str(prefix), "delay_ms": int(delay), "cut": bool(cut)}:
            for route in _named(routes, prefix):
                route.set_fault(LinkFault(delay, cut))
            return {}
        case {"control": "reset-route", "prefix": str(prefix)}:
            return {"connections": sum(route.reset() for route in _named(routes, prefix))}
    raise ValueError("a relay knows the control lines 'route' and 'reset-route' alone")


def _named(routes: Mapping[str, Route], prefix: str) -> list[Route]:
    found = [route for name, route in routes.items() if f"{name}-".startswith(f"{prefix}-")]
    if not found:
        raise ValueError(f"there is no route {prefix}")
    return found


async def run(folder: ClusterFolder) -> None:
    """Relay until the process is killed."""
    transport, time = SocketTransport(), SystemTime()
    table: dict[str, Sequence[object]] = json.loads(folder.relay_routes.read_text("utf-8"))
    routes: dict[str, Route] = {}
    for name, row in table.items():
        listen_port, host, port = row
        assert isinstance(listen_port, int)
        assert isinstance(port, int)
        routes[name] = Route(transport, str(host), port)
        try:
            await transport.listen(HOST, listen_port, routes[name].accept)
        except OSError as error:
            sys.exit(f"the relay cannot start: {cause_of(error)}")

    async def on_control(request: Mapping[str, object]) -> Mapping[str, object]:
        return await control(routes, request)

    events = EventServer(
        Tracer(PROXY, time),
        transport,
        time,
        secrets.token_hex(16),
        cluster=folder.name,
        ring_bytes=SMALL_BYTES,
        on_control=on_control,
    )
    await events.publish(folder.relay_events, HOST)
    await events.run()


def main() -> None:
    asyncio.run(run(ClusterFolder(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
