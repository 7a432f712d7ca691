"""Free ports to listen on.

A port that was picked is free until a server listens on it, and again while a killed broker is
down. So that nobody else picks it meanwhile, each process locks the bytes of a file that have the
numbers of its ports. The kernel releases them when the process ends.
"""

import fcntl
import os
import random
import socket
from collections.abc import Collection, Iterator
from typing import Final

LOOPBACK: Final = "127.0.0.1"
BROKER_PORT: Final = 9092
"""The usual port of a broker. Further brokers on one machine take the ports above it."""
ZOOKEEPER_PORT: Final = 2181
"""The usual port of ZooKeeper."""

#: Ports are chosen below those that the system gives to outgoing connections (from 32768 on Linux).
#: Otherwise a client that keeps trying to reach a dead broker could be given the broker's own port
#: as its source port. It would then be connected to itself.
PICKED_PORTS: Final = range(20_000, 32_000)


def is_free(host: str, port: int) -> bool:
    """Return whether no process listens on that port now. A lingering connection does not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


class _Claims:
    """The ports that this process has picked. Other processes of this user see them by the locks.

    Without the file (another system, no rights) ports are picked without claims.
    """

    def __init__(self, path: str) -> None:
        self.ports: set[int] = set()
        self._path = path
        self._file: int | None = None

    def claim(self, port: int) -> bool:
        """Return whether no other process has claimed the port. Then it is this one's."""
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
    """Yield free ports that no other process has picked, until there are no more.

    The first one is chosen at random. Ports that this process has picked before come last.
    """
    start = random.randrange(len(PICKED_PORTS))
    ports = [*PICKED_PORTS[start:], *PICKED_PORTS[:start]]
    for port in sorted(ports, key=_claims.ports.copy().__contains__):
        if port not in reserved and is_free(host, port) and _claims.claim(port):
            yield port
