"""Exercise 18-5: one rule of the starter is wrong and loses records. The right rules answer as the
broker does.
"""

import runpy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from exercises.ch18_two_clocks.broker_rules import (
    RIGHT,
    RULES,
    LearnersRules,
    random_question,
)
from exercises.ch18_two_clocks.ex05_transcript.material import (
    MOST_LINES,
    RULE,
    WRONG,
    found,
    make,
    play,
    run,
)
from exercises.ch18_two_clocks.ex05_transcript.starter import Rules as Starter
from exercises.ch18_two_clocks.live_transcript import SEEDS, check_live, searched
from exercises.runner.manifest import find_exercise
from kafka_edu.learner.learner import Learner
from kafka_edu.sim.scenario.explore import rules_broken
from kafka_edu.sim.scenario.language import parse
from kafka_edu.sim.scenario.scenario_run import ScenarioRun
from kafka_edu.sim.sim_cluster import silent_brokers

EXERCISE = find_exercise("18-5")


def answers_otherwise(rules: Any, rule: str) -> bool:
    """Return whether a rule answers at least one of fifty questions wrongly."""
    questions = [random_question(Random(f"{rule}/{number}"), rule) for number in range(50)]
    came = [getattr(rules, rule)(*one.arguments) for one in questions]
    return [tuple(one) if isinstance(one, list) else one for one in came] != [
        one.right() for one in questions
    ]


def test_one_rule_of_the_starter_is_wrong_and_none_of_the_solution() -> None:
    solution = runpy.run_path(str(EXERCISE.solution))["Rules"]()
    assert [rule for rule in RULES if answers_otherwise(Starter(), rule)] == [WRONG]
    assert not [rule for rule in RULES if answers_otherwise(solution, rule)]


def test_the_members_that_leave_are_in_the_order_of_the_rows() -> None:
    assert RIGHT.leaving((1, 2, 3), ((3, 2_001), (2, 2_001)), 2_000) == (3, 2)


def test_with_the_right_rules_all_facts_are_those_of_the_broker() -> None:
    assert found().seed is not None
    with silent_brokers():
        ours = ScenarioRun(found(), found().seed or 0).play()
    assert ours.holds
    assert play(found(), RIGHT).result.digest == ours.digest


def test_the_schedule_loses_records_with_the_starter_and_each_act_is_needed() -> None:
    scenario = found()
    assert RULE in rules_broken(play(scenario, Starter()).result.violations)
    for left_out in scenario.acts:
        rest = tuple(act for act in scenario.acts if act is not left_out)
        result = play(scenario._replace(acts=rest), Starter()).result
        assert RULE not in rules_broken(result.violations), left_out


@pytest.mark.parametrize("seed", SEEDS)
def test_the_other_schedules_lose_records_with_the_starter(seed: int) -> None:
    assert RULE in rules_broken(play(searched(seed), Starter()).result.violations)


@pytest.mark.parametrize("seed", range(1, 4))
def test_each_learner_gets_a_run_with_one_answer(seed: int) -> None:
    made = run(seed)
    [text] = make(seed).values()
    assert text.splitlines() == list(made.lines)
    assert len(made.lines) <= MOST_LINES
    assert len({made.victim, made.leader}) == 2
    again = play(parse(text, "transcript"), Starter())
    assert f"(offset {made.lost_from}," in str(again.result.violations[0])
    assert f"(offset {made.lost_from}," in text
    assert f"-> {made.leader}, epoch " in text


def test_two_learners_get_other_numbers() -> None:
    assert len({(run(seed).leader, run(seed).lost_from) for seed in range(4)}) == 4


def file_with(tmp_path: Path, old: str, new: str) -> Path:
    """Return the solution with an edit."""
    text = EXERCISE.solution.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file = tmp_path / EXERCISE.file
    file.write_text(text.replace(old, new), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("old", "new", "asked", "failure"),
    [
        ("max(hw, min([", "max(hw, 10 + min([", ("high_watermark", (3, 9, (1,), ())), "3 to 9"),
        ("return min(end, leader_end)", "return -1", ("cut", (5, 3)), "from 0 to 5"),
        ("return broker", "return 7", ("elect", ((1, 2), (1, 2), (2,))), "a live replica"),
        ("return [broker for", "return [9 for", ("leaving", ((1, 2), ((2, 9),), 5)), "in the ISR"),
        ("return leo >= hw and", "return 1 + 0 * (leo >= hw) or", ("may_join", (1, 1, 1)), "True"),
        ("return min(end, leader_end)", "return 1 // 0", ("cut", (5, 3)), "ZeroDivisionError"),
    ],
)
def test_an_answer_that_cannot_be_is_named_and_the_right_one_is_used(
    tmp_path: Path, old: str, new: str, asked: tuple[str, tuple[Any, ...]], failure: str
) -> None:
    learner = Learner(file_with(tmp_path, old, new), EXERCISE.wanted)
    try:
        rules = LearnersRules(learner)
        rule, arguments = asked
        assert getattr(rules, rule)(*arguments) == getattr(RIGHT, rule)(*arguments)
        assert failure in rules.failure
        calls = rules.calls
        assert rules.cut(5, 3) == 3
        assert rules.calls == calls, "after a failure the learner's code is not called again"
    finally:
        learner.close()


@pytest.mark.labs
def test_the_reference_serves_in_the_simulator() -> None:
    steps = list(check_live(EXERCISE, EXERCISE.solution, lambda _: None, 30.0))
    assert [step for step in steps if not step.passed] == []
    assert len(steps) == 3


@pytest.mark.labs
@pytest.mark.parametrize(
    ("old", "new", "step", "seen"),
    [
        ("min([leo, *(end for broker, end in followers if broker in isr)])", "leo", 0, "are lost"),
        ("return min(end, leader_end)", "return 1 // 0", 0, "ZeroDivisionError"),
        ("leo >= hw and", "leo > hw and", 2, "facts"),
    ],
)
def test_wrong_rules_are_named_in_the_simulator(
    tmp_path: Path, old: str, new: str, step: int, seen: str
) -> None:
    file = file_with(tmp_path, old, new)
    came = list(check_live(EXERCISE, file, lambda _: None, 30.0))[step]
    assert not came.passed
    assert seen in came.seen
