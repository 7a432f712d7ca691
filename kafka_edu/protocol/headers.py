"""Encode and decode request headers, response headers and whole frames.

(Spec P2; Kafka: RequestHeader.java, ResponseHeader.java; book §6.1.)

    request   int32 size · int16 api key · int16 api version · int32 correlation id
              · [string client id] · [tagged fields] · body
    response  int32 size · int32 correlation id · [tagged fields] · body

Request header 0 has no client id. Only ControlledShutdown v0 uses it. Request header 1 has a client
id. Request header 2, for flexible versions, has tagged fields after the client id. Even in header 2
the client id has an int16 length, so that a broker can read it before it knows the version.

Response header 1, for flexible versions, has tagged fields. ApiVersions always uses response header
0, because its client does not know yet which versions the broker supports.
"""

from struct import Struct
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.transport import Part, part_size
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import (
    MAX_INT,
    MAX_STRING_BYTES,
    ProtocolError,
    ReadBuffer,
    read_unsigned_varint,
    skip_tagged_fields,
)

_FIXED: Final = Struct(">hhi")
_LENGTH: Final = Struct(">h")
_SIZE_AND_FIXED: Final = Struct(">ihhi")
_SIZE_AND_CORRELATION_ID: Final = Struct(">ii")
_INT32: Final = Struct(">i")

M = TypeVar("M", bound=Message)

_RESPONSES: Final[dict[ApiKey, type[Message]]] = {}
_KEYS: Final[dict[int, ApiKey]] = {int(key): key for key in ApiKey}
"""Number → key. `ApiKey(number)` takes five times as long."""


class RequestHeader(NamedTuple):
    """The header of a request. `api_version` may be any number, because the client chooses it."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def request_header_version(key: ApiKey, version: int) -> int:
    """Return the version of the request header: 0, 1 or 2.

    An unknown version of a request is treated as its latest version. So the correlation id can be
    read, and the error response has the right correlation id.
    """
    if key is ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if key.is_flexible(version) else 1


def response_header_version(key: ApiKey, version: int) -> int:
    """Return the version of the response header: 0 or 1."""
    return 1 if key.is_flexible(version) and key is not ApiKey.API_VERSIONS else 0


def decode_request_header(frame: ReadBuffer) -> tuple[RequestHeader, int]:
    """Return the header of a frame (without its size), and the offset where the body begins.

    The caller must check whether the version is served. As in Kafka, any negative length of the
    client id means null, and the client id does not have to be valid UTF-8. Raises ProtocolError
    for an unknown key, or if the bytes end too early. The connection must then be closed.
    """
    if len(frame) < 8:
        raise ProtocolError(f"a frame of {len(frame)} bytes is too short for a request header")
    api_key, version, correlation_id = _FIXED.unpack_from(frame, 0)
    key = _KEYS.get(api_key)
    if key is None:
        raise ProtocolError(f"unknown api key {api_key}")
    header_version = request_header_version(key, version)
    if header_version == 0:
        return RequestHeader(api_key, version, correlation_id, None), 8
    if len(frame) < 10:
        raise ProtocolError("the request header ends before its client id")
    (length,) = _LENGTH.unpack_from(frame, 8)
    client_id = None
    position = 10
    if length >= 0:
        position += length
        if position > len(frame):
            raise ProtocolError(
                f"a client id of {length} bytes is announced, but only {len(frame) - 10} bytes are"
                " left"
            )
        client_id = str(frame[10:position], "utf-8", "replace")
    if header_version == 2:
        position = _skip_header_tags(frame, position)
    return RequestHeader(api_key, version, correlation_id, client_id), position


def _skip_header_tags(frame: ReadBuffer, position: int) -> int:
    count, position = read_unsigned_varint(frame, position)
    if count > MAX_INT:  # negative in Java, so there are no tags
        return position
    return skip_tagged_fields(frame, position, count) if count else position


def encode_request(
    request: Message, version: int, correlation_id: int, client_id: str | None
) -> list[Part]:
    """Encode a request as a whole frame with its size and header.

    Records are not copied: they stay separate parts. Raises the same errors as
    `Message.encode_parts`.
    """
    key = request.KEY
    if key is None:
        raise ValueError(f"{type(request).__name__} is not a request")
    parts = request.encode_parts(version)
    header_version = request_header_version(key, version)
    if header_version == 0:
        tail = b""
    else:
        if client_id is None:
            tail = b"\xff\xff"
        else:
            text = client_id.encode("utf-8", "replace")
            if len(text) > MAX_STRING_BYTES:
                raise ProtocolError(
                    f"a client id of {len(text)} bytes is longer than {MAX_STRING_BYTES}"
                )
            tail = _LENGTH.pack(len(text)) + text
        if header_version == 2:
            tail += b"\0"
    size = 8 + len(tail) + sum(map(part_size, parts))
    return _with_head(_SIZE_AND_FIXED.pack(size, key, version, correlation_id) + tail, parts)


def encode_response(
    api_key: int, version: int, correlation_id: int, response: Message
) -> list[Part]:
    """Encode a response as a whole frame with its size and header.

    `api_key` and `version` are those of the request. If the request is ApiVersions in an unknown
    version, the response has version 0. Records are not copied: they stay separate parts, and a
    FileRegion is sent by sendfile. Raises the same errors as `Message.encode_parts`.
    """
    parts = response.encode_parts(version)
    body = sum(map(part_size, parts))
    if response_header_version(_KEYS[api_key], version):
        return _with_head(_SIZE_AND_CORRELATION_ID.pack(5 + body, correlation_id) + b"\0", parts)
    return _with_head(_SIZE_AND_CORRELATION_ID.pack(4 + body, correlation_id), parts)


def _with_head(head: bytes, parts: list[Part]) -> list[Part]:
    """Put the header in front of the body's parts.

    The first part of a body is normally bytes. The header is joined to that part, so the number of
    parts stays the same.
    """
    first = parts[0]
    if isinstance(first, bytes):
        parts[0] = head + first
    else:
        parts.insert(0, head)
    return parts


def decode_response(request_api_key: int, version: int, frame: ReadBuffer) -> tuple[int, Message]:
    """Decode a response frame (without its size). Return its correlation id and the message.

    The api key and version are those of the request. An ApiVersions response with
    UNSUPPORTED_VERSION is read as version 0, because the broker did not know the version of the
    request. Raises ProtocolError.
    """
    return decode_response_as(_response_of(_KEYS[request_api_key]), version, frame)


def decode_response_as(kind: type[M], version: int, frame: ReadBuffer) -> tuple[int, M]:
    """Decode a response frame like `decode_response`. `kind` is the class of the response."""
    key = kind.KEY
    if key is None:
        raise ValueError(f"{kind.__name__} is not a response")
    if len(frame) < 4:
        raise ProtocolError(f"a frame of {len(frame)} bytes is too short for a response header")
    (correlation_id,) = _INT32.unpack_from(frame, 0)
    position = 4
    if response_header_version(key, version):
        position = _skip_header_tags(frame, position)
    if key is ApiKey.API_VERSIONS and frame[4:6] == b"\0\x23":
        version = 0
    return correlation_id, kind.decode(frame, version, position)


def _response_of(key: ApiKey) -> type[Message]:
    """Return the class of a key's responses.

    The classes are imported at the first call. A Spark worker imports this module but does not need
    these classes, because it calls `decode_response_as`.
    """
    if not _RESPONSES:
        from kafka_edu.protocol.messages.registry import REGISTRY

        _RESPONSES.update((key, pair.response) for key, pair in REGISTRY.items())
    return _RESPONSES[key]
