"""The base classes of messages. The fields declared in a message class are its schema.

(Kafka: the JSON files of its message generator; KIP-482.) Each message is declared once:

    class FetchRequest(Message, key=ApiKey.FETCH, valid="0-12", flexible="12+"):
        \"""Asks for records.\"""
        cluster_id: str | None = field(
            String, "12+", "…", nullable="12+", default=None, tag=0, ignorable=True
        )
        replica_id: int = field(Int32, "0+", "…")
        topics: list[FetchTopic] = field(Array(FetchTopic), "0+", "…")

For mypy, such a class has a constructor with keyword arguments. mypy also checks the annotations
against the wire types. `codegen` reads `FIELDS` and generates a decoder and an encoder for each
version when that version is first used. The docs and the tests read `FIELDS` as well.

Each field declares the versions that have it on the wire, and the versions in which it may be null.
Fields are written in the order of declaration. A field with a `tag` is optional. It is written only
if it differs from its default. It then comes after the other fields, with its tag and size.

If a field is set that the version does not have, encoding fails, because the receiver would not get
the value. If the field is `ignorable`, it is left out instead.
"""

from collections.abc import Iterator
from struct import error as struct_error
from typing import Any, ClassVar, Self

from kafka_edu.common.transport import FileRegion, LazyPart, Part, part_bytes
from kafka_edu.protocol import codegen
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import StructMeta, Versions
from kafka_edu.protocol.types import ProtocolError, ReadBuffer


class Struct(metaclass=StructMeta):
    """A message or a part of one. A struct is mutable, is compared by value, and is not hashable.

    The constructor takes keyword arguments. A missing argument gets the default of its field. Like
    the codecs, the constructor is generated at the first call.
    """

    def __init__(
        self, **values: Any
    ) -> None:  # mypy checks calls against the signature that dataclass_transform makes
        cls = type(self)
        type.__setattr__(cls, "__init__", codegen.compile_init(cls))
        cls.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            getattr(self, field.name) == getattr(other, field.name) for field in type(self).FIELDS
        )

    __hash__ = None  # type: ignore[assignment]  # mutable; object's __hash__ is declared as a method

    def __repr__(self) -> str:
        fields = (f"{one.name}={_shown(getattr(self, one.name))}" for one in type(self).FIELDS)
        return f"{type(self).__name__}({', '.join(fields)})"


def _shown(value: object) -> str:
    if isinstance(value, memoryview | bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, FileRegion):
        return f"<{value.length} bytes of a file>"
    return f"<{value.size} bytes to be made>" if isinstance(value, LazyPart) else repr(value)


class Message(Struct):
    """A whole request or response, or a value that is stored in one of Kafka's own topics.

    In all methods `version` must be one of VALID. If the version comes from the wire, the caller
    must check it first. For other versions the methods raise ValueError.
    """

    KEY: ClassVar[ApiKey | None]
    """The API key. None for a message that is neither a request nor a response."""
    VALID: ClassVar[Versions]
    FLEXIBLE: ClassVar[Versions]
    _DECODERS: ClassVar[dict[int, codegen.Decoder]]
    _ENCODERS: ClassVar[dict[int, codegen.Encoder]]

    def __init_subclass__(cls, *, valid: str, flexible: str, key: ApiKey | None = None) -> None:
        super().__init_subclass__()
        cls.KEY = key
        cls.VALID = Versions.parse(valid)
        cls.FLEXIBLE = Versions.parse(flexible)
        cls._DECODERS = {}
        cls._ENCODERS = {}

    @classmethod
    def decode(cls, buffer: ReadBuffer, version: int, offset: int = 0) -> Self:
        """Decode one message that begins at `offset`. As in Kafka, bytes after its end are ignored.

        The `records` fields are views of `buffer`, which must not change. O(bytes). Raises
        ProtocolError if the bytes are not such a message. Before an array is decoded, its announced
        count is compared with the number of remaining bytes. So the memory that is used stays in
        proportion to the size of the frame.
        """
        decoder = cls._DECODERS.get(version)
        if decoder is None:
            decoder = cls._compile_decoder(version)
        try:
            message: Self = decoder(buffer, offset)
        except (struct_error, IndexError):
            raise ProtocolError(
                f"{cls.__name__} v{version}: the bytes end before the message does"
            ) from None
        return message

    def encode_parts(self, version: int) -> list[Part]:
        """Encode the message for the wire, without a header. Return the bytes in parts.

        Each `records` field is a separate part: the same object, not copied. The first part is
        always bytes. Raises KafkaException(UNSUPPORTED_VERSION) if a field is set that this version
        does not have, and ProtocolError if a value does not fit its type.
        """
        encoder = self._ENCODERS.get(version)
        if encoder is None:
            encoder = self._compile_encoder(version)
        try:
            return encoder(self)
        except struct_error as problem:
            raise ProtocolError(
                f"{type(self).__name__} v{version} cannot be encoded: {problem}"
            ) from None

    def encode(self, version: int) -> bytes:
        """Encode the message as one bytes object. Records in a file are read from the file."""
        parts = self.encode_parts(version)
        first = parts[0]
        if len(parts) == 1 and isinstance(first, bytes):
            return first
        return b"".join(map(part_bytes, parts))

    @classmethod
    def _compile_decoder(cls, version: int) -> codegen.Decoder:
        cls.check_version(version)
        decoder = cls._DECODERS[version] = codegen.compile_decoder(
            cls, version, cls.FLEXIBLE.has(version)
        )
        return decoder

    @classmethod
    def _compile_encoder(cls, version: int) -> codegen.Encoder:
        cls.check_version(version)
        encoder = cls._ENCODERS[version] = codegen.compile_encoder(
            cls, version, cls.FLEXIBLE.has(version)
        )
        return encoder

    @classmethod
    def check_version(cls, version: int) -> None:
        """Raise ValueError if the message class does not have this version."""
        if not cls.VALID.has(version):
            raise ValueError(f"{cls.__name__} has versions {cls.VALID}, not {version}")


def structs_of(message: StructMeta) -> Iterator[StructMeta]:
    """Yield each struct class that `message` uses, once and in the order of declaration."""
    seen: dict[StructMeta, None] = {}

    def walk(struct: StructMeta) -> None:
        for declared in struct.FIELDS:
            if (inner := declared.struct) is not None and inner not in seen:
                seen[inner] = None
                walk(inner)

    walk(message)
    return iter(seen)
