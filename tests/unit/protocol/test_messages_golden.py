"""Compare our codecs with bytes that Apache Kafka 2.8.2 wrote.

tests/golden/protocol/README.md explains how the bytes were made.
"""

import base64
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import Field, StructMeta
from kafka_edu.protocol.headers import (
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from kafka_edu.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ArrayType, Bytes, ProtocolError, Records, Uuid

GOLDEN = Path(__file__).parents[2] / "golden" / "protocol" / "messages-2.8.2.jsonl"
MESSAGES: dict[str, type[Message]] = {
    cls.__name__: cls
    for cls in (
        *(cls for pair in REGISTRY.values() for cls in pair[:2]),
        ConsumerProtocolSubscription,
        ConsumerProtocolAssignment,
    )
}


class Recorded(NamedTuple):
    version: int
    data: bytes
    values: dict[str, object]


def _load() -> dict[str, list[Recorded]]:
    recorded = defaultdict(list)
    for line in GOLDEN.read_text().splitlines():
        entry = json.loads(line)
        recorded[entry["message"]].append(
            Recorded(entry["version"], bytes.fromhex(entry["hex"]), entry["json"])
        )
    return dict(recorded)


RECORDED = _load()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _value(field: Field, wire: object, value: object) -> object:
    """Return the value of the field in our class, from the value in Kafka's JSON."""
    if value is None:
        return None
    if isinstance(wire, ArrayType):
        assert isinstance(value, list)
        return [_value(field, wire.of, item) for item in value]
    if isinstance(wire, StructMeta):
        assert isinstance(value, dict)
        return _object(wire, value)
    if wire in (Records, Bytes):
        return base64.b64decode(str(value))
    if wire is Uuid:
        return uuid.UUID(bytes=base64.urlsafe_b64decode(f"{value}=="))
    return value


def _object(struct: StructMeta, values: dict[str, object]) -> object:
    fields = {field.name: field for field in struct.FIELDS}
    arguments = {}
    for name, value in values.items():
        field = fields.pop(_snake(name))
        arguments[field.name] = _value(field, field.wire, value)
    return struct(**arguments)


def test_every_message_was_recorded_in_every_version() -> None:
    assert {name for name in RECORDED if not name.endswith("Header")} == set(MESSAGES)
    for name, cls in MESSAGES.items():
        assert sorted({each.version for each in RECORDED[name]}) == list(
            range(cls.VALID.lowest, cls.VALID.highest + 1)
        )


@pytest.mark.parametrize("name", MESSAGES)
def test_kafkas_bytes_decode_to_the_values_they_were_made_of_and_encode_to_the_same_bytes(
    name: str,
) -> None:
    cls = MESSAGES[name]
    for version, data, values in RECORDED[name]:
        made = _object(cls, values)
        assert isinstance(made, Message)
        decoded = cls.decode(data, version)
        assert decoded == made, f"v{version}"
        assert decoded.encode(version) == data, f"v{version}"
        assert made.encode(version) == data, f"v{version}"


@pytest.mark.parametrize("name", MESSAGES)
def test_bytes_may_lie_anywhere_in_a_view_and_be_followed_by_others(name: str) -> None:
    cls = MESSAGES[name]
    version, data, _ = RECORDED[name][-1]
    assert cls.decode(memoryview(b"head" + data + b"tail"), version, 4).encode(version) == data


def _refused(cls: type[Message], version: int, data: bytes) -> bool:
    try:
        cls.decode(data, version)
    except ProtocolError:
        return True
    return False


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_cut_at_any_byte_is_refused(name: str) -> None:
    cls = MESSAGES[name]
    for version, data, _ in RECORDED[name]:
        for length in range(len(data)):
            assert _refused(cls, version, data[:length]), (
                f"v{version} cut to {length} of {len(data)} bytes"
            )


def _headers(name: str) -> Iterator[tuple[int, bytes, int, int, str | None]]:
    for header_version, data, values in RECORDED[name]:
        client_id = values.get("client_id")
        assert isinstance(values["api_key"], int)
        assert isinstance(values["api_version"], int)
        assert client_id is None or isinstance(client_id, str)
        yield header_version, data, values["api_key"], values["api_version"], client_id


def test_request_headers_are_kafkas() -> None:
    for _, data, key, version, client_id in _headers("RequestHeader"):
        header, body = decode_request_header(data + b"body")
        assert header == (key, version, 1234567, client_id)
        assert body == len(data)
        request = REGISTRY[ApiKey(key)].request()
        parts = encode_request(request, version, 1234567, client_id)
        frame = b"".join(bytes(part) for part in parts if not isinstance(part, tuple))
        expected = data + request.encode(version)
        assert frame == len(expected).to_bytes(4, "big") + expected


def test_response_headers_are_kafkas() -> None:
    for _, data, key, version, _ in _headers("ResponseHeader"):
        response = REGISTRY[ApiKey(key)].response()
        parts = encode_response(key, version, 1234567, response)
        frame = b"".join(bytes(part) for part in parts if not isinstance(part, tuple))
        expected = data + response.encode(version)
        assert frame == len(expected).to_bytes(4, "big") + expected
        assert decode_response(key, version, frame[4:]) == (1234567, response)
