"""What users run needs no package that only developers install; tests that need one skip, and say
why.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import kafka.codec
import pytest

from kafka_edu.common.environment_setup import download_size_mb
from kafka_edu.common.python_process import python_environment
from kafka_edu.tools.console_producer import CODECS

ROOT: Final = Path(__file__).resolve().parents[2]
#: Folders whose modules users run.
SHIPPED: Final = ("kafka_edu", "tui", "chapters", "exercises", "benchmarks")
#: Groups that a command fetches itself when it needs them (`kafka_edu.common.package_group`).
FETCHED_BY_COMMANDS: Final = ("spark", "apache-zookeeper")


def name_of(requirement: str) -> str:
    """Return the name of a distribution as packaging tools compare it."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAIN: Final = {name_of(pin) for pin in PROJECT["dependencies"]}
GROUPS: Final = {
    group: {name_of(pin) for pin in pins}
    for group, pins in PROJECT["optional-dependencies"].items()
}
DEV_ONLY: Final = GROUPS["dev"] - MAIN
#: Packages of `main` that another package loads: codecs for kafka-python, a plugin for pytest.
BY_ANOTHER: Final = {"python-snappy", "lz4", "zstandard", "pytest-timeout"}
#: top-level module → the installed distributions that bring it.
INSTALLED: Final = {
    module: {name_of(found) for found in names}
    for module, names in packages_distributions().items()
}


def imported(module: Path) -> Iterator[str]:
    """Yield the top-level names that a module imports anywhere, also inside functions."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def distributions(name: str) -> set[str]:
    """Return the distributions that bring a top-level module; one that is not installed is taken to
    be called like its module.
    """
    return INSTALLED.get(name, {name_of(name)})


def test_no_shipped_module_imports_what_only_developers_install() -> None:
    allowed = MAIN.union(*(GROUPS[group] for group in FETCHED_BY_COMMANDS))
    ours = {
        *SHIPPED,
        "kafka_edu_tui",
        "kafka_edu_chapters",
        "kafka_edu_labs",
        "kafka_edu_benchmarks",
        "_typeshed",
    }  # the last is known to type checkers alone
    wrong = []
    for folder in SHIPPED:
        for module in sorted((ROOT / folder).rglob("*.py")):
            for name in sorted(set(imported(module)) - ours - sys.stdlib_module_names):
                if not distributions(name) & allowed:
                    wrong.append(f"{module.relative_to(ROOT)} imports {name}")
    assert wrong == []


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
def test_the_tools_client_has_each_codec_from_the_main_packages(codec: str) -> None:
    """kafka-python takes a codec from whatever package is there, so each must come from a package
    of main.
    """
    provider = vars(kafka.codec)[codec]
    assert provider is not None, f"kafka-python found no package for {codec}"
    module = provider.__name__.partition(".")[0]
    assert module in sys.stdlib_module_names or distributions(module) <= MAIN


#: Hides packages as if they were not installed.
HIDE: Final = """
import importlib.abc, sys
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None
sys.meta_path.insert(0, Hidden())
import pytest
raise SystemExit(pytest.main(["-q", "-p", "no:cacheprovider", "--collect-only", *sys.argv[1:]]))
"""


def collect(*paths: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Collect tests in a process that has no package of the group dev."""
    names = {module for module, found in INSTALLED.items() if found & DEV_ONLY}
    environ = {
        key: value for key, value in os.environ.items() if key != "KAFKA_EDU_REQUIRE_CLIENTS"
    }
    return subprocess.run(
        [sys.executable, "-c", HIDE.format(names=names), *paths],
        cwd=ROOT,
        env={**environ, **python_environment(), "KAFKA_EDU_REQUIRE_CLIENTS": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_tests_are_collected_without_the_developers_packages() -> None:
    """`./kafka-edu test --full` in a bare install: what misses a client skips, and says why."""
    done = collect("tests")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(
        r"aiokafka is not installed; it comes with the group dev: \./kafka-edu setup dev",
        done.stdout,
    )


def test_a_missing_client_fails_where_clients_are_required() -> None:
    done = collect("tests/interop/test_client_aiokafka.py", KAFKA_EDU_REQUIRE_CLIENTS="1")
    assert done.returncode not in (0, 5)
    assert "aiokafka is not installed" in done.stdout


def test_the_readme_names_the_sizes_of_the_one_table() -> None:
    """`./kafka-edu` reads requirements/README.md itself; README.md repeats three of its figures."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"({download_size_mb('main')} MB at most)" in readme
    assert f"{download_size_mb('test')} MB more" in readme
    assert f"about {download_size_mb('spark')} MB" in readme


def test_main_has_no_package_that_nothing_imports() -> None:
    """Each package of `main` is imported by a module that users run, or named in BY_ANOTHER."""
    used = set()
    for folder in SHIPPED:
        for module in (ROOT / folder).rglob("*.py"):
            for name in imported(module):
                used |= distributions(name)
    assert MAIN - used == BY_ANOTHER
