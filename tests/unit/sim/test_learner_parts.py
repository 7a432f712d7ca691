"""Learners' parts in simulated brokers: which broker runs which part, and for how long."""

from pathlib import Path

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.learner.seams import LearnerError
from kafka_edu.sim.learner_parts import (
    InstalledPart,
    check_parts,
    seams_by_process,
    simulated_seams,
)
from kafka_edu.sim.scenario.language import Scenario, learner_part, parse
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun
from kafka_edu.sim.sim_cluster import silent_brokers
from kafka_edu.timer import system_timer
from kafka_edu.timer.timing_wheel import TimingWheel
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.learner import (
    LearnerAnswered,
    LearnerFailed,
    LearnerInstalled,
    LearnerPrinted,
    LearnerServed,
)
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessStarted

TWO_BROKERS = """\
> cluster brokers=2
> topic t partitions=1 rf=2
> producer p topic=t rate=5
> at 200ms kill 1 for 500ms
> at 1500ms stop 1 for 500ms
> run 2500ms
> settle 3s
"""
EVERYTHING = """\
> cluster brokers=2 min.insync.replicas=2
> topic lab-t partitions=2 rf=2
> producer p topic=lab-t rate=10
> transactions x topic=lab-t rate=10
> consumer c topic=lab-t
> group g topic=lab-t members=1
> group h topic=lab-t members=1
> at 1s stop 1 for 500ms
> run 2s
> settle 5s
"""
RESTARTED = """\
> cluster brokers=2
> at 200ms kill 1 for 100ms
> run 400ms
> settle 100ms
"""
WHEEL = """\
class TimingWheel:
    def __init__(self, tick_ms, slots, start_ms, level=1):
        pass

    def advance_clock(self, time_ms):
        pass

    def add(self, expiration_ms):
        {body}
"""
#: 02-2 to 02-4 replace the same name, as do 10-6 and 07-3. Replicas far away, moves to other
#: brokers, and failed truncations need a cluster of another kind.
NOT_IN_THIS_RUN = {"02-2", "02-3", "04-3", "07-3", "10-2", "10-6"}


def solution(exercise: str) -> Path:
    return find_exercise(exercise).solution


def play(scenario: Scenario) -> tuple[ScenarioResult, list[Envelope]]:
    facts: list[Envelope] = []
    with silent_brokers():
        run = ScenarioRun(scenario, 1, on_fact=facts.append, level=Level.ALL)
        return run.play(), facts


def wheel(tmp_path: Path, body: str) -> InstalledPart:
    file = tmp_path / "wheel.py"
    file.write_text(WHEEL.format(body=body), encoding="utf-8")
    return InstalledPart("02-1", file, (1,))


def test_only_the_named_broker_runs_the_part_and_each_start_has_a_process_of_its_own() -> None:
    part = learner_part("02-1", str(solution("02-1")), [1])
    result, facts = play(parse(TWO_BROKERS, "two")._replace(learners=(part,)))
    assert result.holds, result.violations
    installed = [e.broker for e in facts if isinstance(e.event, LearnerInstalled)]
    assert installed == [1, 1, 1], "at its start, after the kill, and after the stop"
    answered = [e for e in facts if isinstance(e.event, LearnerAnswered)]
    assert {e.broker for e in answered} == {1}
    lines = {(e.event.line > 0, bool(e.event.source)) for e in answered if "add" in e.event.call}
    assert lines == {(True, True)}
    [served] = [e for e in facts if isinstance(e.event, LearnerServed)]
    assert served.broker == 1, "a killed broker says nothing"


def test_the_same_seed_gives_the_same_facts_and_none_of_them_has_an_address(tmp_path: Path) -> None:
    part = wheel(tmp_path, "print({'a', 'b', 'c', 'd'}, self); return None")
    scenario = parse(TWO_BROKERS, "two")._replace(learners=(part,))
    first, facts = play(scenario)
    assert play(scenario)[0].digest == first.digest
    printed = {e.event.text for e in facts if isinstance(e.event, LearnerPrinted)}
    assert len(printed) == 1
    assert printed.pop().endswith("<learner.TimingWheel object at 0x…>")


def test_an_error_is_in_the_learners_file_and_our_code_does_the_step(tmp_path: Path) -> None:
    part = wheel(tmp_path, "print('before'); {}[expiration_ms]")
    result, facts = play(parse(TWO_BROKERS, "two")._replace(learners=(part,)))
    assert result.holds, result.violations
    told = [e.event for e in facts if isinstance(e.event, LearnerPrinted | LearnerFailed)]
    assert isinstance(told[0], LearnerPrinted)
    failed = told[1]
    assert isinstance(failed, LearnerFailed)
    assert (failed.file, failed.line) == (str(part.file), 9)
    assert failed.message.startswith("KeyError: ")


def test_every_part_of_a_simulated_broker_can_serve() -> None:
    exercises = [one for one in simulated_seams() if one not in NOT_IN_THIS_RUN]
    parts = tuple(InstalledPart(one, solution(one), (1,)) for one in exercises)
    result, facts = play(parse(EVERYTHING, "everything")._replace(learners=parts))
    assert result.holds, result.violations
    assert [e.event for e in facts if isinstance(e.event, LearnerFailed)] == []
    called = {e.event.exercise for e in facts if isinstance(e.event, LearnerAnswered)}
    assert called == set(exercises)


def test_a_seam_is_ours_again_afterwards_and_outside_simulated_processes() -> None:
    with seams_by_process(["02-1"]):
        assert system_timer.TimingWheel is not TimingWheel
        timer = system_timer.SystemTimer("t", lambda: 0)
        assert type(timer.wheel) is TimingWheel
    assert system_timer.TimingWheel is TimingWheel


def test_a_file_that_cannot_be_loaded_is_named_with_its_line(tmp_path: Path) -> None:
    part = wheel(tmp_path, "return (")
    with pytest.raises(LearnerError, match=r"wheel\.py:9: SyntaxError"):
        check_parts([part])


@pytest.mark.parametrize("real", [True, False])
def test_a_broker_whose_part_cannot_be_loaded_has_ended(tmp_path: Path, real: bool) -> None:
    """The broker behaves as in a real cluster: its process starts, and ends with code 1 and a
    reason.
    """
    good = learner_part("02-1", str(solution("02-1")), [1])
    text = RESTARTED.replace("brokers=2", "brokers=2 sim.cluster=real" if real else "brokers=2")
    file = tmp_path / "wheel.py"
    file.write_text(good.file.read_text(encoding="utf-8"), encoding="utf-8")
    scenario = parse(text, "restarted")._replace(learners=(good._replace(file=file),))
    ends = list[ProcessEnded]()
    starts = 0

    def on_fact(envelope: Envelope) -> None:
        nonlocal starts
        match envelope.event:
            case ProcessStarted(process="broker-1"):
                starts += 1
            case ProcessEnded(process="broker-1") as ended:
                ends.append(ended)
                file.write_text("return (", encoding="utf-8")

    with silent_brokers():
        result = ScenarioRun(scenario, 1, on_fact=on_fact).play()
    assert [one.rule for one in result.violations if "did not start" in one.text] == [
        "brokers start"
    ]
    assert ends[0].signal == "SIGKILL"
    if not real:
        assert (starts, len(ends)) == (0, 1), "no supervisor says that a process has started"
        return
    assert (starts, len(ends)) == (2, 2)
    assert (ends[1].code, ends[1].signal, ends[1].asked) == (1, "", False)
    assert ends[1].reason.startswith("the broker cannot start: edu.learner: ")
    assert "wheel.py:1: SyntaxError" in ends[1].reason
