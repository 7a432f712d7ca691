"""If an answer cannot be written to its file, the error is one line, and the answer is not lost."""

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kafka_edu.cli.doctor import doctor
from kafka_edu.cli.report import Report
from kafka_edu.cli.trace_command import trace
from kafka_edu.cli.why_command import why
from kafka_edu.instruments.json_file import write_json
from kafka_edu.trace.event import Level
from tests.unit.instruments.simulated import Simulated

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="/dev/full is Linux's")
ROOT = Path(__file__).parents[3]


def write_report(path: Path) -> None:
    report = Report("x")
    report.figure("y", 1)
    report.write(path)


@needs_full
@pytest.mark.parametrize("write", [lambda path: write_json(path, {"a": 1}), write_report])
def test_a_full_disk_is_one_line(write: Callable[[Path], None]) -> None:
    with pytest.raises(click.ClickException) as found:
        write(FULL)
    assert found.value.message == "cannot write /dev/full: No space left on device"


def test_a_folder_that_is_missing_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "x.json"
    with pytest.raises(click.ClickException) as found:
        write_report(path)
    assert found.value.message == f"cannot write {path}: No such file or directory"


@needs_full
def test_commands_print_their_text_first_and_then_one_line(tmp_path: Path) -> None:
    world = Simulated(Level.STATE)
    recorded = str(world.record(tmp_path / "sim.jsonl.gz"))
    world.cluster.close()
    for command, words, text in (
        (doctor, [], "Python"),
        (why, ["--replay", recorded], "Nothing waits."),
        (trace, ["show", recorded], "time"),
    ):
        result = CliRunner().invoke(command, [*words, "--json", str(FULL)])
        assert result.exit_code == 1
        assert text in result.output
        last = result.output.splitlines()[-1]
        assert last.startswith("Error: cannot write /dev/full: No space left on device")
        assert not isinstance(result.exception, OSError)


def test_every_command_writes_its_json_in_this_way() -> None:
    own = re.compile(r"json_file\)?\.write_text")
    modules = [
        path
        for folder in ("kafka_edu/cli", "kafka_edu/instruments", "exercises", "chapters", "tui")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assert len(modules) > 100
    assert [path for path in modules if own.search(path.read_text(encoding="utf-8"))] == []
