"""Stop brokers in an orderly way with SIGTERM (Kafka: kafka-server-stop.sh).

Kafka's script looks for the text `kafka.Kafka` in the output of `ps`, which is truncated (book 000
§6.4.2). This tool counts a process as a broker if one whole argument is the name of the broker's
module and the next argument is its properties file. Without a file, it stops all brokers of this
user on this machine, as Kafka's script does. With a file, it stops only the broker that was started
with this file.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.python_process import BROKER_MODULE, command_line
from kafka_edu.tools.tool import ToolCommand

PURPOSE: Final = (
    "Stop the brokers of this machine, or the one that was started with the given file."
)
_PROC: Final = Path("/proc")


class BrokerProcessFound(NamedTuple):
    pid: int
    properties: str


def running_brokers() -> list[BrokerProcessFound]:
    """Return this user's running brokers, sorted by process id. O(processes)."""
    found = []
    for pid, arguments in all_commands():
        if BROKER_MODULE in arguments[:-1] and pid != os.getpid():
            found.append(BrokerProcessFound(pid, arguments[arguments.index(BROKER_MODULE) + 1]))
    return sorted(found)


def all_commands() -> list[tuple[int, list[str]]]:
    """Return the process id and the arguments of each process of this user."""
    return list(
        _commands_from_proc() if _PROC.joinpath("self/cmdline").exists() else _commands_from_ps()
    )


def _commands_from_proc() -> Iterator[tuple[int, list[str]]]:
    """Yield each process of this user with its complete command line, from /proc.

    Command lines may have any length and contain blanks.
    """
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            try:
                if folder.stat().st_uid == os.getuid():
                    yield (
                        int(folder.name),
                        (folder / "cmdline")
                        .read_bytes()
                        .decode("utf-8", "surrogateescape")
                        .split("\0")[:-1],
                    )
            except OSError:  # the process has just ended
                continue


def _commands_from_ps() -> Iterator[tuple[int, list[str]]]:
    """Yield each process from the output of `ps`, for systems without /proc.

    The lines are not truncated, but an argument with blanks becomes several arguments.
    """
    listed = subprocess.run(
        ["ps", "-xww", "-o", "pid=,args="], check=True, capture_output=True, text=True
    ).stdout
    for line in listed.splitlines():
        pid, *arguments = line.split()
        yield int(pid), arguments


def main(words: Sequence[str]) -> int:
    """Run the tool. Return 1 if there was no broker to stop, otherwise 0."""
    if "--help" in words:
        print(f"USAGE: {command_line('server-stop')} [server.properties]\n{PURPOSE}")
        return 0
    brokers = running_brokers()
    if words:
        brokers = [broker for broker in brokers if broker.properties == os.path.abspath(words[0])]
    stopped = 0
    for broker in brokers:
        try:
            os.kill(broker.pid, signal.SIGTERM)
            stopped += 1
        except ProcessLookupError:
            continue
    if not stopped:
        print("No kafka server to stop", file=sys.stdout)
        return 1
    return 0


server_stop = ToolCommand("server-stop", main, PURPOSE)
