"""`kafka-edu demo`: the table of demos, and the demo that runs if none is named."""

import click
import pytest
from click.testing import CliRunner

from kafka_edu.cli.command_table import DEMOS, CommandEntry, read_group
from kafka_edu.cli.demo import FIRST, demo


@pytest.mark.parametrize("entry", read_group(DEMOS).values(), ids=lambda entry: str(entry.name))
def test_each_demo_is_a_command_of_that_name(entry: CommandEntry) -> None:
    command = entry.load()
    assert isinstance(command, click.Command)
    assert command.name == entry.name


def test_help_lists_the_demos() -> None:
    output = CliRunner().invoke(demo, ["--help"]).output
    assert set(read_group(DEMOS)).issubset(output.split())


def test_options_without_a_name_go_to_the_first_demo() -> None:
    result = CliRunner().invoke(demo, ["--rate", "0"])
    assert result.exit_code == 2
    assert f"demo {FIRST}" in result.output
    assert "0 is not in the range" in result.output


def test_an_unknown_demo_is_named() -> None:
    result = CliRunner().invoke(demo, ["breakfast"])
    assert result.exit_code == 2
    assert "breakfast" in result.output
