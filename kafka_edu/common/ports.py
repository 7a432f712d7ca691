"""Find free ports for servers.

A port that a process has chosen is not in use until a server listens on it. It is not in use either
while its broker is down. In this time, no other process must choose the port. So each process locks
one byte of a common file for each port that it has chosen. The position of the byte is the number
of the port. The kernel releases the locks when the process ends.
"""

import fcntl
import os
import random
import socket
from collections.abc import Collection, Iterator
from typing import Final

LOOPBACK: Final = "127.0.0.1"
BROKER_PORT: Final = 9092
"""The usual port of a broker. Further brokers on one machine use the next higher ports."""
ZOOKEEPER_PORT: Final = 2181
"""The usual port of ZooKeeper."""

#: Ports are chosen below those that the system gives to outgoing connections (from 32768 on Linux).
#: Otherwise a client that tries again and again to reach a dead broker could get the broker's port
#: as its own source port. Then the client would be connected to itself.
PICKED_PORTS: Final = range(20_000, 32_000)


def is_free(host: str, port: int) -> bool:
    """Return whether no process listens on the port now.

    Old connections on the port do not matter.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


class _Claims:
    """The ports that this process has chosen. Locks in a file show these ports to the user's other
    processes.

    If the file with the locks cannot be used, ports are chosen without locks.
    """

    def __init__(self, path: str) -> None:
        self.ports: set[int] = set()
        self._path = path
        self._file: int | None = None

    def claim(self, port: int) -> bool:
        """Try to reserve the port for this process.

        Return False if another process has reserved it.
        """
        try:
            if self._file is None:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                self._file = os.open(self._path, flags, 0o600)
        except OSError:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            return False
        self.ports.add(port)
        return True


_claims = _Claims(f"/tmp/kafka-edu-ports-{os.getuid()}")


def free_ports(host: str, reserved: Collection[int] = ()) -> Iterator[int]:
    """Yield free ports that no other process has chosen, until there are no more such ports.

    The search begins at a random port. Ports that this process has chosen before come last.
    """
    start = random.randrange(len(PICKED_PORTS))
    ports = [*PICKED_PORTS[start:], *PICKED_PORTS[:start]]
    for port in sorted(ports, key=_claims.ports.copy().__contains__):
        if port not in reserved and is_free(host, port) and _claims.claim(port):
            yield port
