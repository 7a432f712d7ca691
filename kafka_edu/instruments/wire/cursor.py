"""Read a frame from its first byte on, and build its tree while reading.

Every read appends one node, so the tree covers all bytes that were read, even after the first wrong
byte. No memory is allocated for an announced length before its bytes are known to be there. A tree
has at most MAX_NODES nodes. The rest of a larger frame is one leaf that says so.
"""

import struct
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_edu.instruments.wire.tree import Node, Problem
from kafka_edu.instruments.wire.words import bytes_words, number_words, text_words
from kafka_edu.protocol.types import (
    MAX_INT,
    MAX_STRING_BYTES,
    FixedType,
    Int16,
    Int32,
    ProtocolError,
    read_unsigned_varint,
    read_varint,
    read_varlong,
)

MAX_NODES: Final = 20_000
#: The maximum number of bytes that the compressed records of one frame may have after they were
#: decompressed. There is a limit because a few compressed bytes can become gigabytes.
MAX_UNPACKED: Final = 1024 * 1024


class Stop(Exception):
    """The cursor's present scope (a range of bytes) cannot be read any further. The reason is
    already in the tree.
    """


class Cursor:
    """A reading position in the bytes, with the node that is open and the problems found so far."""

    def __init__(self, data: bytes, missing: str = "", max_nodes: int = MAX_NODES) -> None:
        """Begin at the first byte.

        `missing` says why bytes are missing at the end, if the frame itself is not wrong.
        """
        self.data = data
        self._view = memoryview(data)
        self.at = 0
        self.limit = len(data)
        """The position where the present scope ends: the whole frame, or a field with a size."""
        self.problems: list[Problem] = []
        self.root = Node("frame", "frame", 0, len(data))
        self._missing = missing
        self._left = max_nodes
        self.unpackable = MAX_UNPACKED
        """How many more bytes may still be decompressed."""
        self._open: list[tuple[Node, list[Node]]] = []
        self._start(self.root)

    def inside(self, unpacked: bytes) -> "Cursor":
        """Return a cursor for decompressed bytes of this frame. Both cursors add to the same
        tree.
        """
        self.unpackable -= len(unpacked)
        return Cursor(unpacked, max_nodes=max(self._left, 0))

    def hand_over(self, leaf: Node, inside: "Cursor") -> None:
        """Attach the tree of decompressed bytes to the leaf that holds the compressed bytes."""
        self._left = inside._left
        leaf.inner = list(inside.root.children)
        for problem in inside.problems[:1]:
            leaf.wrong = f"byte {problem.at:,} of the unpacked bytes: {problem.reason}"
            self.problem(leaf.start, f"{leaf.name}.{problem.path}", leaf.wrong)

    @property
    def rest(self) -> int:
        return self.limit - self.at

    @property
    def last(self) -> Node:
        """Return the node that was appended last to the open node."""
        return self._open[-1][1][-1]

    @property
    def path(self) -> str:
        """Return the path of the open node, without the name of the frame."""
        names = [node.name for node, _ in self._open[1:]]
        return ".".join(names).replace(".[", "[")

    # The tree

    def _start(self, node: Node) -> None:
        children: list[Node] = []
        node.children = children
        self._open.append((node, children))

    def add(self, node: Node) -> Node:
        """Append a node to the open node, and move to the node's end."""
        self._left -= 1
        if self._left < 0:
            self._give_up()
        self._open[-1][1].append(node)
        self.at = node.end
        return node

    def _give_up(self) -> None:
        """Cover the rest of the scope with one leaf, because the tree has enough nodes."""
        words = f"{self.rest:,} bytes are not drawn: the tree is full"
        self._open[-1][1].append(Node("…", "not drawn", self.at, self.limit, words))
        self.at = self.limit
        raise Stop

    @contextmanager
    def group(self, node: Node) -> Iterator[Node]:
        """Open `node` for the block: all nodes read in the block become its children.

        At the end of the block, the node's end is set to the cursor's position.
        """
        self._left -= 1
        if self._left < 0:
            self._give_up()
        self._open[-1][1].append(node)
        self._start(node)
        try:
            yield node
        finally:
            self._open.pop()
            node.end = self.at

    @contextmanager
    def scope(self, end: int) -> Iterator[None]:
        """Read only up to `end` in the block. After the block, reading continues at `end`.

        If reading stops inside the block, one leaf covers the bytes that are left.
        """
        before, self.limit = self.limit, end
        try:
            yield
            self.rest_is("more bytes", "the value ends before its size says")
        except Stop:
            pass  # the tree already covers the scope, with the reason
        finally:
            self.limit = before

    def rest_is(self, name: str, reason: str, *, wrong: bool = True) -> None:
        """Cover the rest of the scope with one leaf."""
        if self.rest:
            if wrong:
                self.problem(self.at, name, reason)
            node = Node(name, "bytes", self.at, self.limit, f"{self.rest:,} bytes: {reason}")
            node.raw = self.data[self.at : self.limit]
            node.wrong = reason if wrong else ""
            self._open[-1][1].append(node)
            self.at = self.limit

    # What is wrong

    def problem(self, at: int, name: str, reason: str) -> None:
        """Note a problem that does not stop the reading."""
        if any(known.at == at and known.reason == reason for known in self.problems):
            return
        path = self.path
        self.problems.append(
            Problem(at, f"{path}.{name}" if path and name else path or name, reason)
        )

    def fail(self, name: str, type: str, reason: str, at: int | None = None) -> Stop:
        """Record the first wrong byte, cover the rest of the scope with one leaf, and return a
        Stop.
        """
        where = self.at if at is None else at
        self.problem(where, name, reason)
        words = f"not decoded: {self.rest:,} bytes"
        self._open[-1][1].append(Node(name, type, self.at, self.limit, value=words, wrong=reason))
        self.at = self.limit
        return Stop()

    def ends(self, name: str, type: str, needed: int) -> Stop:
        """Return a Stop for a value that needs more bytes than there are."""
        if self.is_cut:
            reason = self._missing
        else:
            reason = f"{type} needs {needed:,} bytes, and {self.rest:,} are left"
        return self.fail(name, type, reason, self.limit)

    # Values

    def fixed(self, name: str, wire: FixedType[int] | FixedType[bool] | FixedType[float]) -> Node:
        """Read a number of fixed size."""
        if self.rest < wire.size:
            raise self.ends(name, wire.name, wire.size)
        raw = struct.unpack_from(">" + wire.code, self.data, self.at)[0]
        node = Node(name, wire.name, self.at, self.at + wire.size, raw=raw)
        if isinstance(raw, bool):
            node.value = "true" if raw else "false"
        else:
            node.value = number_words(name, raw) if isinstance(raw, int) else str(raw)
        return self.add(node)

    def uuid(self, name: str) -> Node:
        """Read a UUID."""
        if self.rest < 16:
            raise self.ends(name, "uuid", 16)
        raw = uuid.UUID(bytes=self.data[self.at : self.at + 16])
        words = str(raw) if raw.int else f"{raw} = none"
        return self.add(Node(name, "uuid", self.at, self.at + 16, words, raw))

    def varint(self, name: str, type: str = "varint") -> Node:
        """Read a varint, a varlong or an unsigned varint."""
        read = {
            "varint": read_varint,
            "varlong": read_varlong,
            "unsigned varint": read_unsigned_varint,
        }[type]
        try:
            raw, end = read(self._view[: self.limit], self.at)
        except ProtocolError:
            most = 10 if type == "varlong" else 5
            if self.rest >= most:
                raise self.fail(name, type, f"a {type} is longer than {most} bytes") from None
            raise self.ends(name, type, self.rest + 1) from None
        node = Node(name, type, self.at, end, number_words(name, raw), raw)
        node.note = self._varint_note(type, raw, end)
        return self.add(node)

    def _varint_note(self, type: str, raw: int, end: int) -> str:
        if type == "unsigned varint":
            return "7 bits a byte, lowest first" if end - self.at > 1 else ""
        zigzag = raw * 2 if raw >= 0 else -raw * 2 - 1
        bits = "" if end - self.at == 1 else ", 7 bits a byte, lowest first"
        return f"zigzag: {raw} is stored as {zigzag}{bits}"

    def length(self, name: str, *, flexible: bool, of_string: bool = False) -> tuple[int, Node]:
        """Read a length or a count. A negative number means null."""
        if not flexible:
            node = self.fixed(name, Int16 if of_string else Int32)
            raw = node.raw
            assert isinstance(raw, int)
            node.value = "-1 = null" if raw == -1 else str(raw)
            return raw, node
        node = self.varint(name, "unsigned varint")
        raw = node.raw
        assert isinstance(raw, int)
        # In Java this varint is an int, so a value above 2³¹ is negative (see codegen).
        count = (raw - 2 * MAX_INT - 2 if raw > MAX_INT + 1 else raw) - 1
        node.value = "0 = null" if raw == 0 else f"{raw} = {count} + 1"
        return count, node

    @property
    def is_cut(self) -> bool:
        """Return whether the end of this scope is missing because only a part of the frame is
        here.
        """
        return bool(self._missing) and self.limit == len(self.data)

    def sized(self, node: Node, kind: str, *, flexible: bool, nullable: bool) -> Node:
        """Read a string or bytes into `node`: first a length, then that number of bytes."""
        node.type, node.folded = f"compact {kind}" if flexible else kind, True
        with self.group(node):
            size = self.announced(node, flexible=flexible, nullable=nullable)
            if size is None:
                node.value = "null"
                return node
            self._body(node, kind, size)
        return node

    def _body(self, node: Node, kind: str, size: int) -> None:
        """Read the bytes that follow the length of a string or of a bytes field."""
        start, end = self.at, min(self.at + size, self.limit)
        raw = self.data[start:end]
        if kind == "string":
            text = str(raw, "utf-8", "replace")
            node.value, node.raw = text_words(text), text
            body = Node("text", "UTF-8", start, end, node.value, raw)
        else:
            node.value, node.raw = bytes_words(raw), raw
            body = Node("bytes", "bytes", start, end, node.value, raw)
        if end - start < size:
            self.add(body)
            raise self.ends("…", "bytes", size)
        if size:
            self.add(body)

    def bytes_with_varint(self, node: Node) -> Node:
        """Read a key or value of a record: a varint length, then that number of bytes. -1 means
        null.
        """
        node.type, node.folded = "varint length, bytes", True
        with self.group(node):
            start = self.at
            length = self.varint("length")
            size = length.raw
            assert isinstance(size, int)
            if size < 0:
                length.value, node.value = f"{size} = null", "null"
                return node
            if size > self.rest and not self.is_cut:
                raise self.wrong_value(
                    length, start, f"{size:,} bytes are announced, and only {self.rest:,} are left"
                )
            self._body(node, "bytes", size)
        return node

    def announced(self, node: Node, *, flexible: bool, nullable: bool) -> int | None:
        """Return the length that a sized value announces, or None for null.

        Raises Stop if the length is not allowed, or if there are not enough bytes after it.
        """
        start = self.at
        of_string = node.type.endswith("string")
        size, length = self.length("length", flexible=flexible, of_string=of_string)
        if size < 0:
            if nullable:
                return None
            raise self.wrong_value(
                length, start, f"length {size} means null, not allowed for {node.name}"
            )
        if size > self.rest and not self.is_cut:
            raise self.wrong_value(
                length, start, f"{size:,} bytes are announced, and only {self.rest:,} are left"
            )
        if of_string and size > MAX_STRING_BYTES:
            raise self.wrong_value(
                length, start, f"a string of {size:,} bytes is longer than {MAX_STRING_BYTES:,}"
            )
        return size

    def wrong_value(self, node: Node, start: int, reason: str) -> Stop:
        """Return a Stop for a number that cannot be right. Cover the rest of the scope with a
        leaf.
        """
        node.wrong = reason
        self.problem(start, node.name, reason)
        if self.rest:
            words = f"not decoded: {self.rest:,} bytes"
            self._open[-1][1].append(Node("…", "not decoded", self.at, self.limit, words))
            self.at = self.limit
        return Stop()

    def skip_tagged_field(self) -> None:
        """Read a tagged field that the schema does not know: its tag, its size, and its bytes."""
        self.varint("tag", "unsigned varint")
        start = self.at
        self.skip_value(self.varint("size", "unsigned varint"), start)

    def skip_value(self, size: Node, start: int) -> None:
        """Cover the value of an unknown tagged field with a leaf. Its size was read at `start`."""
        assert isinstance(size.raw, int)
        if size.raw > self.rest and not self.is_cut:
            raise self.wrong_value(
                size,
                start,
                f"a tagged field of {size.raw:,} bytes is announced, and only {self.rest:,} are"
                " left",
            )
        end = min(self.at + size.raw, self.limit)
        if end > self.at:
            raw = self.data[self.at : end]
            self.add(Node("value", "bytes", self.at, end, f"{size.raw:,} bytes, skipped", raw))
