"""The same thing, such as a cluster, has the same option in every command. Messages name commands
as the user types them.
"""

import argparse
import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks.options import add_repeats
from kafka_edu.cli.cluster_command import cluster
from kafka_edu.cli.command_table import COMMANDS, read_group
from kafka_edu.cli.main import build
from kafka_edu.common import python_process

ROOT = Path(__file__).resolve().parents[3]
COMMAND_NAMES = "|".join(read_group(COMMANDS))
#: Texts that are titles, not commands to type.
TITLES = {"kafka-edu dashboard", "kafka-edu chapter "}
#: A command to type elsewhere: in a clone that the reader does not have yet.
ELSEWHERE = "clone the repository and run"
SCRIPT = "#!/usr/bin/env bash"


@pytest.mark.parametrize("option", ["--cluster", "--name"])
def test_a_cluster_is_named_alike_and_the_old_spelling_works(option: str) -> None:
    done = CliRunner().invoke(cluster, ["kill", "1", option, "nowhere"])
    assert "cluster 'nowhere' is not up" in done.output


def test_only_the_new_spelling_is_shown() -> None:
    for name in cluster.commands:
        shown = CliRunner().invoke(cluster, [name, "--help"]).output
        assert "--name" not in shown
        assert ("--cluster NAME" in shown) or name == "list"


def benchmark_modules() -> list[str]:
    found = (ROOT / "benchmarks").glob("*.py")
    return sorted(path.stem for path in found if "add_repeats(parser, " in path.read_text("utf-8"))


@pytest.mark.parametrize("module", benchmark_modules())
def test_each_benchmark_is_repeated_by_the_same_option(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        importlib.import_module(f"benchmarks.{module}").main(["--help"])
    shown = capsys.readouterr().out
    assert "--repeats N" in shown
    assert "--rounds" not in shown


def test_the_old_spelling_of_repeats_works() -> None:
    parser = argparse.ArgumentParser()
    add_repeats(parser, 3)
    assert [
        parser.parse_args(words).repeats for words in ([], ["--repeats", "4"], ["--rounds", "5"])
    ] == [3, 4, 5]


def test_the_program_is_called_as_the_reader_types_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert python_process.command_line("demo") == "./kafka-edu demo"
    monkeypatch.setattr(python_process, "_CHECKOUT", Path("/nowhere"))
    assert python_process.command_line("demo") == "kafka-edu demo"


def texts(module: Path) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    documents = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documents
        ):
            yield node.value


@pytest.mark.source
@pytest.mark.parametrize("folder", ["kafka_edu", "tui", "chapters", "exercises", "benchmarks"])
def test_every_message_gets_the_programs_name_from_one_function(folder: str) -> None:
    typed = re.compile(rf"(\./)?kafka-edu ({COMMAND_NAMES}|COMMAND)\b")
    wrong = [
        f"{module.relative_to(ROOT)}: {text}"
        for module in sorted((ROOT / folder).rglob("*.py"))
        if not module.stem.endswith("_page")  # pages of docs/: all say what a checkout types
        for text in texts(module)
        if typed.search(text) and text not in TITLES
        if ELSEWHERE not in text and not text.startswith(SCRIPT)
    ]
    assert wrong == []


def test_usage_begins_with_what_the_reader_typed() -> None:
    with click.Context(build(), info_name=python_process.program()) as context:
        assert context.get_usage().startswith("Usage: ./kafka-edu ")
