"""The right sessions of exercise 16-3, and their picture."""

from random import Random

from exercises.ch16_spark.visits import COLUMNS, RightSessions
from kafka_edu.clients.web_log.access_log import sessions


def test_they_are_those_of_the_pipeline() -> None:
    random = Random(3)
    right = RightSessions(30)
    times_s = [random.randrange(2_000) for _ in range(60)]
    for time_s in times_s:
        found = right.add("a", time_s)
        assert found.first_s <= time_s <= found.last_s
    assert [tuple(one) for one in right.of("a")] == [tuple(one) for one in sessions(times_s, 30)]


def test_closed_sessions_are_forgotten() -> None:
    right = RightSessions(30)
    for client, time_s in (("b", 10), ("a", 10), ("a", 100)):
        right.add(client, time_s)
    assert right.close(40) == []
    assert right.close(41) == [("a", 10, 10, 1), ("b", 10, 10, 1)]
    assert right.close(41) == []
    assert right.of("a") == [(100, 100, 1)]


def test_a_drawing_shows_sessions_and_lines() -> None:
    right = RightSessions(30)
    for time_s in (0, 10, 110):
        right.add("a", time_s)
    head, mark, row, *rest = right.drawn("a", 10)
    assert head == "    a, gap 30: from 0 to 110"
    assert mark == " " * (4 + 5) + "v 10"
    assert row == "    |====|" + " " * (COLUMNS - 7) + "|"
    assert rest == ["    session 0 to 10, lines: 2", "    session 110 to 110, lines: 1"]
    assert right.drawn("b") == ("    b: no open session",)
