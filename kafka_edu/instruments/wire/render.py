"""Show a tree as text, with the bytes on the left and their meaning on the right, or as JSON."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_edu.instruments.wire.tree import Decoded, Node

#: The number of bytes in one line of the left column.
PER_LINE: Final = 8
#: The most lines of bytes that are shown for one leaf.
_MAX_HEX_LINES: Final = 4
_HEX_WIDTH: Final = PER_LINE * 3 - 1


class Row(NamedTuple):
    """One line of a shown tree: a node, and how it is shown."""

    node: Node
    depth: int
    is_inner: bool
    """Whether the node is part of decompressed bytes. Its position then counts in those bytes."""
    is_open: bool
    """Whether rows for its children follow. Otherwise this row stands for all the node's bytes."""


def rows(root: Node, *, unfold: bool, is_inner: bool = False, depth: int = 0) -> Iterator[Row]:
    """Yield a row for each node below `root`. A folded node is one row, unless `unfold` is set."""
    for node in root.children:
        yield from node_rows(node, unfold=unfold, is_inner=is_inner, depth=depth)


def node_rows(node: Node, *, unfold: bool, is_inner: bool, depth: int) -> Iterator[Row]:
    """Yield the row of a node, and the rows of the nodes below it."""
    is_open = bool(node.children) and (
        unfold or not node.folded or any(child.wrong for child in node.walk())
    )
    yield Row(node, depth, is_inner, is_open)
    if is_open:
        yield from rows(node, unfold=unfold, is_inner=is_inner, depth=depth + 1)
    for inner in node.inner:
        yield from node_rows(inner, unfold=unfold, is_inner=True, depth=depth + 1)


def words_of(node: Node) -> str:
    """Return the name, value and type of a node as text."""
    words = f"{node.name} {node.value}" if node.value else node.name
    kind = node.type.partition(" ")[2]
    compact = ": length + 1" if kind in ("string", "bytes", "records") else ""
    since = f", versions {node.versions}" if node.versions not in ("", "0+") else ""
    return f"{words}  ({node.type}{compact}{since})"


class TextLine(NamedTuple):
    """One line of text, and whether it shows a wrong byte."""

    text: str
    is_wrong: bool = False


def tree_lines(decoded: Decoded, *, unfold: bool = False, docs: bool = False) -> list[TextLine]:
    """Return the whole tree as lines. With `docs`, add the schema's description of each field."""
    lines = [TextLine(_title(decoded))]
    first = decoded.first_problem
    for row in rows(decoded.root, unfold=unfold):
        node = row.node
        has_bytes = not row.is_open and not row.is_inner
        data = decoded.data[node.start : node.end] if has_bytes else b""
        hexes = list(_hex_lines(data)) or [""]
        at = "    " if row.is_inner else f"{node.start:04x}"
        indent = "  " * row.depth
        wrong = bool(node.wrong)
        mark = "✗" if wrong else " "
        lines.append(
            TextLine(f"{at} {mark} {hexes[0]:<{_HEX_WIDTH}}  {indent}{words_of(node)}", wrong)
        )
        lines += [TextLine(f"       {more}", wrong) for more in hexes[1:]]
        blank = f"       {'':<{_HEX_WIDTH}}  {indent}"
        if node.wrong:
            lines.append(TextLine(f"{blank}  ^ wrong: {node.wrong}", is_wrong=True))
        if docs and node.note:
            lines.append(TextLine(f"{blank}  {node.note}"))
    if first is not None:
        lines.append(TextLine(verdict(decoded), is_wrong=True))
    return lines


def verdict(decoded: Decoded, *, with_path: bool = True) -> str:
    """Return a sentence that says whether the frame is right, or which byte is the first
    wrong one.
    """
    first = decoded.first_problem
    if first is None:
        return f"{len(decoded.data):,} bytes, each one explained"
    at = first.at
    where = f"byte {at} (0x{at:04x})" if at < len(decoded.data) else f"byte {at} is missing"
    value = f" is 0x{decoded.data[at]:02x}" if at < len(decoded.data) else ""
    return f"first wrong byte: {where}{value}: {first.reason}" + (
        f", in {first.path}" if with_path else ""
    )


def _title(decoded: Decoded) -> str:
    words = [decoded.title]
    if decoded.client_id is not None:
        words.append(f"client {decoded.client_id}")
    if decoded.correlation_id is not None:
        words.append(f"correlation {decoded.correlation_id}")
    words.append(f"{len(decoded.data):,} bytes")
    return " · ".join(words)


def _hex_lines(data: bytes) -> Iterator[str]:
    for line, start in enumerate(range(0, len(data), PER_LINE)):
        if line == _MAX_HEX_LINES:
            yield f"… {len(data) - start:,} more bytes"
            return
        yield data[start : start + PER_LINE].hex(" ")


def as_json(decoded: Decoded) -> dict[str, object]:
    """Return the whole tree as a dictionary, for the option `--json`."""
    first = decoded.first_problem
    return {
        "api": decoded.api,
        "version": decoded.version,
        "kind": "response" if decoded.is_response else "request",
        "correlation_id": decoded.correlation_id,
        "client_id": decoded.client_id,
        "size": len(decoded.data),
        "hex": decoded.data.hex(),
        "first_wrong_byte": None if first is None else first.at,
        "problems": [dict(problem._asdict()) for problem in decoded.problems],
        "fields": [_node_json(child) for child in decoded.root.children],
    }


def _node_json(node: Node) -> dict[str, object]:
    fields: dict[str, object] = {
        "name": node.name,
        "type": node.type,
        "start": node.start,
        "end": node.end,
        "value": node.value,
    }
    if node.versions:
        fields["versions"] = node.versions
    if node.note:
        fields["note"] = node.note
    if node.wrong:
        fields["wrong"] = node.wrong
    if node.children:
        fields["fields"] = [_node_json(child) for child in node.children]
    if node.inner:
        fields["unpacked"] = [_node_json(child) for child in node.inner]
    return fields
