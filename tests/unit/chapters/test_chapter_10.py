"""Chapter 10's pictures agree with the book and with Kafka. The broker's own classes compute
them.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from kafka.errors import NotEnoughReplicasAfterAppendError, NotEnoughReplicasError

from chapters.ch10_replication.eight_rules import RECORDS, RULES, Both, Outcome, report_of
from chapters.ch10_replication.jobs import REFUSALS, OrderJobs
from chapters.ch10_replication.pictures import (
    DRAWINGS,
    FIRST_EPOCH_RECORDS,
    HW,
    LEO,
    acknowledged,
    book_state,
    epochs_of_the_book,
    figures,
    one_record,
    readers,
    ten_six_three,
)
from chapters.chapter import JobPlace
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.client import ClientProduced
from kafka_edu.trace.events.spark import JobStarted

SAID = {
    "offsets": {"hw": "8", "leo": "15", "readable": "8", "uncommitted": "7"},
    "steps": {"fetches_needed": "2", "follower_hw_then": "0", "follower_hw_later": "1"},
    "lag": {"isr_early": "3", "isr_middle": "2", "isr_late": "1"},
    "acks": {"acked_by_1": "yes", "kept_by_1": "no", "acked_by_all": "no"},
    "epochs": {
        "first_start": "0",
        "second_epoch": "1",
        "second_start": "120",
        "first_ends": "120",
    },
    "readers": {"at_leader": "5", "at_one": "5", "at_other": "3"},
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    names = DRAWINGS[name]().names
    assert {key: names[key] for key in SAID[name]} == SAID[name]


def test_the_books_figure_has_hw_8_and_leo_15() -> None:
    state = book_state()
    leader, other, late = state.replicas
    assert (leader.hw, leader.leo, state.readable) == (HW, LEO, HW)
    assert (other.known, late.known) == (LEO, HW)
    assert all(one.hw <= one.leo for one in state.replicas)


def test_a_record_is_committed_by_the_fetch_behind_it() -> None:
    moments = one_record()
    assert [one.leader_hw for one in moments] == [0, 0, 0, 1, 1]
    assert [one.answered for one in moments] == [one.leader_hw == 1 for one in moments]
    assert [one.follower_leo for one in moments] == [0, 0, 1, 1, 1]
    assert [one.follower_hw for one in moments] == [0, 0, 0, 0, 1], "one fetch behind"


def test_the_same_three_logs_have_three_isrs() -> None:
    looks = ten_six_three()
    assert {one.logs for one in looks} == {(10, 6, 3)}
    assert [one.isr for one in looks] == [(0, 1, 2), (0, 1), (0,)]


def test_only_acks_1_loses_what_was_acknowledged() -> None:
    zero, one, everybody = acknowledged()
    assert (zero.answered, one.answered, everybody.answered) == (False, True, False)
    assert not any(each.kept for each in (zero, one, everybody))


def test_the_books_epochs() -> None:
    found = epochs_of_the_book()
    assert found.entries == ((0, 0), (1, FIRST_EPOCH_RECORDS))
    assert found.first_ends == FIRST_EPOCH_RECORDS


def test_a_follower_shows_fewer_records_than_it_has() -> None:
    leader, near, late = readers()
    assert leader.leo == near.leo == late.leo
    assert leader.readable == near.readable > late.readable == late.hw


class Answers:
    """A producer whose first record is acknowledged. The second record fails with
    NotEnoughReplicasAfterAppendError, and all later records with NotEnoughReplicasError.

    It stands in for kafka-python's producer, and also for the future that `send` returns.
    """

    def __init__(self) -> None:
        self.sent = 0

    def send(self, topic: str, value: bytes, *, partition: int) -> "Answers":
        self.sent += 1
        return self

    def add_callback(self, note: Callable[[object], None]) -> None:
        if self.sent == 1:
            note(None)

    def add_errback(self, note: Callable[[Exception], None]) -> None:
        if self.sent > 1:
            late = self.sent == 2
            note(NotEnoughReplicasAfterAppendError() if late else NotEnoughReplicasError())

    def flush(self, timeout: float) -> None: ...


def test_a_follower_may_be_paused_when_the_first_record_has_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Answers()
    told: list[tuple[int, Event]] = []
    place = JobPlace(
        "",
        tmp_path,
        lambda event: told.append((producer.sent, event)),
        lambda: False,
        cluster="c",
        run=lambda _: None,
    )
    jobs = OrderJobs(place)
    monkeypatch.setattr(jobs, "_producer", lambda: producer)
    jobs.run("refused")
    assert told[0] == (1, JobStarted(job="refused"))
    produced = {event.error: event for _, event in told if isinstance(event, ClientProduced)}
    assert produced[""].acked == 1
    assert produced["NOT_ENOUGH_REPLICAS_AFTER_APPEND"].sent == 1
    assert produced["NOT_ENOUGH_REPLICAS"].sent == REFUSALS


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())


def outcome(lost: int) -> Outcome:
    return Outcome(RECORDS, RECORDS, RECORDS - lost, lost)


def test_the_report_of_the_eight_rules_wants_each_broken_one_to_lose_and_no_kept_one() -> None:
    right = [Both(n, rule, outcome(rule.broken), outcome(0)) for n, rule in enumerate(RULES, 1)]
    assert len(right) == 8
    assert all(one.rule.broken > 0 for one in right)
    assert report_of(right).holds
    harmless = right[3]._replace(broken=outcome(0))
    leaking = right[5]._replace(kept=outcome(1))
    for wrong in (harmless, leaking):
        report = report_of([wrong if one.number == wrong.number else one for one in right])
        missed = [target.name for target in report.targets if not target.holds]
        assert [name.partition(":")[0] for name in missed] == [
            f"rule {wrong.number} {'broken' if wrong is harmless else 'kept'}"
        ]
