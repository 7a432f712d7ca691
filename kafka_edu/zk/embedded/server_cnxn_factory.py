"""Accept connections for the embedded ZooKeeper, call its core and perform the core's effects
(ZooKeeper: NIOServerCnxnFactory.java).

The way of a request ("here" is this module):

    NioServerCnxn → here → ZooKeeperServer (core) → SyncRequestProcessor (disk) → here
    → NioServerCnxn

Everything runs on one asyncio loop. One task calls the core's `tick` at regular times, so that
sessions expire, and closes silent connections.

On the way from a broker's death to the new leader, `_perform` sends the watch event to the active
controller's broker. There, `KazooZkClient._watch_fired` (kazoo_zk_client.py) is the next step.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Listener, Transport, Wire, WireReceiver
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.file_txn_snap_log import FileTxnSnapLog
from kafka_edu.zk.embedded.four_letter_words import CnxnRow, ServerView, answer
from kafka_edu.zk.embedded.nio_server_cnxn import NioServerCnxn
from kafka_edu.zk.embedded.sync_request_processor import (
    SNAP_COUNT,
    SyncRequestProcessor,
)
from kafka_edu.zk.embedded.zookeeper_server import (
    AppendTxn,
    CloseCnxn,
    ConnectReply,
    Effect,
    Notify,
    Reply,
    ZooKeeperServer,
)
from kafka_edu.zk.jute.proto import ConnectRequest, PingRequest, Request
from kafka_edu.zk.jute.serialization import (
    encode_connect_response,
    encode_notification,
    encode_reply,
)

SESSIONLESS_TIMEOUT_MS: Final = 10_000
"""The time after which a connection without a session is closed, in ms
(zookeeper.nio.sessionlessCnxnTimeout).
"""
MAX_OUTSTANDING: Final = 1000
"""The number of requests that may wait for the disk. If this many wait, the server stops reading
from the connections that send more (globalOutstandingLimit).
"""


class ServerCnxnFactory:
    """A standalone ZooKeeper server that uses the given transport and file system. Use `await
    start` and `await stop`.
    """

    def __init__(
        self,
        *,
        time: Time,
        transport: Transport,
        log: FileTxnSnapLog,
        data_dir: str,
        run_blocking: RunBlocking,
        on_failure: Callable[[OSError], None],
        tick_time_ms: int,
        max_session_ms: int | None = None,
        force_sync: bool = True,
        snap_count: int = SNAP_COUNT,
        trace: Tracer | None = None,
    ) -> None:
        self.server = ZooKeeperServer(
            tick_time_ms=tick_time_ms,
            max_session_ms=max_session_ms,
            now_ms=time.hi_res_clock_ms(),
            wall_ms=time.milliseconds(),
            trace=trace,
        )
        self._time = time
        self._transport = transport
        self._log = log
        self._data_dir = data_dir
        self._sync = SyncRequestProcessor(
            self.server,
            log,
            self._perform,
            time=time,
            run_blocking=run_blocking,
            on_failure=on_failure,
            force_sync=force_sync,
            snap_count=snap_count,
            trace=trace,
        )
        self._cnxns: dict[int, NioServerCnxn] = {}
        self._waiting: list[NioServerCnxn] = []
        self._listener: Listener | None = None
        self._ticker: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> int:
        """Recover the data from disk, accept connections, and return the port. Raises DataDirError
        if the data is damaged, and OSError if the port or the disk cannot be used.
        """
        self._log.restore(self.server)
        self.server.start(self._time.hi_res_clock_ms())
        self._listener = await self._transport.listen(host, port, self._on_wire)
        self._ticker = asyncio.create_task(self._tick())
        return self._listener.port

    async def stop(self) -> None:
        """Stop listening, write everything to disk and close all connections. The sessions stay in
        the data folder. After a restart, each client has the full time-out to resume its session.
        """
        if self._listener is not None:
            self._listener.close()
        if self._ticker is not None:
            self._ticker.cancel()
        for cnxn in self._cnxns.values():
            cnxn.wait(True)
        await self._sync.close()
        for cnxn in list(self._cnxns.values()):
            cnxn.finish()

    def on_connect(self, cnxn: NioServerCnxn, request: ConnectRequest) -> None:
        self.server.stats.packets_received += 1
        self._sync.submit(
            self.server.connect(
                cnxn.id, request, self._time.hi_res_clock_ms(), self._time.milliseconds()
            )
        )

    def on_request(self, cnxn: NioServerCnxn, xid: int, request: Request) -> None:
        self.server.stats.packets_received += 1
        effects = self.server.request(
            cnxn.id, xid, request, self._time.hi_res_clock_ms(), self._time.milliseconds()
        )
        if isinstance(request, PingRequest) and cnxn.welcomed:
            # The answer to a ping does not have to wait for the disk, because it shows no data.
            # Otherwise a client would think that a server with a slow disk is dead.
            self._perform(effects)
            return
        self._sync.submit(effects)
        if self.server.stats.outstanding >= MAX_OUTSTANDING:
            cnxn.wait(True)
            self._waiting.append(cnxn)

    def on_word(self, cnxn: NioServerCnxn, word: str) -> None:
        cnxns = [
            CnxnRow(
                one.id,
                one.wire.peer,
                self.server.cnxns[one.id].session_id,
                one.received,
                one.sent,
                one.wire.unsent,
            )
            for one in self._cnxns.values()
            if one.id in self.server.cnxns
        ]
        port = self._listener.port if self._listener is not None else 0
        view = ServerView(self.server, cnxns, port, self._data_dir, self._reset_cnxns)
        cnxn.send([answer(word, view).encode()])
        cnxn.finish()

    def _reset_cnxns(self) -> None:
        for cnxn in self._cnxns.values():
            cnxn.received = cnxn.sent = 0

    def on_closed(self, cnxn: NioServerCnxn, reason: str) -> None:
        self._cnxns.pop(cnxn.id, None)
        self.server.lose_cnxn(cnxn.id, reason)

    def _on_wire(self, wire: Wire) -> WireReceiver:
        cnxn = NioServerCnxn(wire, self, self.server.open_cnxn, self._time.hi_res_clock_ms())
        self._cnxns[cnxn.id] = cnxn
        return cnxn

    def _perform(self, effects: Sequence[Effect]) -> None:
        """Perform the effects. All bytes for one connection are sent in a single write, in the
        order of the effects.
        """
        parts: dict[int, list[bytes]] = {}
        finished: list[int] = []
        for effect in effects:
            match effect:
                case Reply(cnxn, xid, zxid, code, body):
                    parts.setdefault(cnxn, []).append(encode_reply(xid, zxid, code, body))
                case Notify(cnxn, event):
                    parts.setdefault(cnxn, []).append(encode_notification(event))
                case ConnectReply(cnxn, response):
                    parts.setdefault(cnxn, []).append(encode_connect_response(response))
                    if cnxn in self._cnxns:
                        self._cnxns[cnxn].welcomed = True
                case CloseCnxn(cnxn):
                    finished.append(cnxn)
                case AppendTxn():
                    raise AssertionError(
                        "a transaction must have been taken by the SyncRequestProcessor"
                    )
        for cnxn_id, frames in parts.items():
            receiver = self._cnxns.get(cnxn_id)
            if receiver is not None:
                self.server.stats.packets_sent += len(frames)
                receiver.send(frames)
        for cnxn_id in finished:
            receiver = self._cnxns.get(cnxn_id)
            if receiver is not None:
                receiver.finish()
        if self._waiting and self.server.stats.outstanding < MAX_OUTSTANDING:
            waiting, self._waiting = self._waiting, []
            for receiver in waiting:
                if not receiver.closed:
                    receiver.wait(False)

    async def _tick(self) -> None:
        while True:
            await self._time.sleep(
                self.server.sessions.next_expiration_ms - self._time.hi_res_clock_ms()
            )
            now_ms = self._time.hi_res_clock_ms()
            effects = self.server.tick(now_ms, self._time.milliseconds())
            if effects:
                self._sync.submit(effects, is_request=False)
            for cnxn in list(self._cnxns.values()):
                self._close_if_idle(cnxn, now_ms)

    def _close_if_idle(self, cnxn: NioServerCnxn, now_ms: int) -> None:
        """Close the connection if it has had no session for SESSIONLESS_TIMEOUT_MS. Also close it
        if the server wants to end it, but the client has not read the last bytes within that time.
        """
        if cnxn.finishing:
            cnxn.finishing_since_ms = (
                now_ms if cnxn.finishing_since_ms is None else cnxn.finishing_since_ms
            )
            if now_ms - cnxn.finishing_since_ms >= SESSIONLESS_TIMEOUT_MS:
                cnxn.wire.close()
        elif not cnxn.connected and now_ms - cnxn.opened_ms >= SESSIONLESS_TIMEOUT_MS:
            cnxn.finish()
