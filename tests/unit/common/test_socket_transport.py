"""Real sockets: order, back pressure, files, and the data lost when one side disappears."""

import asyncio
import contextlib
import errno
import os
import socket
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.common.files import Buffer, OsFile, OsFileSystem
from kafka_edu.common.socket_transport import (
    MAX_READ_A_CALL,
    SMALL_REGION_BYTES,
    FileBytes,
    SocketTransport,
)
from kafka_edu.common.transport import FileRegion, LazyPart, Wire
from tests.waiting import PATIENCE_S
from tests.without_collector import left_in_cycles, without_collector


class Ear:
    """Collects the calls it gets, and lets a test wait for them."""

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
        self.file_bytes = FileBytes()

    async def open(self) -> tuple[Ear, Ear]:
        transport = SocketTransport()
        self.file_bytes = transport.file_bytes

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
        here.wire.send(
            [
                b"head",
                FileRegion(file, 100, 5_000_000),
                b"middle",
                FileRegion(file, 0, 0),
                memoryview(b"tail"),
            ]
        )
        expected = b"head" + content[100:5_000_100] + b"middletail"
        await there.until_size(len(expected))
        assert bytes(there.data) == expected
        assert here.wire.unsent == 0
        here.wire.close()
        assert await there.until_lost() == "closed by the other side"
        file.close()

    asyncio.run(main())


class ShortKernel:
    """Replaces system calls, so that the kernel takes less data.

    Each call of `sendfile` or `sendmsg` takes at most the next number of bytes in `takes`; 0 means
    that the call would block. When `takes` is used up, each call takes as much as the real kernel
    takes. The class counts the bytes moved and offered.
    """

    def __init__(self, patch: pytest.MonkeyPatch, takes: Iterable[int] = ()) -> None:
        self.by_sendfile = self.read = 0
        self.offered: list[int] = []
        """Bytes that each call of `sendmsg` was asked to send."""
        left = iter(takes)
        sendfile, pread, sendmsg = os.sendfile, OsFile.pread, socket.socket.sendmsg

        def most(asked: int) -> int:
            taken = min(next(left, asked), asked)
            if not taken:
                raise BlockingIOError(errno.EAGAIN, "would block")
            return taken

        def short_sendfile(out_fd: int, in_fd: int, position: int, length: int) -> int:
            moved = sendfile(out_fd, in_fd, position, most(length))
            self.by_sendfile += moved
            return moved

        def counted_pread(file: OsFile, count: int, position: int) -> bytes:
            self.read += count
            return pread(file, count, position)

        def short_sendmsg(
            sock: socket.socket, vector: list[Buffer], ancillary: tuple[()], flags: int
        ) -> int:
            whole = b"".join(vector)
            self.offered.append(len(whole))
            taken = most(len(whole)) if whole else 0
            return sendmsg(
                sock, vector if taken == len(whole) else [whole[:taken]], ancillary, flags
            )

        patch.setattr(os, "sendfile", short_sendfile)
        patch.setattr(OsFile, "pread", counted_pread)
        patch.setattr(socket.socket, "sendmsg", short_sendmsg)


with_sendfile = pytest.mark.skipif(
    not hasattr(os, "sendfile"), reason="this system has no sendfile"
)


@with_sendfile
@pytest.mark.parametrize(
    ("size", "by_sendfile"),
    [
        (10_000_000, True),
        (SMALL_REGION_BYTES + 1, True),
        (SMALL_REGION_BYTES, False),
        (65_536, False),
    ],
)
def test_records_of_more_than_a_batch_never_enter_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, by_sendfile: bool
) -> None:
    """The test counts the bytes that enter the process: zero copy (spec S6). A batch of a
    producer's usual length leaves in one call, with the data around it.

    A kernel may take any part of a region. The kernels of this test leave less than a batch of the
    region, and that rest must not be read either.
    """

    async def main() -> None:
        here, there = await Pair().open()
        file = OsFileSystem().open(str(tmp_path / "log"))
        file.append([Random(7).randbytes(1_000) * (size // 1_000 + 1)])
        kernel = ShortKernel(monkeypatch, [4, size - 40_000] if by_sendfile else [])
        here.wire.send([b"head", FileRegion(file, 0, size), b"tail"])
        await there.until_size(size + 8)
        if by_sendfile:
            assert (kernel.by_sendfile, kernel.read) == (size, 0)
        else:
            assert (kernel.by_sendfile, kernel.offered[0]) == (0, size + 8)
        here.wire.close()
        await there.until_lost()
        file.close()

    asyncio.run(main())


#: Sizes around the bound, and around what a kernel takes at once.
SIZES: Final = st.sampled_from(
    [1, 100, 65_536, SMALL_REGION_BYTES, SMALL_REGION_BYTES + 1, 100_000, 300_000]
)
#: How much one call of a kernel accepts: nothing, a byte, less than a batch, much.
TAKES: Final = st.lists(
    st.one_of(st.just(0), st.integers(1, 100), st.integers(1, 300_000)), max_size=30
)


@with_sendfile
@given(regions=st.lists(SIZES, max_size=6), takes=TAKES)
@settings(max_examples=100)
def test_every_byte_arrives_in_order_whatever_a_kernel_takes_at_once(
    regions: list[int], takes: list[int]
) -> None:
    """On any kernel each large region is sent completely by sendfile, each small region is read
    completely, and the transport's counters agree.
    """
    large = sum(size for size in regions if size > SMALL_REGION_BYTES)
    small = sum(regions) - large

    async def main(path: str) -> None:
        pair = Pair()
        here, there = await pair.open()
        file = OsFileSystem().open(path)
        content = bytes(range(251)) * 1_200
        file.append([content])
        parts = [
            part
            for i, size in enumerate(regions)
            for part in (b"part %d" % i, FileRegion(file, i, size))
        ]
        expected = (
            b"".join(
                (
                    part
                    if isinstance(part, bytes)
                    else content[part.position : part.position + part.length]
                )
                for part in parts
            )
            + b"tail"
        )
        with pytest.MonkeyPatch.context() as patch:
            kernel = ShortKernel(patch, takes)
            here.wire.send([*parts, b"tail"])
            await there.until_size(len(expected))
            assert bytes(there.data) == expected
            assert kernel.by_sendfile == large
            assert kernel.read >= small
            assert not kernel.read or small
            assert (pair.file_bytes.by_sendfile, pair.file_bytes.read) == (
                kernel.by_sendfile,
                kernel.read,
            )
        here.wire.close()
        await there.until_lost()
        file.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(f"{folder}/log"))


def test_many_small_regions_are_not_all_read_for_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that would block has read only a limited number of bytes, because all bytes that the
    kernel did not take must be read again.
    """

    async def main() -> None:
        here, there = await Pair().open()
        file = OsFileSystem().open(str(tmp_path / "log"))
        file.append([bytes(65_536)])
        kernel = ShortKernel(monkeypatch, [0])
        here.wire.send([FileRegion(file, 0, 65_536)] * 400)
        assert kernel.read <= MAX_READ_A_CALL + SMALL_REGION_BYTES
        await there.until_size(400 * 65_536)
        here.wire.close()
        await there.until_lost()
        file.close()

    asyncio.run(main())


async def fill(ear: Ear) -> int:
    """Send until the kernel takes no more, whatever its buffers hold. Return the number of bytes
    sent.
    """
    sent = 0
    while not ear.wire.unsent:
        ear.wire.send([bytes(1_000_000)])
        sent += 1_000_000
        await asyncio.sleep(0)
    return sent


def test_a_paused_reader_holds_the_sender_back() -> None:
    async def main() -> None:
        here, there = await Pair().open()
        there.wire.pause_reading()
        size = await fill(here)
        assert len(there.data) == 0
        there.wire.resume_reading()
        await there.until_size(size)
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
        assert (
            bytes(there.data)
            == b"head" + b"".join(bytes((i,)) * 100_000 for i in range(200)) + b"tail"
        )
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


def test_a_refused_connection_leaves_nothing_for_the_garbage_collector() -> None:
    """A fetcher tries again and again while its leader is dead."""

    async def main() -> None:
        transport = SocketTransport()
        listener = await transport.listen("127.0.0.1", 0, Ear)
        port = listener.port
        listener.close()
        with contextlib.suppress(ConnectionRefusedError):
            await transport.connect("127.0.0.1", port, Ear, 1000)

    assert left_in_cycles(lambda: asyncio.run(main()), ConnectionRefusedError) == []


def test_a_lost_wire_leaves_nothing_for_the_garbage_collector() -> None:
    async def main() -> None:
        pair = Pair()
        here, there = await pair.open()
        wires = [weakref.ref(ear) for ear in (here, there)]
        here.wire.guard_sends(lambda _, owner=here: owner.connection_lost("a bug"))
        here.wire.close()
        await here.until_lost()
        await there.until_lost()
        pair.here.clear()
        pair.there.clear()
        del here, there
        await asyncio.sleep(0)
        assert [ear() for ear in wires] == [None, None]

    with without_collector():
        asyncio.run(main())


def test_data_that_came_during_a_pause_is_read_without_asking_the_selector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This selector never reports a wire again after it was removed. The waiting data must be read
    all the same.
    """

    async def main() -> None:
        here, there = await Pair().open()
        loop = asyncio.get_running_loop()
        there.wire.pause_reading()
        here.wire.send([b"first"])
        async with asyncio.timeout(PATIENCE_S):
            while there.wire._armed:  # type: ignore[attr-defined]  # until the selector was told that nobody reads
                await asyncio.sleep(0)
        monkeypatch.setattr(loop, "add_reader", lambda *_: None)
        there.wire.resume_reading()
        await there.until_size(5)
        assert there.data == b"first"
        monkeypatch.undo()
        there.wire.close()
        await here.until_lost()

    asyncio.run(main())


def test_a_pause_may_end_and_begin_again_many_times() -> None:
    """A client that sends far ahead is muted and unmuted once for each of its requests."""

    async def main() -> None:
        here, there = await Pair().open()
        received = there.data_received

        def one_at_a_time(data: memoryview) -> None:
            received(data)
            there.wire.pause_reading()
            asyncio.get_running_loop().call_soon(there.wire.resume_reading)

        there.data_received = one_at_a_time  # type: ignore[method-assign]
        for _ in range(500):
            here.wire.send([bytes(1000)])
            await asyncio.sleep(0)
        await there.until_size(500_000)
        there.wire.pause_reading()
        there.wire.resume_reading()
        there.wire.close()
        await here.until_lost()

    asyncio.run(main())


def test_a_bug_while_a_part_is_made_is_told_to_whoever_asked_for_it() -> None:
    failures: list[Exception] = []

    async def main() -> None:
        here, there = await Pair().open()

        def pieces() -> Iterator[bytes]:
            yield bytes(10)
            raise ZeroDivisionError("injected")

        def failed(error: Exception) -> None:
            failures.append(error)
            there.wire.close()

        there.wire.guard_sends(failed)
        there.wire.send([LazyPart(20, pieces())])
        await there.until_lost()
        await here.until_lost()

    asyncio.run(main())
    assert [type(error) for error in failures] == [ZeroDivisionError]
