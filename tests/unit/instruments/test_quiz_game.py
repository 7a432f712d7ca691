"""The rules of a quiz, and how it follows a presentation."""

import pytest

from kafka_edu.instruments.presenter.presentation import Presentation
from kafka_edu.instruments.presenter.script import Number, Question, Script, Step
from kafka_edu.instruments.quiz.game import (
    LONGEST_NAME,
    MOST_TEAMS,
    POINTS,
    Ask,
    Game,
    Phase,
    QuizError,
)
from kafka_edu.instruments.quiz.host import QuizHost

CHOICES = Ask(1, "Who leads?", ("broker 0", "broker 1"))
NUMBER = Ask(2, "How many ms?", (), "ms")


@pytest.fixture
def game() -> Game:
    return Game("A chapter")


def test_right_answers_are_points_however_often_they_were_changed(game: Game) -> None:
    red, blue = game.join("red"), game.join("blue")
    game.open(CHOICES)
    game.answer(red, 1)
    game.answer(red, 2)
    game.answer(blue, 1)
    assert game.counts() == [1, 1]
    game.reveal(lambda said: said == 2, "2  broker 1")
    assert [(one.rank, one.name, one.points) for one in game.ranking()] == [
        (1, "red", POINTS),
        (2, "blue", 0),
    ]
    assert game.state_of(red)["was_right"] is True
    assert game.state_of(blue)["right"] == "2  broker 1"


def test_the_right_answer_is_not_told_before(game: Game) -> None:
    token = game.join("red")
    game.open(CHOICES)
    game.answer(token, 1)
    assert "right" not in game.state_of(token)
    game.close()
    assert "right" not in game.state_of(token)


def test_a_name_is_taken_once_whatever_its_case(game: Game) -> None:
    game.join(" Red   team ")
    for name in ("red team", "RED TEAM"):
        with pytest.raises(QuizError, match="a team has the name"):
            game.join(name)


@pytest.mark.parametrize("name", ["", "   ", "x" * (LONGEST_NAME + 1), "a\x07b"])
def test_a_bad_name_is_refused(game: Game, name: str) -> None:
    with pytest.raises(QuizError):
        game.join(name)
    assert game.teams == 0


def test_there_is_room_for_so_many_teams(game: Game) -> None:
    for number in range(MOST_TEAMS):
        game.join(f"team {number}")
    with pytest.raises(QuizError, match="join one of them"):
        game.join("one more")


def test_who_joins_late_has_no_points_and_may_answer(game: Game) -> None:
    early = game.join("early")
    game.open(CHOICES)
    game.answer(early, 2)
    game.reveal(lambda said: said == 2, "")
    late = game.join("late")
    game.open(NUMBER)
    game.answer(late, 250)
    game.reveal(lambda said: said == 250, "")
    assert [one.points for one in game.ranking()] == [POINTS, POINTS]
    assert [one.rank for one in game.ranking()] == [1, 1]


def test_answers_count_only_while_a_question_is_open(game: Game) -> None:
    token = game.join("red")
    with pytest.raises(QuizError, match="no question is open"):
        game.answer(token, 1)
    game.open(CHOICES)
    for value in (0, 3, -1):
        with pytest.raises(QuizError, match="the answers are 1 to 2"):
            game.answer(token, value)
    with pytest.raises(QuizError, match="join first"):
        game.answer("nobody", 1)
    game.close()
    with pytest.raises(QuizError, match="no question is open"):
        game.answer(token, 1)
    game.open(NUMBER)
    with pytest.raises(QuizError, match="a number from 0"):
        game.answer(token, -5)


def test_the_table_has_each_team_and_each_answer(game: Game) -> None:
    red, _ = game.join("red"), game.join("blue")
    game.open(CHOICES)
    game.answer(red, 2)
    game.reveal(lambda said: said == 2, "")
    assert game.table() == [
        ("team", "points", "question 1"),
        ("red", "100", "2"),
        ("blue", "0", ""),
    ]


SCRIPT = Script(
    "A chapter",
    (
        Step("One", "Look.", ask=Question("Who?", ("a", "b"), 2, "b it is.")),
        Step("Two", "Nothing is asked."),
        Step("Three", "Look.", ask=Question("How many?", (), 0, "So.", (), Number("ms", "ms", 2))),
    ),
)


def present(host: QuizHost, keys: str) -> list[str]:
    """Present the script, with these keys of the teacher; return what the host said."""
    at = Presentation(SCRIPT, live=False)
    at.names["ms"] = "100"
    said = [*host.look(at)]
    for key in keys:
        if not host.key(key):
            at.go_on(0)
        said += host.look(at)
    return said


def test_it_follows_a_presentation(game: Game) -> None:
    host = QuizHost(game)
    host.seat(["red", "blue"])
    said = present(host, " a2b1 " + "  " + " a150b900 " + "  ")
    assert game.phase is Phase.END
    assert [(one.name, one.points) for one in game.ranking()] == [("red", 200), ("blue", 0)]
    assert any("a red, b blue" in line for line in said)
    assert "2 of 2 teams have answered" in said
    assert "Answers by choice: 1: 1, 2: 1" in said
    assert said[-3:] == ["The quiz is over.", "  1. red  200", "  2. blue  0"]


def test_a_digit_without_a_letter_is_nobodys_answer(game: Game) -> None:
    host = QuizHost(game)
    host.seat(["red"])
    present(host, " 2z")
    assert game.ranking()[0].points == 0


def test_so_many_teams_have_a_letter(game: Game) -> None:
    with pytest.raises(QuizError, match="at most 26"):
        QuizHost(game).seat([f"team {number}" for number in range(27)])
