"""`lab replay` and `lab explore` try a learner's rule in every order, and show the shortest order
in which the rule is wrong.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exercises.command import lab
from exercises.runner.manifest import find_exercise
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.sentences.table import fact_text
from kafka_edu.trace.event import EVENT_TYPES, Kind

LOST = """
from types import GeneratorType

class CheckThenWatch:
    def __init__(self, keys):
        self.keys = keys

    def steps(self):
        if (yield "try"):
            return "mine"
        for key in self.keys:
            yield "watch", key
        yield "arm"
        if (yield "look"):
            yield "disarm"
            return "theirs"
        return "waits"

    def play(self, answers):
        thread = self.steps()
        try:
            step = next(thread)
            for answer in answers:
                step = thread.send(answer)
        except StopIteration as end:
            return "end", end.value, 0
        return "step", step, thread.gi_frame.f_lineno
"""
RULE = """
def elect(replicas, isr, live):
    for replica in replicas:
        if replica in live{}:
            return replica
"""
EVENTS = "produce a, lag, kill 0, start 0"


def run(*words: str) -> Result:
    return CliRunner().invoke(lab, [*words, "--plain"])


def facts(recording: Path) -> list[str]:
    return [
        fact_text(one.event)
        for one in read_recordings([recording])
        if EVENT_TYPES[one.name].kind is Kind.FACT
    ]


def test_the_reference_of_03_1_is_right_in_every_order() -> None:
    solution = find_exercise("03-1").solution
    found = run("replay", "03-1", str(solution))
    assert found.exit_code == 0, found.output
    assert "keys web-0: 13 orders are right" in found.output
    assert "keys web-0, web-1, web-2: 367,422 orders are right" in found.output
    assert not solution.with_name("wrong_order.jsonl").exists()


def test_a_thread_that_does_not_try_again_loses_the_wake_up_in_six_steps(tmp_path: Path) -> None:
    """See chapter 03, section 6. Fewer than six steps are impossible: the thread tries, watches,
    arms and looks, and the event has two steps.
    """
    file = tmp_path / "check_then_watch.py"
    file.write_text(LOST, encoding="utf-8")
    found = run("replay", "03-1", str(file))
    assert found.exit_code == 1
    assert "it is ready, it waits, and no event will come again" in found.output
    steps = [line for line in found.output.splitlines() if line[:2].strip().isdecimal()]
    assert len(steps) == 7, "six steps, and the return of the thread"
    told = facts(tmp_path / "wrong_order.jsonl")
    assert "step 1 of 7: your thread: try → False (line 9)" in told
    check, watch = "event of web-0: check web-0: empty", "your thread: watch web-0"
    order = [fact for fact in told if check in fact or watch in fact]
    assert [check in fact for fact in order] == [True, False], "the event came between"
    assert told[-1].startswith("✕ the rule is wrong: it is ready, it waits")


def test_an_exercise_without_orders_names_those_that_have_some() -> None:
    found = run("replay", "01-1")
    assert found.exit_code == 1
    assert "01-1 has no orders to try" in found.output
    assert "You can replay 03-1" in found.output


def test_a_file_that_is_not_there_says_how_to_begin(tmp_path: Path) -> None:
    found = run("replay", "03-1", "--dir", str(tmp_path))
    assert found.exit_code == 1
    assert "lab start 03-1" in found.output


def test_a_rule_that_forgets_the_isr_is_shown_in_its_shortest_order(tmp_path: Path) -> None:
    file, out = tmp_path / "elect.py", tmp_path / "out.jsonl"
    file.write_text(RULE.format(""), encoding="utf-8")
    found = run("explore", str(file), "--events", EVENTS, "--out", str(out))
    assert found.exit_code == 1, found.output
    lines = found.output.splitlines()
    assert lines[0].startswith("an order goes wrong, and no shorter one does")
    assert lines[1:4] == [" 1  produce a", " 2  lag", " 3  kill 0"]
    assert facts(out)[-1].startswith("✕ the rule is wrong: broker 1 leads t-0 without record 'a'")


def test_the_right_rule_passes(tmp_path: Path) -> None:
    file = tmp_path / "elect.py"
    file.write_text(RULE.format(" and replica in isr"), encoding="utf-8")
    found = run("explore", str(file), "--events", EVENTS)
    assert found.exit_code == 0, found.output
    assert "orders of 4 events are right" in found.output


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "the file does not define elect"),
        ("def elect(a, b, c):\n    return 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def elect(a):\n    return a\n", "elect() takes 1 positional argument"),
        ("def elect(a, b, c)\n", "SyntaxError"),
        ("def elect(a, b, c):\n    return object()\n", "an answer is made of"),
    ],
)
def test_a_rule_that_fails_is_named(tmp_path: Path, source: str, why: str) -> None:
    file = tmp_path / "elect.py"
    file.write_text(source, encoding="utf-8")
    found = run("explore", str(file), "--events", "kill 0")
    assert found.exit_code == 1
    assert why in found.output
    assert "Traceback" not in found.output


def test_bad_events_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "elect.py"
    file.write_text(RULE.format(""), encoding="utf-8")
    found = run("explore", str(file), "--events", "kill 5")
    assert found.exit_code == 2
    assert "--events: 'kill 5': the brokers are 0 to 1" in found.output
