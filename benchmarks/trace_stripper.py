"""Copy this checkout without its tracing: the base of `bench trace-cost`.

A part emits by `if self._trace: self._trace(Event(...))`. The script rewrites the syntax tree of
each module as if there were no tracer: tests of a tracer are decided, calls of it are cut out with
the events that they make, and blocks `with trace.because(...)` become plain blocks. What only hands
a tracer on stays, and so does the tracing package itself, so that processes start as always.

    python -m benchmarks.trace_stripper FOLDER     # writes the copy there
"""

import ast
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

from kafka_edu.common.python_process import checkout

NAMES: Final = frozenset({"trace", "_trace"})
"""A variable or attribute with such a name is a tracer or None."""
NOT_STRIPPED: Final = frozenset({"trace", "instruments", "sim", "cli", "learner", "tools", "spark"})
"""Packages of kafka_edu that no broker runs on a request's way."""
COPIED: Final = (
    "kafka_edu",
    "tui",
    "chapters",
    "exercises",
    "benchmarks",
    "pyproject.toml",
    "kafka-edu",
    "README.md",
)
_CUT: Final = frozenset({"because", "carry"})

N = TypeVar("N", bound=ast.AST)


def is_tracer(node: ast.AST) -> bool:
    """Return whether an expression is a tracer or None, by its name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in NAMES
    return False


def decided(test: ast.expr) -> bool | None:
    """Return what a test is when there is no tracer; None if it does not depend on one."""
    match test:
        case ast.Name() | ast.Attribute() if is_tracer(test):
            return False
        case ast.Attribute(value=tracer) if is_tracer(tracer):
            return False  # trace.hops, trace.all, trace.cause
        case ast.Call(func=func) if is_tracer(func):
            return False
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = decided(operand)
            return None if inner is None else not inner
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]) if is_tracer(
            left
        ):
            return isinstance(op, ast.Is)
        case ast.BoolOp(op=op, values=values):
            known = [decided(value) for value in values]
            ends = isinstance(op, ast.Or)
            if ends in known:
                return ends
            return None if None in known else not ends
    return None


class Stripper(ast.NodeTransformer):
    """Rewrites one module as if no tracer existed."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        outcome = decided(node.test)
        if outcome is None:
            return _whole(self.generic_visit(node))
        kept = ast.Module(body=node.body if outcome else node.orelse, type_ignores=[])
        self.generic_visit(kept)
        return kept.body or [ast.Pass()]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        outcome = decided(node.test)
        if outcome is None:
            return self.generic_visit(node)
        chosen: ast.AST = self.visit(node.body if outcome else node.orelse)
        return chosen

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        outcome = decided(node)
        if outcome is not None:
            return ast.Constant(value=outcome)
        node.values = [value for value in node.values if decided(value) is None]
        self.generic_visit(node)
        return node if len(node.values) > 1 else node.values[0]

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Call) and is_tracer(node.value.func):
            return ast.Pass()
        return self.generic_visit(node)

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        node.items = [item for item in node.items if not _is_because(item.context_expr)]
        self.generic_visit(node)
        return node if node.items else node.body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node.func:
            case func if is_tracer(func):
                return ast.Constant(value=0)
            case ast.Attribute(value=tracer, attr="carry") if is_tracer(tracer):
                work: ast.AST = self.visit(node.args[1])
                return work
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if is_tracer(node.value) and node.attr in ("hops", "all", "cause"):
            return ast.Constant(value=0 if node.attr == "cause" else False)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return _whole(self.generic_visit(node))

    def visit_For(self, node: ast.For) -> ast.AST:
        return _whole(self.generic_visit(node))


def _is_because(context: ast.expr) -> bool:
    match context:
        case ast.Call(func=ast.Attribute(value=tracer, attr="because")):
            return is_tracer(tracer)
        case ast.Call(func=ast.Name(id="because"), args=[tracer, *_]):
            return is_tracer(tracer)
    return False


def _whole(node: ast.AST) -> ast.AST:
    """Return a statement whose body is not empty."""
    if isinstance(node, ast.If | ast.For | ast.FunctionDef) and not node.body:
        node.body = [ast.Pass()]
    return node


def strip_source(source: str) -> str:
    """Return a module's source without tracing, and without its comments."""
    tree = Stripper().visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def trace_calls(source: str) -> Iterator[int]:
    """Yield the line of each place that emits an event, or sets the cause of one."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=func, lineno=line) if is_tracer(func):
                yield line
            case ast.Call(func=ast.Attribute(value=tracer, attr=name), lineno=line):
                if is_tracer(tracer) and name in _CUT:
                    yield line


def broker_modules(root: Path) -> Iterator[Path]:
    """Yield each module that is stripped."""
    for path in sorted((root / "kafka_edu").rglob("*.py")):
        if path.relative_to(root).parts[1] not in NOT_STRIPPED:
            yield path


def write_stripped(folder: Path) -> int:
    """Copy the checkout to `folder` and strip the copy. Return how many trace calls went.

    Raises FileNotFoundError if this is no checkout, ValueError if a trace call remains.
    """
    root = checkout()
    if root is None:
        raise FileNotFoundError("a stripped copy is made of a checkout, not of an installation")
    for name in COPIED:
        path = root / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.exists():
            shutil.copy2(path, folder / name)
    removed = 0
    for path in broker_modules(folder):
        source = path.read_text(encoding="utf-8")
        before = list(trace_calls(source))
        if "trace" not in source:
            continue
        stripped = strip_source(source)
        if left := list(trace_calls(stripped)):
            raise ValueError(f"{path}: trace calls remain in the stripped copy, line {left[0]}")
        removed += len(before)
        path.write_text(stripped, encoding="utf-8")
    return removed


if __name__ == "__main__":
    print(f"{write_stripped(Path(sys.argv[1]))} trace calls removed")
