"""Exercise 07-6: the check judges the state of the cluster, whatever commands the learner typed."""

import json
from typing import Any

import pytest

from exercises.ch07_leader_election.ex06_three_dead.facts import Facts, judge
from exercises.ch07_leader_election.ex06_three_dead.material import make, plan
from exercises.ch07_leader_election.ex06_three_dead.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)  # brokers 1, 2, 0 died, and the disk of broker 0 is empty
TOPIC = TopicFacts(77, PLAN.deaths, (0, 1, 2), (), (), "topic orders min.insync.replicas=1")
ORDERS = tuple(f"order {number}" for number in range(PLAN.acked))
BEFORE = Facts(("running",) * 3, TOPIC, ORDERS[: PLAN.written[0]])
WELL = BEFORE._replace(records=ORDERS[: PLAN.saved])


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert failed(WELL._replace(records=ORDERS)) == {}


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("stopped", "running", "running")}, "all three brokers", "broker 0 is stopped"),
        ({"records": ()}, "every order", "the leader had an empty log"),
        ({"records": ORDERS[: PLAN.written[0]]}, "every order", "the leader lacked some of them"),
        ({"records": ("order 1", *ORDERS[1:])}, "every order", "are lost"),
        ({"topic": TOPIC._replace(created=78)}, "is the same as before", "made again"),
        ({"topic": TOPIC._replace(replicas=(0, 1, 2))}, "is the same as before", "another order"),
        ({"topic": TOPIC._replace(settings="")}, "no setting was changed", "now: none"),
        ({"topic": TOPIC._replace(isr=(1, 2))}, "the ISR is whole", "broker 0 is not in it"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_both_troubles_come_and_the_ticket_names_neither() -> None:
    assert {plan(seed).disk_gone for seed in range(20)} == {True, False}
    for seed in range(20):
        made = plan(seed)
        assert made.first == (made.deaths[1] if made.disk_gone else made.deaths[2])
        assert made.saved <= made.acked
    assert "broker 0" not in make(0)["ticket.md"]


def test_facts_are_the_same_after_they_were_kept() -> None:
    assert facts_of(json.loads(json.dumps(WELL._asdict()))) == WELL
