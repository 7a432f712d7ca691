"""Properties of all messages in all versions, with values made from the schema itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.protocol.framing import FrameReceiver
from kafka_edu.protocol.headers import decode_request_header
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError, read_varint, read_varlong, varint, varlong
from tests.property.message_values import structs

MESSAGES = [cls for pair in REGISTRY.values() for cls in (pair.request, pair.response)]
VERSIONS = [
    (cls, version) for cls in MESSAGES for version in range(cls.VALID.lowest, cls.VALID.highest + 1)
]


any_version = st.sampled_from(VERSIONS)
any_message = any_version.flatmap(
    lambda pick: st.tuples(st.just(pick[1]), structs(pick[0], pick[1]))
)


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_what_is_encoded_is_decoded_again(cls: type[Message], data: st.DataObject) -> None:
    for version in range(cls.VALID.lowest, cls.VALID.highest + 1):
        message = data.draw(structs(cls, version))
        wire = message.encode(version)
        decoded = cls.decode(wire, version)
        assert decoded == message
        assert decoded.encode(version) == wire
        assert cls.decode(memoryview(b"\0" + wire + b"\0"), version, 1) == message


@settings(max_examples=120, deadline=None)
@given(pick=any_version, data=st.binary(max_size=200))
def test_random_bytes_are_a_message_or_a_protocol_error(
    pick: tuple[type[Message], int], data: bytes
) -> None:
    cls, version = pick
    try:
        decoded = cls.decode(data, version)
    except ProtocolError:
        return
    assert isinstance(decoded, cls)


@settings(max_examples=120, deadline=None)
@given(made=any_message, data=st.data())
def test_a_message_with_a_few_bytes_changed_is_a_message_or_a_protocol_error(
    made: tuple[int, Message], data: st.DataObject
) -> None:
    version, message = made
    wire = bytearray(message.encode(version))
    for _ in range(data.draw(st.integers(1, 4))):
        if wire:
            wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(
                st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)
            )
    try:
        decoded = type(message).decode(bytes(wire), version)
    except ProtocolError:
        return
    assert type(message).decode(decoded.encode(version), version) == decoded


@settings(max_examples=60, deadline=None)
@given(made=any_message, data=st.data())
def test_a_message_that_is_cut_is_refused(made: tuple[int, Message], data: st.DataObject) -> None:
    version, message = made
    wire = message.encode(version)
    if wire:
        with pytest.raises(ProtocolError):
            type(message).decode(wire[: data.draw(st.integers(0, len(wire) - 1))], version)


@settings(max_examples=120, deadline=None)
@given(
    st.binary(max_size=60)
    | st.builds(
        lambda key, rest: key.to_bytes(2, "big") + rest, st.integers(0, 61), st.binary(max_size=40)
    )
)
def test_random_bytes_are_a_request_header_or_a_protocol_error(frame: bytes) -> None:
    try:
        _, body = decode_request_header(frame)
    except ProtocolError:
        return
    assert 8 <= body <= len(frame)


@given(
    st.lists(st.binary(min_size=1, max_size=50), max_size=8),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_frames_do_not_depend_on_how_the_stream_is_cut(
    frames: list[bytes], cuts: list[int]
) -> None:
    stream = memoryview(b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames))
    receiver = FrameReceiver(50)
    received = []
    at = turn = 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        received += receiver.feed(stream[at : at + step])
        at += step
        turn += 1
    assert received == frames
    assert receiver.buffered == 0


@given(st.integers(-(2**31), 2**31 - 1))
def test_varints_come_back(value: int) -> None:
    data = varint(value)
    assert read_varint(data, 0) == (value, len(data))
    assert varlong(value) == data


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlongs_come_back(value: int) -> None:
    data = varlong(value)
    assert read_varlong(data, 0) == (value, len(data))
