"""The relay passes bytes between clients and a cluster's brokers, and between the brokers and
ZooKeeper.

`python -m kafka_edu.supervisor.relay FOLDER` runs it. The file FOLDER/relay.json describes the
routes:

    {"clients-0": [listen port, target host, target port], "zookeeper-0-1": […]}

Each route is a port at which the relay listens, and a target to which the relay passes every byte.
The relay uses the same transport as the brokers. So a route can be slowed, cut and healed like a
link between brokers (`kafka_edu/common/link_faults.py`). To do this, the supervisor sends control
requests to the relay's event socket.

While a route is cut, the kernel still accepts connections. They get no answer until the route is
healed or the client gives up. If one side of a connection ends while the route is cut, the other
side ends only when the route is healed. On a slow route the end of a connection also arrives late,
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
"""If more bytes than this wait for a target that does not read, the relay stops reading from the
sender.
"""


class Route:
    """One port of the relay, the target to which it passes bytes, and the connections over it."""

    def __init__(self, transport: Transport, host: str, port: int) -> None:
        self._faulty = FaultyTransport(transport)
        self._host, self._port = host, port
        self._opening: set[asyncio.Task[None]] = set()

    @property
    def fault(self) -> LinkFault:
        """The fault of the route: its delay, or a cut."""
        return self._faulty.faults().get(self._port, WHOLE)

    def set_fault(self, fault: LinkFault) -> None:
        """Set the fault of the route. O(connections)."""
        self._faulty.set_fault(self._port, fault)

    def reset(self) -> int:
        """Reset all connections that have reached the target. Return their number.
        O(connections).
        """
        return self._faulty.reset(self._port)

    def accept(self, wire: Wire) -> WireReceiver:
        """Accept a connection, and connect to the target for it."""
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
    """One half of a connection. It passes all bytes that it receives to the other half."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.other: Half | None = None
        self.ended = False
        self._finishing = False
        self._waiting: list[bytes] = []

    def join(self, other: "Half") -> None:
        """Connect this half to the other half, and pass on the bytes that arrived before."""
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
        """Close this half, because the other half has ended. But all bytes that were sent must
        leave first.

        So send an empty message, which leaves after all bytes that the route still delays. Then
        `all_sent` is called.
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
    """The two halves of one connection: from the client to the relay, and from the relay to the
    target.
    """

    def __init__(self, wire: Wire) -> None:
        self.inward = Half(wire)
        self._outward: Half | None = None

    def accepted(self, wire: Wire) -> WireReceiver:
        """Return the half to the target. It cannot send before `join`, because its wire has no
        receiver yet.
        """
        outward = Half(wire)
        outward.other = self.inward
        self._outward = outward
        return outward

    def join(self) -> None:
        """Join the two halves, because the target has accepted the connection.

        If the client's half has already ended, the target gets none of its bytes. On a real link
        that was cut from the beginning, such a connection would not have reached the target either.
        """
        assert self._outward is not None
        if self.inward.ended:
            self._outward.wire.close()
        else:
            self.inward.join(self._outward)


async def control(
    routes: Mapping[str, Route], request: Mapping[str, object]
) -> Mapping[str, object]:
    """Set the fault of routes, or reset them. `prefix` selects the routes by name: `clients-0`, or
    `zookeeper-0` for the routes of broker 0 to all ZooKeeper servers. Raises ValueError for a wrong
    request.
    """
    match request:
        case {"control": "route", "prefix": str(prefix), "delay_ms": int(delay), "cut": bool(cut)}:
            for route in _named(routes, prefix):
                route.set_fault(LinkFault(delay, cut))
            return {}
        case {"control": "reset-route", "prefix": str(prefix)}:
            return {"connections": sum(route.reset() for route in _named(routes, prefix))}
    raise ValueError("a relay knows only the control lines 'route' and 'reset-route'")


def _named(routes: Mapping[str, Route], prefix: str) -> list[Route]:
    found = [route for name, route in routes.items() if f"{name}-".startswith(f"{prefix}-")]
    if not found:
        raise ValueError(f"there is no route {prefix}")
    return found


async def run(folder: ClusterFolder) -> None:
    """Run the relay until the process is killed."""
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
