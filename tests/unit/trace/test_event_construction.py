"""Every event is constructed by keyword: a swapped integer would pass every other check."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from kafka_edu.trace.event import EVENT_TYPES

#: Events of hops that were measured, and that positional construction makes faster by enough to
#: matter: none.
#:
#: Keywords cost 0.13 µs with 5 fields and 0.26 µs with 10 (Python 3.11, best of 5 x 300,000). A hop
#: is made only while a subscriber wants that level. It then costs 0.7 µs in the tracer and 2.6 µs
#: to encode. A produce has about ten hops: 2 µs, of some 300 µs.
POSITIONAL_HOPS: Final[frozenset[str]] = frozenset()

ROOT: Final = Path(__file__).parents[3]
FOLDERS: Final = ("kafka_edu", "tui", "chapters", "exercises", "benchmarks", "tests")


def _event_names(tree: ast.Module) -> dict[str, str]:
    """Return local name → event class, for the events that a module imports or declares."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "kafka_edu.trace.events"
        ):
            for alias in node.names:
                if alias.name in EVENT_TYPES:
                    names[alias.asname or alias.name] = alias.name
        if isinstance(node, ast.ClassDef) and any(
            isinstance(by, ast.Call) and isinstance(by.func, ast.Name) and by.func.id == "event"
            for by in node.decorator_list
        ):
            names[node.name] = node.name
    # A local name for one of them, as in `change = IsrShrunk if … else IsrExpanded`.
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            either = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            for one in either:
                if isinstance(one, ast.Name) and one.id in names:
                    names[node.targets[0].id] = names[one.id]
    return names


def positional_constructions(source: str) -> Iterator[tuple[int, str]]:
    """Return (line, event class) for each construction with a positional argument."""
    if "trace" not in source:  # it can import no event
        return
    tree = ast.parse(source)
    names = _event_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        match node.func:
            case ast.Name(id=name) if name in names:
                yield node.lineno, names[name]
            case ast.Attribute(value=ast.Name(), attr=name) if name in EVENT_TYPES:
                yield node.lineno, name
            case _:
                pass


@pytest.mark.source
def test_no_event_is_constructed_by_position() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, name in positional_constructions(path.read_text(encoding="utf-8"))
        if name not in POSITIONAL_HOPS
    ]
    assert not found, "construct events by keyword: " + "; ".join(found)


@pytest.mark.parametrize(
    "call",
    ["Gap(3)", "Gap(*fields)", "made = Gap\nmade(3)", "made = Gap if late else Gap\nmade(3)"],
)
def test_finds_a_positional_construction(call: str) -> None:
    source = f"from kafka_edu.trace.events.trace import Gap\n{call}\n"
    assert [name for _, name in positional_constructions(source)] == ["Gap"]
    by_module = "from kafka_edu.trace.events import trace\ntrace.Gap(3)\n"
    assert [name for _, name in positional_constructions(by_module)] == ["Gap"]
    keyword = "from kafka_edu.trace.events.trace import Gap\nGap(dropped=3)\n"
    assert not list(positional_constructions(keyword))
