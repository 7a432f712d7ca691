"""Group commit: send no answer before its transaction is on disk (ZooKeeper:
SyncRequestProcessor.java).

The server's effects arrive here in order. An effect with a transaction is written to the log. Every
later effect, even the answer to a read, waits until the log is forced to disk (fsync). Effects that
arrive during one fsync wait for the next fsync. So under load many requests share one fsync, and a
single request waits only for its own fsync.

    effects → here: written and forced, in a worker → perform (ServerCnxnFactory)

If no earlier transaction waits for the disk, an effect without a transaction is performed at once.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.time import Time
from kafka_edu.trace.events.zk import SnapshotTaken
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.file_txn_snap_log import FileTxnSnapLog, frame_txn
from kafka_edu.zk.embedded.zookeeper_server import AppendTxn, Effect, ZooKeeperServer

SNAP_COUNT: Final = 50_000
"""After this many transactions the server writes a new snapshot. ZooKeeper's default (snapCount) is
100 000.
"""
SNAP_SIZE_BYTES: Final = 64 * 1024 * 1024
"""If the log has grown by this many bytes, the server writes a snapshot before SNAP_COUNT is
reached.
"""


class SyncRequestProcessor:
    """Writes the log and the snapshots while the server runs. A single task does the writing.

    If the disk fails, `on_failure` is called once. The server must then stop.
    """

    def __init__(
        self,
        server: ZooKeeperServer,
        log: FileTxnSnapLog,
        perform: Callable[[Sequence[Effect]], None],
        *,
        time: Time,
        run_blocking: RunBlocking,
        on_failure: Callable[[OSError], None],
        force_sync: bool = True,
        snap_count: int = SNAP_COUNT,
        trace: Tracer | None = None,
    ) -> None:
        self._server = server
        self._log = log
        self._perform = perform
        self._time = time
        self._run_blocking = run_blocking
        self._on_failure = on_failure
        self._force_sync = force_sync
        self._snap_count = snap_count
        self._trace = trace
        self._frames: list[bytes] = []
        self._first_zxid = 0
        self._waiting: list[Effect] = []
        self._started_ns: list[int] = []
        self._writer: asyncio.Task[None] | None = None
        self._failed = False

    def submit(self, effects: Sequence[Effect], *, is_request: bool = True) -> None:
        """Take the effects of one request or one tick. They are performed in order: at once, or
        when the transactions before them are on disk.
        """
        if self._failed:
            return
        started_ns = self._time.nanoseconds()
        if self._writer is None and not any(isinstance(effect, AppendTxn) for effect in effects):
            self._perform(effects)
            if is_request:
                self._server.stats.served((self._time.nanoseconds() - started_ns) // 1000)
            return
        for effect in effects:
            if isinstance(effect, AppendTxn):
                if not self._frames:
                    self._first_zxid = effect.header.zxid
                self._frames.append(frame_txn(effect.header, effect.txn))
            else:
                self._waiting.append(effect)
        if is_request:
            self._started_ns.append(started_ns)
            self._server.stats.outstanding += 1
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())

    async def drain(self) -> None:
        """Wait until all effects that were submitted have been performed."""
        while self._writer is not None:
            await asyncio.shield(self._writer)

    async def close(self) -> None:
        """Write all transactions to disk, then a snapshot, and close the files. Thanks to the
        snapshot, the next start does not have to replay any transaction.
        """
        await self.drain()
        if self._failed:
            return
        if self._server.txns_applied:
            await self._snapshot()
        await self._run_blocking(self._log.close)

    async def _write(self) -> None:
        try:
            while self._frames or self._waiting:
                frames, self._frames = self._frames, []
                waiting, self._waiting = self._waiting, []
                started_ns, self._started_ns = self._started_ns, []
                if frames:
                    await self._run_blocking(
                        _Batch(self._log, self._first_zxid, frames, self._force_sync)
                    )
                self._server.stats.outstanding -= len(started_ns)
                self._perform(waiting)
                now_ns = self._time.nanoseconds()
                for one in started_ns:
                    self._server.stats.served((now_ns - one) // 1000)
                if (
                    self._server.txns_applied >= self._snap_count
                    or self._log.log_size >= SNAP_SIZE_BYTES
                ):
                    await self._snapshot()
        except OSError as error:
            self._failed = True
            self._on_failure(error)
        finally:
            self._writer = None

    async def _snapshot(self) -> None:
        """Write a snapshot. The loop copies the tree into a list of tuples. A worker thread encodes
        the list and writes it to disk.

        The copy may already contain transactions that are not in the log yet. They are written to
        the log later. A replay skips them, because the snapshot contains them.
        """
        server = self._server
        server.txns_applied = 0
        zxid = server.tree.last_processed_zxid
        sessions = {session.id: session.timeout_ms for session in server.sessions.sessions.values()}
        rows = list(server.tree.rows())

        def save() -> int:
            self._log.roll()
            return self._log.save_snapshot(zxid, sessions, rows)

        size = await self._run_blocking(save)
        if self._trace:
            self._trace(SnapshotTaken(zxid=zxid, znodes=len(rows), size_bytes=size))


class _Batch:
    """One group of transactions that the worker writes and forces to disk together."""

    def __init__(
        self, log: FileTxnSnapLog, first_zxid: int, frames: Sequence[bytes], force_sync: bool
    ) -> None:
        self._log = log
        self._first_zxid = first_zxid
        self._frames = frames
        self._force_sync = force_sync

    def __call__(self) -> None:
        self._log.append(self._first_zxid, self._frames)
        if self._force_sync:
            self._log.flush()
