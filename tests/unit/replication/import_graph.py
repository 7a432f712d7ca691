"""Read which modules of a package import which, and draw the circular imports.

Every import counts: at the top of a module, inside a function, and under TYPE_CHECKING.

    python -m tests.unit.replication.import_graph kafka_edu/replication | graphviz-pure -Tpng >c.png
"""

import ast
import sys
from collections.abc import Mapping
from pathlib import Path

import graphviz

Graph = Mapping[str, set[str]]


def import_graph(package: Path) -> Graph:
    """Return, for each module of the package folder, the modules of the same package it imports."""
    name = ".".join(package.parts)
    modules = {file.stem for file in package.glob("*.py") if file.stem != "__init__"}
    graph: dict[str, set[str]] = {}
    for module in sorted(modules):
        found = graph[module] = set()
        for node in ast.walk(ast.parse((package / f"{module}.py").read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == name:
                names = [f"{name}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            found |= {n.removeprefix(f"{name}.") for n in names if n.startswith(f"{name}.")}
        found &= modules
    return graph


def circles(graph: Graph) -> list[set[str]]:
    """Return each largest set of modules that import one another, directly or through others. The
    sets are sorted by their smallest names.
    """
    reach = {module: _reachable(graph, module) for module in graph}
    found: list[set[str]] = []
    for module in sorted(graph):
        if module in reach[module]:
            circle = {other for other in reach[module] if module in reach[other]}
            if circle not in found:
                found.append(circle)
    return found


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    todo = list(graph[start])
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += graph[module]
    return seen


def figure(graph: Graph) -> graphviz.Digraph:
    """Draw the graph. The edges of circles are red."""
    drawn = graphviz.Digraph("imports")
    drawn.attr("graph", rankdir="LR")
    drawn.attr("node", shape="box", fontname="monospace")
    found = circles(graph)
    for module in sorted(graph):
        for other in sorted(graph[module]):
            red = any({module, other} <= circle for circle in found)
            drawn.edge(module, other, color="red" if red else None)
    return drawn


if __name__ == "__main__":
    print(figure(import_graph(Path(sys.argv[1]))).source)
