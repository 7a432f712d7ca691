"""What a field of a message is, and how a class body becomes a schema (see `schema`)."""

from typing import Any, Final, NamedTuple, TypeVar, dataclass_transform, overload

from kafka_edu.protocol.types import ArrayType, WireType

T = TypeVar("T")

HIGHEST: Final = 0x7FFF


class Versions(NamedTuple):
    """A range of versions, both ends included; empty if `lowest > highest`."""

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> "Versions":
        """`3+`, `0-2`, `0` or `none`."""
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
"""A primitive type, an array, or a struct class."""


class Field(NamedTuple):
    """One field of a message or struct, as declared."""

    name: str
    wire: Wire
    versions: Versions
    nullable: Versions
    tag: int | None
    """The tag by which it is written, in every version that has it; None: it has its fixed
    place.
    """
    ignorable: bool
    default: object
    doc: str

    @property
    def struct(self) -> "StructMeta | None":
        """The struct that this field, or each of its elements, is made of; None for primitive
        types.
        """
        return as_struct(self.wire.of if isinstance(self.wire, ArrayType) else self.wire)

    def fresh_default(self) -> object:
        """The default, not shared with any other message: lists and structs can be changed by their
        owner.
        """
        if isinstance(self.wire, type):
            return self.wire()
        return list(self.default) if isinstance(self.default, list) else self.default

    @property
    def type_name(self) -> str:
        return self.wire.__name__ if isinstance(self.wire, type) else self.wire.name


class _Unset:
    """No default is given: the type's own is meant."""


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
# Any, because the class body must see the value's type where the metaclass finds a Field, as with
# dataclasses.field
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
    """Declare a field. Without `default` it is the type's own: 0, False, "", [], a struct of
    defaults; for records b"".
    """
    if default is _UNSET:
        default = None if isinstance(wire, type) else wire.default
    return Field(
        "", wire, Versions.parse(versions), Versions.parse(nullable), tag, ignorable, default, doc
    )


@dataclass_transform(kw_only_default=True)
class StructMeta(type):
    """Takes the Fields out of a class body, makes slots of them, and keeps them in FIELDS."""

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
    """`wire` if it is a struct class."""
    return wire if isinstance(wire, StructMeta) else None
