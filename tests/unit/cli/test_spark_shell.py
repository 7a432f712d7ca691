"""The console of `spark shell`: values are shown, and a mistake in a Spark job is one line."""

from typing import Any

import pytest

from kafka_edu.cli.spark_shell_command import SparkConsole
from kafka_edu.spark.source_errors import SourceOptionError


def refuse() -> None:
    raise SourceOptionError("option startingofsets is not known: did you mean startingOffsets?")


def stop() -> None:
    raise KeyboardInterrupt


class FakeSparkError(Exception):
    """An exception with a Java stack trace in its text."""


FakeSparkError.__module__ = "pyspark.errors.exceptions.captured"


def fail_in_java() -> None:
    raise FakeSparkError(
        "[NO_COLUMN] there is no column x\n\tat org.apache.spark.Main.main(M.java)"
    )


@pytest.fixture
def cancelled() -> list[str]:
    return []


@pytest.fixture
def console(cancelled: list[str]) -> SparkConsole:
    names: dict[str, Any] = {"refuse": refuse, "stop": stop, "fail_in_java": fail_in_java}
    return SparkConsole(names, lambda: cancelled.append("all jobs"))


def test_statements_from_a_pipe_show_their_values(
    console: SparkConsole, capsys: pytest.CaptureFixture[str]
) -> None:
    console.run_piped("x = 20\nfor i in range(2):\n    x += i\nelse:\n    x += 1\nx\n")
    assert capsys.readouterr().out == "22\n"
    assert not console.failed


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("refuse()", "Error: option startingofsets is not known: did you mean startingOffsets?\n"),
        ("fail_in_java()", "FakeSparkError: [NO_COLUMN] there is no column x\n"),
    ],
)
def test_a_mistake_is_one_line_and_ends_the_statements(
    console: SparkConsole, capsys: pytest.CaptureFixture[str], statement: str, said: str
) -> None:
    console.run_piped(f"{statement}\nprint('not reached')\n")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", said)
    assert console.failed


def test_a_syntax_error_names_its_line(
    console: SparkConsole, capsys: pytest.CaptureFixture[str]
) -> None:
    console.run_piped("print('not reached')\nx = (\n")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert 'File "<stdin>", line 2' in shown.err
    assert console.failed


def test_ctrl_c_stops_the_jobs_and_not_the_shell(
    console: SparkConsole, cancelled: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    console.push("stop()")
    assert cancelled == ["all jobs"]
    assert capsys.readouterr().err == "\nstopped\n"
