"""Exercise 04-6: the check judges the state of the cluster, whatever commands the learner typed."""

import json

import pytest

from exercises.ch04_controller.ex06_operate.facts import Facts, far_link, judge
from exercises.ch04_controller.ex06_operate.material import MISSING, make, plan
from exercises.ch04_controller.ex06_operate.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)  # from brokers 3, 2 to brokers 3, 0
TOPIC = TopicFacts(77, (3, 2), (2, 3), (), (), "topic orders min.insync.replicas=1")
BEFORE = Facts(("running",) * 4, (11, 12, 13, 14), (far_link(PLAN),), TOPIC, ("order 0", "order 1"))
MOVED = TOPIC._replace(replicas=(3, 0), isr=(0, 3))
WELL = BEFORE._replace(topic=MOVED, records=(*BEFORE.records, "is anybody there?"))


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(PLAN, BEFORE, WELL))) == 8


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("paused", *WELL.states[1:])}, "all four brokers run", "0 is paused"),
        ({"records": ("order 0", "x")}, "no record was lost", "1 of 2 orders are gone"),
        ({"topic": MOVED._replace(created=78)}, "is the same as before", "deleted and created"),
        ({"topic": MOVED._replace(replicas=(3, 2), isr=(2, 3))}, "has ended", "was cancelled"),
        (
            {"topic": MOVED._replace(replicas=(3, 0, 2), adding=(0,), removing=(2,))},
            "has ended",
            "broker 0 is to come and broker 2 is to go",
        ),
        (
            {"topic": MOVED._replace(replicas=(3, 1), isr=(1, 3))},
            "has ended",
            "on the brokers 1, 3",
        ),
        ({"topic": MOVED._replace(settings="")}, "no setting was changed", "now: none"),
        ({"pids": (11, 12, 13, 99)}, "were left alone", "broker 3 has another process"),
        ({"links": (far_link(PLAN), "0-3 cut")}, "as they should be", "the link 0-3 cut"),
        ({"links": ()}, "as they should be", "was not at fault"),
        ({"topic": MOVED._replace(isr=(3,))}, "the ISR is whole", "broker 0 is not in it"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, object], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_the_broker_in_trouble_may_be_restarted() -> None:
    assert failed(WELL._replace(pids=(99, 12, 13, 14))) == {}


def test_facts_that_were_kept_are_the_same() -> None:
    kept = json.loads(json.dumps(BEFORE._asdict()))
    assert facts_of(kept) == BEFORE


@pytest.mark.parametrize("seed", range(30))
def test_the_ticket_does_not_say_who_it_is(seed: int) -> None:
    made = plan(seed)
    assert sorted(made[:4]) == [0, 1, 2, 3]
    assert made.missing in MISSING
    ticket = make(seed)["ticket.md"]
    assert f"brokers {made.leader}, {made.new}." in ticket
    assert "cut" not in ticket
    assert all(len(line) <= 80 for line in ticket.splitlines())
