"""Real sockets: order, back pressure, files, and what is lost when a side goes away."""

import asyncio
import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_edu.common.files import OsFile, OsFileSystem
from kafka_edu.common.socket_transport import SMALL_REGION_BYTES, SocketTransport
from kafka_edu.common.transport import FileRegion, LazyPart, Wire
from tests.waiting import PATIENCE_S


class Ear:
    """Collects what it is told, and lets a test wait for it."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.data = bytearray()
        self.lost: str | None = None
        self.sent = 0
        self.changed = asyncio.Event()

    def data_received(self, data: memoryview) -> None:
        self.data += data
        self.changed.set()

    def all_sent(self) -> None:
        self.sent += 1

    def connection_lost(self, reason: str) -> None:
        self.lost = reason
        self.changed.set()

    async def until_size(self, size: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.data) < size:
                self.changed.clear()
                await self.changed.wait()

    async def until_lost(self) -> str:
        async with asyncio.timeout(PATIENCE_S):
            while self.lost is None:
                self.changed.clear()
                await self.changed.wait()
        return self.lost


class Pair:
    """Both ends of one connection."""

    def __init__(self) -> None:
        self.there: list[Ear] = []
        self.here: list[Ear] = []

    async def open(self) -> tuple[Ear, Ear]:
        transport = SocketTransport()

        def accept(wire: Wire) -> Ear:
            self.there.append(Ear(wire))
            return self.there[-1]

        def connected(wire: Wire) -> Ear:
            self.here.append(Ear(wire))
            return self.here[-1]

        listener = await transport.listen("127.0.0.1", 0, accept)
        wire = await transport.connect("127.0.0.1", listener.port, connected, PATIENCE_S * 1000)
        wire.send([b"hello"])
        async with asyncio.timeout(PATIENCE_S):
            while not self.there:
                await asyncio.sleep(0)
        await self.there[0].until_size(5)
        self.there[0].data.clear()
        listener.close()
        return self.here[0], self.there[0]


def test_parts_and_files_arrive_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        here, there = await Pair().open()
        file = OsFileSystem().open(str(tmp_path / "log"))
        content = bytes(range(256)) * 40_000
        file.append([content])
        here.wire.send([b"head", FileRegion(file, 100, 5_000_000), b"middle", FileRegion(file, 0, 0), memoryview(b"tail")])
        expected = b"head" + content[100:5_000_100] + b"middletail"
        await there.until_size(len(expected))
        assert bytes(there.data) == expected
        assert here.wire.unsent == 0
        here.wire.close()
        assert await there.until_lost() == "closed by the other side"
        file.close()

    asyncio.run(main())


class Counted:
    """The bytes that `os.sendfile` moved, those that were read into this process, and the calls of `sendmsg`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.by_sendfile = self.read = self.calls = 0
        sendfile, pread, sendmsg = os.sendfile, OsFile.pread, socket.socket.sendmsg

        def counted_sendfile(*args: int) -> int:
            moved = sendfile(*args)
            self.by_sendfile += moved
            return moved

        def counted_pread(file: OsFile, count: int, position: int) -> bytes:
            self.read += count
            return pread(file, count, position)

        def counted_sendmsg(sock: socket.socket, *args: Any) -> int:
            self.calls += 1
            return sendmsg(sock, *args)

        patch.setattr(os, "sendfile", counted_sendfile)
        patch.setattr(OsFile, "pread", counted_pread)
        patch.setattr(socket.socket, "sendmsg", counted_sendmsg)


@pytest.mark.skipif(not hasattr(os, "sendfile"), reason="this system has no sendfile")
@pytest.mark.parametrize(("size", "by_sendfile"), [(10_000_000, True), (SMALL_REGION_BYTES + 1, True), (SMALL_REGION_BYTES, False), (65_536, False)])
def test_records_of_more_than_a_batch_never_enter_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, by_sendfile: bool) -> None:
    """Zero copy, counted (spec S6); and a batch that is as long as producers make them leaves in one call, with what is before and behind it."""

    async def main() -> None:
        here, there = await Pair().open()
        file = OsFileSystem().open(str(tmp_path / "log"))
        file.append([os.urandom(1_000) * (size // 1_000 + 1)])
        counted = Counted(monkeypatch)
        here.wire.send([b"head", FileRegion(file, 0, size), b"tail"])
        await there.until_size(size + 8)
        if by_sendfile:
            assert (counted.by_sendfile, counted.read) == (size, 0)
        else:
            assert (counted.by_sendfile, counted.read, counted.calls) == (0, size, 1)
        here.wire.close()
        await there.until_lost()
        file.close()

    asyncio.run(main())


def test_a_paused_reader_holds_the_sender_back() -> None:
    async def main() -> None:
        here, there = await Pair().open()
        there.wire.pause_reading()
        here.wire.send([bytes(20_000_000)])
        await asyncio.sleep(0)
        assert here.wire.unsent > 0
        assert len(there.data) == 0
        there.wire.resume_reading()
        await there.until_size(20_000_000)
        assert here.wire.unsent == 0
        there.wire.close()
        await here.until_lost()

    asyncio.run(main())


def test_a_file_shorter_than_promised_costs_the_connection(tmp_path: Path) -> None:
    async def main() -> None:
        here, there = await Pair().open()
        file = OsFileSystem().open(str(tmp_path / "log"))
        file.append([b"short"])
        here.wire.send([FileRegion(file, 0, 100)])
        assert "ends before byte" in await here.until_lost()
        await there.until_lost()
        file.close()

    asyncio.run(main())


def test_what_is_made_while_it_is_sent_is_made_piece_by_piece() -> None:
    made = []

    def pieces() -> Iterator[bytes]:
        for i in range(200):
            made.append(i)
            yield bytes((i,)) * 100_000

    async def main() -> None:
        here, there = await Pair().open()
        there.wire.pause_reading()
        here.wire.send([b"head", LazyPart(20_000_000, pieces()), b"tail"])
        await asyncio.sleep(0)
        assert len(made) == 1, "one piece a turn of the loop"
        assert here.wire.unsent > 19_000_000
        there.wire.resume_reading()
        await there.until_size(20_000_008)
        assert bytes(there.data) == b"head" + b"".join(bytes((i,)) * 100_000 for i in range(200)) + b"tail"
        assert here.wire.unsent == 0
        here.wire.close()
        await there.until_lost()

    asyncio.run(main())


def test_what_cannot_be_made_to_its_end_costs_the_connection() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"some"
        raise OSError(errno.EIO, "the batch cannot be read")

    async def main() -> None:
        here, there = await Pair().open()
        here.wire.send([LazyPart(100, pieces())])
        assert await here.until_lost() == "the batch cannot be read"
        await there.until_lost()

    asyncio.run(main())


def test_a_refused_connection_is_an_os_error() -> None:
    async def main() -> None:
        transport = SocketTransport()
        listener = await transport.listen("127.0.0.1", 0, Ear)
        port = listener.port
        with pytest.raises(OSError, match="cannot listen"):
            await transport.listen("127.0.0.1", port, Ear)
        listener.close()
        with pytest.raises(ConnectionRefusedError):
            await transport.connect("127.0.0.1", port, Ear, 1000)

    asyncio.run(main())
