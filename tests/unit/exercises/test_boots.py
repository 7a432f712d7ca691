"""Exercise 08-6: the check judges the state of the cluster, whatever commands the learner typed."""

import json
from typing import Any

import pytest

from exercises.ch08_metadata_proxy.ex06_boots.facts import Facts, judge, outside_of, reaches
from exercises.ch08_metadata_proxy.ex06_boots.material import KINDS, make, plan
from exercises.ch08_metadata_proxy.ex06_boots.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)  # broker 2 names a host that is not there
TOPIC = TopicFacts(77, PLAN.replicas, (0, 1, 2), (), (), "topic orders min.insync.replicas=2")
DOORS = ("127.0.0.1:21000", "127.0.0.1:21001", "127.0.0.1:21002")
LISTENERS = tuple(f"INSIDE://127.0.0.1:2200{n},OUTSIDE://{door}" for n, door in enumerate(DOORS))
BEFORE = Facts(
    ("running",) * 3, (10, 11, 12), TOPIC, LISTENERS, DOORS, DOORS, True, "", ("order 0",)
)
WELL = BEFORE._replace(pids=(10, 11, 99), records=("order 0", "an order of the shop"))


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert failed(WELL._replace(received=("localhost:21000", *DOORS[1:]))) == {}


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("stopped", "running", "running")}, "all three brokers", "broker 0 is stopped"),
        ({"received": (*DOORS[:2], "kafka-new.invalid:21002")}, "address of broker 2", "kafka-new"),
        ({"received": (*DOORS[:2], DOORS[0])}, "address of broker 2", "it is 127.0.0.1:21002"),
        ({"received": (*DOORS[:2], "")}, "address of broker 2", "receive nothing"),
        ({"acked": False, "why": "KafkaTimeoutError"}, "gets an order acknowledged", "Timeout"),
        ({"listeners": (*LISTENERS[:2], "")}, "`listeners` is as before", "now:"),
        ({"pids": (10, 77, 99)}, "left alone", "broker 1 has another process"),
        ({"records": ()}, "no record was lost", "1 of 1 orders"),
        ({"topic": TOPIC._replace(settings="")}, "no setting was changed", "now: none"),
        ({"topic": TOPIC._replace(isr=(1, 2))}, "the ISR is whole", "broker 0 is not in it"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_all_troubles_come_and_the_ticket_names_none() -> None:
    assert {plan(seed).kind for seed in range(20)} == {*KINDS}
    assert {plan(seed).broker for seed in range(20)} == {0, 1, 2}
    for seed in range(20):
        made = plan(seed)
        assert made.mixed_up_with != made.broker == made.replicas[0]
        assert f"broker {made.broker}" not in make(seed)["ticket.md"]


def test_addresses_are_compared_as_clients_use_them() -> None:
    assert outside_of("INSIDE://a:1, OUTSIDE://b:2") == "b:2"
    assert outside_of("PLAINTEXT://a:1") == ""
    assert reaches("localhost:2", "127.0.0.1:2")
    assert not reaches("localhost:3", "127.0.0.1:2")
    assert not reaches("kafka.invalid:2", "127.0.0.1:2")


def test_facts_are_the_same_after_they_were_kept() -> None:
    assert facts_of(json.loads(json.dumps(WELL._asdict()))) == WELL
