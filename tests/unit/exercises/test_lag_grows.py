"""Exercise 13-8: the check judges the cluster and the program `office`, whatever commands the
learner typed.
"""

import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exercises import lab_program
from exercises.ch13_consumer_groups.ex08_lag import trouble
from exercises.ch13_consumer_groups.ex08_lag.facts import FALLEN, SMALL, Facts, is_calm, judge
from exercises.ch13_consumer_groups.ex08_lag.material import (
    CAUSES,
    MOST_WORKERS,
    PARTITIONS,
    POLL,
    RATE,
    SETTINGS,
    WORK_MS,
    make,
    plan,
)
from exercises.ch13_consumer_groups.ex08_lag.office import Office, Seen
from exercises.ch13_consumer_groups.ex08_lag.trouble import (
    ORDERS,
    Watched,
    facts_of,
    watch,
)
from exercises.lab_cluster import TopicFacts
from exercises.lab_program import SILENT_S
from kafka_edu.common.topic_partition import TopicPartition

OFFICE = Seen(77, "workers.properties", 2, "", 1, 3_000, 1_200, 4, 0, 1_700)
TOPIC = TopicFacts(70, (0, 1, 2), (0, 1, 2))
BEFORE = Facts(("running",) * 3, TOPIC, OFFICE, 1_800)
LATER = OFFICE._replace(workers=5, shift=2, written=4_000)
AT_FIRST = LATER._replace(waiting=1_900, written=3_700)
WELL = BEFORE._replace(office=LATER, lag=1_500, watched=AT_FIRST, lag_before=2_000)


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(BEFORE, now) if not step.passed}


def office(**changes: Any) -> dict[str, object]:
    return {"office": LATER._replace(**changes)}


def test_a_group_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(BEFORE, WELL))) == 6
    few = LATER._replace(waiting=SMALL)
    assert failed(WELL._replace(lag=SMALL, lag_before=0, office=few, watched=few)) == {}


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("stopped", "running", "running")}, "all three", "0 is stopped"),
        ({"topic": TOPIC._replace(created=99)}, "is the same as before", "created again"),
        ({"topic": TOPIC._replace(created=0)}, "is the same as before", "there is no topic"),
        ({"topic": TOPIC._replace(settings="topic orders x=1")}, "no setting", "orders x=1"),
        ({"office": None}, "the office is open", "has ended"),
        (office(pid=78), "the office is open", "has ended"),
        (office(complaint="workers=9"), "the office is open", "workers=9"),
        (office(workers=0), "the office is open", "0 workers"),
        (office(skipped=1_500), "no order was skipped", "1,500 orders"),
        ({"lag": 1_951}, "the lag is small", "it was 2,000, and is 1,951"),
        (office(waiting=1_851), "the lag is small", "1,851 orders wait for a worker"),
        ({"lag": 9_000}, "the lag is small", "is 9,000"),
        ({"watched": None}, "the lag is small", "changed its workers"),
        ({"watched": OFFICE}, "the lag is small", "changed its workers"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def test_commits_that_were_refused_are_counted() -> None:
    now = WELL._replace(lag=3_000, office=LATER._replace(refused=9))
    assert "5 commits were refused" in failed(now)["the lag is small, or it falls"]


class WatchedOffice:
    """A cluster with the program `office`, and a clock. Each look at the program's notes takes
    time.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        notes: Callable[[int], Seen | None],
        lag: Callable[[int], int],
        look_s: float = 0.001,
    ) -> None:
        self.folder = Path()
        self.looks = 0
        self.now_s = 0.0
        self.there = True
        self._notes = notes
        self._look_s = look_s
        clock = types.SimpleNamespace(monotonic=lambda: self.now_s, sleep=lambda _: None)
        patch.setattr(lab_program, "time", clock)
        patch.setattr(trouble, "office_of", lambda _: self._look())
        patch.setattr(trouble, "lag_of", lambda _: lag(self.looks))
        patch.setattr(lab_program.LabProgram, "is_it", lambda *_: self.there)

    def _look(self) -> Seen | None:
        self.looks += 1
        self.now_s += self._look_s
        return self._notes(self.looks)

    def watch(self) -> Watched:
        return watch(self)  # type: ignore[arg-type]  # it is the part of a cluster that is used


def written(look: int) -> Seen:
    return OFFICE._replace(written=50 * look, waiting=9_000 - 10 * look)


def test_a_lag_that_falls_is_watched_until_it_has_fallen(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = WatchedOffice(monkeypatch, written, lambda look: 5_000 - 10 * look, look_s=100.0)
    assert watched.watch() == (written(1), 4_990, written(6), 4_940), "what ended it is judged"
    assert watched.looks == 1 + FALLEN // 10


def test_a_commit_in_a_jump_is_not_a_lag_that_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = WatchedOffice(
        monkeypatch,
        lambda look: written(look)._replace(waiting=3_000 + look),
        lambda look: 4_000 - 400 * (look > 7),
    )
    assert watched.watch().lag_before == 4_000
    assert watched.looks == 1 + ORDERS // 50


def test_a_small_lag_is_watched_for_some_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    few = written(1)._replace(waiting=5)
    watched = WatchedOffice(monkeypatch, lambda look: few._replace(written=50 * look), lambda _: 10)
    assert watched.watch()[:2] == (few, 10)
    assert watched.looks == 1 + trouble.SOME_ORDERS // 50


def test_a_lag_that_grows_is_watched_for_a_number_of_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = WatchedOffice(monkeypatch, written, lambda look: 1_000 + look)
    assert watched.watch()[:2] == (written(1), 1_001)
    assert watched.looks == 1 + ORDERS // 50


def test_new_workers_are_watched_from_their_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = WatchedOffice(
        monkeypatch,
        lambda look: written(look)._replace(shift=1 + (look > 3)),
        lambda look: 9_000 if look < 4 else 5_000,
    )
    began, lag, _, _ = watched.watch()
    assert began is not None
    assert (began.shift, lag, watched.looks) == (2, 5_000, 4 + ORDERS // 50)


def test_an_office_that_hangs_or_has_ended_is_not_watched_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = WatchedOffice(monkeypatch, lambda _: OFFICE, lambda _: 900, look_s=10.0)
    assert silent.watch() == (OFFICE, 900, OFFICE, 900)
    assert silent.now_s == pytest.approx(SILENT_S, abs=30.0)
    gone = WatchedOffice(monkeypatch, lambda _: OFFICE, lambda _: 900)
    gone.there = False
    assert gone.watch() == (OFFICE, 900, OFFICE, 900)
    assert WatchedOffice(monkeypatch, lambda _: None, lambda _: 900).watch() == (None, 0, None, 0)


def test_facts_that_were_kept_are_the_same() -> None:
    kept = json.loads(json.dumps(BEFORE._asdict()))
    assert facts_of(kept) == BEFORE
    assert facts_of(json.loads(json.dumps(BEFORE._replace(office=None)._asdict()))).office is None


def test_every_cause_comes_up_and_the_lag_grows_in_each() -> None:
    plans = [plan(seed) for seed in range(100)]
    assert {one.cause for one in plans} == {*CAUSES}
    for one in plans:
        power = one.at_work * 1_000 / WORK_MS
        if one.cause == POLL:
            assert power > RATE, "they could do it"
            assert one.records * WORK_MS > 2 * one.interval_ms
            continue
        assert power < RATE
        assert one.records * WORK_MS < one.interval_ms
        assert (one.at_work == one.partitions) is (one.cause == PARTITIONS)


def test_it_can_be_mended() -> None:
    for seed in range(100):
        one = plan(seed)
        if one.cause == PARTITIONS:
            able = one.workers
        else:
            able = min(one.partitions, MOST_WORKERS)
        assert able * 1_000 / WORK_MS > 1.5 * RATE


def test_the_ticket_does_not_say_the_cause() -> None:
    tickets = {make(seed)["ticket.md"].partition("\n")[2] for seed in range(40)}
    assert len(tickets) == 1
    settings = make(0)[SETTINGS]
    assert f"workers={plan(0).workers}\n" in settings


def test_a_gap_is_an_order_that_was_skipped(tmp_path: Path) -> None:
    desk = Office(tmp_path, 1, "", tmp_path / SETTINGS)
    one, other = TopicPartition("orders", 0), TopicPartition("orders", 1)
    for partition, offset in ((one, 0), (other, 0), (one, 1), (one, 0), (one, 1), (one, 2)):
        desk.handle(partition, offset)
    assert desk.skipped == 0
    desk.handle(one, 6)
    desk.handle(other, 1)
    desk.handle(one, 3)
    assert desk.skipped == 3
    more, less = OFFICE._replace(waiting=900), OFFICE._replace(waiting=850)
    assert is_calm(more, less, SMALL + FALLEN + 1, SMALL + 1)
    assert not is_calm(more, less, SMALL + FALLEN, SMALL + 1)
    assert not is_calm(less, less, SMALL + FALLEN + 1, SMALL + 1)
