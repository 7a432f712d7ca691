"""Properties of the wire microscope, on all messages in all versions and on any bytes."""

import re
import struct
import time
import uuid
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.common.transport import part_bytes
from kafka_edu.instruments.wire.cursor import MAX_NODES
from kafka_edu.instruments.wire.decode import decode_request, decode_response
from kafka_edu.instruments.wire.tree import Decoded, Node, Problem
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header, encode_request, encode_response
from kafka_edu.protocol.headers import decode_response as codec_decode_response
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError, unsigned_varint, varint, varlong
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import CRC_OFFSET, build_batch
from tests.property.message_values import structs

KEYS = sorted(REGISTRY)
FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint16": "H", "uint32": "I", "float64": "d",
}  # fmt: skip
VARYING = {"varint": varint, "varlong": varlong, "unsigned varint": unsigned_varint}


def encode_leaf(leaf: Node) -> bytes:
    """Encode the value of a leaf again, from its type and its value alone."""
    if leaf.type in FORMATS:
        return struct.pack(">" + FORMATS[leaf.type], leaf.raw)
    if leaf.type in VARYING:
        assert isinstance(leaf.raw, int)
        return VARYING[leaf.type](leaf.raw)
    if isinstance(leaf.raw, uuid.UUID):
        return leaf.raw.bytes
    if leaf.start == leaf.end:  # a message without fields
        return b""
    assert isinstance(leaf.raw, bytes), leaf
    return leaf.raw


def check_cover(decoded: Decoded) -> None:
    """Check that the leaves cover each byte once, and that parents cover their children."""
    at = 0
    for leaf in decoded.root.leaves():
        assert leaf.start == at, leaf
        assert leaf.end >= at
        at = leaf.end
    assert at == len(decoded.data)
    for node in decoded.root.walk():
        if node.children:
            assert (node.start, node.end) == (node.children[0].start, node.children[-1].end)


def frame_of(cls: type[Message], version: int, message: Message) -> tuple[ApiKey, bool, bytes]:
    key = cls.KEY
    assert key is not None
    is_response = cls is REGISTRY[key].response
    parts = (
        encode_response(key, version, 77, message)
        if is_response
        else encode_request(message, version, 77, "shop")
    )
    return key, is_response, b"".join(bytes(part_bytes(part)) for part in parts)


def decode(key: ApiKey, version: int, is_response: bool, frame: bytes) -> Decoded:
    return decode_response(frame, key, version) if is_response else decode_request(frame)


#: These are no valid batches: the codec does not look into records, and the microscope does.
def without_records(decoded: Decoded) -> bool:
    return not any(_in_records(problem) for problem in decoded.problems)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_the_tree_covers_each_byte_once_and_its_values_give_the_bytes_again(
    key: ApiKey, data: st.DataObject
) -> None:
    for cls in REGISTRY[key][:2]:
        for version in range(cls.VALID.lowest, cls.VALID.highest + 1):
            message = data.draw(structs(cls, version))
            key, is_response, frame = frame_of(cls, version, message)
            decoded = decode(key, version, is_response, frame)
            check_cover(decoded)
            assert (decoded.correlation_id, decoded.version) == (77, version)
            if without_records(decoded):
                assert not decoded.problems
                encoded = b"".join(encode_leaf(leaf) for leaf in decoded.root.leaves())
                assert encoded == frame


any_frame = (
    st.sampled_from(
        [
            (cls, version)
            for key in KEYS
            for cls in REGISTRY[key][:2]
            for version in range(cls.VALID.lowest, cls.VALID.highest + 1)
        ]
    )
    .flatmap(lambda pick: st.tuples(st.just(pick), structs(*pick)))
    .map(lambda made: (made[0][1], *frame_of(made[0][0], made[0][1], made[1])))
)


@settings(max_examples=300, deadline=None)
@given(made=any_frame, data=st.data())
def test_the_microscope_refuses_exactly_the_frames_that_the_codec_refuses(
    made: tuple[int, ApiKey, bool, bytes], data: st.DataObject
) -> None:
    version, key, is_response, frame = made
    broken = bytearray(frame)
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(12, max(len(broken) - 1, 12))) % len(broken)] = data.draw(
            st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)
        )
    cut = bytes(broken[: data.draw(st.integers(4, len(broken)))])
    decoded = decode(key, version, is_response, cut)
    check_cover(decoded)
    refused = False
    try:
        if is_response:
            codec_decode_response(key, version, cut[4:])
        else:
            header, offset = decode_request_header(cut[4:])
            request = REGISTRY[ApiKey(header.api_key)].request
            if request.VALID.has(header.api_version):
                request.decode(cut[4:], header.api_version, offset)
            else:
                refused = True
    except ProtocolError:
        refused = True
    found = [p for p in decoded.problems if p.path != "size" and not _in_records(p)]
    assert bool(found) == refused, decoded.problems


def _in_records(problem: Problem) -> bool:
    """Return whether this is a problem inside records, which the codec does not look into."""
    return re.search(r"record(s|_set)\.(?!length$)", problem.path) is not None


@settings(max_examples=300, deadline=None)
@given(
    frame=st.binary(max_size=120)
    | st.builds(
        lambda key, version, rest: struct.pack(">ihh", len(rest) + 4, key, version) + rest,
        st.integers(0, 61),
        st.integers(0, 12),
        st.binary(max_size=80),
    ),
    key=st.sampled_from(KEYS),
    version=st.integers(-1, 13),
    cut=st.none() | st.integers(0, 500),
)
def test_any_bytes_give_a_tree(frame: bytes, key: ApiKey, version: int, cut: int | None) -> None:
    for with_size in (True, False):
        check_cover(decode_request(frame, with_size=with_size, cut_from=cut))
        check_cover(decode_response(frame, key, version, with_size=with_size, cut_from=cut))


records = st.lists(
    st.builds(
        Record,
        st.just(0),
        st.integers(0, 2**41),
        st.none() | st.binary(max_size=9),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2).map(
            tuple
        ),
    ),
    min_size=1,
    max_size=5,
).map(lambda made: [r._replace(offset=i) for i, r in enumerate(made)])


def record_values(nodes: Iterable[Node]) -> Iterator[object]:
    """Yield the value of each record below `nodes`, also of compressed ones."""
    for node in nodes:
        if node.type == "record" or node.type.startswith("message v"):
            value = next(child for child in node.children if child.name == "value")
            if value.inner:
                yield from record_values(value.inner)
            else:
                yield value.raw
        else:
            yield from record_values((*node.children, *node.inner))


@settings(max_examples=120, deadline=None)
@given(
    made=records,
    codec=st.sampled_from(CompressionType),
    magic=st.sampled_from([0, 1, 2]),
    damage=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=3),
    cut=st.integers(0),
)
def test_batches_of_every_format_whole_or_damaged(
    made: list[Record],
    codec: CompressionType,
    magic: int,
    damage: list[tuple[int, int]],
    cut: int,
) -> None:
    if magic < 2 and codec is CompressionType.ZSTD:
        return
    batch = (
        build_batch(made, compression=codec)
        if magic == 2
        else build_message_set(made, magic, codec)
    )
    produce = _produce(batch, 3 if magic == 2 else 2)
    decoded = decode_request(produce)
    check_cover(decoded)
    assert not decoded.problems
    encoded = b"".join(encode_leaf(leaf) for leaf in decoded.root.leaves())
    assert encoded == produce
    assert list(record_values([decoded.root])) == [record.value for record in made]
    start = produce.index(batch)
    broken = bytearray(produce)
    for at, value in damage:
        broken[start + at % len(batch)] = value
    kept = bytes(broken[: start + cut % (len(batch) + 1)])
    check_cover(decode_request(kept))
    check_cover(decode_request(kept, cut_from=len(produce)))
    changed = [at for at in range(start, start + len(batch)) if broken[at] != produce[at]]
    if magic == 2 and any(at >= start + CRC_OFFSET for at in changed):
        assert decode_request(bytes(broken)).problems, "the checksum covers these bytes"


def _produce(batch: bytes, version: int) -> bytes:
    request = ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(
                name="web", partition_data=[PartitionProduceData(index=0, records=batch)]
            )
        ],
    )
    return frame_of(ProduceRequest, version, request)[2]


def test_a_frame_of_a_megabyte_gives_a_bounded_tree_in_bounded_time() -> None:
    many = build_batch([Record(i, 0, None, b"") for i in range(100_000)])
    began = time.process_time()
    decoded = decode_request(_produce(many, 3))
    check_cover(decoded)
    assert sum(1 for _ in decoded.root.walk()) < MAX_NODES + 100
    assert any(leaf.type == "not drawn" for leaf in decoded.root.leaves())
    assert time.process_time() - began < 20, "a busy machine takes twice the time, not ten times"


def test_compressed_bombs_are_not_unpacked() -> None:
    bomb = build_batch([Record(0, 0, None, bytes(30_000_000))], compression=CompressionType.GZIP)
    began = time.process_time()
    decoded = decode_request(_produce(bomb * 20, 3))
    check_cover(decoded)
    leaves = [leaf for leaf in decoded.root.leaves() if leaf.name == "compressed records"]
    assert len(leaves) == 20
    assert all("too many" in leaf.value and not leaf.inner for leaf in leaves)
    assert time.process_time() - began < 20, "a busy machine takes twice the time, not ten times"
