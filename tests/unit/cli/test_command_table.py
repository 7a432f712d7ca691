"""The table of commands: the same from a checkout and from metadata. A command is imported only
when it is called.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_edu.cli.command_table import BENCHMARKS, COMMANDS, CommandEntry, read_group
from kafka_edu.common.python_process import checkout


def test_checkout_is_this_folder() -> None:
    assert checkout() == Path(__file__).resolve().parents[3]


def test_package_names_of_the_wheel_become_folders_of_the_checkout() -> None:
    commands = read_group(COMMANDS)
    assert (commands["dashboard"].module, commands["dashboard"].attribute) == (
        "tui.command",
        "dashboard",
    )
    assert (commands["lab"].module, commands["lab"].attribute) == ("exercises.command", "lab")
    assert (commands["doctor"].module, commands["doctor"].attribute) == (
        "kafka_edu.cli.doctor",
        "doctor",
    )
    assert read_group(BENCHMARKS)["benchmarks"].module == "benchmarks"


def test_help_line_is_read_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loud_command.py").write_text(
        '"""Says one thing, in words that\nneed two lines.\n\nAnd more."""\n'
        'raise SystemExit("imported")\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = CommandEntry("loud", "loud_command", "loud")
    assert entry.found()
    assert entry.help_line() == "Says one thing, in words that need two lines."
    with pytest.raises(SystemExit):
        entry.load()


@pytest.mark.parametrize("module", ["no_such_module_here", "no_such_package_here.command"])
def test_missing_module_is_told(module: str) -> None:
    entry = CommandEntry("gone", module, "gone")
    assert not entry.found()
    assert entry.help_line() == "(not in this installation)"
    with pytest.raises(ImportError):
        entry.load()


def test_missing_attribute_is_an_import_error() -> None:
    with pytest.raises(ImportError, match=r"kafka_edu\.cli\.doctor has no nurse"):
        CommandEntry("nurse", "kafka_edu.cli.doctor", "nurse").load()


def test_each_command_can_be_imported_before_the_packages_of_spark_are_there() -> None:
    code = """
import sys
from kafka_edu.cli.command_table import COMMANDS, DEMOS, read_group
for missing in ("pyspark", "py4j", "pyarrow", "pandas", "matplotlib"):
    sys.modules[missing] = None  # as if it were not installed
for entry in [*read_group(COMMANDS).values(), *read_group(DEMOS).values()]:
    entry.load()
    print(entry.name)
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(checkout())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {"lab", "spark", "dashboard", "shutdown"} <= set(done.stdout.split())


def test_help_imports_no_command() -> None:
    """`kafka-edu --help` must stay quick; it does not even need rich."""
    code = (
        "import sys; from click.testing import CliRunner; from kafka_edu.cli.main import build\nout"
        " = CliRunner().invoke(build(), ['--help']).output; assert 'doctor' in out and 'demo' in"
        " out, out\nloaded = [m for m in sys.modules if m.startswith(('rich', 'textual', 'kazoo',"
        " 'confluent', 'kafka_edu.server', 'kafka_edu.cli.demo', 'chapters.ch'))]\n"
        "assert not loaded, loaded\n"
    )
    root = checkout()
    assert root is not None
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
