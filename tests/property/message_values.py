"""Messages of every kind and version, made by hypothesis from the schema itself."""

import functools
import uuid
from typing import Any

from hypothesis import strategies as st

from kafka_edu.protocol.fields import Field, StructMeta, as_struct
from kafka_edu.protocol.types import (
    ArrayType,
    BytesType,
    FixedType,
    RecordsType,
    StringType,
    UuidType,
)

INTEGERS = {"b": 8, "h": 16, "i": 32, "q": 64}


def values(wire: object, version: int) -> st.SearchStrategy[Any]:
    """Return values of a wire type. Their type is Any, because hypothesis infers no type from a
    schema.
    """
    if (struct := as_struct(wire)) is not None:
        return structs(struct, version)
    if isinstance(wire, ArrayType):
        return st.lists(values(wire.of, version), max_size=2)
    if isinstance(wire, StringType):
        return st.text("aZ.é日\0😀", max_size=4) | st.just("x" * 200)
    if isinstance(wire, RecordsType | BytesType):
        return st.sampled_from([b"", b"r", b"\0\xff" * 70])
    if isinstance(wire, UuidType):
        return st.sampled_from([uuid.UUID(int=0), uuid.UUID(int=2**127 + 5)])
    assert isinstance(wire, FixedType)
    if wire.code == "?":
        return st.booleans()
    if wire.code == "d":
        return st.floats(allow_nan=False)
    largest: int = 2 ** (INTEGERS[wire.code] - 1) - 1
    return st.integers(-largest - 1, largest)


def field_values(field: Field, version: int) -> st.SearchStrategy[Any]:
    chosen = values(field.wire, version)
    return st.none() | chosen if field.nullable.has(version) else chosen


@functools.cache
def structs(struct: StructMeta, version: int) -> st.SearchStrategy[Any]:
    """Return objects of `struct` with the fields that `version` has. The other fields keep their
    defaults.
    """
    present = {
        field.name: field_values(field, version)
        for field in struct.FIELDS
        if field.versions.has(version)
    }
    return st.builds(struct, **present)
