"""The frame that demos share: the report is shown and written, and the exit code says whether all
targets hold.
"""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from kafka_edu.cli.demo_frame import demo_command
from kafka_edu.cli.report import Report
from kafka_edu.supervisor.cluster import ClusterError


@demo_command("weighing")
@click.option("--grams", type=int, default=5)
def weighing(console: Console, grams: int) -> Report:
    """Weigh something."""
    if grams < 0:
        raise ClusterError("the scales are broken")
    report = Report("weighing")
    report.figure("grams", grams)
    report.target("too heavy, g", grams, "<=", 10)
    report.end(happened="It was weighed.", why="It has mass.", look_next="Weigh [more].")
    return report


@demo_command("silent", figures=False)
def silent(console: Console) -> Report:
    report = Report("silent")
    report.figure("a figure", 7)
    report.target("seven", 7, "==", 7)
    report.end(happened="Nothing.", why="Silence.", look_next="Listen.")
    return report


@pytest.mark.parametrize(("grams", "code", "verdict"), [(5, 0, "holds"), (11, 1, "does not hold")])
def test_report_and_exit_code(tmp_path: Path, grams: int, code: int, verdict: str) -> None:
    file = tmp_path / "figures.json"
    result = CliRunner().invoke(weighing, ["--grams", str(grams), "--json", str(file)])
    assert result.exit_code == code
    assert verdict in result.output
    written = json.loads(file.read_text())
    assert written["figures"] == {"grams": grams}
    assert written["targets"][0]["holds"] == (code == 0)


@pytest.mark.parametrize(
    ("grams", "happened"),
    [(5, "It was weighed."), (11, "Some targets were missed:")],
)
def test_a_demo_ends_with_three_sentences(grams: int, happened: str) -> None:
    output = CliRunner().invoke(weighing, ["--grams", str(grams)]).output
    first, why, look_next = output.splitlines()[-3:]
    assert first.startswith(f"What happened: {happened}")
    assert why == "Why: It has mass."
    assert look_next == "What to look at next: Weigh [more]."


def test_a_demo_without_an_ending_is_a_bug() -> None:
    @demo_command("endless")
    def endless(console: Console) -> Report:
        return Report("endless")

    assert isinstance(CliRunner().invoke(endless, []).exception, ValueError)


def test_a_cluster_error_ends_it_with_its_words(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    result = CliRunner().invoke(weighing, ["--grams", "-1", "--json", str(file)])
    assert result.exit_code == 1
    happened, why, what_to_do = result.output.splitlines()
    assert happened == "What happened: The demo weighing could not continue: the scales are broken"
    assert why.startswith("Why: The demo's cluster")
    assert what_to_do.startswith("What to do: ")
    assert not file.exists()


def test_figures_that_the_demo_has_shown_itself_are_not_shown_again() -> None:
    output = CliRunner().invoke(silent, []).output
    assert "seven" in output
    assert "a figure" not in output


def test_json_is_the_last_option_but_help() -> None:
    output = CliRunner().invoke(weighing, ["--help"]).output
    assert output.index("--grams") < output.index("--json") < output.index("--help")
