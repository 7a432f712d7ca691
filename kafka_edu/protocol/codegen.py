"""Generate a decoder and an encoder for one version of one message, as Python source.

Kafka generates Java from its schemas at build time. This module generates Python source when a
version is first used, and compiles it. Code that loops over the fields at run time would be
shorter, but about five times slower. For Produce and Fetch, encoding and decoding take most of a
request's time. The generated source is faster for three reasons:

- One function serves a whole message: nested structs become nested loops, without a call for each
  struct.
- For a field that a version lacks, the code only assigns the default.
- Neighbouring fields of fixed size are read or written by one `struct` call, together with the
  length that follows them. In Produce, acks, timeout and the number of topics are one `>hii`.

`decoder_source` and `encoder_source` return the source text, and tracebacks show its lines. If the
generated code itself raises an error, the message names the field.
"""

import linecache
import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kafka_edu.common.transport import Part, part_size
from kafka_edu.protocol import errors, types
from kafka_edu.protocol.fields import Field, StructMeta, Wire, as_struct
from kafka_edu.protocol.types import (
    MAX_STRING_BYTES,
    ArrayType,
    BytesType,
    FixedType,
    RecordsType,
    StringType,
    UuidType,
    VaryingIntType,
)

Decoder = Callable[[types.ReadBuffer, int], Any]
Encoder = Callable[[Any], list[Part]]


#: The functions that generated source calls, by name. The struct classes and struct formats that
#: one source needs are added while it is generated.
_RUNTIME: Final[dict[str, Any]] = {
    "new": object.__new__,
    "unpack": struct.unpack_from,
    "pack": struct.pack,
    "UUID": uuid.UUID,
    "NO_UUID": types.ZERO_UUID,
    "NO_UUID_BYTES": types.ZERO_UUID.bytes,
    "uvarint": types.read_unsigned_varint,
    "skip_tags": types.skip_tagged_fields,
    "SMALL": types.ONE_BYTE,
    "write_uvarint": types.unsigned_varint,
    "part_size": part_size,
    "too_many": errors.too_many,
    "null": errors.null,
    "cannot_be_null": errors.cannot_be_null,
    "string_too_long": errors.string_too_long,
    "INT_MIN": types.MAX_INT + 1,
    "INT_RANGE": 2 * types.MAX_INT + 2,
    "unsupported": errors.unsupported,
    **{f"read_{name}": function for name, function in types.READ_VARYING.items()},
    **{f"write_{name}": function for name, function in types.WRITE_VARYING.items()},
}


class _Source:
    """The Python source that is being generated: its lines, and the objects to which its names
    refer.
    """

    def __init__(self, message: StructMeta, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.names: dict[str, Any] = dict(_RUNTIME)
        self.lines: list[str] = []
        self._depth = 0
        self._count = 0
        self._run: list[tuple[str, str]] = []
        """Neighbouring fields of fixed size that are waiting for one common `struct` call.

        Each item is (the value's expression or the target of the assignment, format letter).
        """
        self.message = message

    def emit(self, line: str) -> None:
        self.lines.append("    " * self._depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.emit(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def cls(self, struct_class: StructMeta) -> str:
        self.names[struct_class.__name__] = struct_class
        return struct_class.__name__

    def add_to_run(self, expression: str, letter: str) -> None:
        self._run.append((expression, letter))

    def take_run(self) -> tuple[str, list[str]]:
        """Return one `struct` format for all fields in the list of waiting fields, with their
        expressions, and clear the list. A field of fixed size waits there until its code is
        generated together with that of its neighbours.
        """
        form = ">" + "".join(letter for _, letter in self._run)
        expressions = [expression for expression, _ in self._run]
        self._run = []
        return form, expressions

    def default(self, field: Field) -> str:
        """Return a Python expression for the field's default. Each evaluation creates a new
        value.
        """
        if (struct_class := as_struct(field.wire)) is not None:
            return f"{self.cls(struct_class)}()"
        return "NO_UUID" if isinstance(field.default, uuid.UUID) else repr(field.default)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def has_records(self, struct_class: StructMeta) -> bool:
        present = [field for field in struct_class.FIELDS if field.versions.has(self.version)]
        return any(
            isinstance(field.wire, RecordsType)
            or (field.struct is not None and self.has_records(field.struct))
            for field in present
        )

    def min_size(self, wire: Wire) -> int:
        """Return the smallest number of bytes of a value of this type on the wire.

        The decoder checks an announced number of elements before it makes a list: the rest of the
        frame must have at least this size times that number.
        """
        if (struct_class := as_struct(wire)) is not None:
            present = [
                field
                for field in struct_class.FIELDS
                if field.versions.has(self.version) and field.tag is None
            ]
            return sum(self.min_size(field.wire) for field in present) + self.flexible
        if isinstance(wire, FixedType):
            return wire.size
        if isinstance(wire, UuidType):
            return 16
        if isinstance(wire, VaryingIntType) or self.flexible:
            return 1
        return 2 if isinstance(wire, StringType) else 4


class _DecoderSource(_Source):
    """Generates the source of `def decode(b, p)`. In this source, `b` is the buffer, `p` the
    position, and `end` the length of the buffer.
    """

    def write(self) -> None:
        with self.block("def decode(b, p):"):
            self.emit("end = len(b)")
            if self.has_records(self.message):
                self.emit("view = memoryview(b)")
            self.struct(self.message, "o", self.message.__name__)
            self.flush()
            self.emit("return o")

    def flush(self) -> None:
        if not self._run:
            return
        form, targets = self.take_run()
        name = "unpack_" + form[1:].replace("?", "bool")
        self.names[name] = struct.Struct(form).unpack_from
        self.emit(f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = {name}(b, p)")
        self.emit(f"p += {struct.calcsize(form)}")

    def struct(self, struct_class: StructMeta, var: str, label: str) -> None:
        self.emit(f"{var} = new({self.cls(struct_class)})")
        tagged = []
        for field in struct_class.FIELDS:
            if not field.versions.has(self.version):
                self.emit(f"{var}.{field.name} = {self.default(field)}")
            elif field.tag is not None:
                self.emit(f"{var}.{field.name} = {self.default(field)}")
                tagged.append(field)
            else:
                self.value(
                    field.wire,
                    field.nullable.has(self.version),
                    f"{var}.{field.name}",
                    f"{label}.{field.name}",
                )
        if self.flexible:
            self.tagged_fields(tagged, var, label)

    def tagged_fields(self, known: list[Field], var: str, label: str) -> None:
        """Generate the code that reads the tagged fields of a struct.

        As in Kafka, the size of a known field is ignored, because the decoder of its value finds
        its end.
        """
        count = self.length("B", 0)
        with self.block(f"if {count}:"):
            if not known:
                self.emit(f"p = skip_tags(b, p, {count})")
                return
            with self.block(f"if {count} * 2 > end - p:"):
                self.emit(f"raise too_many({label + ' tagged fields'!r}, {count}, end - p)")
            tag, size, stop = self.fresh("tag"), self.fresh("n"), self.fresh("stop")
            with self.block(f"for _ in range({count}):"):
                self.emit(f"{tag}, p = uvarint(b, p)")
                self.emit(f"{size}, p = uvarint(b, p)")
                for i, field in enumerate(known):
                    with self.block(f"{'el' if i else ''}if {tag} == {field.tag}:"):
                        self.value(
                            field.wire,
                            field.nullable.has(self.version),
                            f"{var}.{field.name}",
                            f"{label}.{field.name}",
                        )
                        self.flush()
                with self.block("else:"):
                    self.emit(f"{stop} = p + {size}")
                    with self.block(f"if {stop} > end:"):
                        self.emit(f"raise too_many({label + ' tagged field'!r}, {size}, end - p)")
                    self.emit(f"p = {stop}")

    def length(self, letter: str, less: int = 1) -> str:
        """Generate the code that reads a length, and return the name of its variable.

        The code first reads the fields of fixed size that come before the length. In an inflexible
        version the length is a number with the `struct` format `letter`, read in the same call as
        these fields. In a flexible version the frame has an unsigned varint of length + `less`.

        The generated code computes the same length as Java, where the varint is a signed int of 32
        bits. So a varint above 2³¹ gives a negative length, which means null, like −1. The varint
        2³¹ gives 2³¹ − 1, which is larger than any frame.
        """
        name = self.fresh("n")
        if not self.flexible:
            self.add_to_run(name, letter)
            self.flush()
            return name
        self.add_to_run(name, "B")
        self.flush()
        with self.block(f"if {name} > 127:"):
            self.emit(f"{name}, p = uvarint(b, p - 1)")
            with self.block(f"if {name} {'>' if less else '>='} INT_MIN:"):
                self.emit(f"{name} -= INT_RANGE")
        if less:
            self.emit(f"{name} -= {less}")
        return name

    def value(self, wire: Wire, nullable: bool, target: str, label: str) -> None:
        if (struct_class := as_struct(wire)) is not None:
            inner = self.fresh("o")
            self.struct(struct_class, inner, label)
            self.emit(f"{target} = {inner}")
        elif isinstance(wire, FixedType):
            self.add_to_run(target, wire.code)
        elif isinstance(wire, UuidType):
            raw = self.fresh("u")
            self.add_to_run(raw, "16s")
            self.flush()
            self.emit(f"{target} = NO_UUID if {raw} == NO_UUID_BYTES else UUID(bytes={raw})")
        elif isinstance(wire, VaryingIntType):
            self.flush()
            self.emit(f"{target}, p = read_{wire.name}(b, p)")
        elif isinstance(wire, ArrayType):
            self.array(wire, nullable, target, label)
        elif isinstance(wire, StringType | BytesType | RecordsType):
            self.sized(wire, nullable, target, label)
        else:
            raise TypeError(f"{label}: no codec for {wire!r}")

    def or_null(self, length: str, nullable: bool, target: str, label: str) -> None:
        with self.block("else:"):
            self.emit(f"{target} = None" if nullable else f"raise null({label!r}, {length})")

    def sized(self, wire: Wire, nullable: bool, target: str, label: str) -> None:
        n = self.length("h" if isinstance(wire, StringType) else "i")
        stop = self.fresh("e")
        with self.block(f"if {n} >= 0:"):
            self.emit(f"{stop} = p + {n}")
            with self.block(f"if {stop} > end:"):
                self.emit(f"raise too_many({label!r}, {n}, end - p)")
            if isinstance(wire, StringType):
                if self.flexible:
                    with self.block(f"if {n} > {MAX_STRING_BYTES}:"):
                        self.emit(f"raise string_too_long({label!r}, {n})")
                self.emit(f"{target} = str(b[p:{stop}], 'utf-8', 'replace')")
            else:
                self.emit(
                    f"{target} = view[p:{stop}]"
                    if isinstance(wire, RecordsType)
                    else f"{target} = bytes(b[p:{stop}])"
                )
            self.emit(f"p = {stop}")
        self.or_null(n, nullable, target, label)

    def array(self, wire: ArrayType[Any], nullable: bool, target: str, label: str) -> None:
        n = self.length("i")
        of = wire.of
        least = self.min_size(of)
        if least == 0:
            raise TypeError(
                f"{label}: an element without bytes would let a short frame announce any number of"
                " them"
            )
        with self.block(f"if {n} >= 0:"):
            with self.block(f"if {n}{f' * {least}' if least > 1 else ''} > end - p:"):
                self.emit(f"raise too_many({label!r}, {n}, end - p)")
            if isinstance(of, FixedType):
                self.emit(f"{target} = list(unpack(f'>{{{n}}}{of.code}', b, p))")
                self.emit(f"p += {n}{f' * {of.size}' if of.size > 1 else ''}")
            else:
                items, item = self.fresh("a"), self.fresh("o")
                self.emit(f"{target} = {items} = []")
                with self.block(f"for _ in range({n}):"):
                    if (struct_class := as_struct(of)) is not None:
                        self.struct(struct_class, item, label)
                    else:
                        self.value(of, False, item, label)
                    self.flush()
                    self.emit(f"{items}.append({item})")
        self.or_null(n, nullable, target, label)


class _EncoderSource(_Source):
    """Generates the source of `def encode(o)`, which collects bytes in a list and joins them.

    A `records` field ends the current list and becomes a separate part.
    """

    def write(self) -> None:
        records = self.has_records(self.message)
        self.put = "put"
        with self.block("def encode(o):"):
            self.emit("out = []")
            self.emit("put = out.append")
            if records:
                self.emit("parts = []")
            self.struct(self.message, "o", self.message.__name__)
            self.flush()
            if records:
                with self.block("if out or not parts:"):
                    self.emit("parts.append(b''.join(out))")
                self.emit("return parts")
            else:
                self.emit("return [b''.join(out)]")

    def flush(self) -> None:
        if not self._run:
            return
        form, expressions = self.take_run()
        if set(expressions) == {"0"} and form == ">B":
            self.emit(f"{self.put}(b'\\0')")
            return
        name = "pack_" + form[1:].replace("?", "bool")
        self.names[name] = struct.Struct(form).pack
        self.emit(f"{self.put}({name}({', '.join(expressions)}))")

    def struct(self, struct_class: StructMeta, var: str, label: str) -> None:
        tagged = []
        for field in struct_class.FIELDS:
            value = f"{var}.{field.name}"
            if not field.versions.has(self.version):
                if not field.ignorable:
                    with self.block(f"if {self.differs(field, value)}:"):
                        self.emit(
                            f"raise unsupported({label + '.' + field.name!r}, {value},"
                            f" {self.version}, {str(field.versions)!r})"
                        )
            elif field.tag is not None:
                tagged.append(field)
            else:
                self.value(field.wire, self.nullability(field), value, f"{label}.{field.name}")
        if tagged and self.flexible:
            self.tagged_fields(tagged, var, label)
        elif self.flexible:
            self.add_to_run("0", "B")

    def nullability(self, field: Field) -> bool | None:
        """Return whether this version of the field allows null. Return None if no version does.

        If the result is None, the generated source has no test for null.
        """
        return field.nullable.has(self.version) or (
            None if field.nullable.lowest > field.nullable.highest else False
        )

    def differs(self, field: Field, value: str) -> str:
        """Return a Python expression that is true if `value` differs from the field's default."""
        if (struct_class := as_struct(field.wire)) is not None:
            return " or ".join(
                self.differs(inner, f"{value}.{inner.name}") for inner in struct_class.FIELDS
            )
        if field.default is None:
            return f"{value} is not None"
        if isinstance(field.wire, ArrayType):
            return value if self.nullability(field) is None else f"({value} is None or {value})"
        return f"{value} != {self.default(field)}"

    def tagged_fields(self, tagged: list[Field], var: str, label: str) -> None:
        self.flush()
        count, section = self.fresh("n"), self.fresh("tags")
        self.emit(f"{count} = 0")
        self.emit(f"{section} = []")
        for field in sorted(tagged, key=lambda each: each.tag or 0):
            value, piece = f"{var}.{field.name}", self.fresh("t")
            with self.block(f"if {self.differs(field, value)}:"):
                self.emit(f"{piece} = []")
                before, self.put = self.put, f"{piece}.append"
                self.value(field.wire, self.nullability(field), value, f"{label}.{field.name}")
                self.flush()
                self.put = before
                self.emit(f"{count} += 1")
                self.emit(
                    f"{section} += (write_uvarint({field.tag}), write_uvarint(sum(map(len,"
                    f" {piece}))), *{piece})"
                )
        self.emit(f"{self.put}(SMALL[{count}])")
        with self.block(f"if {count}:"):
            self.emit(f"{self.put}(b''.join({section}))")

    def length(self, expression: str, letter: str) -> None:
        """Generate the code that writes a length, and before it the fields of fixed size that come
        before the length.

        In an inflexible version the length is a number with the `struct` format `letter`, written
        in the same call as these fields. In a flexible version an unsigned varint of length + 1 is
        written.
        """
        if not self.flexible:
            self.add_to_run(expression, letter)
            self.flush()
            return
        self.flush()
        n = self.fresh("n")
        self.emit(f"{n} = {expression} + 1")
        self.emit(f"{self.put}(SMALL[{n}] if {n} < 128 else write_uvarint({n}))")

    def value(self, wire: Wire, nullable: bool | None, value: str, label: str) -> None:
        if (struct_class := as_struct(wire)) is not None:
            self.struct(struct_class, value, label)
        elif isinstance(wire, FixedType):
            self.add_to_run(value, wire.code)
        elif isinstance(wire, UuidType):
            self.add_to_run(f"{value}.bytes", "16s")
        elif isinstance(wire, VaryingIntType):
            self.flush()
            self.emit(f"{self.put}(write_{wire.name}({value}))")
        elif isinstance(wire, ArrayType):
            self.array(wire, nullable, value, label)
        elif isinstance(wire, StringType | BytesType | RecordsType):
            self.sized(wire, nullable, value, label)
        else:
            raise TypeError(f"{label}: no codec for {wire!r}")

    def null_or(
        self, value: str, nullable: bool | None, label: str, when_null: str, otherwise: str
    ) -> None:
        """Generate the code `otherwise`, preceded by a test whether the value is None.

        For None the generated code runs `when_null`, or raises an error if this version does not
        allow null. If no version allows null, the code has no test.
        """
        if nullable is None:
            self.emit(otherwise)
            return
        with self.block(f"if {value} is None:"):
            self.emit(when_null if nullable else f"raise cannot_be_null({label!r})")
        with self.block("else:"):
            self.emit(otherwise)

    def sized(self, wire: Wire, nullable: bool | None, value: str, label: str) -> None:
        data, n = self.fresh("d"), self.fresh("n")
        if isinstance(wire, RecordsType):
            self.emit(f"{data} = {value}")
            self.null_or(data, nullable, label, f"{n} = -1", f"{n} = part_size({data})")
            self.length(n, "i")
            with self.block(f"if {n} > 0:"):
                self.emit("parts.append(b''.join(out))")
                self.emit("out.clear()")
                self.emit(f"parts.append({data})")
            return
        if isinstance(wire, StringType):
            otherwise = f"{data} = {value}.encode('utf-8', 'replace'); {n} = len({data})"
        else:
            otherwise = f"{data} = {value}; {n} = len({data})"
        self.null_or(value, nullable, label, f"{data} = b''; {n} = -1", otherwise)
        if isinstance(wire, StringType):
            with self.block(f"if {n} > {MAX_STRING_BYTES}:"):
                self.emit(f"raise string_too_long({label!r}, {n})")
        self.length(n, "h" if isinstance(wire, StringType) else "i")
        self.emit(f"{self.put}({data})")

    def array(self, wire: ArrayType[Any], nullable: bool | None, value: str, label: str) -> None:
        of = wire.of
        items, n = self.fresh("a"), self.fresh("n")
        self.emit(f"{items} = {value}")
        self.null_or(items, nullable, label, f"{items} = (); {n} = -1", f"{n} = len({items})")
        self.length(n, "i")
        if isinstance(of, FixedType):
            with self.block(f"if {n} > 0:"):
                self.emit(f"{self.put}(pack(f'>{{{n}}}{of.code}', *{items}))")
            return
        item = self.fresh("o")
        with self.block(f"for {item} in {items}:"):
            self.value(of, None, item, label)
            self.flush()


def _compile(
    source: _Source, function: str
) -> Any:  # Any: only the caller knows the type of the function that the text defines
    text = source.text()
    filename = f"<{source.message.__name__} v{source.version} {function}>"
    linecache.cache[filename] = (
        len(text),
        None,
        text.splitlines(keepends=True),
        filename,
    )  # tracebacks read the source line from here
    exec(compile(text, filename, "exec"), source.names)
    return source.names[function]


def _decoder(message: StructMeta, version: int, flexible: bool) -> _Source:
    source = _DecoderSource(message, version, flexible)
    source.write()
    return source


def _encoder(message: StructMeta, version: int, flexible: bool) -> _Source:
    source = _EncoderSource(message, version, flexible)
    source.write()
    return source


def decoder_source(message: StructMeta, version: int, flexible: bool) -> str:
    """Return the source text of the decoder, for human readers."""
    return _decoder(message, version, flexible).text()


def encoder_source(message: StructMeta, version: int, flexible: bool) -> str:
    """Return the source text of the encoder, for human readers."""
    return _encoder(message, version, flexible).text()


def compile_decoder(message: StructMeta, version: int, flexible: bool) -> Decoder:
    """Compile and return the function `decode(buffer, offset)`, which returns the message.

    Compiling takes about 1 ms. The function may raise ProtocolError. If the bytes end too early, it
    may also raise struct.error or IndexError.
    """
    decoder: Decoder = _compile(_decoder(message, version, flexible), "decode")
    return decoder


def compile_encoder(message: StructMeta, version: int, flexible: bool) -> Encoder:
    """Compile and return the function `encode(message)`, which returns the parts of the bytes.

    Compiling takes about 1 ms. The function may raise the errors of `Message.encode_parts`, and
    also struct.error if a number does not fit its type.
    """
    encoder: Encoder = _compile(_encoder(message, version, flexible), "encode")
    return encoder


def compile_init(struct_class: StructMeta) -> Callable[..., None]:
    """Compile and return the constructor of a struct class.

    The constructor takes only keyword arguments. Each argument has the default of its field.
    """
    source = _Source(struct_class, 0, False)
    shared = {
        field.name
        for field in struct_class.FIELDS
        if isinstance(field.default, list) or isinstance(field.wire, type)
    }
    arguments = [
        f"{field.name}={'UNSET' if field.name in shared else source.default(field)}"
        for field in struct_class.FIELDS
    ]
    source.names["UNSET"] = object()
    with source.block(f"def __init__(self{', *, ' if arguments else ''}{', '.join(arguments)}):"):
        for field in struct_class.FIELDS:
            value = (
                f"{source.default(field)} if {field.name} is UNSET else {field.name}"
                if field.name in shared
                else field.name
            )
            source.emit(f"self.{field.name} = {value}")
        if not arguments:
            source.emit("pass")
    init: Callable[..., None] = _compile(source, "__init__")
    return init
