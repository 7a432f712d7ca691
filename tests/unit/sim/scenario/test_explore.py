"""A result counts only for one scenario with one learner's part. If one of them changes, it counts
no more.
"""

from pathlib import Path

from kafka_edu.sim.scenario.explore import what_of
from kafka_edu.sim.scenario.language import learner_part, parse

SCENARIO = parse("> cluster brokers=2\n> run 1s\n> settle 1s\n", "short")


def test_a_changed_part_of_a_learner_is_another_try(tmp_path: Path) -> None:
    file = tmp_path / "wheel.py"
    file.write_text("class TimingWheel: pass\n", encoding="utf-8")
    with_part = SCENARIO._replace(learners=(learner_part("02-1", str(file)),))
    first = what_of(with_part)
    assert first == what_of(with_part)
    assert first not in {what_of(SCENARIO), what_of(with_part, "a planted fault")}
    file.write_text("class TimingWheel: ...\n", encoding="utf-8")
    assert what_of(with_part) != first, "the scenario's text is the same, the part is not"
