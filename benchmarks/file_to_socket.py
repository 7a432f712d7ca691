"""`kafka-edu bench file-to-socket`: three ways for records from a segment file into a socket, the choice behind Fetch (spec S6).

    sendfile      the kernel copies from the page cache to the socket; the bytes never enter the process
    mmap + send   the file is mapped, and the socket is given a view of it: one copy, by the kernel, out of mapped pages
    pread + send  the bytes are read into a buffer of the process and sent from there: two copies

Each sends the same file, which is in the page cache, through a TCP connection on loopback whose other end, a process of its own, throws it away.
What counts is the CPU time of the sending process for a MB, user and system: on a broker it is what the other work does not get.
"""

import argparse
import mmap
import multiprocessing
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

from kafka_edu.cli.report import Report

NAME = "file-to-socket"
HELP = "sendfile beside mmap and pread for sending records (half a minute)"

FILE_BYTES = 64 << 20
PIECES = {"16 KiB": 16 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20}
PASSES = 4
MEGABYTE = 1_000_000

Send = Callable[[socket.socket, int, int], int]
"""(socket, position, bytes) → how many bytes were sent."""


class Spent(NamedTuple):
    """Of the sending process, for a MB."""

    cpu_us: float
    wall_us: float


def _throw_away(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        buffer = bytearray(1 << 20)
        while connection.recv_into(buffer):
            pass


def measure(send: Send, piece: int, repeats: int) -> Spent:
    """The median of some passes over the file."""
    found: list[Spent] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        reader = multiprocessing.get_context("fork").Process(target=_throw_away, args=(server.getsockname()[1],), daemon=True)
        reader.start()
        connection, _ = server.accept()
    with connection:
        for number in range(repeats + 1):
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(PASSES):
                position = 0
                while position < FILE_BYTES:
                    position += send(connection, position, min(piece, FILE_BYTES - position))
            megabytes = PASSES * FILE_BYTES / MEGABYTE
            if number:  # the first pass warms up
                found.append(Spent((time.process_time() - cpu) / megabytes * 1e6, (time.perf_counter() - wall) / megabytes * 1e6))
    reader.join()
    return Spent(statistics.median(spent.cpu_us for spent in found), statistics.median(spent.wall_us for spent in found))


def main(argv: list[str]) -> int:
    """Returns 0 when it ran, whether or not the targets hold."""
    parser = argparse.ArgumentParser(prog=f"kafka-edu bench {NAME}", description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args(argv)
    report = Report(NAME)
    with tempfile.TemporaryFile() as file:
        file.write(os.urandom(1 << 20) * (FILE_BYTES >> 20))
        file.flush()
        fd = file.fileno()
        with mmap.mmap(fd, FILE_BYTES, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as view:
            ways: dict[str, Send] = {
                "sendfile": lambda connection, position, size: os.sendfile(connection.fileno(), fd, position, size),
                "mmap + send": lambda connection, position, size: connection.send(view[position : position + size]),
                "pread + send": lambda connection, position, size: connection.send(os.pread(fd, size, position)),
            }
            for size, piece in PIECES.items():
                spent = {name: measure(send, piece, args.repeats) for name, send in ways.items()}
                for name, (cpu_us, wall_us) in spent.items():
                    report.figure(f"{size} at a time, {name}: CPU µs a MB", cpu_us)
                    report.figure(f"{size} at a time, {name}: µs a MB", wall_us)
                for other in ("mmap + send", "pread + send"):
                    report.target(f"{size} at a time: CPU, {other} / sendfile", spent[other].cpu_us / spent["sendfile"].cpu_us, ">=", 1.0)
    report.show()
    if args.json:
        report.write(args.json)
    return 0
