"""The JSON files that tools take: parsed as Kafka's parse them, with the exceptions that they show."""

import json
from collections.abc import Mapping
from typing import Final

from kafka_edu.cli.tools.tool import ToolError

_MAPPING_EXCEPTION: Final = "com.fasterxml.jackson.databind.JsonMappingException"
JsonObject = Mapping[str, object]


def parse_object(text: str) -> JsonObject | None:
    """The object that `text` is; None for what is no JSON at all. Raises ToolError for other JSON."""
    try:
        document = json.loads(text)
    except ValueError:
        return None
    return as_object(document)


def as_object(value: object) -> JsonObject:
    """Raises ToolError(JsonMappingException)."""
    if not isinstance(value, dict):
        raise ToolError(_MAPPING_EXCEPTION, f"Expected JSON object, received {json.dumps(value, separators=(',', ':'))}")
    return value


def as_list(value: object) -> list[object]:
    """Raises ToolError(JsonMappingException)."""
    if not isinstance(value, list):
        raise ToolError(_MAPPING_EXCEPTION, f"Expected JSON array, received {json.dumps(value, separators=(',', ':'))}")
    return value


def text_field(entry: JsonObject, name: str) -> str:
    """Raises ToolError(JsonMappingException)."""
    value = _field(entry, name)
    if not isinstance(value, str):
        raise ToolError(_MAPPING_EXCEPTION, f"Expected `String` value, received {json.dumps(value)}")
    return value


def integer_field(entry: JsonObject, name: str) -> int:
    """Raises ToolError(JsonMappingException)."""
    value = _field(entry, name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ToolError(_MAPPING_EXCEPTION, f"Expected `Int` value, received {json.dumps(value)}")
    return value


def _field(entry: JsonObject, name: str) -> object:
    if name not in entry:
        raise ToolError(_MAPPING_EXCEPTION, f"No such field exists: `{name}`")
    return entry[name]
