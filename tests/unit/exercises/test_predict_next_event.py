"""Exercise 18-6: each learner's agenda contains all the cases that the questions ask about."""

import pytest

from exercises.ch18_two_clocks.ex06_predict.material import (
    EVENTS,
    NAMES,
    PAUSED,
    Added,
    Program,
    made,
    make,
    run,
)


def test_the_example_of_the_page() -> None:
    calls = (Added(1, PAUSED, 200), Added(2, "client", None), Added(3, "client", 300))
    ran = run(Program(calls, adds={}, cancels={}, pause=2, resume=3, tie=(1, 3)))
    assert ran.events == ((2, 0), (3, 300), (1, 300))
    assert ran.put_aside == 1


def test_what_an_event_adds_and_cancels() -> None:
    calls = (Added(1, "client", 100), Added(2, "client", 400), Added(3, "client", 500))
    adds = {1: Added(10, "client", 150), 10: Added(11, "client", None)}
    ran = run(Program(calls, adds=adds, cancels={11: 2}, pause=0, resume=0, tie=(1, 2)))
    assert ran.events == ((1, 100), (10, 250), (11, 250), (3, 500))


@pytest.mark.parametrize("seed", range(12))
def test_each_agenda_has_all_that_is_asked(seed: int) -> None:
    right = {name: answer.answer for name, answer in made(seed).answers.items()}
    assert tuple(right) == NAMES
    assert right["put_aside"] >= 1
    assert 1 <= right["never"] <= EVENTS - 9
    text = make(seed)["questions.md"]
    assert f"events {min(map(int, _tie(text)))} and" in text
    assert str(right["tie"]) in _tie(text)
    for call in ("soon(", "at(", "at(now + ", "cancel(", "pause(", "resume("):
        assert call in text


def _tie(text: str) -> list[str]:
    line = next(line for line in text.splitlines() if "`tie`" in line)
    words = line.split()
    return [words[words.index("events") + 1], words[words.index("and") + 1]]
