"""Exercise 08-5 in a live proxy: a learner's Layout orders the fields of Metadata responses.

The learner's code is called for the versions 0 to 8, once for each part of a response. A response
with a missing or an additional field is sent, and the client then reads one field as another. It is
an error in the learner's code if it names a field that the part does not have. The shipped code
then answers. From version 9 on the format is different (KIP-482), and the shipped code answers.
"""

from collections.abc import Callable, Mapping
from struct import pack
from typing import Final

from kafka_edu.common.transport import Part
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import ArrayType, FixedType, StringType

HIGHEST: Final = 8
"""The highest version of Metadata whose fields are not compact (KIP-482)."""
PARTS: Final[Mapping[str, type[Struct]]] = {
    "answer": MetadataResponse,
    "broker": MetadataResponseBroker,
    "topic": MetadataResponseTopic,
    "partition": MetadataResponsePartition,
}


def names_of(part: str) -> tuple[str, ...]:
    """Return the names of all fields that a part of the response has up to version 8, in order."""
    return tuple(one.name for one in PARTS[part].FIELDS if one.versions.lowest <= HIGHEST)


def right_fields(part: str, version: int) -> tuple[str, ...]:
    """Return the names of the fields that a part has in this version, in their order."""
    return tuple(one.name for one in PARTS[part].FIELDS if one.versions.has(version))


def encode_fields(found: Struct, fields: Callable[[str], tuple[str, ...]]) -> bytes:
    """Encode a response, or a part of it. `fields` gives the names of a part's fields in order."""
    part = next(name for name, kind in PARTS.items() if type(found) is kind)
    known = {one.name: one for one in type(found).FIELDS}
    out = b""
    for name in fields(part):
        value, wire = getattr(found, name), known[name].wire
        if isinstance(wire, ArrayType):
            out += pack(">i", len(value))
            for one in value:
                out += encode_fields(one, fields) if known[name].struct else pack(">i", one)
        elif isinstance(wire, StringType):
            data = None if value is None else value.encode()
            out += pack(">h", -1) if data is None else pack(">h", len(data)) + data
        else:
            assert isinstance(wire, FixedType)
            out += pack(">" + wire.code, value)
    return out


class LearnerMetadataLayout:
    """Asks an object of the learner's class for the order of the fields.

    All responses of a proxy share one object.
    """

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._part = LearnerPart(code)

    def encode(
        self, api_key: int, version: int, correlation_id: int, response: Message
    ) -> list[Part]:
        """Encode a response like `encode_response`, but a Metadata response with the learner's
        fields.
        """
        mine = api_key == ApiKey.METADATA and version <= HIGHEST and not self._code.retired
        if mine and isinstance(response, MetadataResponse):
            try:
                body = encode_fields(response, lambda part: self._fields(part, version))
                return [pack(">ii", 4 + len(body), correlation_id) + body]
            except LearnerError as error:
                self._code.failed(error)
        return encode_response(api_key, version, correlation_id, response)

    def _fields(self, part: str, version: int) -> tuple[str, ...]:
        """Return the names of the fields from the learner's code. Raises LearnerError."""
        answer = self._part.ask("fields", part, version)
        names = names_of(part)
        if isinstance(answer, tuple) and all(one in names for one in answer):
            return answer
        raise self._code.blame(
            f"fields({part!r}, {version}) answered {answer!r}; expected names out of"
            f" {', '.join(names)}"
        )


def adapt(code: LearnerCode) -> Callable[[int, int, int, Message], list[Part]]:
    """Return the function that replaces `encode_response` in a proxy."""
    return LearnerMetadataLayout(code).encode
