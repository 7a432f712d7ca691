"""Free ports to listen on."""

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


def free_ports(host: str, reserved: Collection[int] = ()) -> Iterator[int]:
    """Yield free ports until there are no more.

    The first one is chosen at random, so two callers that begin together rarely try the same port.
    """
    start = random.randrange(len(PICKED_PORTS))
    for i in range(len(PICKED_PORTS)):
        port = PICKED_PORTS[(start + i) % len(PICKED_PORTS)]
        if port not in reserved and is_free(host, port):
            yield port
