"""The kind of cluster that `lab check` names is the one that the live part uses."""

from io import StringIO
from pathlib import Path

import click
import pytest
from rich.console import Console

from exercises import command
from exercises.runner.check import Verdict
from exercises.runner.manifest import ROOT, Exercise, find_exercise, load_manifest
from exercises.runner.verdict import Step
from exercises.show import show_verdict
from kafka_edu.supervisor.cluster import ClusterError


@pytest.mark.parametrize(
    "exercise", [one for one in load_manifest().values() if one.live], ids=lambda one: one.id
)
def test_a_live_part_is_simulated_if_it_runs_in_the_simulator(exercise: Exercise) -> None:
    module = ROOT / f"{exercise.live.replace('.', '/')}.py"
    text = module.read_text(encoding="utf-8")
    assert exercise.simulated == ("from kafka_edu.sim." in text)


@pytest.mark.parametrize(
    ("number", "cluster"), [("18-1", "simulated cluster"), ("02-1", "live cluster")]
)
def test_the_check_names_the_kind_of_cluster(
    monkeypatch: pytest.MonkeyPatch, number: str, cluster: str
) -> None:
    exercise = find_exercise(number)
    step = Step("it works", True, "")
    monkeypatch.setattr(command, "check_live", lambda *_: iter([step]))
    shown = StringIO()
    console = Console(file=shown, width=200)
    assert command.show_live(console, exercise, Path("answer.py")) == (step,)
    verdict = Verdict(number, "answer.py", 1, "", (), None)
    show_verdict(console, verdict._replace(has_live=True), exercise.live_cluster, live=False)
    assert shown.getvalue().splitlines()[1] == cluster

    def fails(*_: object) -> None:
        raise ClusterError("no port is free")

    monkeypatch.setattr(command, "check_live", fails)
    with pytest.raises(click.ClickException, match=f"the {cluster} failed"):
        command.show_live(console, exercise, Path("answer.py"))
