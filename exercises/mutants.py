"""Make the mutants of a reference solution. A mutant has one operator, condition or constant
changed.

If a mutant passes the public tests, either the tests have a gap or the change makes no difference.
`mutation_run` tries all mutants.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

#: Each operator, and the operator that replaces it in a mutant.
_OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
#: Each comparison, and its replacement. `<` and `<=` replace each other; `==`, `is` and `in` are
#: negated.
_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SIGNS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.And: "and",
    ast.Or: "or",
}


_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: The syntax nodes that a type alias, such as `Place = tuple[int, int]`, may consist of.
_TYPE_PARTS: Final = (
    ast.Attribute,
    ast.BinOp,
    ast.BitOr,
    ast.Constant,
    ast.List,
    ast.Load,
    ast.Name,
    ast.Subscript,
    ast.Tuple,
)


class Mutant(NamedTuple):
    """A copy of a solution with exactly one change."""

    line: int
    code: str
    """The line of the solution that is changed, without its indentation."""
    change: str
    """The change, such as `< becomes <=`. If a line has the same change twice, it is numbered."""
    source: str
    """The source of the changed program, without comments."""
    given: bool
    """Whether the starter already has this code, so that the exercise does not ask for it.

    This is so if the starter has the same function around the change, or the same top-level
    statement.
    """


class _Site(NamedTuple):
    """A place in a syntax tree where one change can be made."""

    line: int
    column: int
    change: str
    apply: Callable[[], None]


def mutants(source: str, starter: str = "") -> list[Mutant]:
    """Return all mutants of a program, in the order of its lines."""
    lines = source.splitlines()
    originals = _sites(ast.parse(source))
    given = _given_lines(source, starter)
    found = []
    seen: dict[tuple[int, str], int] = {}
    for index, (line, _, change, _) in enumerate(originals):
        tree = ast.parse(source)
        _sites(tree)[index].apply()
        number = seen[line, change] = seen.get((line, change), 0) + 1
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        found.append(
            Mutant(
                line=line,
                code=lines[line - 1].strip(),
                change=change if number == 1 else f"{change}, number {number}",
                source=text,
                given=line in given,
            )
        )
    return found


def _given_lines(source: str, starter: str) -> set[int]:
    """Return the numbers of the lines of `source` that the starter already has.

    A line in a function counts if the starter has the same function, with the same body. For nested
    functions, the innermost function decides. A line outside all functions counts if the starter
    has the same top-level statement.
    """
    tree, given = ast.parse(source), ast.parse(starter)
    lines: set[int] = set()
    statements = {ast.dump(statement) for statement in given.body}
    for statement in tree.body:
        if ast.dump(statement) in statements:
            lines |= _lines_of(statement)
    theirs = {(name, _code(node)) for name, node in _functions(given, "")}
    for name, node in _functions(tree, ""):
        of_node = _lines_of(node)
        if (name, _code(node)) in theirs:
            lines |= of_node
        else:
            lines -= of_node
    return lines


def _lines_of(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _code(function: _Function) -> str:
    """Return the arguments and the body of a function as text, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return ast.dump(function.args) + "".join(ast.dump(statement) for statement in body)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    """Yield all functions and methods below a node, with their full names. Outer functions come
    first.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{child.name}"
            if isinstance(child, _Function):
                yield name, child
            yield from _functions(child, name)


def _sites(tree: ast.Module) -> list[_Site]:
    return sorted(_found(tree), key=lambda site: (site.line, site.column))


def _found(node: ast.AST) -> Iterator[_Site]:
    """Yield all places to change in a node and below it. Type annotations are left out."""
    yield from _own(node)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns") or isinstance(node, ast.JoinedStr | ast.Raise):
            continue  # f-strings and errors are messages, whose words no test judges
        children = value if isinstance(value, list) else [value]
        for child in children:
            if isinstance(child, ast.AST) and not _is_type(child) and not _is_docstring(child):
                yield from _found(child)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_type(node: ast.AST) -> bool:
    """Return whether this is an alias of a type, such as `Place = tuple[int, int] | None`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return False
    if not node.targets[0].id[:1].isupper() or not isinstance(
        node.value, ast.Subscript | ast.BinOp
    ):
        return False
    return all(
        isinstance(part, _TYPE_PARTS)
        and (not isinstance(part, ast.Constant) or part.value in (None, ...))
        for part in ast.walk(node.value)
    )


def _own(node: ast.AST) -> Iterator[_Site]:
    match node:
        case ast.BinOp() | ast.AugAssign():
            old = type(node.op)
            if old in _OPERATORS:
                new = _OPERATORS[old]
                equals = "=" if isinstance(node, ast.AugAssign) else ""
                column = 0 if isinstance(node, ast.AugAssign) else node.right.col_offset
                change = f"{_SIGNS[old]}{equals} becomes {_SIGNS[new]}{equals}"
                line = node.lineno if isinstance(node, ast.AugAssign) else node.right.lineno
                yield _Site(line, column, change, _setter(node, "op", new()))
        case ast.Compare():
            for index, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
                replacement = _COMPARISONS[type(operator)]
                change = f"{_SIGNS[type(operator)]} becomes {_SIGNS[replacement]}"
                operators = [*node.ops[:index], replacement(), *node.ops[index + 1 :]]
                apply = _setter(node, "ops", operators)
                yield _Site(right.lineno, right.col_offset, change, apply)
        case ast.BoolOp():
            other = ast.Or if isinstance(node.op, ast.And) else ast.And
            change = f"{_SIGNS[type(node.op)]} becomes {_SIGNS[other]}"
            yield _Site(node.lineno, node.col_offset, change, _setter(node, "op", other()))
        case ast.UnaryOp(op=ast.Not()):
            yield _Site(node.lineno, node.col_offset, "`not` is left out", _twice(node))
        case ast.UnaryOp(op=ast.USub()):
            apply = _setter(node, "op", ast.UAdd())
            yield _Site(node.lineno, node.col_offset, "the sign - is left out", apply)
        case ast.UnaryOp(op=ast.Invert()):
            yield _Site(node.lineno, node.col_offset, "~ is left out", _twice(node))
        case ast.Constant(value=bool() as truth):
            apply = _setter(node, "value", not truth)
            yield _Site(node.lineno, node.col_offset, f"{truth} becomes {not truth}", apply)
        case ast.Constant(value=int() as number):
            apply = _setter(node, "value", number + 1)
            yield _Site(node.lineno, node.col_offset, f"{number} becomes {number + 1}", apply)
        case ast.Constant(value=str() as text):
            change = f"{text!r} becomes {text + '_'!r}"
            yield _Site(node.lineno, node.col_offset, change, _setter(node, "value", text + "_"))
        case ast.If() | ast.While() | ast.IfExp() if not _has_operator(node.test):
            test = node.test
            apply = _setter(node, "test", ast.UnaryOp(op=ast.Not(), operand=test))
            yield _Site(test.lineno, test.col_offset, "the condition is turned around", apply)
        case _:
            return


def _has_operator(test: ast.expr) -> bool:
    """Return whether a condition has an operator or constant that other mutants change already."""
    return isinstance(test, ast.Compare | ast.BoolOp | ast.Constant) or (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    )


def _setter(node: ast.AST, field: str, value: object) -> Callable[[], None]:
    def apply() -> None:
        setattr(node, field, value)

    return apply


def _twice(node: ast.UnaryOp) -> Callable[[], None]:
    """Return a function that doubles the operator: `not x` becomes `not not x`, the truth of x."""
    return _setter(node, "operand", ast.UnaryOp(op=node.op, operand=node.operand))
