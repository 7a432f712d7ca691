from dataclasses import replace

import pytest

from kafka_edu.clients.proxy.health import TargetState
from kafka_edu.clients.proxy.target import Address, Target
from tests.unit.clients.proxy.proxy_world import copy_of


def test_who_answered_last_is_asked_first_and_the_copys_brokers_last():
    target = Target("t", [Address("boot", 1), Address("10.0.0.1", 9094)], None)
    assert list(map(str, target.to_ask())) == ["boot:1", "10.0.0.1:9094"]
    target.copied(replace(copy_of({}, brokers=(1, 2, 3)), source="10.0.0.1:9093"), 1)
    assert list(map(str, target.to_ask())) == [
        "10.0.0.1:9093",
        "boot:1",
        "10.0.0.1:9094",
        "10.0.0.1:9095",
    ]
    target.copied(replace(copy_of({}), source="boot:1"), 1)
    assert list(map(str, target.to_ask())) == ["boot:1", "10.0.0.1:9094", "10.0.0.1:9093"]


def test_one_failure_is_not_down_but_a_first_one_is():
    target = Target("t", [Address("boot", 1)], None)
    assert not target.serves
    target.failed("refused")
    assert target.state is TargetState.DOWN
    target.copied(copy_of({}), 1)
    target.failed("refused")
    assert target.serves
    target.failed("refused")
    assert (target.state, target.failures, target.last_error) == (TargetState.DOWN, 2, "refused")
    target.copied(copy_of({}), 1)
    assert (target.serves, target.failures, target.last_error) == (True, 0, "")


def test_what_is_played_back_always_serves_and_is_never_asked():
    target = Target("t", [], None)
    target.play_back(copy_of({}))
    assert target.serves
    with pytest.raises(RuntimeError, match="does not go from Recorded to Up"):
        target.copied(copy_of({}), 1)


def test_ipv6_addresses_are_written_in_brackets():
    assert str(Address("::1", 9092)) == "[::1]:9092"
