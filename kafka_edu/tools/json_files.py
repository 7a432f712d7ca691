"""Parse the JSON files of the tools as Kafka's tools do, with the same exceptions."""

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, TypeVar

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.tool import ToolError, admin_operation

_MAPPING_EXCEPTION: Final = "com.fasterxml.jackson.databind.JsonMappingException"
INT_BITS: Final = 32
LONG_BITS: Final = 64
JsonObject = Mapping[str, object]
T = TypeVar("T", bound=Hashable)


def parse_object(text: str) -> JsonObject | None:
    """Return the JSON object in `text`, or None if it is not JSON.

    Raises ToolError for JSON that is no object. NaN and Infinity, half a surrogate pair, and
    nesting that is too deep for Python do not count as JSON either.
    """
    try:
        document = json.loads(text, parse_constant=_no_constant)
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return as_object(document)


def parse_version_1(text: str) -> JsonObject:
    """Return the JSON object in `text`. Raises ToolError if its version is given and is not 1."""
    document = parse_object(text)
    if document is None:
        raise admin_operation("The input string is not a valid JSON")
    if (version := as_integer(document.get("version", 1))) != 1:
        raise admin_operation(f"Not supported version field value {version}")
    return document


def duplicates(values: Iterable[T]) -> list[T]:
    """Return the values that occur more than once. Each of them is returned once."""
    counts: dict[T, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return [value for value, count in counts.items() if count > 1]


def as_object(value: object) -> JsonObject:
    """Return the value if it is a JSON object. Raises ToolError(JsonMappingException) otherwise."""
    if not isinstance(value, dict):
        raise ToolError(
            _MAPPING_EXCEPTION,
            f"Expected JSON object, received {json.dumps(value, separators=(',', ':'))}",
        )
    return value


def as_list(value: object) -> list[object]:
    """Return the value if it is a list. Raises ToolError(JsonMappingException) otherwise."""
    if not isinstance(value, list):
        raise ToolError(
            _MAPPING_EXCEPTION,
            f"Expected JSON array, received {json.dumps(value, separators=(',', ':'))}",
        )
    return value


def as_text(value: object) -> str:
    """Return the value if it is a string. Raises ToolError(JsonMappingException) otherwise."""
    if not isinstance(value, str):
        raise ToolError(
            _MAPPING_EXCEPTION, f"Expected `String` value, received {json.dumps(value)}"
        )
    return value


def as_integer(value: object, bits: int = INT_BITS) -> int:
    """Return the value if it is an integer of this size: Java's Int, or Long for 64 bits.

    Raises ToolError(JsonMappingException) otherwise.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not -(1 << bits - 1) <= value < 1 << bits - 1
    ):
        raise ToolError(
            _MAPPING_EXCEPTION,
            f"Expected `{'Int' if bits == INT_BITS else 'Long'}` value, received"
            f" {json.dumps(value)}",
        )
    return value


def text_field(entry: JsonObject, name: str) -> str:
    """Return the field `name` as a string. Raises ToolError(JsonMappingException)."""
    return as_text(_field(entry, name))


def integer_field(entry: JsonObject, name: str, bits: int = INT_BITS) -> int:
    """Return the field `name` as an integer. Raises ToolError(JsonMappingException)."""
    return as_integer(_field(entry, name), bits)


def _no_constant(word: str) -> object:
    """Raise an error for NaN, Infinity and -Infinity, which Python accepts but JSON does not
    have.
    """
    raise ValueError(word)


def partition_of(entry: JsonObject) -> TopicPartition:
    """Return the partition in an object with the fields topic and partition.

    Raises ToolError(JsonMappingException).
    """
    return TopicPartition(text_field(entry, "topic"), integer_field(entry, "partition"))


def _field(entry: JsonObject, name: str) -> object:
    if name not in entry:
        raise ToolError(_MAPPING_EXCEPTION, f"No such field exists: `{name}`")
    return entry[name]
