"""Each module of the core has a test of its name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CORE = ("log", "replication", "controller", "coordinator", "network")
MODULES = sorted(
    path.relative_to(ROOT / "kafka_edu")
    for package in CORE
    for path in (ROOT / "kafka_edu" / package).rglob("*.py")
    if path.name != "__init__.py"
)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_of_the_core_has_a_test_of_its_name(module: Path) -> None:
    test = ROOT / "tests" / "unit" / module.parent / f"test_{module.stem}.py"
    assert test.is_file(), f"write tests/unit/{module.parent}/test_{module.stem}.py"
    assert re.search(r"^(async )?def test_", test.read_text(), re.MULTILINE)


@pytest.mark.source
def test_every_module_is_reached_by_some_test() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "module_tests", "--missing"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("", "")
