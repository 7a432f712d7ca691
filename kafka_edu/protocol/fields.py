"""The fields of a message, and the metaclass that turns a class body into a schema (see
`schema`).
"""

from typing import Any, Final, NamedTuple, TypeVar, dataclass_transform, overload

from kafka_edu.protocol.types import ArrayType, WireType

T = TypeVar("T")

HIGHEST: Final = 0x7FFF


class Versions(NamedTuple):
    """A range of versions from `lowest` to `highest`, both included. The range is empty if `lowest
    > highest`.
    """

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> "Versions":
        """Parse a text such as `3+`, `0-2`, `0` or `none`."""
        if text == "none":
            return NO_VERSIONS
        low, dash, high = text.partition("-")
        if dash:
            return cls(int(low), int(high))
        return cls(int(low[:-1]), HIGHEST) if low.endswith("+") else cls(int(low), int(low))

    def has(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __str__(self) -> str:
        if self.lowest > self.highest:
            return "none"
        if self.highest == HIGHEST:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


NO_VERSIONS: Final = Versions(0, -1)


Wire = WireType[Any] | type[Any]
"""The type of a field on the wire: a primitive type, an array, or a struct class."""


class Field(NamedTuple):
    """One declared field of a message or struct."""

    name: str
    wire: Wire
    versions: Versions
    nullable: Versions
    tag: int | None
    """The tag of a tagged field. None for a field with a fixed place in the message.

    A tagged field is written with its tag in every version that has the field.
    """
    ignorable: bool
    default: object
    doc: str

    @property
    def struct(self) -> "StructMeta | None":
        """The struct class of this field or of its elements; None if the field has a primitive
        type.
        """
        return as_struct(self.wire.of if isinstance(self.wire, ArrayType) else self.wire)

    def fresh_default(self) -> object:
        """Return the default value. If it can be changed (a list or a struct), return a new object.

        Two messages must not share such an object, because each message may change its fields.
        """
        if isinstance(self.wire, type):
            return self.wire()
        return list(self.default) if isinstance(self.default, list) else self.default

    @property
    def type_name(self) -> str:
        return self.wire.__name__ if isinstance(self.wire, type) else self.wire.name


class _Unset:
    """The type of the marker that stands for "no default" in a field's declaration. A field without
    a default gets the default of its wire type.
    """


_UNSET: Final = _Unset()


@overload
def field(
    wire: WireType[T] | type[T],
    versions: str,
    doc: str,
    *,
    default: T | _Unset = ...,
    ignorable: bool = ...,
    tag: int = ...,
) -> T: ...
@overload
def field(
    wire: WireType[T] | type[T],
    versions: str,
    doc: str,
    *,
    nullable: str,
    default: T | _Unset | None = ...,
    ignorable: bool = ...,
    tag: int | None = ...,
) -> T | None: ...
# The function returns Any because of type checkers: they must see the type of the value, but the
# metaclass must find a Field. dataclasses.field does the same.
def field(
    wire: Any,
    versions: str,
    doc: str,
    *,
    default: Any = _UNSET,
    nullable: str = "none",
    ignorable: bool = False,
    tag: int | None = None,
) -> Any:
    """Declare a field of a message class.

    Without `default` the field has the default of its type: 0, False, "", [], a struct with its own
    defaults, and b"" for records.
    """
    if default is _UNSET:
        default = None if isinstance(wire, type) else wire.default
    return Field(
        "", wire, Versions.parse(versions), Versions.parse(nullable), tag, ignorable, default, doc
    )


@dataclass_transform(kw_only_default=True)
class StructMeta(type):
    """The metaclass of structs: it moves the Fields of a class body into FIELDS and makes slots."""

    FIELDS: tuple[Field, ...]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> "StructMeta":
        fields = tuple(
            value._replace(name=key) for key, value in namespace.items() if isinstance(value, Field)
        )
        for declared in fields:
            del namespace[declared.name]
        namespace["FIELDS"] = fields
        namespace["__slots__"] = tuple(declared.name for declared in fields)
        return super().__new__(mcs, name, bases, namespace, **options)


def as_struct(wire: object) -> StructMeta | None:
    """Return `wire` if it is a struct class, otherwise None."""
    return wire if isinstance(wire, StructMeta) else None
