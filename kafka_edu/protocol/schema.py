"""A message is declared once: the class is the schema (Kafka: the JSON files of its message
generator; KIP-482).

    class FetchRequest(Message, key=ApiKey.FETCH, valid="0-12", flexible="12+"):
        \"""Asks for records.\"""
        cluster_id: str | None = field(String, "12+", "…", nullable="12+", default=None, tag=0,
        ignorable=True)
        replica_id: int = field(Int32, "0+", "…")
        topics: list[FetchTopic] = field(Array(FetchTopic), "0+", "…")

mypy reads it as a class with keyword constructor, whose annotations are checked against the wire
types. `codegen` reads `FIELDS` and writes a decoder and an encoder for each version, when that
version is first used; so do the docs and the tests.

Each field says in which versions it is on the wire, and in which of these it may be null. Fields
are written in the order of declaration. A field with a `tag` is optional: it is written behind the
others, with tag and size, and only if it differs from its default. To encode a version that lacks a
field which is set is an error, for the receiver would not learn what the sender meant, unless the
field is `ignorable`.
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
    """A part of a message. Mutable, compared by value, without an identity of its own.

    The constructor takes keywords; what is left out gets its default. It is generated at the first
    call, as the codecs are.
    """

    def __init__(
        self, **values: Any
    ) -> None:  # the signature mypy checks is the one that dataclass_transform makes of the fields
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
    """A whole request, a response, or a value that is stored in Kafka's own topics.

    `version` must be one of VALID; whoever takes it from the wire checks it first, and ValueError
    tells who did not.
    """

    KEY: ClassVar[ApiKey | None]
    """The api key; None if it is neither request nor response."""
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
        """Read one message from `offset` on; bytes behind it are ignored, as Kafka ignores them.

        `records` are views of `buffer`, which must not change. Raises ProtocolError for anything
        that is no such message. O(bytes), and no more memory is taken than the bytes that are there
        can justify: an announced count is checked against them first.
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
        """The message as it goes on the wire, without header. Each `records` is a part of its own,
        the same object, uncopied.

        The first part is always bytes. Raises KafkaException(UNSUPPORTED_VERSION) if a field is set
        that this version lacks, ProtocolError if a value does not fit its type.
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
        """As `encode_parts`, in one piece; records that lie in a file are read."""
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
        """Raise ValueError if the message has no such version."""
        if not cls.VALID.has(version):
            raise ValueError(f"{cls.__name__} has versions {cls.VALID}, not {version}")


def structs_of(message: StructMeta) -> Iterator[StructMeta]:
    """The struct classes below `message`, each once, in the order of declaration."""
    seen: dict[StructMeta, None] = {}

    def walk(struct: StructMeta) -> None:
        for declared in struct.FIELDS:
            if (inner := declared.struct) is not None and inner not in seen:
                seen[inner] = None
                walk(inner)

    walk(message)
    return iter(seen)
