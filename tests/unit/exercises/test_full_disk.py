"""Exercise 09-8: the check judges the state of the cluster, whatever commands the learner typed."""

import json
from typing import Any

import pytest

from exercises.ch09_log_storage.ex08_full_disk.facts import BOUND, NEWEST, Facts, Replica, judge
from exercises.ch09_log_storage.ex08_full_disk.material import (
    BROKERS,
    KEPT,
    PASSING,
    SETTINGS,
    TOPICS,
    make,
    plan,
)
from exercises.ch09_log_storage.ex08_full_disk.trouble import facts_of
from exercises.lab_cluster import TopicFacts

PLAN = plan(0)  # sensors grows on the brokers 2 and 0, because its retention.bytes is -1
GROWING = TOPICS.index("sensors")


def settings(topic: str, **values: str) -> str:
    pairs = {"cleanup.policy": "delete", "retention.bytes": "400000", **values}
    return ", ".join(f"topic {topic} {key}={value}" for key, value in pairs.items())


TOPICS_WELL = tuple(
    TopicFacts(70 + number, (2, 0), (0, 2), (), (), settings(topic))
    for number, topic in enumerate(TOPICS)
)
LONG = tuple(f"record {number}" for number in range(300))
BEFORE = Facts(
    ("running",) * 3,
    (11, 12, 13),
    ("disk-1 of broker 2: KAFKA_STORAGE_ERROR",),
    ("the disks of broker 0", "of broker 1", "of broker 2"),
    tuple(
        one._replace(settings=settings("sensors", **{"retention.bytes": "-1"}), isr=(0,))
        if number == GROWING
        else one
        for number, one in enumerate(TOPICS_WELL)
    ),
    (Replica(2, 1_200_000, (0, 30, 60)), Replica(0, 1_600_000, (0, 30, 60, 90))),
    (LONG,) * len(TOPICS),
)
WELL = BEFORE._replace(
    pids=(11, 12, 99),
    offline=(),
    topics=TOPICS_WELL,
    replicas=(
        Replica(2, 400_000, (90, 120), (0, 30, 60)),
        Replica(0, 450_000, (90, 120), (0, 30, 60)),
    ),
    records=(LONG, LONG, LONG[50:], LONG[-NEWEST:]),
)


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def changed(number: int, **changes: Any) -> tuple[TopicFacts, ...]:
    """The facts about the topics, with changes of one."""
    return tuple(
        one._replace(**changes) if at == number else one for at, one in enumerate(TOPICS_WELL)
    )


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert failed(WELL._replace(topics=changed(GROWING, settings=""))).keys() == {
        "sensors will stay small: the broker deletes its oldest segments"
    }


def test_the_trouble_itself_fails() -> None:
    assert [*failed(BEFORE)] == [
        "every log dir is online",
        "sensors will stay small: the broker deletes its oldest segments",
        f"sensors has at most {BOUND:,} bytes on each broker",
        "sensors: the ISR is whole",
    ]


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("running", "running", "stopped")}, "all three", "2 is stopped"),
        ({"offline": BEFORE.offline}, "every log dir", "disk-1 of broker 2"),
        ({"topics": changed(GROWING, created=0)}, "the topics are", "there is no topic sensors"),
        ({"topics": changed(GROWING, created=99)}, "the topics are", "created again"),
        ({"topics": changed(0, replicas=(0,), isr=(0,))}, "the topics are", "on brokers 0"),
        ({"records": (LONG[1:], *WELL.records[1:])}, "invoices: all records", "1 of 300"),
        ({"records": (*WELL.records[:3], LONG[:-1])}, "sensors: the newest", "1 of 100"),
        (
            {"topics": changed(GROWING, settings=settings("sensors", **{"retention.bytes": "-1"}))},
            "will stay small",
            "retention.bytes=-1",
        ),
        (
            {
                "topics": changed(
                    GROWING, settings=settings("sensors", **{"cleanup.policy": "compact"})
                )
            },
            "will stay small",
            "nothing is deleted",
        ),
        (
            {"replicas": (WELL.replicas[0]._replace(bytes=BOUND + 1), WELL.replicas[1])},
            "has at most",
            "broker 2 has",
        ),
        (
            {"replicas": (WELL.replicas[0]._replace(deleted=(0, 60)), WELL.replicas[1])},
            "the brokers themselves",
            "00000000000000000030.log",
        ),
        (
            {"topics": changed(0, settings=settings("invoices", **{"retention.bytes": "1"}))},
            "no setting was changed",
            "topic invoices retention.bytes=1",
        ),
        (
            {"properties": (*BEFORE.properties[:2], "larger")},
            "the disks are",
            "larger, before: of broker 2",
        ),
        ({"pids": (98, 12, 99)}, "were left alone", "broker 0 has another process"),
        ({"topics": changed(1, isr=(0,))}, "orders: the ISR is whole", "broker 2 is not in it"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, object], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_other_good_ends_pass() -> None:
    both = settings("sensors", **{"cleanup.policy": "compact,delete", "retention.bytes": "300000"})
    assert failed(WELL._replace(topics=changed(GROWING, settings=both))) == {}
    cleaned = Replica(2, 400_000, (0, 90), (), cleaned_to=90)
    assert failed(WELL._replace(replicas=(cleaned, WELL.replicas[1]))) == {}


def test_facts_that_were_kept_are_the_same() -> None:
    kept = json.loads(json.dumps(WELL._asdict()))
    assert facts_of(kept) == WELL


def test_seeds_differ_and_the_ticket_does_not_say_which() -> None:
    plans = [plan(seed) for seed in range(40)]
    assert {(one.topic, one.setting) for one in plans} == {
        (topic, setting) for topic in PASSING for setting in SETTINGS
    }
    assert {one.small for one in plans} == {*range(BROKERS)}
    for seed, one in enumerate(plans):
        assert {one.topic, one.steady} == {*PASSING}
        ticket = make(seed)["ticket.md"]
        assert all(topic in ticket for topic in (*KEPT, *PASSING))
        assert not any(setting in ticket for setting in SETTINGS)
        assert "roker 0" not in ticket
