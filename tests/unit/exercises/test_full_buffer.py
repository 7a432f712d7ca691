"""Exercise 12-7: the check judges the cluster and the program `shop`, whatever commands the learner
typed.
"""

import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exercises import lab_program
from exercises.ch12_producer.ex07_full_buffer import trouble
from exercises.ch12_producer.ex07_full_buffer.facts import BEHIND, ENOUGH, Facts, is_calm, judge
from exercises.ch12_producer.ex07_full_buffer.material import CAUSES, RATE, SETTINGS, make, plan
from exercises.ch12_producer.ex07_full_buffer.shop import Seen
from exercises.ch12_producer.ex07_full_buffer.trouble import (
    ORDERS,
    facts_of,
    watch,
)
from exercises.lab_cluster import TopicFacts
from exercises.lab_program import SILENT_S, settings_of

PLAN = plan(0)  # broker 1 leads, 0 is near and cut off, 2 is far
SHOP = Seen(77, "shop.properties", {"acks": "all"}, "", 1, 700, 90, 0, 80, 0, 80)
TOPIC = TopicFacts(70, (1, 0, 2), (0, 1, 2))
BEFORE = Facts(("running",) * 3, ("0-1 cut", PLAN.far_link), TOPIC, SHOP, 80)
CALM = SHOP._replace(taken=1_700, acked=1_650, in_a_row=1_000, acked_in_all=1_650)
WELL = BEFORE._replace(links=(PLAN.far_link,), shop=CALM, in_log=1_660, watched=SHOP)


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def shop(**changes: Any) -> dict[str, object]:
    return {"shop": CALM._replace(**changes)}


def topic(**changes: Any) -> dict[str, object]:
    return {"topic": TOPIC._replace(**changes)}


def test_a_shop_that_is_well_passes_with_or_without_the_cut_link() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(PLAN, BEFORE, WELL))) == 8
    assert failed(WELL._replace(links=("0-1 cut", PLAN.far_link))) == {}, "another broker may lead"


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("stopped", "running", "running")}, "all three", "0 is stopped"),
        (topic(isr=(1, 2)), "the ISR is whole", "broker 0 is not in it"),
        (topic(created=99), "is the same as before", "created again"),
        (topic(created=0), "is the same as before", "there is no topic"),
        (topic(replicas=(1, 2), isr=(1, 2)), "is the same as before", "brokers 1, 2"),
        (topic(settings="topic orders x=1"), "no setting was changed", "now: topic orders"),
        ({"links": ()}, "as slow as before", "the distance is long"),
        ({"links": ("1-2 slow by 1 ms",)}, "as slow as before", "the distance is long"),
        ({"shop": None}, "the shop is open", "has ended"),
        (shop(pid=78), "the shop is open", "has ended"),
        (shop(complaint="no setting x"), "the shop is open", "no setting x"),
        (shop(settings={"acks": "1"}), "the shop is open", "acks=1"),
        (shop(settings={}), "the shop is open", "acks=1"),
        ({"in_log": 1_649}, "is in the log", "1 of 1,650 cannot be read"),
        (shop(acked_in_all=0), "is in the log", "0 orders"),
        (shop(in_a_row=ENOUGH - 1, turned_away=91), "refuses no order", "refused 1, "),
        (shop(acked=1_700 - BEHIND - 1), "refuses no order", "251 wait"),
        (shop(acked=1_400, failed=250), "refuses no order", "250 failed"),
        (shop(taken=700 + ENOUGH - 1, acked=1_190), "refuses no order", "it took 499"),
        (shop(producer=2), "refuses no order", "changed its producer"),
        ({"watched": None}, "refuses no order", "changed its producer"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_orders_that_failed_before_the_check_do_not_count() -> None:
    began = SHOP._replace(failed=300)
    now = CALM._replace(failed=300, acked=1_350)
    assert is_calm(began, now)
    assert not is_calm(SHOP, now)


class Watched:
    """A cluster with the program `shop`, and a clock. Each look at the program's notes takes
    time.
    """

    def __init__(
        self, patch: pytest.MonkeyPatch, notes: Callable[[int], Seen | None], look_s: float
    ) -> None:
        self.folder = Path()
        self.looks = 0
        self.now_s = 0.0
        self.there = True
        self._notes = notes
        self._look_s = look_s
        clock = types.SimpleNamespace(monotonic=lambda: self.now_s, sleep=lambda _: None)
        patch.setattr(lab_program, "time", clock)
        patch.setattr(trouble, "shop_of", lambda _: self._look())
        patch.setattr(lab_program.LabProgram, "is_it", lambda *_: self.there)

    def _look(self) -> Seen | None:
        self.looks += 1
        self.now_s += self._look_s
        return self._notes(self.looks)

    def watch(self) -> Seen | None:
        return watch(self)  # type: ignore[arg-type]  # it is the part of a cluster that is used


def test_a_shop_on_a_slow_machine_is_watched_until_it_is_calm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shop is slow: it takes 500 orders in ten minutes instead of five seconds."""

    def notes(look: int) -> Seen:
        taken = 700 + 10 * look
        return SHOP._replace(taken=taken, acked=taken - 20, in_a_row=10 * look)

    watched = Watched(monkeypatch, notes, look_s=12.0)
    assert watched.watch() == notes(1)
    assert watched.looks == 1 + ENOUGH // 10


def test_a_shop_that_is_not_calm_is_watched_for_a_number_of_its_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = Watched(
        monkeypatch, lambda look: SHOP._replace(turned_away=90 + RATE * look), look_s=0.001
    )
    assert away.watch() == SHOP._replace(turned_away=90 + RATE)
    assert away.looks == 1 + ORDERS // RATE
    fresh = Watched(
        monkeypatch,
        lambda look: SHOP._replace(producer=1 + (look > 5), turned_away=RATE * look),
        look_s=0.001,
    )
    began = fresh.watch()
    assert began is not None
    assert (began.producer, fresh.looks) == (2, 6 + ORDERS // RATE), "all orders of the present one"


def test_a_shop_that_hangs_or_has_ended_is_not_watched_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = Watched(monkeypatch, lambda _: SHOP, look_s=10.0)
    assert silent.watch() == SHOP
    assert silent.now_s == pytest.approx(SILENT_S, abs=30.0)
    gone = Watched(monkeypatch, lambda _: SHOP, look_s=0.001)
    gone.there = False
    assert gone.watch() == SHOP
    assert gone.looks == 2
    assert Watched(monkeypatch, lambda _: None, look_s=0.001).watch() is None


def test_facts_that_were_kept_are_the_same() -> None:
    kept = json.loads(json.dumps(BEFORE._asdict()))
    assert facts_of(kept) == BEFORE


def test_every_role_and_cause_comes_up() -> None:
    plans = [plan(seed) for seed in range(200)]
    assert {one.cause for one in plans} == {*CAUSES}
    assert {one.leader for one in plans} == {one.waits_for for one in plans} == {0, 1, 2}
    for one in plans:
        assert {one.leader, one.near, one.far} == {0, 1, 2}
        assert one.waits_for != one.leader


def test_the_ticket_and_the_settings_do_not_say_the_cause() -> None:
    for seed in range(20):
        files = make(seed)
        sizes = {"link": "16384", "batches": "0"}
        assert settings_of(files[SETTINGS])["batch.size"] == sizes[plan(seed).cause]
        assert settings_of(files[SETTINGS])["acks"] == "all"
        assert f"broker {plan(seed).leader} is" in files["ticket.md"]
        assert "cut" not in files["ticket.md"]


def test_settings_are_read_as_java_properties_are_written() -> None:
    assert settings_of("# a=b\n\n acks = all \nx=1=2\n") == {"acks": "all", "x": "1=2"}
