"""Exercise 06-6: the check judges the cluster and the program `shop`, whatever commands the learner
typed.
"""

import json
from typing import Any

import pytest

from exercises.ch06_graceful_shutdown.ex06_rolling_restart.facts import NOBODY, Facts, judge
from exercises.ch06_graceful_shutdown.ex06_rolling_restart.material import SETTING, make, plan
from exercises.ch06_graceful_shutdown.ex06_rolling_restart.shop import Seen
from exercises.ch06_graceful_shutdown.ex06_rolling_restart.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)  # broker 2 is down, and it is the preferred one
TOPIC = TopicFacts(77, (2, 0, 1), (0, 1), (), (), "topic orders min.insync.replicas=2")
FILES = tuple({"broker.id": str(number), SETTING: "30000"} for number in range(3))
SHOP = Seen(
    pid=9,
    sent=12,
    acked=10,
    given_up={},
    read=10,
    failed_to_read={},
    tried_again=3,
    slowest_ms=420,
    fewest_in_sync=2,
    settled=10,
    refused=[],
)
ORDERS = tuple(f"order {number}" for number in range(11))
BEFORE = Facts(
    ("running", "running", "stopped"), TOPIC, 0, FILES, ("30000", "30000", ""), 1, SHOP, ORDERS
)
VALUE = str(PLAN.value)
WELL = BEFORE._replace(
    states=("running",) * 3,
    topic=TOPIC._replace(isr=(0, 1, 2)),
    leader=PLAN.preferred,
    properties=tuple({**file, SETTING: VALUE} for file in FILES),
    values=(VALUE,) * 3,
    epoch=2,
)


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def shop(**changed: Any) -> dict[str, Any]:
    return {"shop": SHOP._replace(**changed)}


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    steps = {step.says: step.seen for step in judge(PLAN, BEFORE, WELL)}
    assert "tried again 3 times by itself" in steps["the shop has never given up an order"]
    assert "the slowest took 420 ms" in steps["the shop has never given up an order"]


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("running", "paused", "running")}, "all three", "broker 1 is paused"),
        ({"values": (VALUE, "30000", VALUE)}, "each broker has read", "broker 1 has 30000"),
        ({"values": (VALUE, VALUE, "")}, "each broker has read", "broker 2 does not answer"),
        (
            {"properties": ({**WELL.properties[0], "num.io.threads": "1"}, *WELL.properties[1:])},
            "no other setting",
            "num.io.threads of broker 0",
        ),
        ({"topic": TOPIC._replace(settings="")}, "no setting was changed", "now: none"),
        ({"topic": TOPIC._replace(created=78)}, "is the same as before", "made again"),
        ({"topic": TOPIC._replace(replicas=(0, 1, 2))}, "is the same as before", "another order"),
        ({"shop": None}, "the shop works", "no notes"),
        (
            shop(given_up={"_MSG_TIMED_OUT": 2}),
            "never given up",
            "2 of 12 were given up after 20 s: 2 × _MSG_TIMED_OUT",
        ),
        (shop(failed_to_read={"_FATAL": 1}), "never failed to read", "1 × _FATAL"),
        ({"orders": ORDERS[:8]}, "is there, once", "2 are gone, order 8 is the first"),
        ({"orders": (*ORDERS, "order 4")}, "is there, once", "1 are there twice, order 4"),
        (shop(fewest_in_sync=1), "at least two replicas", "the fewest were 1"),
        ({"epoch": 3}, "changed hands once", "2 times: the controller comes last"),
        ({"topic": TOPIC}, "the ISR is whole", "broker 2 is not in it"),
        ({"leader": 0}, "the preferred replica leads", "broker 0 leads orders-0"),
        ({"leader": NOBODY}, "the preferred replica leads", "nobody leads"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_an_order_that_was_given_up_is_not_missed() -> None:
    assert "every acknowledged order is there, once" not in failed(
        WELL._replace(orders=(*ORDERS[:3], *ORDERS[4:]), **shop(refused=[3]))
    )


def test_facts_are_the_same_after_they_were_kept() -> None:
    kept = json.loads(json.dumps(WELL._asdict()))
    assert facts_of(kept) == WELL


def test_the_ticket_names_the_setting_and_not_who_is_down() -> None:
    ticket = make(0)["ticket.md"]
    assert f"{SETTING}={PLAN.value}" in ticket
    assert "broker 2" not in ticket
    assert {plan(seed).down for seed in range(30)} == {0, 1, 2}
