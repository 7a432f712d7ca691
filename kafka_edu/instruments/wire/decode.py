"""Decode one frame into its annotated tree. Any bytes give a tree, and never an exception."""

from typing import Final

from kafka_edu.instruments.wire.cursor import Cursor, Stop
from kafka_edu.instruments.wire.tree import Decoded, Node
from kafka_edu.instruments.wire.walker import Walker
from kafka_edu.instruments.wire.words import api_name
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import request_header_version, response_header_version
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.types import MAX_INT, Int16, Int32

_KEYS: Final = {int(key): key for key in ApiKey}
_HIDDEN: Final = "hidden before it was stored, because it may hold secrets"
#: The error in version 0 with which a broker answers an unknown version of ApiVersions.
_UNSUPPORTED_VERSION: Final = b"\0\x23"


def begins_with_size(data: bytes, *, is_response: bool = False) -> bool:
    """Return whether the bytes begin with the frame's size, and not with its header.

    If the first four bytes are the right size, the result is True. Otherwise a response counts as
    beginning with its header. A request counts as beginning with its header only if its first four
    bytes are an API key and one of that API's versions.
    """
    if len(data) >= 4 and int.from_bytes(data[:4], "big", signed=True) == len(data) - 4:
        return True
    if is_response or len(data) < 4:
        return not is_response
    key = _KEYS.get(int.from_bytes(data[:2], "big", signed=True))
    return key is None or not REGISTRY[key].request.VALID.has(
        int.from_bytes(data[2:4], "big", signed=True)
    )


def decode_request(
    data: bytes,
    *,
    with_size: bool = True,
    cut_from: int | None = None,
    body_is_hidden: bool = False,
) -> Decoded:
    """Decode a request.

    `cut_from` is the original size of the frame, if only a part of the frame is here.
    """
    return _decode(data, _Request(body_is_hidden), with_size, cut_from)


def decode_response(
    data: bytes,
    key: ApiKey,
    version: int,
    *,
    with_size: bool = True,
    cut_from: int | None = None,
    body_is_hidden: bool = False,
) -> Decoded:
    """Decode a response. The caller gives API and version, which only the request contains."""
    return _decode(data, _Response(key, version, body_is_hidden), with_size, cut_from)


class _Frame:
    """The known facts of the frame while it is read."""

    is_response = False
    api = ""
    version = -1
    correlation_id: int | None = None
    client_id: str | None = None

    def __init__(self, body_is_hidden: bool) -> None:
        self.body_is_hidden = body_is_hidden

    def read(self, cursor: Cursor) -> None:
        raise NotImplementedError


class _Request(_Frame):
    def read(self, cursor: Cursor) -> None:
        with cursor.group(Node("header", "request header", cursor.at, cursor.at)) as header:
            node = cursor.fixed("api_key", Int16)
            node.note = "The kind of request. The format of the rest depends on it."
            key = _KEYS.get(_number(node))
            if key is None:
                raise cursor.wrong_value(
                    node, node.start, f"no request of Kafka 2.8 has the key {node.raw}"
                )
            self.api = api_name(key)
            version = cursor.fixed("api_version", Int16)
            version.note = "The version of the request. The response has the same."
            self.version = _number(version)
            correlation = cursor.fixed("correlation_id", Int32)
            correlation.note = "The response has the same number."
            self.correlation_id = _number(correlation)
            header_version = request_header_version(key, self.version)
            header.type = f"request header {header_version}"
            if header_version > 0:
                client = Node("client_id", "", cursor.at, cursor.at)
                client.note = "The client's name for itself."
                self._client_id(cursor, client)
            if header_version == 2:
                _header_tags(cursor)
        if self.body_is_hidden:
            cursor.rest_is("body", _HIDDEN, wrong=False)
            return
        message = REGISTRY[key].request
        if not message.VALID.has(self.version):
            raise cursor.wrong_value(
                version,
                version.start,
                f"kafka-edu knows {self.api} {message.VALID}; a broker answers UNSUPPORTED_VERSION",
            )
        body = Node("body", message.__name__, cursor.at, cursor.at, note=_first_line(message))
        with cursor.group(body):
            Walker(cursor, message, self.version).read()

    def _client_id(self, cursor: Cursor, client: Node) -> None:
        """Read the client id. Any negative length means null. The length is never compact."""
        if cursor.data[cursor.at : cursor.at + 1] >= b"\x80" and cursor.rest >= 2:
            with cursor.group(client):
                client.type, client.value, client.folded = "string", "null", True
                cursor.fixed("length", Int16)
            return
        cursor.sized(client, "string", flexible=False, nullable=True)
        self.client_id = client.raw if isinstance(client.raw, str) else None


class _Response(_Frame):
    is_response = True

    def __init__(self, key: ApiKey, version: int, body_is_hidden: bool) -> None:
        super().__init__(body_is_hidden)
        self.key = key
        self.api = api_name(key)
        self.version = version

    def read(self, cursor: Cursor) -> None:
        header_version = response_header_version(self.key, self.version)
        kind = f"response header {header_version}"
        with cursor.group(Node("header", kind, cursor.at, cursor.at)):
            correlation = cursor.fixed("correlation_id", Int32)
            correlation.note = "The number of the request that this answers."
            self.correlation_id = _number(correlation)
            if header_version:
                _header_tags(cursor)
        if self.body_is_hidden:
            cursor.rest_is("body", _HIDDEN, wrong=False)
            return
        message = REGISTRY[self.key].response
        version = self.version
        error = cursor.data[cursor.at : cursor.at + 2]
        if self.key is ApiKey.API_VERSIONS and error == _UNSUPPORTED_VERSION:
            version = 0
        if not message.VALID.has(version):
            raise cursor.fail("body", "not decoded", f"we know {self.api} {message.VALID}")
        body = Node("body", message.__name__, cursor.at, cursor.at, note=_first_line(message))
        if version != self.version:
            body.note += " The broker did not know the version, so it answers in version 0."
        with cursor.group(body):
            Walker(cursor, message, version).read()


def _decode(data: bytes, frame: _Frame, with_size: bool, cut_from: int | None) -> Decoded:
    missing = (
        f"the capture holds only the first {len(data):,} of {cut_from:,} bytes"
        if cut_from is not None and cut_from > len(data)
        else ""
    )
    cursor = Cursor(data, missing)
    try:
        if with_size:
            _size(cursor, len(data) if not missing else cut_from or 0)
        frame.read(cursor)
        cursor.rest_is("ignored bytes", "bytes after the message, which Kafka ignores", wrong=False)
    except Stop:
        pass
    return Decoded(
        data=data,
        root=cursor.root,
        api=frame.api,
        version=frame.version,
        is_response=frame.is_response,
        correlation_id=frame.correlation_id,
        client_id=frame.client_id,
        problems=tuple(cursor.problems),
    )


def _size(cursor: Cursor, whole: int) -> None:
    """Read the size of the frame, and note a problem if the number of present bytes differs."""
    node = cursor.fixed("size", Int32)
    node.note = "The bytes of the frame after this field."
    if _number(node) != whole - 4:
        node.wrong = f"{_number(node):,} bytes are announced, and {whole - 4:,} follow"
        cursor.problem(node.start, node.name, node.wrong)


def _header_tags(cursor: Cursor) -> None:
    """Read the tagged fields of a header. The schema knows none of them."""
    node = Node("tagged fields", "tagged fields", cursor.at, cursor.at, "none", folded=True)
    node.note = "Optional fields that a receiver may skip (KIP-482)."
    with cursor.group(node):
        start = cursor.at
        length = cursor.varint("count", "unsigned varint")
        count = _number(length)
        if not 0 < count <= MAX_INT:  # the number is negative in Java: no tags
            return
        if count * 2 > cursor.rest and not cursor.is_cut:
            raise cursor.wrong_value(
                length,
                start,
                f"{count:,} tagged fields are announced, and only {cursor.rest:,} bytes are left",
            )
        node.value = f"{count:,}"
        for _ in range(count):
            with cursor.group(Node("tagged field", "tag, size", cursor.at, cursor.at)):
                cursor.skip_tagged_field()


def _number(node: Node) -> int:
    if not isinstance(node.raw, int):
        raise TypeError(f"{node.name} is not a number")
    return node.raw


def _first_line(message: type) -> str:
    return (message.__doc__ or "").partition("\n")[0]
