"""Free ports: below those of outgoing connections, never taken or reserved, never the same one
twice.
"""

import socket
from itertools import islice

import pytest

from kafka_edu.common import ports
from kafka_edu.common.ports import PICKED_PORTS, free_ports, is_free

HOST = "127.0.0.1"


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
