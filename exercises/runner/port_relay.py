"""Open ports of brokers inside the network namespace of a jailed process.

A jail has its own loopback interface, on which nothing listens. This module makes a socket in the
jail that listens at the same address as a broker outside the jail, and passes all bytes to this
broker. So the jailed process reaches this broker, but no other service of this machine.
"""

import asyncio
import ctypes
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

HOST: Final = "127.0.0.1"
MOST_CONNECTIONS: Final = 200
"""The maximum number of connections. Connections above this number are closed immediately."""
_CHUNK: Final = 65536
_CLONE_NEWNET: Final = 0x40000000


class PortRelay:
    """The open ports of one jail. A separate thread passes the bytes."""

    def __init__(self, pid: int) -> None:
        """`pid` is a process in the jail's network namespace."""
        self._pid = pid
        self._open: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="ports of a jail", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def open(self, servers: Sequence[str]) -> None:
        """Open the ports of `servers` (host:port) in the jail, unless they are open already. Raises
        OSError.
        """
        for server in servers:
            port = int(server.rpartition(":")[2])
            if port not in self._open:
                with network_of(self._pid):
                    listening = socket.create_server((HOST, port))
                asyncio.run_coroutine_threadsafe(self._listen(listening, port), self._loop).result()
                self._open.add(port)

    async def _listen(self, listening: socket.socket, port: int) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if len(self._tasks) >= MOST_CONNECTIONS:
                writer.close()
                return
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await _connect(reader, writer, port)
            finally:
                self._tasks.discard(task)
                writer.close()

        self._listening.append(await asyncio.start_server(accept, sock=listening))

    def close(self) -> None:
        """Close all ports and connections."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        for server in self._listening:
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """Connect to the broker, and pass all bytes in both directions until one side ends."""
    with suppress(OSError):
        from_broker, to_broker = await asyncio.open_connection(HOST, port)
        try:
            ways = [
                asyncio.create_task(_pass(reader, to_broker)),
                asyncio.create_task(_pass(from_broker, writer)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
        finally:
            to_broker.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()


@contextmanager
def network_of(pid: int) -> Iterator[None]:
    """In a `with` block, let this thread make its sockets in the network namespace of the process
    `pid`.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(namespace: int) -> None:
        if libc.setns(namespace, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"setns: {os.strerror(number)}")

    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        other = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        try:
            enter(other)
        finally:
            os.close(other)
        try:
            yield
        finally:
            enter(own)
    finally:
        os.close(own)
