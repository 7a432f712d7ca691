"""Ports of brokers inside a network namespace. Without root only the passing of bytes is tested."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from exercises.runner.manifest import ROOT
from exercises.runner.port_relay import PortRelay, network_of


def echo(listener: socket.socket) -> None:
    """Answer each connection with what it has sent, in capital letters."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data.upper())


@pytest.fixture
def broker() -> Iterator[int]:
    """The port of something outside that answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=echo, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


#: A process in a network namespace of its own, with a loopback interface.
INSIDE = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
from learner_jail import raise_loopback
assert ctypes.CDLL(None).unshare(0x40000000) == 0
raise_loopback()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def inside() -> Iterator[int]:
    """The process id of a process in another network namespace."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only root on Linux can make network namespaces")
    with subprocess.Popen(
        [sys.executable, "-c", INSIDE, str(ROOT.parent / "kafka_edu" / "learner")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            pytest.skip("this system allows no network namespaces")
        yield process.pid
        process.kill()


def test_the_port_of_a_broker_is_open_inside_and_no_other(broker: int, inside: int) -> None:
    relay = PortRelay(inside)
    relay.open([f"127.0.0.1:{broker}"])
    relay.open([f"127.0.0.1:{broker}"])  # it is open already
    with socket.create_server(("127.0.0.1", 0)) as other, network_of(inside):
        with socket.create_connection(("127.0.0.1", broker)) as connection:
            connection.sendall(b"a question")
            assert connection.recv(100) == b"A QUESTION"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", other.getsockname()[1]))
    relay.close()
    with network_of(inside), pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", broker))


def test_large_answers_pass(broker: int, inside: int) -> None:
    relay = PortRelay(inside)
    relay.open([f"127.0.0.1:{broker}"])
    with network_of(inside):
        connection = socket.create_connection(("127.0.0.1", broker))
    sent = b"x" * (4 << 20)
    threading.Thread(target=connection.sendall, args=(sent,)).start()
    came = 0
    while came < len(sent):
        came += len(connection.recv(1 << 16))
    connection.close()
    relay.close()
