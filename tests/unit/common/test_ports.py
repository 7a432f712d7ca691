"""Free ports: they are below the ports of outgoing connections, they are not in use or reserved,
and no port is given twice.
"""

import socket
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from kafka_edu.common import ports
from kafka_edu.common.ports import PICKED_PORTS, free_ports, is_free
from kafka_edu.common.python_process import python_environment

HOST = "127.0.0.1"
PICK = """
import sys
from kafka_edu.common import ports
ports._claims = ports._Claims(sys.argv[1])
ports.PICKED_PORTS = [int(port) for port in sys.argv[2:]]
print(*ports.free_ports("127.0.0.1"), flush=True)
sys.stdin.read()
"""


def test_a_port_that_somebody_listens_on_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as server:
        taken = server.getsockname()[1]
        assert not is_free(HOST, taken)
        monkeypatch.setattr(ports, "PICKED_PORTS", range(taken, taken + 1))
        assert list(free_ports(HOST)) == []


def test_ports_are_given_once_each_and_not_out_of_the_reserved() -> None:
    reserved = set(PICKED_PORTS[::2])
    given = list(islice(free_ports(HOST, reserved), 50))
    assert len(set(given)) == 50
    assert set(given) <= set(PICKED_PORTS) - reserved


def test_there_may_be_none() -> None:
    assert list(free_ports(HOST, PICKED_PORTS)) == []


def test_a_port_that_another_process_has_picked_is_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is free: nobody listens on it yet."""
    one, two, three = islice(free_ports(HOST), 3)  # nobody else picks them during this test
    claims = str(tmp_path / "claims")
    monkeypatch.setattr(ports, "_claims", ports._Claims(claims))
    with subprocess.Popen(
        [sys.executable, "-c", PICK, claims, str(one), str(two)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=python_environment(),
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert {int(port) for port in other.stdout.readline().split()} == {one, two}
        monkeypatch.setattr(ports, "PICKED_PORTS", [one, two, three])
        assert list(free_ports(HOST)) == [three]
        other.stdin.close()
        other.wait()
    assert set(free_ports(HOST)) == {one, two, three}, "the process has ended"


def test_ports_that_were_picked_before_come_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "_claims", ports._Claims(str(tmp_path / "claims")))
    picked = [next(free_ports(HOST)) for _ in range(50)]
    assert len(set(picked)) == 50
    monkeypatch.setattr(ports, "PICKED_PORTS", picked[:2])
    assert set(free_ports(HOST)) == set(picked[:2])


def test_without_the_file_of_claims_ports_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "_claims", ports._Claims(str(tmp_path)))
    assert next(free_ports(HOST)) in PICKED_PORTS
