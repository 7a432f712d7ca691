"""The schedules that the search has found, each as short as `sim shrink` made it."""

from pathlib import Path

import pytest

from kafka_edu.sim.scenario.language import read
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, play

FOUND = Path(__file__).with_name("found")


def played(name: str) -> ScenarioResult:
    scenario = read(FOUND / f"{name}.sim")
    assert scenario.seed is not None
    return play(scenario, scenario.seed)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOUND.glob("*.sim")))
def test_every_rule_holds_in_a_schedule_that_was_found(name: str) -> None:
    assert played(name).violations == ()


def test_a_late_end_of_a_transaction_is_known_to_kafka() -> None:
    assert played("late_end_of_a_transaction").late == 1


def test_a_forgotten_beginning_of_a_transaction_is_known_to_kafka() -> None:
    result = played("forgotten_beginning_of_a_transaction")
    assert (result.forgotten, result.late) == (2, 0), "one of x, and one of y with no answer"
