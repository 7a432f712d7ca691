"""Run one embedded ZooKeeper server as a process: `python -m kafka_edu.zk.embedded.main --port 2181
--data-dir D`.

The server prints `ready PORT` when it accepts connections. After SIGTERM or SIGINT it writes a
snapshot and ends, so that the next start does not have to replay any transaction. Two servers in
one data folder would destroy the data. Therefore a server locks its folder, and a second server
refuses to start.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import BinaryIO, TypeVar

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.ports import ZOOKEEPER_PORT
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.common.words import cause_of
from kafka_edu.trace.event import ZOOKEEPER
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.file_txn_snap_log import DataDirError, FileTxnSnapLog
from kafka_edu.zk.embedded.server_cnxn_factory import ServerCnxnFactory
from kafka_edu.zk.embedded.session_tracker import TICK_TIME_MS
from kafka_edu.zk.embedded.sync_request_processor import SNAP_COUNT

T = TypeVar("T")
"""The type of the result of a call that runs in a worker thread."""


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m kafka_edu.zk.embedded.main", description="An embedded ZooKeeper server."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=ZOOKEEPER_PORT, help="0 picks a free one")
    parser.add_argument(
        "--data-dir",
        required=True,
        help="folder for the log and the snapshots; created if it is missing",
    )
    parser.add_argument(
        "--tick-time",
        type=int,
        default=TICK_TIME_MS,
        metavar="MS",
        help="sessions last 2 to 20 ticks (default %(default)s)",
    )
    parser.add_argument(
        "--max-session-timeout",
        type=int,
        metavar="MS",
        help="the longest session, instead of 20 ticks",
    )
    parser.add_argument(
        "--snap-count",
        type=int,
        default=SNAP_COUNT,
        metavar="N",
        help="write a snapshot after every N transactions (default %(default)s)",
    )
    parser.add_argument(
        "--no-fsync",
        action="store_true",
        help="answer before a write is on disk: a crash of the machine may lose answered writes",
    )
    parser.add_argument(
        "--events-file",
        metavar="FILE",
        help="write the address of the event socket to FILE: host, port, token, pid",
    )
    return parser.parse_args(arguments)


async def in_worker(call: Callable[[], T], /) -> T:
    """Run `call` in a worker thread and return its result, because the call waits for the disk."""
    return await asyncio.get_running_loop().run_in_executor(None, call)


async def inline(call: Callable[[], T], /) -> T:
    return call()


def lock(data_dir: str) -> BinaryIO:
    """Lock the data folder for this process, and write the process id into the lock file.

    Return the open lock file. Raises DataDirError if another process holds the lock. The message
    has that process's id.
    """
    os.makedirs(data_dir, exist_ok=True)
    # This file stays open. The lock ends when the process ends, even if it is killed.
    file = open(os.path.join(data_dir, "lock"), "a+b")  # noqa: SIM115
    try:
        import fcntl
    except ImportError:  # this system has no such lock
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().decode("ascii", "replace").strip()
        file.close()
        process = f" (process {holder})" if holder else ""
        raise DataDirError(
            f"{data_dir} is in use by another ZooKeeper{process}: stop it, or give another"
            " --data-dir"
        ) from None
    file.truncate(0)
    file.write(b"%d\n" % os.getpid())
    file.flush()
    return file


async def serve(
    arguments: argparse.Namespace, on_tracer: Callable[[Tracer], object] | None = None
) -> int:
    """Run the server until a signal or a failure. Return the exit code of the process.

    If the server emits events, `on_tracer` is called with its tracer.
    """
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    failures: list[str] = []

    def fail(reason: object) -> None:
        failures.append(
            f"its data in {arguments.data_dir} cannot be written: {cause_of(reason)}"
            if isinstance(reason, OSError)
            else str(reason)
        )
        stopped.set()

    loop.set_exception_handler(
        lambda _, context: fail(context.get("exception") or context["message"])
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    time = SystemTime()
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock(arguments.data_dir))
        transport = SocketTransport()
        tracer = Tracer(ZOOKEEPER, time) if arguments.events_file else None
        if tracer is not None:
            await _open_event_socket(tracer, transport, arguments.events_file, stack)
            if on_tracer is not None:
                on_tracer(tracer)
        factory = ServerCnxnFactory(
            time=time,
            transport=transport,
            log=FileTxnSnapLog(OsFileSystem(), arguments.data_dir),
            data_dir=arguments.data_dir,
            run_blocking=inline if arguments.no_fsync else in_worker,
            on_failure=fail,
            tick_time_ms=arguments.tick_time,
            max_session_ms=arguments.max_session_timeout,
            force_sync=not arguments.no_fsync,
            snap_count=arguments.snap_count,
            trace=tracer,
        )
        port = await factory.start(arguments.host, arguments.port)
        print(f"ready {port}", flush=True)
        await stopped.wait()
        try:
            await factory.stop()
        except OSError as error:
            if not failures:
                fail(error)
    for failure in failures:
        print(f"ZooKeeper has stopped, because {failure}", file=sys.stderr, flush=True)
    return 1 if failures else 0


async def _open_event_socket(
    tracer: Tracer, transport: SocketTransport, path: str, stack: contextlib.ExitStack
) -> None:
    """Send the server's events to the clients that connect to a socket. The socket closes when
    `stack` is closed.
    """
    import secrets

    # Importing these modules and json takes 8 ms. A server without events saves this time.
    from kafka_edu.trace.socket_sink import EventServer
    from kafka_edu.trace.trace_ring import SMALL_BYTES

    events = EventServer(
        tracer, transport, tracer.time, secrets.token_hex(16), ring_bytes=SMALL_BYTES
    )
    stack.callback(events.close)
    if not await events.publish(path):  # ZooKeeper works without events
        return
    stack.callback(_remove_quietly, path)
    stack.callback(asyncio.create_task(events.run()).cancel)


def _remove_quietly(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)


def main(
    arguments: list[str] | None = None, on_tracer: Callable[[Tracer], object] | None = None
) -> int:
    """Run the ZooKeeper server with these command-line arguments. If `arguments` is None, the
    arguments of this process are used.
    """
    try:
        return asyncio.run(serve(parse(arguments), on_tracer))
    except (DataDirError, OSError) as error:
        print(f"ZooKeeper cannot start: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
