"""An object of a learner's class: when it is made, and when it is no longer called."""

import pytest

from kafka_edu.learner.learner_part import SHOWN, LearnerPart
from kafka_edu.learner.seams import FAILURES_ALLOWED, LearnerError

TIMER = """
class Timer:
    made = 0

    def __init__(self, tick_ms, slots):
        Timer.made += 1
        self.seen = [tick_ms, slots]

    def note(self, number):
        self.seen.append(number)

    def count(self):
        return Timer.made, self.seen

    def crash(self):
        raise ValueError("no such task")
"""


def test_the_object_is_made_once_and_at_the_first_call(load):
    code, errors = load("02-2", TIMER)
    part = LearnerPart(code, 1, 20)
    assert code.calls == 0
    part.tell("note", 7)
    part.tell("note", 8)
    assert part.ask("count") == (1, (1, 20, 7, 8))
    assert code.calls == 4
    assert errors == []


def test_an_error_of_ask_is_raised_and_the_object_is_called_again(load):
    code, errors = load("02-2", TIMER)
    part = LearnerPart(code, 1, 20)
    with pytest.raises(LearnerError, match="no such task"):
        part.ask("crash")
    assert not part.is_out
    assert part.ask("count") == (1, (1, 20))
    assert errors == []


def test_an_error_of_tell_is_reported_and_the_object_is_out(load):
    code, errors = load("02-2", TIMER)
    part, other = LearnerPart(code, 1, 20), LearnerPart(code, 1, 20)
    part.tell("crash")
    assert part.is_out
    assert not other.is_out
    assert [error.message for error in errors] == ["ValueError: no such task"]
    calls = code.calls
    part.tell("note", 7)
    assert code.calls == calls


def test_with_the_last_failure_all_objects_are_out_and_no_process_starts_again(load):
    code, errors = load("02-2", TIMER)
    parts = [LearnerPart(code, 1, 20) for _ in range(FAILURES_ALLOWED + 1)]
    for part in parts[:-1]:
        assert not parts[-1].is_out
        part.tell("crash")
    assert parts[-1].is_out
    assert len(errors) == FAILURES_ALLOWED
    calls = code.calls
    parts[-1].tell("note", 7)
    with pytest.raises(LearnerError, match="is not called any more"):
        parts[-1].ask("note", 7)
    assert code.calls == calls


def test_a_blame_names_the_call_and_cuts_a_long_answer_off(load):
    code, _ = load("02-2", TIMER)
    part = LearnerPart(code, 1, 20)
    error = part.blame("add", (1, "a"), None, "a place")
    assert error.message == "add(1, 'a') answered None; expected a place"
    error = part.blame("add", (), [0] * 50_000, "a place")
    assert len(error.message) < SHOWN + 50
    assert error.message.endswith("; expected a place")
