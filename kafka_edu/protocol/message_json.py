"""Convert messages to JSON that people can read and edit, and convert such JSON back with checks.

The keys are the names of the fields in the schema:

    to_json(MetadataResponseBroker(node_id=1, host="h", port=9092))
    →  {"node_id": 1, "host": "h", "port": 9092, "rack": null}

Recordings of wire traffic use this form. Messages with `bytes` or `records` fields cannot be
converted.
"""

from typing import TypeVar
from uuid import UUID

from kafka_edu.protocol.fields import Wire, as_struct
from kafka_edu.protocol.schema import Struct
from kafka_edu.protocol.types import ArrayType, FixedType, StringType, UuidType

S = TypeVar("S", bound=Struct)
Json = str | int | float | bool | list["Json"] | dict[str, "Json"] | None


class MessageJsonError(ValueError):
    """The JSON does not fit the message class.

    The text names the faulty place, for example `topics[2].partitions[0].leader_id`.
    """


def to_json(struct: Struct) -> dict[str, Json]:
    """Return a JSON object with every field, in the order of the schema.

    Raises TypeError for a field of type `bytes` or `records`.
    """
    return {
        field.name: _value_to_json(getattr(struct, field.name)) for field in type(struct).FIELDS
    }


def _value_to_json(value: object) -> Json:
    match value:
        case None | str() | bool() | int() | float():
            return value
        case UUID():
            return str(value)
        case list():
            return [_value_to_json(element) for element in value]
        case Struct():
            return to_json(value)
        case _:
            raise TypeError(f"a {type(value).__name__} has no JSON form")


def from_json(cls: type[S], document: object, where: str = "") -> S:
    """Return the struct of class `cls` that the JSON `document` describes.

    A missing field gets its default. A field that is not in the schema is an error. The encoder
    checks later whether each value fits its wire type. Raises MessageJsonError.
    """
    if not isinstance(document, dict):
        raise MessageJsonError(
            f"{where or 'the message'}: must be an object, not {_shown(document)}"
        )
    fields = {field.name: field for field in cls.FIELDS}
    values = {}
    for name, value in document.items():
        place = f"{where}.{name}" if where else str(name)
        field = fields.get(name)
        if field is None:
            raise MessageJsonError(
                f"{place}: {cls.__name__} has no such field, only {', '.join(fields)}"
            )
        nullable = field.nullable.lowest <= field.nullable.highest
        values[field.name] = (
            None if value is None and nullable else _value_from_json(field.wire, value, place)
        )
    return cls(**values)


def _value_from_json(wire: Wire, value: object, where: str) -> object:
    struct = as_struct(wire)
    if struct is not None and issubclass(struct, Struct):
        return from_json(struct, value, where)
    match wire, value:
        case ArrayType(), list():
            return [
                _value_from_json(wire.of, element, f"{where}[{i}]")
                for i, element in enumerate(value)
            ]
        case FixedType(name="bool"), bool():
            return value
        case FixedType(name="float64"), float():
            return value
        case FixedType(), int() if wire.name.startswith(("int", "uint")) and not isinstance(
            value, bool
        ):
            return value
        case StringType(), str():
            return value
        case UuidType(), str():
            try:
                return UUID(value)
            except ValueError:
                raise MessageJsonError(f"{where}: {_shown(value)} is not a UUID") from None
    raise MessageJsonError(
        f"{where}: must be of type {wire.__name__ if isinstance(wire, type) else wire.name}, not"
        f" {_shown(value)}"
    )


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
