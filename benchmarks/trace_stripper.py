"""Copy this checkout without its tracing. The copy is the base of `bench trace-cost`.

Code emits an event with `if self._trace: self._trace(Event(...))`. The script rewrites the syntax
tree of each module as if there were no tracer. Conditions that test for a tracer are replaced by
their result. Calls of a tracer are removed together with the events that they make. Blocks
`with trace.because(...)` become plain blocks. Code that only passes a tracer to other code is kept.
The tracing package itself is kept too, so that processes start as usual.

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
"""A variable or attribute with one of these names is a tracer or None."""
NOT_STRIPPED: Final = frozenset({"trace", "instruments", "sim", "cli", "learner", "tools", "spark"})
"""Packages of kafka_edu whose code does not run when a broker handles a request."""
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
    """Return whether an expression is, according to its name, a tracer or None."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in NAMES
    return False


def decided(test: ast.expr) -> bool | None:
    """Return the value of a condition if there is no tracer.

    Return None if the condition does not depend on a tracer.
    """
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
    """Rewrite the syntax tree of one module as if there were no tracer."""

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
    """Return a statement with a body. If its body is empty, `pass` is added."""
    if isinstance(node, ast.If | ast.For | ast.FunctionDef) and not node.body:
        node.body = [ast.Pass()]
    return node


def strip_source(source: str) -> str:
    """Return the source of a module without tracing. Its comments are lost too."""
    tree = Stripper().visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def trace_calls(source: str) -> Iterator[int]:
    """Yield the line number of each place that emits an event or sets the cause of an event."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=func, lineno=line) if is_tracer(func):
                yield line
            case ast.Call(func=ast.Attribute(value=tracer, attr=name), lineno=line):
                if is_tracer(tracer) and name in _CUT:
                    yield line


def broker_modules(root: Path) -> Iterator[Path]:
    """Yield the path of each module from which tracing is removed."""
    for path in sorted((root / "kafka_edu").rglob("*.py")):
        if path.relative_to(root).parts[1] not in NOT_STRIPPED:
            yield path


def write_stripped(folder: Path) -> int:
    """Copy the checkout to `folder`, and remove tracing from the copy.

    Return the number of trace calls that were removed. Raises FileNotFoundError if this is no
    checkout, and ValueError if a trace call remains.
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
