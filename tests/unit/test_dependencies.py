"""The commands of users need no package that only developers install. A test that needs such a
package is skipped, and says why.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import kafka.codec
import pytest

from kafka_edu.common.environment_setup import download_size_mb
from kafka_edu.tools.console_producer import CODECS
from tests.interop.external_programs import python_package

ROOT: Final = Path(__file__).resolve().parents[2]
#: Folders whose modules users run.
SHIPPED: Final = ("kafka_edu", "tui", "chapters", "exercises", "benchmarks")
#: Groups that a command fetches itself when it needs them (`kafka_edu.common.package_group`).
FETCHED_BY_COMMANDS: Final = ("spark", "apache-zookeeper", "docs", "quiz")


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
#: Packages of `main` that nothing imports: codecs for kafka-python, a plugin for pytest, a program.
BY_ANOTHER: Final = {"python-snappy", "lz4", "zstandard", "pytest-timeout", "graphviz-pure"}
#: top-level module → the installed distributions that bring it.
INSTALLED: Final = {
    module: {name_of(found) for found in names}
    for module, names in packages_distributions().items()
}


@cache
def imported(module: Path) -> frozenset[str]:
    """Return the top-level names that a module imports anywhere, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(str(node.module).partition(".")[0])
    return frozenset(names)


def distributions(name: str) -> set[str]:
    """Return the distributions that contain a top-level module. If the module is not installed, the
    distribution is assumed to have the same name.
    """
    return INSTALLED.get(name, {name_of(name)})


@pytest.mark.source
def test_no_shipped_module_imports_what_only_developers_install() -> None:
    allowed = MAIN.union(*(GROUPS[group] for group in FETCHED_BY_COMMANDS))
    ours = {
        *SHIPPED,
        "kafka_edu_tui",
        "kafka_edu_chapters",
        "kafka_edu_labs",
        "kafka_edu_benchmarks",
        "learner_wall",  # beside learner_process, a program that is run by its path
        "learner_process",  # beside learner_jail, as well
        "learner_jail",  # beside spark_jail, as well
        "_typeshed",  # known to type checkers alone
    }
    wrong = []
    for folder in SHIPPED:
        for module in sorted((ROOT / folder).rglob("*.py")):
            for name in sorted(imported(module) - ours - sys.stdlib_module_names):
                if not distributions(name) & allowed:
                    wrong.append(f"{module.relative_to(ROOT)} imports {name}")
    assert wrong == []


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
def test_kafka_python_has_each_codec_from_the_main_packages(codec: str) -> None:
    """The labs use kafka-python, which takes a codec from any installed package. So each codec must
    come from a package of the group main.
    """
    provider = vars(kafka.codec)[codec]
    assert provider is not None, f"kafka-python found no package for {codec}"
    module = provider.__name__.partition(".")[0]
    assert module in sys.stdlib_module_names or distributions(module) <= MAIN


def at_import(module: Path) -> Iterator[str]:
    """Yield the full names that are imported when this module is imported."""
    rest: list[ast.AST] = list(ast.parse(module.read_text(encoding="utf-8")).body)
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            rest += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            rest += ast.iter_child_nodes(node)


@pytest.mark.source
def test_all_tests_are_collected_without_the_developers_packages() -> None:
    """`./kafka-edu test --full` in a bare install: a test without its client skips when it runs.

    So when pytest collects a test module, it must not import a package of the group dev, not even
    through another module of the tests.
    """
    imports = {
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): set(at_import(path))
        for path in (ROOT / "tests").rglob("*.py")
    }
    needs_dev = {
        module: min(name for name in names if distributions(name.partition(".")[0]) & DEV_ONLY)
        for module, names in imports.items()
        if any(distributions(name.partition(".")[0]) & DEV_ONLY for name in names)
    }
    assert "tests.interop.aiokafka_client" in needs_dev  # the search finds what there is
    importers: dict[str, set[str]] = {module: set() for module in imports}
    for module, names in imports.items():
        for other in names & imports.keys():
            importers[other].add(module)
    affected, ahead = set(needs_dev), list(needs_dev)
    while ahead:
        new = importers[ahead.pop()] - affected
        affected |= new
        ahead += new
    collected = {
        module
        for module in imports
        if module.rpartition(".")[2].startswith("test_") or module.endswith("conftest")
    }
    assert collected & affected == set(), f"imported by way of one of {needs_dev}"


@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_a_missing_client_skips_and_fails_where_clients_are_required(
    monkeypatch: pytest.MonkeyPatch, required: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("KAFKA_EDU_REQUIRE_CLIENTS", required)
    monkeypatch.setitem(sys.modules, "aiokafka", None)  # as if it were not installed
    with pytest.raises(outcome) as missing:
        python_package("aiokafka")
    assert str(missing.value) == (
        "aiokafka is not installed; it comes with the group dev: ./kafka-edu setup dev"
    )


def test_the_readme_names_the_sizes_of_the_one_table() -> None:
    """`./kafka-edu` reads requirements/README.md itself. Other pages repeat the figures in that
    file.
    """
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"({download_size_mb('main')} MB at most)" in readme
    assert f"{download_size_mb('test')} MB more" in readme
    assert f"about {download_size_mb('spark')} MB" in readme
    for page in (ROOT / "chapters" / "ch16_spark").glob("*.md"):
        assert f"at most {download_size_mb('spark')} MB" in page.read_text(encoding="utf-8"), page


def test_main_has_no_package_that_nothing_imports() -> None:
    """Each package of `main` is imported by a module that users run, or stands in BY_ANOTHER."""
    used = set()
    for folder in SHIPPED:
        for module in (ROOT / folder).rglob("*.py"):
            for name in imported(module):
                used |= distributions(name)
    assert MAIN - used == BY_ANOTHER
