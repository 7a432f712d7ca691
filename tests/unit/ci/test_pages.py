"""The pages of the documentation: everything that they name exists, their lines are short enough,
and the picture of the packages agrees with the imports.
"""

import ast
import importlib.util
import re
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from rich.cells import cell_len

from kafka_edu.cli.command_table import COMMANDS, DEMOS, read_group
from kafka_edu.instruments.drawings.figure import rendered

ROOT = Path(__file__).resolve().parents[3]
READING = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
CHAPTERS = 18
WIDTH = 100
#: A line that holds an address, a link or an image and nothing else.
ALONE = re.compile(r"\s*([-*] |\d+\. )?(<?https?://\S+|!?\[[^\]]*\]\([^)]*\)).?")


@cache
def names_in(path: Path) -> frozenset[str]:
    """Return the names of a module's functions, classes and methods. A method is named
    `Class.method`.
    """
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{method.name}"
                for method in node.body
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return frozenset(found)


NAMED = re.findall(r"`([\w/]+\.py)`:\s+`([\w.]+)`", READING)


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)))
def test_what_the_reading_page_names_exists(file: str, name: str) -> None:
    assert (ROOT / file).is_file(), f"docs/reading.md: there is no {file}"
    assert name in names_in(ROOT / file), f"docs/reading.md: {file} has no {name}"


def test_the_reading_page_has_each_chapter_with_three_functions_and_a_test() -> None:
    chapters = READING.partition("## Rooms that serve every chapter")[0]
    parts = re.split(r"^### (\d\d) .*$", chapters, flags=re.MULTILINE)
    assert parts[1::2] == [f"{number:02}" for number in range(1, CHAPTERS + 1)]
    for number, text in zip(parts[1::2], parts[2::2], strict=True):
        if text.strip().startswith("Not yet built"):
            continue
        assert re.findall(r"^\d\.", text, re.MULTILINE) == ["1.", "2.", "3."], number
        files = [file for file, _ in re.findall(r"`([\w/]+\.py)`:\s+`([\w.]+)`", text)]
        assert [file.startswith("tests/") for file in files] == [False, False, False, True], number
        for room in re.findall(r"`((?:kafka_edu|chapters)/[\w/]+)`", text):
            assert (ROOT / room).is_dir(), f"docs/reading.md: there is no {room}"


def test_the_reading_page_names_commands_that_exist() -> None:
    commands, demos = read_group(COMMANDS), read_group(DEMOS)
    for command, rest in re.findall(r"`\./kafka-edu ([\w-]+)(?: ([\w-]+))?", READING):
        assert command in commands
        assert command != "demo" or not rest or rest in demos


def too_wide(text: str) -> list[int]:
    """Return the numbers of the lines of a page that take more than WIDTH columns. A Chinese
    character takes two.

    Some lines may be longer: tables, a line with only an address or an image, and recorded output.
    Recorded output is a code block without the mark `sh`, or an indented code block.
    """
    found = []
    block: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"^\s*```(.*)$", line)
        if fence:
            block = fence[1].strip() if block is None else None
        elif (
            cell_len(line) > WIDTH
            and (block is None or block.startswith("sh"))
            and not line.lstrip().startswith("|")
            and not line.startswith("    ")
            and not re.fullmatch(
                r"\s*([-*] |\d+\. )?(<?https?://\S+|!?\[[^\]]*\]\([^)]*\)).?", line
            )
        ):
            found.append(number)
    return found


def pages() -> list[str]:
    found = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.md")]
    return sorted(
        page for page in found if not page.startswith((".", "tests/")) and "/." not in page
    )


@pytest.mark.parametrize("page", pages())
def test_lines_have_at_most_100_columns(page: str) -> None:
    wide = too_wide((ROOT / page).read_text(encoding="utf-8"))
    assert wide == [], f"{page}: these lines take more than {WIDTH} columns"


def test_the_width_is_counted_in_columns_and_tables_and_output_are_exempt() -> None:
    long = "é " * 50
    assert too_wide(long.strip()) == []
    assert too_wide("x " * 60) == [1]
    assert too_wide("时" * 50) == []
    assert too_wide("时" * 51) == [1]
    assert too_wide(f"```sh\n# {long} and more\n```\n") == [2]
    assert too_wide(f"```\n{long} and more\n```\n") == []
    assert too_wide(f"    {long} and more\n") == []
    assert too_wide(f"| {long} and more |") == []
    assert too_wide("https://example.org/" + "x" * 100) == []


def import_graph() -> ModuleType:
    """Return the program `.ci/import_graph` as a module."""
    loader = SourceFileLoader("import_graph", str(ROOT / ".ci" / "import_graph"))
    spec = importlib.util.spec_from_loader("import_graph", loader)
    assert spec is not None
    graph = importlib.util.module_from_spec(spec)
    sys.modules["import_graph"] = graph
    loader.exec_module(graph)
    return graph


@pytest.mark.source
def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = import_graph()
    modules = graph.modules()
    assert modules["kafka_edu.replication.partition"] >= {"kafka_edu.log.log"}
    assert graph.first_circle(modules) == []
    planted = {"a": {"b", "d"}, "b": {"c"}, "c": {"a"}, "d": set()}
    circle = graph.first_circle(planted)
    assert len(circle) == 4, "three modules, and the first one again"
    assert all(imported in planted[module] for module, imported in pairwise(circle))


@pytest.mark.source
def test_the_picture_of_the_rooms_is_as_the_imports_are() -> None:
    graph = import_graph()
    drawn = (ROOT / "docs" / "figures" / "imports.dot").read_text(encoding="utf-8")
    figure = graph.draw(graph.imports(), graph.floors())
    assert drawn == figure.source, "run .venv/bin/python .ci/import_graph"
    svg = (ROOT / "docs" / "figures" / "imports.svg").read_bytes()
    assert svg == rendered(figure), "run .venv/bin/python .ci/import_graph"
