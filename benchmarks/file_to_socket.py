"""`kafka-edu bench file-to-socket`: three ways to send records from a segment file in a response.

Because of the result, Fetch uses sendfile (spec S6).

    sendfile   The head goes with MSG_MORE, then the kernel copies from the page cache to the
               socket, then the bytes after the records follow. That is three calls, and the
               records never enter the process.
    mmap       The file is mapped, and one sendmsg takes the head, a view of the records and the
               tail. The kernel makes one copy, out of mapped pages.
    pread      The records are read into a buffer of the process, and one sendmsg takes them with
               head and tail. That is two copies.

The reader is another process, connected over loopback. Like a follower, it asks for the next
response when it has received a whole one. With sendfile's three calls, it wakes up for the first
part and again for the last part. The result is the CPU time of both processes for one response,
because on one machine they share the processors.
"""

import argparse
import contextlib
import mmap
import multiprocessing
import os
import resource
import signal
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.common.socket_transport import SMALL_REGION_BYTES

from .options import add_repeats

NAME = "file-to-socket"
HELP = "send records with sendfile, compared with mmap and pread (15 seconds)"

FILE_BYTES = 64 << 20
SIZES = {
    "4 KiB": 4 << 10,
    "16 KiB": 16 << 10,
    "64 KiB": 64 << 10,
    "256 KiB": 256 << 10,
    "1 MiB": 1 << 20,
}
HEAD = bytes(90)
TAIL = bytes(4)
REQUEST = bytes(60)
BYTES_A_PASS = 128 << 20
MOST_ROUNDS = 4_000

Send = Callable[[socket.socket, int, int], int]
"""Type of a function that sends one response.

Its arguments are a blocking socket, a position in the segment file, and the number of bytes of
records. It returns the number of bytes that were sent, with head and tail.
"""


class Spent(NamedTuple):
    """The cost of one response."""

    cpu_us: float
    """CPU time of both processes in µs, user and system time."""
    round_us: float


def _ask(server: socket.socket, whole: int, rounds: int) -> None:
    """Run the reader in a separate process: ask for one response after another.

    It ends when the other side closes the connection.
    """
    address = server.getsockname()
    server.close()  # Otherwise an unaccepted connection would stay open here.
    with contextlib.suppress(ConnectionError), socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = bytearray(256 << 10)
        for _ in range(rounds):
            connection.send(REQUEST)
            left = whole
            while left:
                got = connection.recv_into(buffer)
                if not got:
                    return
                left -= got


def _cpu_seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def measure(send: Send, size: int) -> Spent:
    """Send some thousand responses with `size` bytes of records each. Return the cost of one
    response.
    """
    rounds = min(MOST_ROUNDS, BYTES_A_PASS // size)
    whole = len(HEAD) + size + len(TAIL)
    theirs = _cpu_seconds(resource.RUSAGE_CHILDREN)
    with socket.create_server(("127.0.0.1", 0)) as server:
        reader = multiprocessing.get_context("fork").Process(
            target=_ask, args=(server, whole, rounds), daemon=True
        )
        signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGINT}
        )  # The reader inherits this. Only this process handles Ctrl-C, and stops both.
        reader.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        connection, _ = server.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ours, began = _cpu_seconds(resource.RUSAGE_SELF), time.perf_counter()
        for number in range(rounds):
            connection.recv(len(REQUEST))
            sent = send(connection, number * size % FILE_BYTES, size)
            assert sent == whole, (
                sent,
                whole,
            )  # A call sends everything, because the socket blocks.
        seconds = time.perf_counter() - began
        ours = _cpu_seconds(resource.RUSAGE_SELF) - ours
    reader.join()
    theirs = _cpu_seconds(resource.RUSAGE_CHILDREN) - theirs
    return Spent((ours + theirs) / rounds * 1e6, seconds / rounds * 1e6)


def compare(ways: dict[str, Send], size: int, repeats: int) -> dict[str, Spent]:
    """Measure each way `repeats` times, in turn, and return way → median cost.

    The first repeat does not count.
    """
    found: dict[str, list[Spent]] = {name: [] for name in ways}
    for repeat in range(repeats + 1):
        for name, send in ways.items():
            spent = measure(send, size)
            if repeat:
                found[name].append(spent)
    return {
        name: Spent(
            statistics.median(s.cpu_us for s in many), statistics.median(s.round_us for s in many)
        )
        for name, many in found.items()
    }


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    add_repeats(parser, 5)
    args = parser.parse_args(argv)
    report = Report(NAME)
    with tempfile.TemporaryFile() as file:
        file.write(os.urandom(1 << 20) * (FILE_BYTES >> 20))
        file.flush()
        fd = file.fileno()
        with mmap.mmap(fd, FILE_BYTES, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as view:

            def by_sendfile(connection: socket.socket, position: int, size: int) -> int:
                sent = connection.sendmsg([HEAD], (), socket.MSG_MORE)
                sent += os.sendfile(connection.fileno(), fd, position, size)
                return sent + connection.sendmsg([TAIL])

            ways: dict[str, Send] = {
                "sendfile": by_sendfile,
                "mmap": lambda connection, position, size: connection.sendmsg(
                    [HEAD, view[position : position + size], TAIL]
                ),
                "pread": lambda connection, position, size: connection.sendmsg(
                    [HEAD, os.pread(fd, size, position), TAIL]
                ),
            }
            for size, records in SIZES.items():
                spent = compare(ways, records, args.repeats)
                for name, (cpu_us, round_us) in spent.items():
                    report.figure(f"{size} of records, {name}: CPU µs of both ends", cpu_us)
                    report.figure(f"{size} of records, {name}: µs a round", round_us)
                chosen, other = (
                    ("pread", "sendfile")
                    if records <= SMALL_REGION_BYTES
                    else ("sendfile", "pread")
                )
                report.target(
                    f"{size} of records: CPU, {chosen}, which the broker takes, / {other}",
                    spent[chosen].cpu_us / spent[other].cpu_us,
                    "<=",
                    1.0,
                )
    report.show()
    if args.json:
        report.write(args.json)
    return 0
