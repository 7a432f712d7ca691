"""The simulator's ZooKeeper: the core of the embedded server, without sockets.

`kafka_edu.zk.embedded` runs the same core with real sockets. This module passes the core's effects
on as objects, in order in each direction, with a given latency. Tests cause faults with method
calls: `expire` a session, `go_down` and `come_back`. Faults of a link or a client are in
MemoryZkClient.

Callbacks run in the context in which the server was started. So they belong to the server's
simulated process.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from kafka_edu.common.time import Time
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.session_tracker import TICK_TIME_MS
from kafka_edu.zk.embedded.zookeeper_server import AppendTxn, CloseCnxn, Effect, ZooKeeperServer
from kafka_edu.zk.jute.proto import ConnectRequest, Request
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

Item = TypeVar("Item")
Sent = ConnectRequest | tuple[int, Request]


def no_latency() -> float:
    """Return 0, so that messages are delivered in the loop's next turn."""
    return 0.0


class _Pipe(Generic[Item]):
    """One direction of a connection. It keeps the order of the items, delays each of them, and can
    hold them back.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        deliver: Callable[[Item], None],
        latency_ms: Callable[[], float],
        context: contextvars.Context,
    ) -> None:
        self._loop = loop
        self._deliver = deliver
        self._latency_ms = latency_ms
        self._context = context
        self._on_the_way: deque[Item] = deque()
        self._held: deque[Item] = deque()
        self._holds = 0
        self._last_due_s = 0.0
        self._closed = False

    def send(self, item: Item) -> None:
        if self._closed:
            return
        if self._holds:
            self._held.append(item)
            return
        self._on_the_way.append(item)
        self._last_due_s = max(self._last_due_s, self._loop.time() + self._latency_ms() / 1000)
        self._loop.call_at(self._last_due_s, self._arrive, context=self._context)

    def hold(self) -> None:
        self._holds += 1

    def release(self) -> None:
        self._holds -= 1
        if not self._holds:
            held, self._held = self._held, deque()
            for item in held:
                self.send(item)

    def close(self) -> None:
        """Drop all items that have not arrived."""
        self._closed = True
        self._on_the_way.clear()
        self._held.clear()

    def _arrive(self) -> None:
        """Deliver the oldest item. This keeps the order, although timers for the same time may run
        in any order.
        """
        if self._on_the_way:
            if self._holds:
                self._held.append(self._on_the_way.popleft())
            else:
                self._deliver(self._on_the_way.popleft())


class MemoryZooKeeper:
    """One ZooKeeper server in memory. Create it, then call `start` on the running loop. Clients of
    the class MemoryZkClient connect to it.
    """

    def __init__(
        self,
        time: Time,
        *,
        tick_time_ms: int = TICK_TIME_MS,
        latency_ms: Callable[[], float] = no_latency,
        trace: Tracer | None = None,
        server_id: int = 0,
    ) -> None:
        self.time = time
        self.latency_ms = latency_ms
        self.server = ZooKeeperServer(
            tick_time_ms=tick_time_ms,
            now_ms=time.hi_res_clock_ms(),
            wall_ms=time.milliseconds(),
            server_id=server_id,
            trace=trace,
        )
        self.context = contextvars.copy_context()
        self.is_up = False
        self._connections: dict[int, MemoryConnection] = {}
        self._ticker: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.server.start(time.hi_res_clock_ms())

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop on which the server was started. A script can use it to cause faults from
        outside the loop.
        """
        if self._loop is None:
            raise RuntimeError("start the MemoryZooKeeper on a running loop first")
        return self._loop

    def start(self) -> None:
        """Start to serve clients and to expire sessions. The server belongs to the simulated
        process of the caller.
        """
        self._loop = asyncio.get_running_loop()
        self.context = contextvars.copy_context()
        self.come_back()

    def stop(self) -> None:
        """Stop the server as `go_down` does, and remove its timers from the loop."""
        self.go_down()

    def come_back(self) -> None:
        """Start again after `go_down`, with the same tree and the same sessions. The time-out of
        each session begins again.
        """
        if not self.is_up:
            self.is_up = True
            self.server.revive_sessions(self.time.hi_res_clock_ms())
            self._tick_later()

    def go_down(self) -> None:
        """Stop the server: all connections break. No session expires while it is down."""
        self.is_up = False
        if self._ticker is not None:
            self._ticker.cancel()
        for cnxn_id, connection in list(self._connections.items()):
            self.lost(cnxn_id)
            connection.broken()

    def expire(self, session_id: int) -> None:
        """Expire a session now, independent of its client's heartbeats."""
        self._perform(
            self.server.expire_session(
                session_id, self.time.hi_res_clock_ms(), self.time.milliseconds()
            )
        )

    def accept(self, connection: "MemoryConnection", peer: str) -> int:
        """Accept a connection from a client. Return the connection's number. Raises
        ZkError(CONNECTION_LOSS) if the server is down.
        """
        if not self.is_up:
            raise ZkError(ZkErrorCode.CONNECTION_LOSS)
        cnxn_id = self.server.open_cnxn(peer)
        self._connections[cnxn_id] = connection
        return cnxn_id

    def lost(self, cnxn_id: int) -> None:
        """Remove a connection whose client has gone."""
        self._connections.pop(cnxn_id, None)
        self.server.lose_cnxn(cnxn_id, "connection lost")

    def receive(self, cnxn_id: int, sent: Sent) -> None:
        now_ms, wall_ms = self.time.hi_res_clock_ms(), self.time.milliseconds()
        if isinstance(sent, ConnectRequest):
            self._perform(self.server.connect(cnxn_id, sent, now_ms, wall_ms))
        else:
            self._perform(self.server.request(cnxn_id, *sent, now_ms, wall_ms))

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, AppendTxn):
                continue  # This server has no disk.
            connection = self._connections.get(effect.cnxn)
            if connection is not None:
                connection.down.send(effect)
            if isinstance(effect, CloseCnxn):
                self._connections.pop(effect.cnxn, None)

    def _tick_later(self) -> None:
        wait_ms = max(self.server.sessions.next_expiration_ms - self.time.hi_res_clock_ms(), 1)
        self._ticker = self.loop.call_later(wait_ms / 1000, self._tick, context=self.context)

    def _tick(self) -> None:
        self._perform(self.server.tick(self.time.hi_res_clock_ms(), self.time.milliseconds()))
        self._tick_later()


class ConnectionOwner(Protocol):
    """The methods a connection needs from its client. MemoryZkClient implements them."""

    @property
    def name(self) -> str: ...

    @property
    def context(self) -> contextvars.Context:
        """The context of the client's process. Calls to the client run in this context."""
        ...

    def receive(self, connection: "MemoryConnection", effect: Effect) -> None: ...


class MemoryConnection:
    """One connection between a client and the server. It has a pipe for each direction."""

    def __init__(self, zookeeper: MemoryZooKeeper, client: ConnectionOwner) -> None:
        self._zookeeper = zookeeper
        self._client = client
        self.cnxn_id = zookeeper.accept(self, client.name)
        self.up: _Pipe[Sent] = _Pipe(
            zookeeper.loop, self._to_server, zookeeper.latency_ms, zookeeper.context
        )
        self.down: _Pipe[Effect] = _Pipe(
            zookeeper.loop, self._to_client, zookeeper.latency_ms, client.context
        )

    def _to_server(self, sent: Sent) -> None:
        self._zookeeper.receive(self.cnxn_id, sent)

    def _to_client(self, effect: Effect) -> None:
        self._client.receive(self, effect)

    def broken(self) -> None:
        """Note that the server has closed the connection. The client first reads what was sent
        before, then the end of the stream.
        """
        self.down.send(CloseCnxn(self.cnxn_id, "the server is gone"))

    def close(self) -> None:
        """Close this connection from the client's side."""
        self.up.close()
        self.down.close()
        self._zookeeper.lost(self.cnxn_id)
