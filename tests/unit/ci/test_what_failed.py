"""The last step of `.ci/run` repeats everything that failed."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PASSED = """\
README.md
  ✓    1.2 s  ./kafka-edu --help
tests/unit/test_a.py ....
== cluster took 12 s, and of the two cores 3 s + 1 s in the kernel
left alone: nothing
"""
NEWCOMER = """\
  ✓    0.5 s  ./kafka-edu doctor
  ✗   31.0 s  ./kafka-edu cluster up
    README.md:12: it ended with status 1
    | no broker answers
    | and more lines
    | FAILED tests/unit/test_c.py::test_c - assert 1 == 2
    | =========== 1 failed, 9 passed in 3.00s ============
  ✗    2.0 s  ./kafka-edu topics --list
               4 passed in 2 s
    README.md:14: it ended with status 2
  ✓    0.5 s  ./kafka-edu doctor
left running: 4711 python -m kafka_edu.server
== newcomer failed, with exit code 1
"""
SUITE = """\
FAILED tests/unit/test_a.py::test_a - assert 1 == 2
ERROR tests/unit/test_b.py
1 failed, 1 error
"""


def what_failed(tmp_path: Path, **logs: str) -> str:
    files = []
    for name, text in logs.items():
        file = tmp_path / f"{name}.log"
        file.write_text(text, encoding="utf-8")
        files.append(str(file))
    return subprocess.run(
        [ROOT / ".ci" / "what_failed", *files], check=True, capture_output=True, text=True
    ).stdout


def test_each_failure_is_repeated_with_its_reason(tmp_path: Path) -> None:
    assert what_failed(tmp_path, a=PASSED, b=NEWCOMER, c=SUITE).splitlines() == [
        "  ✗   31.0 s  ./kafka-edu cluster up",
        "    README.md:12: it ended with status 1",
        "    | no broker answers",
        "    | FAILED tests/unit/test_c.py::test_c - assert 1 == 2",
        "    | =========== 1 failed, 9 passed in 3.00s ============",
        "  ✗    2.0 s  ./kafka-edu topics --list",
        "               4 passed in 2 s",
        "    README.md:14: it ended with status 2",
        "left running: 4711 python -m kafka_edu.server",
        "== newcomer failed, with exit code 1",
        "FAILED tests/unit/test_a.py::test_a - assert 1 == 2",
        "ERROR tests/unit/test_b.py",
    ]


def test_a_log_that_ends_with_a_failed_command_does_not_reach_into_the_next(tmp_path: Path) -> None:
    assert what_failed(tmp_path, a="  ✗ 1 s  x\n", b=PASSED) == "  ✗ 1 s  x\n"


def test_nothing_failed(tmp_path: Path) -> None:
    assert what_failed(tmp_path, a=PASSED) == "nothing\n"
    assert "what_failed" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
