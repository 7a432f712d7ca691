"""Exercise 05-8: the check judges the state of the cluster, whatever commands the learner typed."""

import json

import pytest

from exercises.ch05_zookeeper_election.ex08_majority.facts import Facts, judge, serves
from exercises.ch05_zookeeper_election.ex08_majority.material import FILES, make, plan
from exercises.ch05_zookeeper_election.ex08_majority.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)  # server 2 runs on, 1 was stopped, 3 is damaged; broker 2 was killed
TOPIC = TopicFacts(77, (2, 0, 1), (0, 1, 2), (), (), "topic orders min.insync.replicas=1")
BEFORE = Facts(
    ("follower", "leader", "follower"),
    (1, 2, 3),
    ("running",) * 3,
    (11, 12, 13),
    9,
    TOPIC,
    ("order 0", "order 1"),
)
WELL = BEFORE._replace(server_pids=(91, 2, 93), pids=(11, 12, 99))


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(PLAN, BEFORE, WELL))) == 8


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"servers": ("leader", "follower", "is stopped")}, "all three ZooKeeper", "zookeeper-3"),
        ({"server_pids": (91, 92, 93)}, "ran on was left alone", "zookeeper-2 was restarted"),
        ({"cluster_id": 10}, "the data of before", "began from nothing"),
        ({"topic": TOPIC._replace(created=78)}, "the data of before", "is gone, or another one"),
        ({"topic": TOPIC._replace(replicas=(2, 0))}, "the data of before", "brokers 0, 2"),
        ({"states": ("running", "running", "stopped")}, "all three brokers run", "2 is stopped"),
        ({"records": ()}, "no record was lost", "2 of 2 orders are gone"),
        ({"topic": TOPIC._replace(settings="")}, "no setting was changed", "now: none"),
        ({"pids": (98, 12, 99)}, "healthy brokers were left alone", "broker 0 has another"),
        ({"topic": TOPIC._replace(isr=(0, 1))}, "the ISR is whole", "broker 2 is not in it"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, object], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_without_a_majority_nothing_else_is_judged() -> None:
    now = Facts(("is stopped", "runs and serves nobody", "is stopped"), (0, 2, 0), (), ())
    assert not serves(now.servers)
    [(says, seen)] = failed(now).items()
    assert says == "ZooKeeper has a majority"
    assert "zookeeper-2 runs and serves nobody" in seen


def test_facts_that_were_kept_are_the_same() -> None:
    kept = json.loads(json.dumps(WELL._asdict()))
    assert facts_of(kept) == WELL


@pytest.mark.parametrize("seed", range(30))
def test_the_ticket_does_not_say_which_server_is_damaged(seed: int) -> None:
    made = plan(seed)
    assert sorted(made[:3]) == [1, 2, 3]
    assert made.file in FILES
    ticket = make(seed)["ticket.md"]
    assert "zookeeper-" not in ticket
    assert made.file not in ticket
    assert f"stood broker {made.leader} " in ticket
    assert all(len(line) <= 80 for line in ticket.splitlines())
