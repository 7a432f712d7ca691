"""The command line as a whole: unknown and missing commands, benchmarks, arguments of the test
command.
"""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kafka_edu.cli import bench_command
from kafka_edu.cli.bench_command import bench, find_benchmarks
from kafka_edu.cli.command_table import CommandEntry
from kafka_edu.cli.main import VERSION, LazyGroup, build
from kafka_edu.cli.test_command import LONG, SLOW_SUITES, Part, pytest_arguments

TESTS = Path(__file__).parents[2]


def test_version() -> None:
    assert VERSION in CliRunner().invoke(build(), ["--version"]).output


def test_unknown_command() -> None:
    result = CliRunner().invoke(build(), ["brew"])
    assert result.exit_code == 2
    assert "No such command 'brew'" in result.output


def test_command_whose_module_is_missing_says_so() -> None:
    result = CliRunner().invoke(
        LazyGroup({"gone": CommandEntry("gone", "nowhere.at.all", "x")}), ["gone"]
    )
    assert result.exit_code == 1
    assert "not in this installation: there is no module nowhere.at.all" in result.output


def test_entry_that_is_no_command_says_so() -> None:
    result = CliRunner().invoke(
        LazyGroup({"odd": CommandEntry("odd", "kafka_edu.cli.main", "VERSION")}), ["odd"]
    )
    assert result.exit_code == 1
    assert "is not a click command" in result.output


@pytest.fixture
def one_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_benchmarks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sums.py").write_text(
        'NAME = "sums"\nHELP = "adds numbers"\n\n\ndef main(argv: list[str]) -> int:\n    return'
        " sum(map(int, argv))\n"
    )
    (package / "aid.py").write_text(
        '"""Helps the others."""\nraise ImportError("must not be imported to be listed")\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        bench_command,
        "read_group",
        lambda group: {"some": CommandEntry("some", "some_benchmarks", "")},
    )


@pytest.mark.usefixtures("one_benchmark")
def test_benchmarks_are_listed_without_importing_them() -> None:
    assert [benchmark.name for benchmark in find_benchmarks().values()] == ["sums"]
    result = CliRunner().invoke(bench, [])
    assert result.output.split() == ["sums", "adds", "numbers"]


@pytest.mark.usefixtures("one_benchmark")
def test_benchmark_gets_its_options_and_gives_its_code() -> None:
    assert CliRunner().invoke(bench, ["sums", "3", "-1"]).exit_code == 2


@pytest.mark.usefixtures("one_benchmark")
def test_unknown_benchmark_names_those_there_are() -> None:
    result = CliRunner().invoke(bench, ["product"])
    assert result.exit_code == 2
    assert "there are: sums" in result.output


def test_fast_and_slow_make_the_full_suite_without_the_long_tests(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    fast, slow, full = (
        pytest_arguments(tmp_path, part, ("-x",)) for part in (Part.FAST, Part.SLOW, Part.FULL)
    )
    markers = " or ".join(SLOW_SUITES)
    two = ["-n", "2"]
    assert fast[3:] == ["-m", f"not ({markers} or {LONG})", *two, "-x", str(tmp_path / "tests")]
    assert slow[3:] == ["-m", f"({markers}) and not {LONG}", "-x", str(tmp_path / "tests")]
    assert full[3:] == ["-m", f"not {LONG}", "-x", str(tmp_path / "tests")]


@pytest.mark.parametrize("option", ["-n0", "--numprocesses=1", "--pdb", "-s"])
def test_the_fast_part_runs_in_one_process_if_the_caller_needs_that(
    tmp_path: Path, option: str
) -> None:
    (tmp_path / "tests").mkdir()
    assert "2" not in pytest_arguments(tmp_path, Part.FAST, (option,))


def test_markers_of_the_caller_come_last_so_that_pytest_takes_them(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    arguments = pytest_arguments(tmp_path, Part.FAST, ("-m", "cluster"))
    assert arguments[-3:] == ["-m", "cluster", str(tmp_path / "tests")]


def test_every_slow_suite_is_a_declared_marker(pytestconfig: pytest.Config) -> None:
    declared = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert declared.issuperset((*SLOW_SUITES, LONG))


def test_every_file_in_the_folder_of_a_slow_suite_has_a_marker() -> None:
    unmarked = [
        path.name
        for suite in SLOW_SUITES
        for path in (TESTS / suite).glob("test_*.py")
        if not re.search(
            rf"mark\.({'|'.join((*SLOW_SUITES, LONG))})\b", path.read_text(encoding="utf-8")
        )
    ]
    assert unmarked == []


def test_a_path_takes_the_place_of_the_suite(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").touch()
    for part in Part:
        assert pytest_arguments(tmp_path, part, ("tests/test_a.py::test_b", "-x"))[-3:] == [
            str(tmp_path / "pyproject.toml"),
            "tests/test_a.py::test_b",
            "-x",
        ]


def test_lazy_group_is_a_click_group() -> None:
    assert isinstance(build(), click.Group)
