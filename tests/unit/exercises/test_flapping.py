"""Exercise 05-7: the check judges the state of the cluster, whatever commands the learner typed."""

import json

import pytest

from exercises.ch05_zookeeper_election.ex07_flapping.facts import Facts, judge
from exercises.ch05_zookeeper_election.ex07_flapping.material import (
    CAUSES,
    LONGEST_MS,
    SESSION_KEY,
    SESSION_MS,
    make,
    plan,
)
from exercises.ch05_zookeeper_election.ex07_flapping.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)  # the machine of broker 1 stands still
TOPIC = TopicFacts(77, (1, 0, 2), (0, 1, 2), (), (), "topic orders min.insync.replicas=1")
FILES = tuple({"broker.id": str(number), SESSION_KEY: "6000"} for number in range(3))
BEFORE = Facts(
    ("running",) * 3, (11, 12, 13), ("broker-1 stands still",), TOPIC, FILES, ("order 0", "order 1")
)
MENDED = (FILES[0], {**FILES[1], SESSION_KEY: "18000"}, FILES[2])
WELL = BEFORE._replace(pids=(11, 99, 13), properties=MENDED, lives=(50, 50), stalls_watched=2)


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def with_session(value: str) -> tuple[dict[str, str], ...]:
    return (FILES[0], {**FILES[1], SESSION_KEY: value}, FILES[2])


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(PLAN, BEFORE, WELL))) == 10


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("running", "stopped", "running")}, "all three brokers run", "1 is stopped"),
        ({"records": ("order 0",)}, "no record was lost", "1 of 2 orders are gone"),
        ({"topic": TOPIC._replace(created=78)}, "is the same as before", "deleted and created"),
        ({"topic": TOPIC._replace(created=0)}, "is the same as before", "there is no topic"),
        ({"topic": TOPIC._replace(replicas=(1, 0))}, "is the same as before", "brokers 0, 1"),
        ({"topic": TOPIC._replace(settings="")}, "no setting was changed", "now: none"),
        ({"topic": TOPIC._replace(isr=(0, 2))}, "the ISR is whole", "broker 1 is not in it"),
        ({"pids": (98, 99, 13)}, "were left alone", "broker 0 has another process"),
        ({"stalls": ()}, "the machines are as they were", "ended the stalls"),
        (
            {"properties": ({**FILES[0], SESSION_KEY: "18000"}, *MENDED[1:])},
            "only the setting",
            f"{SESSION_KEY} of broker 0",
        ),
        (
            {"properties": (FILES[0], {**MENDED[1], "num.io.threads": "1"}, FILES[2])},
            "only the setting",
            "num.io.threads of broker 1",
        ),
        ({"properties": with_session("18 s")}, "lasts longer", "is not a number of ms"),
        ({"properties": with_session(str(PLAN.enough_ms - 1))}, "lasts longer", "is silent for"),
        ({"properties": with_session(str(LONGEST_MS + 1))}, "lasts longer", "missed later"),
        ({"lives": (50, 51)}, "lives through its stalls", "it registered again"),
        ({"lives": (50, 0)}, "lives through its stalls", "/brokers/ids/1 is gone"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, object], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


@pytest.mark.parametrize("session_ms", [PLAN.enough_ms, 18_000, LONGEST_MS])
def test_each_session_that_is_long_enough_passes(session_ms: int) -> None:
    assert failed(WELL._replace(properties=with_session(str(session_ms)))) == {}


def test_no_stall_watched_proves_nothing() -> None:
    assert list(failed(WELL._replace(stalls_watched=0))) == ["broker 1 lives through its stalls"]


def test_facts_that_were_kept_are_the_same() -> None:
    kept = json.loads(json.dumps(WELL._asdict()))
    assert facts_of(kept) == WELL


@pytest.mark.parametrize("seed", range(30))
def test_the_ticket_does_not_say_who_it_is(seed: int) -> None:
    made = plan(seed)
    assert made.cause in CAUSES
    assert made.stall_ms < made.every_ms
    assert made.enough_ms <= LONGEST_MS
    assert (made.enough_ms > SESSION_MS) == (made.cause == "machine")
    ticket = make(seed)["ticket.md"]
    assert f"broker {made.victim}" not in ticket.lower()
    assert str(made.stall_ms) not in ticket
    assert all(len(line) <= 80 for line in ticket.splitlines())


def test_both_causes_are_drawn_for_every_broker() -> None:
    drawn = {plan(seed)[:2] for seed in range(200)}
    assert drawn == {(broker, cause) for broker in range(3) for cause in CAUSES}
