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
    return report


@demo_command("silent", figures=False)
def silent(console: Console) -> Report:
    report = Report("silent")
    report.figure("a figure", 7)
    report.target("seven", 7, "==", 7)
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


def test_a_cluster_error_ends_it_with_its_words(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    result = CliRunner().invoke(weighing, ["--grams", "-1", "--json", str(file)])
    assert result.exit_code == 1
    assert result.output == "Error: the scales are broken\n"
    assert not file.exists()


def test_figures_that_the_demo_has_shown_itself_are_not_shown_again() -> None:
    output = CliRunner().invoke(silent, []).output
    assert "seven" in output
    assert "a figure" not in output


def test_json_is_the_last_option_but_help() -> None:
    output = CliRunner().invoke(weighing, ["--help"]).output
    assert output.index("--grams") < output.index("--json") < output.index("--help")
