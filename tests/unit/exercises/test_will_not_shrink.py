"""Exercise 09-6: the check judges the state of the cluster, whatever commands the learner typed."""

import json
from typing import Any

import pytest

from exercises.ch09_log_storage.ex06_will_not_shrink.facts import Facts, bound, judge, limit, table
from exercises.ch09_log_storage.ex06_will_not_shrink.material import (
    BATCH,
    EVERYWHERE,
    KINDS,
    make,
    plan,
)
from exercises.ch09_log_storage.ex06_will_not_shrink.trouble import facts_of
from exercises.lab_cluster import TopicFacts

COMPACT = "topic prices cleanup.policy=compact"
TOPIC = TopicFacts(
    77, (1, 2, 0), (0, 1, 2), (), (), f"{COMPACT}, topic prices min.compaction.lag.ms=0"
)
OLD = ("price-1 0", "price-2 1", "import 0", "price-1 2")
BEFORE = Facts(("running",) * 3, TOPIC, (200_000, 9_000, 9_000), OLD)
WELL = BEFORE._replace(sizes=(50_000, 9_000, 9_000), records=("price-2 1", "price-1 2"))


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(BEFORE, now) if not step.passed}


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    settings = f"{COMPACT}, topic prices segment.ms=60000"
    assert failed(WELL._replace(topic=TOPIC._replace(settings=settings))) == {}
    assert failed(WELL._replace(records=(*WELL.records, "key-1 new"))) == {}


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("stopped", "running", "running")}, "all three brokers", "broker 0 is stopped"),
        ({"sizes": (50_001, 0, 60_000)}, "a quarter", "broker 0 has 50,001; broker 2 has 60,000"),
        ({"records": ("price-2 1", "price-1 0")}, "each price", "1 of 2, price-1"),
        ({"records": ()}, "each price", "2 of 2"),
        ({"topic": TOPIC._replace(created=78)}, "is the same as before", "made again"),
        ({"topic": TOPIC._replace(settings="")}, "no setting was changed", "now: none"),
        ({"topic": TOPIC._replace(isr=(1, 2))}, "the ISR is whole", "broker 0 is not in it"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_only_the_settings_of_the_topic_that_may_be_a_cause_are_free() -> None:
    assert bound(TOPIC.settings) == COMPACT
    assert bound("topic prices cleanup.policy=delete") == "topic prices cleanup.policy=delete"


def test_the_table_has_the_last_price_of_each_key() -> None:
    assert table(OLD) == {"price-1": "price-1 2", "price-2": "price-2 1"}
    assert limit(BEFORE.sizes) == 50_000


def test_all_troubles_come_and_the_ticket_names_none() -> None:
    made = [plan(seed) for seed in range(30)]
    assert {one.kind for one in made} == {*KINDS}
    for seed, one in enumerate(made):
        assert one.broker == (one.replicas[-1] if one.kind == BATCH else EVERYWHERE)
        assert f"{one.records:,} records" in make(seed)["ticket.md"]
    assert any(one.suspect != one.broker for one in made if one.kind == BATCH)


def test_facts_survive_their_file() -> None:
    assert facts_of(json.loads(json.dumps(BEFORE._asdict()))) == BEFORE
