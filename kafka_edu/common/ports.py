"""Ports to listen on that nobody else has."""

import random
import socket
from collections.abc import Collection, Iterator
from typing import Final

#: Ports are picked below those that the system hands to outgoing connections (from 32768 on Linux).
#: A client that tries again and again to reach a dead broker would otherwise now and then be given
#: the broker's own port as its source, and find itself connected to itself.
PICKED_PORTS: Final = range(20_000, 32_000)


def is_free(host: str, port: int) -> bool:
    """Whether nobody listens on that port now. A connection that lingers there does not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(host: str, reserved: Collection[int] = ()) -> Iterator[int]:
    """Ports from a random place on, so that two that begin together rarely try the same; it ends
    when there are no more.
    """
    start = random.randrange(len(PICKED_PORTS))
    for i in range(len(PICKED_PORTS)):
        port = PICKED_PORTS[(start + i) % len(PICKED_PORTS)]
        if port not in reserved and is_free(host, port):
            yield port
