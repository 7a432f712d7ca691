"""Exercise 10-5: the check judges the state of the cluster, whatever commands the learner typed."""

import json
from typing import Any

import pytest

from exercises.ch10_replication.ex05_three_causes.facts import Facts, judge
from exercises.ch10_replication.ex05_three_causes.material import BROKERS, CAUSES, make, plan
from exercises.ch10_replication.ex05_three_causes.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)  # broker 3 leads; carts: 1 is down, orders: 2 is throttled, visits: 0 is cut off
TOPICS = tuple(
    TopicFacts(70 + n, (3, follower), tuple(sorted((3, follower))))
    for n, follower in enumerate(PLAN.followers)
)
RECORDS = (("order 0",), ("order 0", "large 0"), ("order 0",))
BEFORE = Facts(("running",) * 4, (11, 12, 13, 14), (), TOPICS, RECORDS)
WELL = BEFORE._replace(pids=(11, 99, 13, 14))


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def topics(number: int, **changes: Any) -> tuple[TopicFacts, ...]:
    """The facts about the topics, with changes of one."""
    return tuple(one._replace(**changes) if at == number else one for at, one in enumerate(TOPICS))


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(PLAN, BEFORE, WELL))) == 13


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("running", "stopped", *WELL.states[2:])}, "all four", "1 is stopped"),
        ({"records": (("order 0",), ("order 0",), ("order 0",))}, "orders: no record", "1 of 2"),
        ({"topics": topics(2, created=99)}, "visits has the replicas", "created again"),
        ({"topics": topics(2, created=0)}, "visits has the replicas", "there is no topic visits"),
        ({"topics": topics(0, replicas=(3,), isr=(3,))}, "carts has the replicas", "brokers 3"),
        ({"topics": topics(0, settings="broker 2 x=1")}, "no setting was changed", "now: broker 2"),
        ({"pids": (11, 99, 98, 14)}, "were left alone", "broker 2 has another process"),
        ({"links": ("0-3 cut",)}, "no link has a fault", "the link 0-3 cut"),
        ({"topics": topics(1, isr=(3,))}, "orders: the ISR is whole", "broker 2 is not in it"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, object], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_facts_that_were_kept_are_the_same() -> None:
    kept = json.loads(json.dumps(BEFORE._asdict()))
    assert facts_of(kept) == BEFORE


@pytest.mark.parametrize("seed", range(30))
def test_each_topic_has_another_cause_and_the_ticket_does_not_say_which(seed: int) -> None:
    made = plan(seed)
    assert sorted((made.leader, *made.followers)) == [*range(BROKERS)]
    assert sorted(made.causes) == [*CAUSES]
    ticket = make(seed)["ticket.md"]
    assert f"Broker {made.leader} leads" in ticket
    assert not any(cause in ticket for cause in ("link", "throttle"))
