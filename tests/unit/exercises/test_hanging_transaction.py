"""Exercise 15-6: the check judges the state of the cluster, whatever commands the learner typed."""

import json
from typing import Any

import pytest

from exercises.ch15_exactly_once.ex06_end_it.facts import Facts, judge
from exercises.ch15_exactly_once.ex06_end_it.material import JOBS, LONG_JOB, make, plan
from exercises.ch15_exactly_once.ex06_end_it.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)
TOPIC = TopicFacts(77, (0, 1, 2), (0, 1, 2), (), (), "topic payments min.insync.replicas=1")
READABLE = tuple(PLAN.readable)
OPEN = ("open fraud-check 5.0",)
RECORDS = (*READABLE[:12], *OPEN, *READABLE[12:])
BEFORE = Facts(("running",) * 3, TOPIC, PLAN.lso, RECORDS, READABLE[:12])
WELL = BEFORE._replace(lso=PLAN.export_at, committed=READABLE)


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}


def test_the_trouble_itself_does_not_pass() -> None:
    assert {*failed(BEFORE)} == {
        "the last stable offset has moved on",
        "readers get all committed payments that are older",
    }


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("stopped", "running", "running")}, "all three", "broker 0 is stopped"),
        ({"lso": -1}, "has moved on", "it is -1"),
        ({"lso": PLAN.export_at + 9}, "is still open", "Its records are lost"),
        ({"committed": (*READABLE[:12], *OPEN)}, "readers get", "which does not count"),
        ({"committed": READABLE[:-1]}, "readers get", "1 of 21 are missing"),
        ({"committed": READABLE[::-1]}, "readers get", "their order is another"),
        ({"records": RECORDS[:-3]}, "no record was lost", "3 of 22"),
        ({"topic": TOPIC._replace(created=78)}, "is the same as before", "made again"),
        ({"topic": TOPIC._replace(settings="")}, "no setting was changed", "now: none"),
        ({"topic": TOPIC._replace(isr=(1, 2))}, "the ISR is whole", "broker 0 is not in it"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_each_job_can_be_the_one_and_the_ticket_does_not_say_which() -> None:
    assert {plan(seed).holder for seed in range(60)} == {*JOBS}
    for seed in range(20):
        made, ticket = plan(seed), make(seed)["ticket.md"]
        assert made.lso < made.export_at
        assert all(ticket.count(f"`{job}`") == 1 for job in JOBS)
        assert f"`{LONG_JOB}` writes for hours" in ticket
        assert made.holder not in [job for job, _ in (*made.behind, *made.later)]


def test_facts_are_the_same_after_they_were_kept() -> None:
    assert facts_of(json.loads(json.dumps(WELL._asdict()))) == WELL
