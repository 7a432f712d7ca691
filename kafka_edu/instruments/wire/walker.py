"""Decode a message field by field with its schema, and note the position of each field.

This is slower than the code that `kafka_edu.protocol.codegen` generates, but that code does not
know the position of each field. The walker accepts and refuses exactly the same bytes as that code.
Property tests compare the two.
"""

from functools import cache
from typing import Final

from kafka_edu.instruments.wire.batches import read_batches
from kafka_edu.instruments.wire.cursor import Cursor, Stop
from kafka_edu.instruments.wire.tree import Node
from kafka_edu.protocol.fields import Field, StructMeta, Wire, as_struct
from kafka_edu.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import (
    MAX_INT,
    ArrayType,
    BytesType,
    FixedType,
    Int16,
    RecordsType,
    StringType,
    UuidType,
    VaryingIntType,
)

#: Bytes fields that contain a message themselves, if the group's protocol type is `consumer`.
_CONSUMER_PROTOCOL: Final[dict[tuple[str, str], type[Message]]] = {
    ("JoinGroupRequestProtocol", "metadata"): ConsumerProtocolSubscription,
    ("JoinGroupResponseMember", "metadata"): ConsumerProtocolSubscription,
    ("SyncGroupRequestAssignment", "assignment"): ConsumerProtocolAssignment,
    ("SyncGroupResponse", "assignment"): ConsumerProtocolAssignment,
}


@cache
def _least_of_struct(struct: StructMeta, version: int, flexible: bool) -> int:
    present = [f for f in struct.FIELDS if f.versions.has(version) and f.tag is None]
    return sum(least_bytes(f.wire, version, flexible) for f in present) + int(flexible)


def least_bytes(wire: Wire, version: int, flexible: bool) -> int:
    """Return the smallest number of bytes that a value of this type can take on the wire."""
    if (struct := as_struct(wire)) is not None:
        return _least_of_struct(struct, version, flexible)
    if isinstance(wire, FixedType):
        return wire.size
    if isinstance(wire, UuidType):
        return 16
    if isinstance(wire, VaryingIntType) or flexible:
        return 1
    return 2 if isinstance(wire, StringType) else 4


class Walker:
    """Reads one message of one version from the cursor's position on."""

    def __init__(self, cursor: Cursor, message: type[Message], version: int) -> None:
        self.cursor = cursor
        self.message = message
        self.version = version
        self.flexible = message.FLEXIBLE.has(version)
        self._is_fetch = message.__name__ == "FetchResponse"

    def read(self) -> None:
        """Read the message. Its fields become children of the open node. Raises Stop."""
        self._fields(self.message)

    def _fields(self, struct: StructMeta) -> None:
        tagged = []
        for field in struct.FIELDS:
            if not field.versions.has(self.version):
                continue
            if field.tag is not None:
                tagged.append(field)
            else:
                self._field(struct, field)
        if self.flexible:
            self._tagged_fields(struct, tagged)

    def _field(self, struct: StructMeta, field: Field, note: str = "") -> None:
        node = Node(field.name, field.type_name, self.cursor.at, self.cursor.at)
        node.versions = str(field.versions)
        node.note = f"{note} {field.doc}" if note else field.doc
        self._value(struct, field, field.wire, node, field.nullable.has(self.version))

    def _value(
        self, struct: StructMeta, field: Field, wire: Wire, node: Node, nullable: bool
    ) -> None:
        """Read one value into `node`, and append the node to the tree."""
        cursor = self.cursor
        inner = as_struct(wire)
        if inner is not None:
            with cursor.group(node):
                self._fields(inner)
            if node.children and not node.value:
                first = node.children[0]
                node.value = f"{first.name} {first.value}" if first.value else ""
        elif isinstance(wire, ArrayType):
            self._array(struct, field, wire, node, nullable)
        elif isinstance(wire, RecordsType):
            self._records(node, nullable)
        elif isinstance(wire, StringType):
            cursor.sized(node, "string", flexible=self.flexible, nullable=nullable)
        elif isinstance(wire, BytesType):
            nested = _CONSUMER_PROTOCOL.get((struct.__name__, field.name))
            cursor.sized(node, "bytes", flexible=self.flexible, nullable=nullable)
            if nested is not None and isinstance(node.raw, bytes) and node.raw:
                node.inner = consumer_protocol(node.raw, nested)
        else:
            if isinstance(wire, UuidType):
                read = cursor.uuid(node.name)
            elif isinstance(wire, VaryingIntType):
                read = cursor.varint(node.name, wire.name)
            elif isinstance(wire, FixedType):
                read = cursor.fixed(node.name, wire)
            else:
                raise TypeError(f"{struct.__name__}.{field.name}: no reader for {wire!r}")
            read.versions = node.versions
            read.note = f"{node.note} {read.note}".strip() if read.note else node.note

    def _array(
        self, struct: StructMeta, field: Field, wire: ArrayType[object], node: Node, nullable: bool
    ) -> None:
        cursor = self.cursor
        node.type = f"compact array of {_name(wire.of)}" if self.flexible else _array_name(wire)
        with cursor.group(node):
            start = cursor.at
            count, length = cursor.length("count", flexible=self.flexible)
            if count < 0:
                if not nullable:
                    raise cursor.wrong_value(
                        length, start, f"count {count} means null, not allowed for {node.name}"
                    )
                node.value = "null"
                return
            least = least_bytes(wire.of, self.version, self.flexible)
            if count * least > cursor.rest and not cursor.is_cut:
                raise cursor.wrong_value(
                    length,
                    start,
                    f"{count:,} elements of at least {least} bytes are announced, and only"
                    f" {cursor.rest:,} bytes are left",
                )
            node.value = "empty" if not count else f"{count:,} element{'s' if count > 1 else ''}"
            for index in range(count):
                element = Node(f"[{index}]", _name(wire.of), cursor.at, cursor.at)
                self._value(struct, field, wire.of, element, False)
            if count and isinstance(wire.of, FixedType | StringType):
                shown = [child.value for child in node.children[1:9]]
                node.value = f"[{', '.join(shown)}{', …' if count > 8 else ''}]"
                node.folded = True

    def _records(self, node: Node, nullable: bool) -> None:
        cursor = self.cursor
        node.type = "compact records" if self.flexible else "records"
        with cursor.group(node):
            size = cursor.announced(node, flexible=self.flexible, nullable=nullable)
            if size is None:
                node.value = "null"
                return
            node.value = f"{size:,} bytes" if size else "empty"
            whole = size <= cursor.rest
            with cursor.scope(cursor.at + size if whole else cursor.limit):
                node.value += read_batches(cursor, may_be_cut=self._is_fetch)
            if not whole:
                raise cursor.ends("…", "records", size)

    def _tagged_fields(self, struct: StructMeta, known: list[Field]) -> None:
        cursor = self.cursor
        node = Node("tagged fields", "tagged fields", cursor.at, cursor.at, "none", folded=True)
        with cursor.group(node):
            start = cursor.at
            length = cursor.varint("count", "unsigned varint")
            assert isinstance(length.raw, int)
            count = length.raw - 2 * MAX_INT - 2 if length.raw > MAX_INT else length.raw
            if count == 0:
                return
            if count * 2 > cursor.rest and not cursor.is_cut:
                raise cursor.wrong_value(
                    length,
                    start,
                    f"{count:,} tagged fields are announced, and only {cursor.rest:,} bytes are"
                    " left",
                )
            node.value, node.folded = f"{count:,}", False
            for _ in range(count):
                self._tagged_field(struct, known)

    def _tagged_field(self, struct: StructMeta, known: list[Field]) -> None:
        cursor = self.cursor
        node = Node("tagged field", "tag, size and value", cursor.at, cursor.at)
        with cursor.group(node):
            tag = cursor.varint("tag", "unsigned varint").raw
            start = cursor.at
            size = cursor.varint("size", "unsigned varint")
            assert isinstance(size.raw, int)
            field = next((one for one in known if one.tag == tag), None)
            if field is not None:
                node.name, node.versions, begin = f"tag {tag}", str(field.versions), cursor.at
                self._field(struct, field)
                if cursor.at - begin != size.raw:
                    size.note = (
                        f"the value takes {cursor.at - begin:,} bytes; like Kafka, the decoder"
                        " uses the value"
                    )
                return
            node.name = f"tag {tag}, unknown here"
            cursor.skip_value(size, start)


def _name(wire: Wire) -> str:
    return wire.__name__ if isinstance(wire, type) else wire.name


def _array_name(wire: ArrayType[object]) -> str:
    return f"array of {_name(wire.of)}"


def consumer_protocol(data: bytes, message: type[Message]) -> list[Node]:
    """Return the fields of a subscription or an assignment, which consumers exchange.

    The broker does not read these bytes. They may belong to a member that is no consumer, so bytes
    in an unknown form are not reported as wrong.
    """
    cursor = Cursor(data)
    try:
        version = cursor.fixed("version", Int16).raw
        if not isinstance(version, int) or version < 0:
            return []
        Walker(cursor, message, min(version, message.VALID.highest)).read()
    except Stop:
        pass
    return [] if cursor.problems else list(cursor.root.children)
