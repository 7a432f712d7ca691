"""Which steps of which chapter run on a simulated cluster, and the page that says so."""

import re
from pathlib import Path

import pytest

from chapters.chapter import Chapter, find_chapters
from chapters.simulated import NOTE, NotSimulatedError, scenario_text, simulated
from kafka_edu.sim.scenario.language import parse
from tui.presenter.run import screen_names

PAGE = Path(__file__).resolve().parents[3] / "docs" / "simulator.md"
CHAPTERS = [one for number, one in find_chapters().items() if number <= "08"]


@pytest.mark.parametrize("one", CHAPTERS, ids=lambda one: one.number)
def test_the_cluster_of_each_of_the_first_chapters_is_a_scenario(one: Chapter) -> None:
    script = one.script(screen_names())
    scenario = parse(scenario_text(one.id, script), one.number)
    assert scenario.brokers == script.cluster.brokers
    assert script.cluster.props.items() <= dict(scenario.properties).items()
    here = simulated(one.id, script, "chapter NN --replay")
    assert len(here.script.steps) == len(script.steps)
    for left_out in here.left_out:
        step = here.script.steps[left_out.number - 1]
        assert (step.acts, step.expectations, step.ask, step.job) == ((), (), None, "")
        assert left_out.why in step.say
        assert "chapter NN --replay" in step.say


def test_a_load_of_some_seconds_is_not_started_when_its_step_is_left_out() -> None:
    script = find_chapters()["03"].script(screen_names())
    first = next(step for step in script.steps if step.title == "With acks=1")
    assert "--seconds" in (first.load or ())
    here = simulated("03", script, "")
    left_out = next(each for each in here.left_out if each.title == first.title)
    assert here.script.steps[left_out.number - 1].load is None
    assert here.script.steps[left_out.number].load is not None  # that of "With acks=all"


def test_the_page_lists_the_steps_that_are_left_out() -> None:
    rows = re.findall(r"^\| (\d\d) [^|]*\| (\d+) of (\d+) \| ([^|]*) \|$", PAGE.read_text(), re.M)
    assert [row[0] for row in rows] == [one.number for one in CHAPTERS]
    for (_, runs, of, without), one in zip(rows, CHAPTERS, strict=True):
        script = one.script(screen_names())
        left_out = [each.number for each in simulated(one.id, script, "").left_out]
        assert (int(runs), int(of)) == (len(script.steps) - len(left_out), len(script.steps))
        assert [int(number) for number in re.findall(r"\d+", without)] == left_out


def test_an_ensemble_cannot_be_simulated() -> None:
    part = find_chapters()["05"].parts()["ensemble"]
    with pytest.raises(NotSimulatedError, match="it needs 3 ZooKeeper servers"):
        scenario_text(part.id, part.script(screen_names()))


def test_a_text_with_a_command_for_another_terminal_says_what_to_do_here() -> None:
    one = find_chapters()["02"]
    here = simulated(one.id, one.script(screen_names()), "").script
    noted = [number for number, step in enumerate(here.steps, 1) if step.say.endswith(NOTE)]
    assert noted == [16]
