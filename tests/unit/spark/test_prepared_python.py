"""A module that runs in a child of the prepared process behaves as in a separate Python."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.spark import prepared_client
from kafka_edu.spark.prepared_python import Prepared, start_prepared_python
from tests.waiting import wait_for

MODULE = """
import os, sys
import beside
print(__name__, sys.argv[1:], os.getcwd(), os.environ["WORD"], beside.VALUE, sys.stdin.read())
print(sorted(name for name in os.environ if name.startswith("PYTHON")))
print("an error", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def prepared() -> Iterator[Prepared]:
    started = start_prepared_python()
    yield started
    started.end()


def run(program: list[str], folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the module `here` of a folder. PYTHONPATH names a folder with another module."""
    (folder / "here.py").write_text(MODULE, encoding="utf-8")
    (folder / "others").mkdir(exist_ok=True)
    (folder / "others" / "beside.py").write_text("VALUE = 7\n", encoding="utf-8")
    return subprocess.run(
        [*program, "-m", "here", *arguments],
        cwd=folder,
        env={"WORD": "a word", "PYTHONPATH": str(folder / "others")},
        input="from standard input",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", ["0", "3"])
def test_a_module_sees_and_says_the_same_as_in_a_plain_python(
    prepared: Prepared, tmp_path: Path, code: str
) -> None:
    found = run([prepared.program], tmp_path, code, "two words")
    plain = run([sys.executable], tmp_path, code, "two words")
    assert "from standard input" in found.stdout
    assert (found.stdout, found.stderr) == (plain.stdout, plain.stderr)
    assert found.returncode == plain.returncode == int(code)


def test_an_exception_has_its_traceback_and_a_code(prepared: Prepared, tmp_path: Path) -> None:
    found = run([prepared.program], tmp_path, "no number")
    assert found.returncode == 1
    assert "ValueError: invalid literal for int()" in found.stderr


def test_what_is_no_module_runs_in_a_plain_python(prepared: Prepared) -> None:
    command = [prepared.program, "-c", "import sys; print(sys.argv)", "a"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"['-c', 'a']\n"


def test_without_a_prepared_process_the_program_is_a_plain_python(tmp_path: Path) -> None:
    client = [sys.executable, "-IS", prepared_client.__file__, str(tmp_path / "nobody")]
    assert run(client, tmp_path, "3").stdout == run([sys.executable], tmp_path, "3").stdout


def test_the_process_ends_with_the_one_that_started_it() -> None:
    """Also if that one is killed."""
    script = (
        "import os, signal\n"
        "from kafka_edu.spark.prepared_python import start_prepared_python\n"
        "print(start_prepared_python().process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    pid = int(done.stdout)

    def has_ended() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"

    wait_for(has_ended, "the prepared process has not ended")


def test_its_modules_are_imported_before_a_child_runs(prepared: Prepared, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")
    (tmp_path / "shows.py").write_text(
        "import sys\nprint('pyarrow' in sys.modules, 'kafka_edu.spark.data_source' in sys.modules)"
    )
    command = [prepared.program, "-m", "shows"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"True True\n"
