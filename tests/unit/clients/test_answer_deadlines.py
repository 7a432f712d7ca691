"""The check that every request is answered in time, or that its connection is closed."""

from kafka_edu.clients.answer_deadlines import (
    GRACE_MS,
    AnswerDeadlines,
    Answers,
    Pauses,
    look_at_all,
)


def connection(pauses: Pauses | None = None) -> tuple[AnswerDeadlines, Answers]:
    answers = Answers()
    return AnswerDeadlines("127.0.0.1:1", 0, answers, pauses or Pauses()), answers


def test_an_answer_within_the_time_out_and_the_grace_is_in_time() -> None:
    wire, answers = connection()
    wire.sent("Produce", 500, now_ms=100)
    wire.look(100 + 500 + GRACE_MS)
    wire.answered(100 + 500 + GRACE_MS)
    assert (answers.sent, answers.answered, answers.overdue) == (1, 1, [])
    assert answers.longest_ms == {"Produce": 500 + GRACE_MS}


def test_a_longer_grace_is_kept_and_told() -> None:
    answers = Answers(grace_ms=20_000)
    wire = AnswerDeadlines("127.0.0.1:1", 0, answers, Pauses())
    wire.sent("Fetch", 500, now_ms=0)
    wire.look(20_500)
    assert answers.overdue == []
    wire.look(20_501)
    assert "(time-out 500 ms + 20000 ms)" in str(answers.overdue[0])


def test_a_request_without_an_answer_is_found_once_and_marked_when_it_is_answered_late() -> None:
    wire, answers = connection()
    wire.sent("Fetch", 500, now_ms=0)
    for now_ms in (1600, 1700, 90_000):
        look_at_all([wire], now_ms)
    assert [(overdue.kind, overdue.waited_ms) for overdue in answers.overdue] == [("Fetch", 1600)]
    assert answers.late == 0
    wire.answered(95_000)
    assert (answers.late, len(answers.overdue)) == (1, 1)


def test_the_clock_of_a_request_starts_when_the_one_before_it_is_answered() -> None:
    wire, answers = connection()
    wire.sent("Produce", 5000, now_ms=0)
    wire.sent("Produce", 5000, now_ms=0)
    wire.answered(5_500)
    wire.look(11_000)
    wire.answered(11_400)
    assert answers.overdue == []
    assert answers.longest_ms == {"Produce": 5_900}


def test_a_closed_connection_is_an_answer_to_all_that_was_in_flight() -> None:
    wire, answers = connection()
    for _ in range(3):
        wire.sent("Produce", 100, now_ms=0)
    wire.closed(200)
    wire.look(60_000)
    assert (answers.closed, answers.overdue) == (3, [])


def test_a_connection_that_is_closed_too_late_does_not_hide_that_its_request_was_stuck() -> None:
    wire, answers = connection()
    wire.sent("Produce", 100, now_ms=0)
    wire.closed(60_000)
    assert len(answers.overdue) == 1


def test_the_time_in_which_the_broker_was_paused_does_not_count() -> None:
    pauses = Pauses()
    wire, answers = connection(pauses)
    pauses.paused(0, 1_000)
    wire.sent("Metadata", 500, now_ms=2_000)
    wire.look(8_900)
    pauses.resumed(0, 9_000)
    wire.look(10_500)
    assert answers.overdue == []
    wire.look(10_501)
    assert [overdue.waited_ms for overdue in answers.overdue] == [1_501]


def test_pauses_overlap_as_intervals_do() -> None:
    pauses = Pauses()
    pauses.paused(1, 100)
    pauses.resumed(1, 200)
    pauses.paused(1, 300)
    assert pauses.within(1, 0, 50) == 0
    assert pauses.within(1, 150, 350) == 100
    assert pauses.within(1, 400, 500) == 100
    assert pauses.within(2, 0, 1000) == 0
