"""The server's data on disk: a log of transactions, and snapshots of the tree, in a format of our
own (ZooKeeper: FileTxnSnapLog.java).

    log.<zxid of its first transaction, 16 hex digits>
        8 bytes "KEZKLOG1", then records: int length, int CRC-32 of the record, the record (see
        txn_serialization)
    snapshot.<zxid of its last transaction, 16 hex digits>
        8 bytes "KEZKSNP1", int CRC-32 of the rest, long zxid, int n, n sessions (long id, int
        time-out), int m, m nodes (parents before children; see txn_serialization.encode_row)

Recovery loads the newest complete snapshot and replays the later transactions. A crash can leave an
incomplete record at the end of the last log. Therefore recovery cuts the last log off before the
first record that is too short or has a wrong CRC. In an earlier log such a record means that data
on the disk is damaged, and the server refuses to start.

A snapshot contains exactly the transactions up to its zxid, so recovery needs only logs with later
transactions. The server keeps the two newest snapshots, and all logs with transactions after the
older of the two.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final
from zlib import crc32

from kafka_edu.common.files import File, FileSystem
from kafka_edu.zk.embedded.data_tree import NodeRow
from kafka_edu.zk.embedded.txn import Txn, TxnHeader
from kafka_edu.zk.embedded.txn_serialization import decode_row, decode_txn, encode_row, encode_txn
from kafka_edu.zk.embedded.zookeeper_server import ZooKeeperServer
from kafka_edu.zk.jute.codec import Decoder, JuteError, encode_int, encode_long

LOG_MAGIC: Final = b"KEZKLOG1"
SNAPSHOT_MAGIC: Final = b"KEZKSNP1"
SNAPSHOTS_KEPT: Final = 2


class DataDirError(Exception):
    """Raised if the server cannot use its data folder. The message says why, and what the user can
    do.
    """


def frame_txn(header: TxnHeader, txn: Txn) -> bytes:
    """Return a transaction as a record of the log: length, CRC, then the encoded transaction."""
    record = encode_txn(header, txn)
    return encode_int(len(record)) + crc32(record).to_bytes(4, "big") + record


class FileTxnSnapLog:
    """The log and snapshot files of one server.

    The methods may block while they wait for the disk. Only one of them runs at a time. The asyncio
    loop calls them when the server starts and stops. In between, a single worker thread calls them.
    """

    def __init__(self, file_system: FileSystem, data_dir: str) -> None:
        self._fs = file_system
        self._dir = data_dir
        self._log: File | None = None
        file_system.make_dirs(data_dir)

    @property
    def log_size(self) -> int:
        """The number of bytes in the current log."""
        return self._log.size() if self._log is not None else 0

    def restore(self, server: ZooKeeperServer) -> int:
        """Load the data from disk into a new server. Return how many transactions were replayed.
        Raises DataDirError if the data is damaged.
        """
        self._load_newest_snapshot(server)
        logs = self._files("log.")
        begun = [zxid for zxid, _ in logs if zxid <= server.tree.last_processed_zxid + 1]
        replayed = 0
        for first, name in logs:
            if first >= max(begun, default=0):
                replayed += self._replay(server, name, is_last=(first, name) == logs[-1])
        return replayed

    def append(self, first_zxid: int, frames: Sequence[bytes]) -> None:
        """Append transactions to the log. They are on disk only after `flush`.

        If no log is open, a new log is opened. Its name has `first_zxid`, the zxid of its first
        transaction.
        """
        if self._log is None:
            self._log = self._fs.open(self._path(f"log.{first_zxid:016x}"))
            if self._log.size() == 0:
                self._log.append([LOG_MAGIC])
        self._log.append([b"".join(frames)])  # one part, because pwritev accepts at most 1024

    def flush(self) -> None:
        if self._log is not None:
            self._log.flush()

    def roll(self) -> None:
        """Force the log to disk and close it. The next `append` begins a new log."""
        if self._log is not None:
            self._log.flush()
            self._log.close()
            self._log = None

    def save_snapshot(self, zxid: int, sessions: Mapping[int, int], rows: Sequence[NodeRow]) -> int:
        """Write a snapshot and return its size in bytes. Then delete the snapshots and logs that
        recovery no longer needs.
        """
        parts = [encode_long(zxid), encode_int(len(sessions))]
        parts += [
            encode_long(session_id) + encode_int(timeout_ms)
            for session_id, timeout_ms in sessions.items()
        ]
        parts.append(encode_int(len(rows)))
        parts += map(encode_row, rows)
        body = b"".join(parts)
        self._fs.write_atomically(
            self._path(f"snapshot.{zxid:016x}"),
            SNAPSHOT_MAGIC + crc32(body).to_bytes(4, "big") + body,
        )
        self._purge()
        return len(body) + len(SNAPSHOT_MAGIC) + 4

    def close(self) -> None:
        self.roll()

    def _path(self, name: str) -> str:
        return f"{self._dir}/{name}"

    def _files(self, prefix: str) -> list[tuple[int, str]]:
        """Return (zxid, file name) of all files whose names begin with `prefix`, sorted by zxid."""
        found = []
        for name in self._fs.list(self._dir):
            digits = name.removeprefix(prefix)
            if digits != name and len(digits) == 16:
                try:
                    found.append((int(digits, 16), name))
                except ValueError:
                    continue
        return sorted(found)

    def _load_newest_snapshot(self, server: ZooKeeperServer) -> None:
        snapshots = self._files("snapshot.")
        for _, name in reversed(snapshots):
            data = self._fs.read(self._path(name))
            body = data[12:]
            if data[:8] != SNAPSHOT_MAGIC or int.from_bytes(data[8:12], "big") != crc32(body):
                continue
            d = Decoder(body)
            zxid = d.read_long()
            sessions = {d.read_long(): d.read_int() for _ in range(d.read_int())}
            server.load_snapshot(zxid, sessions, [decode_row(d) for _ in range(d.read_int())])
            return
        if snapshots and not any(zxid == 1 for zxid, _ in self._files("log.")):
            raise DataDirError(
                f"no snapshot in {self._dir} is complete, and the logs do not begin at the first"
                " transaction: restore it from a copy"
            )

    def _replay(self, server: ZooKeeperServer, name: str, *, is_last: bool) -> int:
        path = self._path(name)
        data = self._fs.read(path)
        position, end, replayed = len(LOG_MAGIC), len(data), 0
        if data[:position] != LOG_MAGIC:
            if not is_last or len(data) >= position:
                raise DataDirError(f"{path} is not a log of this server: move it away")
            position = 0
        while position + 8 <= end:
            length = int.from_bytes(data[position : position + 4], "big")
            record = data[position + 8 : position + 8 + length]
            if len(record) < length or crc32(record) != int.from_bytes(
                data[position + 4 : position + 8], "big"
            ):
                break
            try:
                header, txn = decode_txn(record)
            except (JuteError, ValueError) as error:
                raise DataDirError(
                    f"{path} holds at {position} a transaction of another version: {error}"
                ) from None
            position += 8 + length
            if header.zxid <= server.tree.last_processed_zxid:
                continue  # the snapshot contains this transaction
            if header.zxid != server.tree.last_processed_zxid + 1:
                raise DataDirError(
                    f"{path}: transaction {header.zxid:#x} follows"
                    f" {server.tree.last_processed_zxid:#x}: a log is missing"
                )
            server.replay(header, txn)
            replayed += 1
        if position < end:
            if not is_last:
                raise DataDirError(
                    f"{path} is damaged at {position}, and later logs exist: restore it from a copy"
                )
            torn = self._fs.open(path)
            torn.truncate(position)
            torn.flush()
            torn.close()
        return replayed

    def _purge(self) -> None:
        snapshots = self._files("snapshot.")
        for _, name in snapshots[:-SNAPSHOTS_KEPT]:
            self._fs.remove(self._path(name))
        oldest = snapshots[-SNAPSHOTS_KEPT:][0][0]
        logs = self._files("log.")
        for (_, name), (following, _) in pairwise(logs):
            # If the next log begins right after the oldest kept snapshot, or earlier, then this
            # snapshot contains all transactions of this log.
            if following <= oldest + 1:
                self._fs.remove(self._path(name))
