"""Exercise 16-18s: the check judges the cluster, the program `shop` and the query, whatever
commands the learner typed.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition

from exercises import lab_program
from exercises.ch16_spark.ex18s_falls_behind import trouble
from exercises.ch16_spark.ex18s_falls_behind.facts import (
    BATCHES,
    BEFORE,
    BROUGHT,
    CALM,
    FALLEN,
    Facts,
    Fall,
    Result,
    brought,
    compared,
    is_calm,
    judge,
)
from exercises.ch16_spark.ex18s_falls_behind.material import (
    CAUSES,
    FETCH,
    HOT_KEY,
    KEPT_BACK,
    KEY,
    LIMIT,
    MOST_ROWS,
    PARTITION,
    RATE,
    SETTINGS,
    SLOTS,
    WORK_MS,
    make,
    plan,
    settings,
)
from exercises.ch16_spark.ex18s_falls_behind.query import (
    SMALL,
    Account,
    Done,
    Seen,
    done_of,
    files_of,
    options_of,
    rows_of,
)
from exercises.ch16_spark.ex18s_falls_behind.shop import RUSH, Shop, orders_of
from exercises.ch16_spark.ex18s_falls_behind.shop import brought as brought_as_noted
from exercises.ch16_spark.ex18s_falls_behind.trouble import facts_of, watch, with_known
from exercises.lab_cluster import TopicFacts
from exercises.lab_program import settings_of

QUERY = Seen(77, "query.properties", "", 1, 1, "a-b", 3, {"0": 600, "1": 600}, 900, 0)
TOPIC = TopicFacts(70, (0,), (0,))
BEFORE_IT = Facts("running", TOPIC, 66, QUERY, Result(1_200))
AT_FIRST = QUERY._replace(read=2, run=2, batch=9, ends={"0": 1_500, "1": 1_500}, lag=40)
LATER = AT_FIRST._replace(batch=14, ends={"0": 2_200, "1": 2_200}, lag=0, zeros=3)
WELL = BEFORE_IT._replace(query=LATER, result=Result(4_400), watched=AT_FIRST)
FALLS = "the lag falls to zero, and stays there"


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(BEFORE_IT, now) if not step.passed}


def query(**changes: Any) -> dict[str, object]:
    return {"query": LATER._replace(**changes)}


def test_a_query_that_has_caught_up_passes() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(BEFORE_IT, WELL))) == 7


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"state": "stopped"}, "the broker runs", "0 is stopped"),
        ({"topic": TOPIC._replace(created=99)}, "is the same as before", "created again"),
        ({"topic": TOPIC._replace(created=0)}, "is the same as before", "there is no topic"),
        ({"topic": TOPIC._replace(settings="topic clicks x=1")}, "no setting", "clicks x=1"),
        ({"shop": 0}, "the shop is open", "the shop of before has ended"),
        ({"shop": 67}, "the shop is open", "the shop of before has ended"),
        ({"query": None}, "the shop is open", "the query's program of before has ended"),
        (query(pid=78), "the shop is open", "the query's program of before has ended"),
        (query(complaint="limit=0"), "the shop is open", "limit=0"),
        (query(id="c-d"), "gone on from its checkpoint", "a new checkpoint"),
        ({"result": Result(9, missing=1_500)}, "rows once", "1,500 clicks are missing"),
        ({"result": Result(9, twice=2)}, "rows once", "2 rows are there again"),
        ({"result": Result(9, wrong=3)}, "rows once", "3 rows do not fit the log"),
        (query(zeros=2, lag=70), FALLS, "brought 1,400 clicks, and the last one has left 70"),
        (query(batch=11), FALLS, "2 micro-batches"),
        (query(batch=9), FALLS, "no micro-batch was finished"),
        (query(run=3), FALLS, "new settings during the check"),
        ({"watched": None}, FALLS, "new settings during the check"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, Any], says: str, seen: str) -> None:
    faults = failed(WELL._replace(**now))
    assert any(says in name and seen in shown for name, shown in faults.items()), faults


def lag_of(latest: dict[str, int], end: dict[str, int], rows: int = 300) -> dict[str, Any]:
    source = {"latestOffset": {"clicks": latest}, "endOffset": json.dumps({"clicks": end})}
    return {"batchId": 4, "numInputRows": rows, "sources": [source]}


def test_the_lag_of_a_micro_batch_is_what_it_has_left_behind() -> None:
    assert done_of(lag_of({"0": 90, "1": 80}, {"0": 60, "1": 75})) == Done(
        4, {"0": 60, "1": 75}, 35
    )
    assert done_of(lag_of({"0": 90}, {"0": 90}, rows=0)) is None
    planned_before = lag_of({}, {"0": 60})
    planned_before["sources"][0]["latestOffset"] = None
    assert done_of(planned_before) == Done(4, {"0": 60}, None)


def test_a_row_of_small_lags_is_counted_within_a_run() -> None:
    account = Account()
    for number, lag in enumerate((900, SMALL, 0, None, 0)):
        account.add(Done(number, {"0": number}, lag))
    assert (account.batch, account.lag, account.zeros) == (4, 0, 3)
    account.add(Done(4, {"0": 4}, 0))
    assert account.zeros == 3, "it was known already"
    account.begin_run()
    assert account.zeros == 0
    account.add(Done(5, {"0": 9}, SMALL + 1))
    assert (account.ends, account.lag, account.zeros) == ({"0": 9}, SMALL + 1, 0)


def finished(batch: int, clicks: int, lag: int, zeros: int = 0) -> Seen:
    return QUERY._replace(batch=batch, ends={"0": clicks}, lag=lag, zeros=zeros)


def test_a_lag_has_to_fall_after_the_first_two_micro_batches() -> None:
    fall = Fall(finished(3, 0, 10))
    first = 3 + BEFORE
    assert not fall.is_too_slow(finished(first - 1, 1_000, 900)), "it is from before the rush hour"
    assert not fall.is_too_slow(finished(first, 2_000, 1_000))
    few = finished(first + 9, 2_000 + BROUGHT - 1, 1_500)
    assert not fall.is_too_slow(few)
    one = finished(first + BATCHES - 1, 9_000, 1_500)
    assert not fall.is_too_slow(one)
    assert not fall.is_too_slow(finished(first + BATCHES, 2_000 + BROUGHT, 1_000 - FALLEN))
    again = finished(first + 2 * BATCHES, 2_000 + 2 * BROUGHT, 1_001 - 2 * FALLEN)
    assert fall.is_too_slow(again), "it has fallen once, and then by less"


def test_a_small_lag_need_not_fall() -> None:
    fall = Fall(finished(0, 0, 0))
    assert not fall.is_too_slow(finished(BEFORE, 0, 0))
    assert not fall.is_too_slow(finished(BEFORE + BATCHES, BROUGHT, SMALL))
    assert fall.is_too_slow(finished(BEFORE + 2 * BATCHES, 2 * BROUGHT, SMALL + 1))


def test_three_new_micro_batches_without_a_lag_are_calm() -> None:
    began = finished(5, 0, 0, zeros=9)
    assert not is_calm(began, finished(4 + CALM, 90, 0, zeros=11)), "too few are new"
    assert not is_calm(began, finished(9, 90, 0, zeros=CALM - 1))
    assert is_calm(began, finished(5 + CALM, 90, 0, zeros=CALM))


def watched(
    monkeypatch: pytest.MonkeyPatch, notes: list[Seen | None]
) -> tuple[Seen | None, Seen | None, int]:
    """Let `watch` read these notes. Return its two answers and the number of notes left unread."""
    left = iter(notes)

    class Program:
        folder = Path()

    monkeypatch.setattr("exercises.lab_program.time.sleep", lambda _: None)
    monkeypatch.setattr(lab_program.LabProgram, "is_it", lambda *_: True)
    monkeypatch.setattr(trouble, "query_of", lambda _: next(left))
    began, ended = watch(Program())  # type: ignore[arg-type]  # it is the part that is used
    return began, ended, len(list(left))


def test_a_check_ends_when_the_query_is_calm_or_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = [finished(batch, 100 * batch, 0, zeros=batch - 4) for batch in range(4, 12)]
    assert watched(monkeypatch, [*calm]) == (calm[0], calm[3], 4)
    slow = [finished(batch, 300 * batch, 900) for batch in range(4, 12)]
    assert watched(monkeypatch, [*slow]) == (slow[0], slow[4], 3)
    ended = slow[1]._replace(complaint="the query has ended")
    assert watched(monkeypatch, [slow[0], ended, *slow]) == (slow[0], ended, 8)
    assert watched(monkeypatch, [None]) == (None, None, 0)


def test_new_settings_are_watched_from_their_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    old = [finished(batch, 300 * batch, 900) for batch in range(4, 7)]
    new = [
        one._replace(run=2) for one in map(finished, range(7, 15), range(0, 8_000, 1_000), [0] * 8)
    ]
    began, _, _ = watched(monkeypatch, [*old, *new[:3], None])
    assert began == new[0]


def test_the_rows_are_compared_with_the_log() -> None:
    log = {(0, 0): "1 /a", (0, 1): "2 /b", (1, 0): "3 /c"}
    rows = [
        {"partition": number, "offset": offset, "click": click}
        for (number, offset), click in log.items()
    ]
    assert compared(log, rows) == Result(3)
    assert compared(log, rows[1:]) == Result(3, missing=1)
    assert compared(log, [*rows, *rows[:2]]) == Result(3, twice=2)
    assert compared(log, [*rows[:2], {**rows[2], "click": "4 /d"}]) == Result(3, wrong=1)
    assert compared(log, [*rows, {**rows[2], "offset": 1}]) == Result(3, wrong=1)


def test_the_file_of_the_next_micro_batch_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for number in (0, 1, 2, 12):
        line = json.dumps({"partition": 0, "offset": number, "click": "1 /a"})
        (tmp_path / "rows" / f"{number:06}.jsonl").write_text(line + "\n", encoding="utf-8")
    (tmp_path / "rows" / "000003.new").write_text("half a ro", encoding="utf-8")

    def offsets(last: int) -> list[int]:
        return [row["offset"] for row in rows_of(files_of(tmp_path), last)]

    assert offsets(1) == [0, 1, 12], "12 is from another checkpoint"
    assert offsets(11) == [0, 1, 2]
    assert offsets(12) == [0, 1, 2, 12]


def test_rows_that_were_edited_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble, "answering", lambda _: [])
    monkeypatch.setattr(trouble, "log_of", lambda *_: {(0, 0): "1 /a", (0, 1): "2 /b"})
    (tmp_path / "rows").mkdir()
    cluster: Any = None  # the two functions that use it are replaced
    for text in ("no JSON", "{}", "[]", "\n"):
        (tmp_path / "rows" / "000001.jsonl").write_text(text, encoding="utf-8")
        result = trouble.result_of(cluster, files_of(tmp_path), QUERY)
        assert result == Result(2, wrong=2), text


class Reader:
    """A consumer of a topic with these partitions. Each partition holds one record, a click."""

    def __init__(self, *partitions: int) -> None:
        self.partitions = set(partitions)
        self.left: list[TopicPartition] = []

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self.partitions or None

    def assign(self, places: list[TopicPartition]) -> None:
        self.left = list(places)

    def end_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        assert {place.partition for place in places} <= self.partitions, "kafka-python: KeyError"
        return dict.fromkeys(places, 1)

    def seek_to_beginning(self) -> None:
        assert self.left, "kafka-python refuses"

    def position(self, place: TopicPartition) -> int:
        return int(place not in self.left)

    def poll(self, wait_ms: int) -> dict[TopicPartition, list[Any]]:
        place = self.left.pop()
        return {place: [SimpleNamespace(offset=0, value=f"{place.partition} /a".encode())]}

    def close(self) -> None:
        pass


def test_a_topic_that_was_made_again_has_no_clicks_of_missing_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = {"0": 600, "1": 600}
    for partitions, log in (
        ((0, 1), {(0, 0): "0 /a", (1, 0): "1 /a"}),
        ((0,), {(0, 0): "0 /a"}),
        ((), {}),
    ):
        reader = Reader(*partitions)
        monkeypatch.setattr(trouble, "KafkaConsumer", lambda reader=reader, **_: reader)
        assert trouble.log_of(["127.0.0.1:1"], ends) == log


def test_what_another_checkpoint_has_brought_is_still_wanted() -> None:
    fresh = QUERY._replace(ends={"1": 700, "2": 5})
    assert with_known(fresh, QUERY.ends).ends == {"0": 600, "1": 700, "2": 5}
    assert with_known(QUERY, {}) == QUERY


def test_facts_that_were_kept_are_the_same() -> None:
    kept = json.loads(json.dumps(BEFORE_IT._asdict()))
    assert facts_of(kept) == BEFORE_IT
    assert facts_of(json.loads(json.dumps(BEFORE_IT._replace(query=None)._asdict()))).query is None


@pytest.mark.parametrize("limit", ["", "0", "-5", "1001", "many"])
def test_a_limit_beyond_the_memory_is_refused(limit: str) -> None:
    with pytest.raises(ValueError, match=f"maxOffsetsPerTrigger={limit}: .* 1 to 1,000 clicks"):
        options_of({"maxOffsetsPerTrigger": limit, "trigger": "1 second"})


def test_the_trigger_is_no_option_of_the_source() -> None:
    options = options_of(settings_of(settings(0)))
    assert "trigger" not in options
    assert options["maxOffsetsPerTrigger"] == f"{plan(0).limit}"
    assert len(options) == 4


def test_every_cause_comes_up_and_is_the_only_one() -> None:
    plans = [plan(seed) for seed in range(100)]
    assert {one.cause for one in plans} == {*CAUSES}
    a_task = 1_000 / WORK_MS
    for one in plans:
        seconds = int(one.trigger.split()[0])
        assert (one.limit / seconds < RATE) is (one.cause == LIMIT)
        assert (one.min_bytes > one.most_bytes) is (one.cause == FETCH)
        assert (one.busy * a_task < RATE) is (one.cause in (PARTITION, KEY))
        assert (one.partitions == 1) is (one.cause == PARTITION)
        assert one.busy <= SLOTS


class Played:
    """The shop and the query in virtual time. A micro-batch takes a fixed time, and then the time
    of its busiest task.
    """

    def __init__(self, limit: int, tasks: int, fixed_s: float, waiting: int) -> None:
        self._limit = limit
        self._click_s = WORK_MS / 1_000 / tasks
        self._fixed_s = fixed_s
        self._written = waiting
        self._account = Account()
        self._brought = 0
        self._now_s = self._due = 0.0

    def seen(self) -> Seen:
        account = self._account
        return finished(account.batch, self._brought, account.lag, account.zeros)

    def rush(self) -> None:
        self._written += RUSH

    def micro_batch(self) -> Seen:
        taken = min(self._limit, self._written - self._brought)
        lag = self._written - self._brought - taken
        self._come(max(self._fixed_s + taken * self._click_s, 1.0))
        self._brought += taken
        self._account.add(Done(self._account.batch + 1, {"0": self._brought}, lag))
        return self.seen()

    def _come(self, seconds: float) -> None:
        """Let clicks come, as long as not too many of them wait."""
        room = max(KEPT_BACK - self._written + self._brought, 0)
        self._written += min(round(seconds * RATE), room)

    def passes(self) -> bool:
        """Let a check watch the micro-batches, as `watch` does. Return whether the query passes."""
        if self._written - self._brought <= RUSH:
            self.rush()
        began = self.seen()
        fall = Fall(began)
        for _ in range(1_000):
            now = self.micro_batch()
            if is_calm(began, now):
                return True
            if fall.is_too_slow(now):
                return False
        raise AssertionError("the check never ends")


@pytest.mark.parametrize("waiting", [30, 500, 1_000, 2_000, KEPT_BACK])
@pytest.mark.parametrize("limit", [20, 300, 500, 700, 900, MOST_ROWS])
@pytest.mark.parametrize("fixed_s", [0.1, 2.0, 10.0])
def test_one_task_never_passes(waiting: int, limit: int, fixed_s: float) -> None:
    """With one task the query does not pass, even if good settings had let it catch up before."""
    played = Played(limit, 1, fixed_s, waiting)
    for begun in range(4):
        assert not played.passes(), begun


@pytest.mark.parametrize("waiting", [30, 500, 1_000, 2_000, KEPT_BACK])
@pytest.mark.parametrize(("limit", "fixed_s"), [(300, 4.0), (500, 10.0), (MOST_ROWS, 25.0)])
def test_a_query_that_is_mended_passes(waiting: int, limit: int, fixed_s: float) -> None:
    """The query passes even if a micro-batch has a large fixed cost, as on a very busy machine."""
    played = Played(limit, SLOTS, fixed_s, waiting)
    for begun in range(4):
        assert played.passes(), begun


def test_the_ticket_does_not_say_the_cause() -> None:
    tickets = {make(seed)["ticket.md"].partition("\n")[2] for seed in range(40)}
    assert len(tickets) == 1
    assert f"maxOffsetsPerTrigger={plan(0).limit}\n" in make(0)[SETTINGS]


def test_with_a_hot_key_one_partition_has_nearly_all(tmp_path: Path) -> None:
    seed = next(seed for seed in range(50) if plan(seed).cause == KEY)
    shop = Shop(tmp_path, 1, "", seed)
    keys = [shop.key_of(number) for number in range(1, 1_001)]
    assert keys.count(HOT_KEY.encode()) == 950
    assert len(set(keys)) > 20


def test_the_shop_knows_what_was_brought_and_asked_for(tmp_path: Path) -> None:
    assert (brought_as_noted(tmp_path), orders_of(tmp_path)) == (0, 0)
    lab_program.write_notes(tmp_path / "query.json", QUERY._asdict())
    (tmp_path / "rush.txt").write_text("2\n", encoding="utf-8")
    assert (brought_as_noted(tmp_path), orders_of(tmp_path)) == (1_200, 2) == (brought(QUERY), 2)
