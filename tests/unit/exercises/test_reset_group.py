"""Exercise 14-6: the check judges the cluster and the program `billing`, whatever commands the
learner typed.
"""

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exercises import lab_program
from exercises.ch14_offsets.ex06_reset_group import trouble
from exercises.ch14_offsets.ex06_reset_group.billing import Read, Seen
from exercises.ch14_offsets.ex06_reset_group.facts import (
    LEAST_SENT,
    Facts,
    is_caught_up,
    is_complete,
    judge,
)
from exercises.ch14_offsets.ex06_reset_group.material import (
    LATE_MS,
    MEMBERS,
    PARTITIONS,
    REFUNDS,
    make,
    plan,
)
from exercises.ch14_offsets.ex06_reset_group.trouble import SENT, facts_of, watch
from exercises.lab_cluster import TopicFacts
from kafka_edu.tools.offset_reset import parse_datetime

SEEDS = range(30)
PLAN = plan(0)  # partition 1 is closed
ENDS = {"orders-0": 200, "orders-1": 150, "orders-2": 170, "refunds-0": 130}
TOPIC = TopicFacts(70, (0, 1), (0, 1))
READ = {
    "orders-0": Read(163, 200, 37),
    "orders-2": Read(140, 170, 30),
    "refunds-0": Read(60, 130, 70),
}
BILLING = Seen(77, "billing.properties", MEMBERS, "", 40, READ)
BEFORE = Facts(("running",) * 2, TOPIC, BILLING, ENDS, ENDS)
AGAIN = READ | {"orders-0": Read(123, 200, 77), "orders-2": Read(80, 170, 90)}
WELL = BEFORE._replace(billing=BILLING._replace(sent=90, read=AGAIN))


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def billing(**changes: Any) -> dict[str, object]:
    assert WELL.billing is not None
    return {"billing": WELL.billing._replace(**changes)}


def read(name: str, *values: int) -> dict[str, object]:
    return billing(read=AGAIN | {name: Read(*values)})


def test_a_group_that_was_reset_passes() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(PLAN, BEFORE, WELL))) == 8
    assert is_caught_up(WELL)
    assert is_complete(BEFORE, WELL)
    assert not is_complete(BEFORE, WELL._replace(ends=ENDS | {"orders-2": 171}))


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("running", "stopped")}, "all two", "broker 1 is stopped"),
        ({"topic": TOPIC._replace(created=99)}, "is the same as before", "created again"),
        ({"topic": TOPIC._replace(created=0)}, "is the same as before", "there is no topic"),
        ({"topic": TOPIC._replace(settings="x")}, "no setting was changed", "now: x"),
        ({"billing": None}, "the shop is open", "has ended"),
        (billing(pid=78), "the shop is open", "has ended"),
        (billing(members=0), "the shop is open", "it has 0"),
        (billing(complaint="members=x"), "the shop is open", "members=x"),
        (billing(sent=41), "the shop is open", "1 orders and refunds"),
        (billing(read=READ), "is billed again", "163; 123 has a wrong bill still"),
        (read("orders-2", 79, 170, 91), "is billed again", "order 79 has a second bill"),
        (read("orders-1", 149, 150, 1), "is billed again", "order 149 has a second bill"),
        (billing(read={}), "is billed again", "orders-0: nothing was read"),
        (read("orders-0", 123, 200, 70), "is left out", "7 records between 123 and 200"),
        (read("refunds-0", 59, 130, 71), "paid twice", "refund 59 was paid again"),
        (billing(read={}), "paid twice", "none was paid"),
        ({"committed": ENDS | {"orders-2": 169}}, "has committed all", "orders-2: 169 of 170"),
        ({"committed": {}}, "has committed all", "orders-0: no offset"),
        ({"ends": {}}, "has committed all", "0 partitions"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_the_facts_survive_as_json() -> None:
    fields = {
        "states": ["running", "running"],
        "topic": list(TOPIC),
        "billing": [
            77,
            "billing.properties",
            MEMBERS,
            "",
            40,
            {n: list(r) for n, r in READ.items()},
        ],
        "committed": ENDS,
        "ends": ENDS,
    }
    assert facts_of(fields) == BEFORE


@pytest.mark.parametrize("seed", SEEDS)
def test_each_learner_has_one_closed_shop_and_late_phones(seed: int) -> None:
    made = plan(seed)
    assert parse_datetime(made.time) == made.time_ms
    for partition, stamps in enumerate(made.timestamps):
        begin = made.begins[partition]
        first = next((n for n, at in enumerate(stamps) if at >= made.time_ms), len(stamps))
        assert first == begin
        late = [n for n, at in enumerate(stamps) if n > begin and at < made.time_ms]
        assert len(late) == (partition != made.closed)
        assert all(stamps[n] == made.time_ms - LATE_MS for n in late)
    assert len(made.open) == PARTITIONS - 1
    files = make(seed)
    assert made.time.replace("T", " ") in files["ticket.md"]
    assert f"members={MEMBERS}" in files["billing.properties"]


def test_learners_have_different_tickets() -> None:
    assert len({make(seed)["ticket.md"] for seed in SEEDS}) == len(SEEDS)
    assert {plan(seed).closed for seed in SEEDS} == {0, 1, 2}
    assert READ["refunds-0"].behind > REFUNDS


def watched(patch: pytest.MonkeyPatch, facts: Callable[[int], Facts], *, there: bool) -> Facts:
    """Watch a cluster. Each look calls `facts` with the number of looks so far."""
    looks = 0
    now_s = 0.0

    def look(_: object) -> Facts:
        nonlocal looks
        looks += 1
        return facts(looks)

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    clock = types.SimpleNamespace(monotonic=lambda: now_s, sleep=sleep)
    patch.setattr(lab_program, "time", clock)
    patch.setattr(trouble, "look", look)
    patch.setattr(trouble, "billing_of", lambda _: facts(looks + 1).billing)
    patch.setattr(lab_program.LabProgram, "is_it", lambda *_: there)
    return watch(types.SimpleNamespace(folder=Path()), BEFORE)  # type: ignore[arg-type]


def sold(sent: int, **more: Any) -> Facts:
    return BEFORE._replace(billing=BILLING._replace(sent=BILLING.sent + sent), **more)


def test_a_group_is_watched_until_it_has_what_had_come_at_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def facts(looks: int) -> Facts:
        ends = {name: end + 10 * looks for name, end in ENDS.items()}
        committed = {name: end + 10 * (looks - 5) for name, end in ENDS.items()}
        return sold(30 * looks, ends=ends, committed=committed)

    found = watched(monkeypatch, facts, there=True)
    assert found.ends == facts(1).ends
    assert found.committed == facts(6).committed


def test_a_check_right_after_the_start_waits_for_new_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = watched(monkeypatch, sold, there=True)
    assert found.billing == BILLING._replace(sent=BILLING.sent + LEAST_SENT)


def test_a_group_that_does_not_read_is_watched_for_a_number_of_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = watched(monkeypatch, lambda looks: sold(99 * looks, committed={}), there=True)
    assert found.billing is not None
    assert SENT <= found.billing.sent - BILLING.sent < SENT + 3 * 99


def test_a_billing_that_hangs_or_has_ended_is_not_watched_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    idle = sold(7, committed={})
    assert watched(monkeypatch, lambda _: idle, there=True) == idle
    assert watched(monkeypatch, lambda _: idle, there=False) == idle
    gone = idle._replace(billing=None)
    assert watched(monkeypatch, lambda _: gone, there=True) == gone
