"""Answer the four-letter words. These are short commands that show a server's state as plain text,
for people and scripts (ZooKeeper: command/*.java).

$ echo ruok | nc 127.0.0.1 2181
imok
"""

import contextlib
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.zk.embedded.zookeeper_server import ZooKeeperServer

VERSION: Final = "3.6.3-kafka-edu"
"""The release of ZooKeeper whose protocol this server speaks."""


class CnxnRow(NamedTuple):
    """One connection: a line in the answer to the four-letter word `cons`."""

    cnxn: int
    peer: str
    session_id: int
    received: int
    sent: int
    queued_bytes: int


class ServerView(NamedTuple):
    """Everything that the answer to a four-letter word can show: the server, its connections, its
    port and its data folder.
    """

    server: ZooKeeperServer
    cnxns: Sequence[CnxnRow]
    port: int
    data_dir: str
    reset_cnxns: Callable[[], None]
    """Function that sets the packet counters of all connections to 0."""


def ruok(_: ServerView) -> str:
    return "imok"


def isro(_: ServerView) -> str:
    return "rw"


def srvr(view: ServerView) -> str:
    return (
        f"Zookeeper version: {VERSION}, built on Python"
        f" {platform.python_version()}\n{_summary(view)}"
    )


def stat(view: ServerView) -> str:
    clients = "".join(
        f" /{c.peer}[{int(c.session_id != 0)}](queued={c.queued_bytes},recved={c.received},sent={c.sent})\n"  # noqa: E501
        for c in view.cnxns
    )
    return (
        f"Zookeeper version: {VERSION}, built on Python"
        f" {platform.python_version()}\nClients:\n{clients}\n{_summary(view)}"
    )


def _summary(view: ServerView) -> str:
    server = view.server
    low, average, high = server.stats.latency_us
    return (
        f"Latency min/avg/max: {low // 1000}/{average / 1000:.4f}/{high // 1000}\n"
        f"Received: {server.stats.packets_received}\n"
        f"Sent: {server.stats.packets_sent}\n"
        f"Connections: {len(view.cnxns)}\n"
        f"Outstanding: {server.stats.outstanding}\n"
        f"Zxid: {server.tree.last_processed_zxid:#x}\n"
        "Mode: standalone\n"
        f"Node count: {_node_count(server)}\n"
    )


def _node_count(server: ZooKeeperServer) -> int:
    """Return the number of znodes, as ZooKeeper counts them. ZooKeeper counts the root twice, as
    `/` and as the empty path.
    """
    return len(server.tree.nodes) + 1


def mntr(view: ServerView) -> str:
    server = view.server
    low, average, high = server.stats.latency_us
    data_size = sum(len(path) + len(node.data or b"") for path, node in server.tree.nodes.items())
    rows: list[tuple[str, object]] = [
        ("version", f"{VERSION}, built on Python {platform.python_version()}"),
        ("server_state", "standalone"),
        ("avg_latency", f"{average / 1000:.4f}"),
        ("max_latency", high // 1000),
        ("min_latency", low // 1000),
        ("packets_received", server.stats.packets_received),
        ("packets_sent", server.stats.packets_sent),
        ("num_alive_connections", len(view.cnxns)),
        ("outstanding_requests", server.stats.outstanding),
        ("znode_count", _node_count(server)),
        ("watch_count", server.tree.data_watches.count + server.tree.child_watches.count),
        ("ephemerals_count", server.tree.ephemeral_count),
        ("approximate_data_size", data_size),
        ("global_sessions", len(server.sessions.sessions)),
        ("last_processed_zxid", server.tree.last_processed_zxid),
    ]
    return "".join(f"zk_{key}\t{value}\n" for key, value in rows)


def cons(view: ServerView) -> str:
    rows = []
    for c in view.cnxns:
        session = view.server.sessions.sessions.get(c.session_id)
        more = f",sid=0x{c.session_id:x},to={session.timeout_ms}" if session else ""
        rows.append(
            f" /{c.peer}[{int(session is not None)}](queued={c.queued_bytes},recved={c.received},sent={c.sent}{more})\n"  # noqa: E501
        )
    return "".join(rows) + "\n"


def dump(view: ServerView) -> str:
    tree, sessions = view.server.tree, view.server.sessions
    buckets: dict[int, list[int]] = {}
    for session in sessions.sessions.values():
        buckets.setdefault(session.expires_at, []).append(session.id)
    lines = ["SessionTracker dump:", f"Session Sets ({len(buckets)})/({len(sessions.sessions)}):"]
    for expires_at, ids in sorted(buckets.items()):
        lines.append(f"{len(ids)} expire at {expires_at} ms:")
        lines += [f"\t0x{session_id:x}" for session_id in ids]
    lines += ["ephemeral nodes dump:", f"Sessions with Ephemerals ({len(tree.ephemerals)}):"]
    for session_id, paths in tree.ephemerals.items():
        lines.append(f"0x{session_id:x}:")
        lines += [f"\t{path}" for path in paths]
    return "\n".join(lines) + "\n"


def wchs(view: ServerView) -> str:
    """Return how many watches, watchers and watched paths there are.

    As in ZooKeeper, `wchs`, `wchc` and `wchp` show only data watches, no child watches.
    """
    watches = view.server.tree.data_watches
    return (
        f"{watches.watchers} connections watching {watches.paths} paths\nTotal"
        f" watches:{watches.count}\n"
    )


def wchc(view: ServerView) -> str:
    """Return the watched paths of each session."""
    return _grouped(view, lambda path, session: (f"0x{session:x}", path))


def wchp(view: ServerView) -> str:
    """Return the watching sessions of each path."""
    return _grouped(view, lambda path, session: (path, f"0x{session:x}"))


def _grouped(view: ServerView, key_and_item: Callable[[str, int], tuple[str, str]]) -> str:
    groups: dict[str, list[str]] = {}
    for path, watcher in view.server.tree.data_watches.items():
        key, item = key_and_item(path, view.server.cnxns[watcher].session_id)
        groups.setdefault(key, []).append(item)
    return "".join(
        f"{key}\n" + "".join(f"\t{item}\n" for item in items) for key, items in groups.items()
    )


def conf(view: ServerView) -> str:
    """Return the settings, with the names and in the order of ZooKeeper.

    The value -1 means that there is no TLS port, and that the operating system chooses the backlog.
    """
    sessions, size = view.server.sessions, _bytes_in(view.data_dir)
    return (
        f"clientPort={view.port}\nsecureClientPort=-1\n"
        f"dataDir={view.data_dir}\ndataDirSize={size}\n"
        f"dataLogDir={view.data_dir}\ndataLogSize={size}\n"
        f"tickTime={sessions.tick_time_ms}\nmaxClientCnxns=0\n"
        f"minSessionTimeout={sessions.min_timeout_ms}\n"
        f"maxSessionTimeout={sessions.max_timeout_ms}\n"
        "clientPortListenBacklog=-1\nserverId=0\n"
    )


def envi(_: ServerView) -> str:
    return (
        f"Environment:\nzookeeper.version={VERSION}\nhost.name={platform.node()}\npython.version={platform.python_version()}\n"
        f"os.name={platform.system()}\nos.arch={platform.machine()}\nos.version={platform.release()}\nuser.dir={os.getcwd()}\n"
    )


def srst(view: ServerView) -> str:
    view.server.stats.reset()
    return "Server stats reset.\n"


def crst(view: ServerView) -> str:
    view.reset_cnxns()
    return "Connection stats reset.\n"


def dirs(view: ServerView) -> str:
    """Return the sizes of the snapshots and of the log, in bytes. Both numbers are the size of the
    whole data folder, because the two kinds of files lie in the same folder. ZooKeeper does the
    same if no dataLogDir is configured.
    """
    size = _bytes_in(view.data_dir)
    return f"datadir_size: {size}\nlogdir_size: {size}\n"


def _bytes_in(folder: str) -> int:
    """Return the size of all files in the folder, in bytes."""
    size = 0
    for path in Path(folder).rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # an old snapshot was deleted in between
            size += path.stat().st_size if path.is_file() else 0
    return size


_COMMANDS: Final[dict[str, Callable[[ServerView], str]]] = {
    word.__name__: word
    for word in (
        ruok,
        isro,
        srvr,
        stat,
        mntr,
        cons,
        crst,
        dirs,
        dump,
        wchs,
        wchc,
        wchp,
        conf,
        envi,
        srst,
    )
}
WORDS: Final = frozenset(word.encode() for word in _COMMANDS)
"""All four-letter words, as bytes. A connection that begins with one of them gets plain text.

No word can be mistaken for a frame's length: read as a number, each word is above 1.6 billion.
"""


def answer(word: str, view: ServerView) -> str:
    """Return the server's answer to the four-letter word `word`, as text."""
    return _COMMANDS[word](view)
