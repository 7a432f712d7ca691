"""The declarative schema, tested with a small message that uses every type and rule."""

import copy
import pickle
import traceback
import tracemalloc
import uuid

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.transport import FileRegion, Part, part_bytes
from kafka_edu.protocol import codegen
from kafka_edu.protocol.fields import Versions, field
from kafka_edu.protocol.messages.fetch import (
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.schema import Message, Struct, structs_of
from kafka_edu.protocol.types import (
    Array,
    Bool,
    Bytes,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    ProtocolError,
    Records,
    String,
    Uint16,
    Uint32,
    Uuid,
    Varint,
    Varlong,
)


class Inner(Struct):
    """An element."""

    name: str = field(String, "0+", "A name.")
    since_1: int = field(Int16, "1+", "New in 1.", default=7)


class Sample(Message, valid="0-2", flexible="2+"):
    """Every type."""

    flag: bool = field(Bool, "0+", "")
    tiny: int = field(Int8, "0+", "")
    port: int = field(Uint16, "0+", "")
    crc: int = field(Uint32, "0+", "")
    ratio: float = field(Float64, "0+", "")
    delta: int = field(Varint, "0+", "")
    time: int = field(Varlong, "0+", "")
    id: uuid.UUID = field(Uuid, "0+", "")
    blob: bytes = field(Bytes, "0+", "")
    maybe_blob: bytes | None = field(Bytes, "0+", "", nullable="1+", default=None)
    numbers: list[int] = field(Array(Int64), "0+", "")
    names: list[str] | None = field(Array(String), "0+", "", nullable="1+")
    ids: list[uuid.UUID] = field(Array(Uuid), "0+", "")
    inners: list[Inner] = field(Array(Inner), "0+", "")
    one: Inner = field(Inner, "0+", "")
    gone: int = field(Int32, "0-1", "", default=5)
    gone_quietly: int = field(Int32, "0-1", "", ignorable=True)
    tagged: str = field(String, "2+", "", tag=3, default="none")
    tagged_list: list[Inner] = field(Array(Inner), "2+", "", tag=1)


FULL = Sample(
    flag=True,
    tiny=-128,
    port=65535,
    crc=0xFFFF_FFFF,
    ratio=0.25,
    delta=-300,
    time=-(2**50),
    id=uuid.UUID(int=3),
    blob=b"\0\1",
    maybe_blob=b"",
    numbers=[1, -(2**63)],
    names=["a", "é"],
    ids=[uuid.UUID(int=1), uuid.UUID(int=0)],
    inners=[Inner(name="x"), Inner(name="y")],
    one=Inner(name="z"),
)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_type_comes_back(version: int) -> None:
    assert Sample.decode(FULL.encode(version), version) == FULL


def test_a_fixed_layout_is_what_the_declaration_says() -> None:
    class Plain(Message, valid="0", flexible="none"):
        """Three fields."""

        small: int = field(Int16, "0+", "")
        text: str | None = field(String, "0+", "", nullable="0+")
        many: list[int] = field(Array(Int8), "0+", "")

    assert (
        Plain(small=1, text="ab", many=[3, 4]).encode(0).hex(" ")
        == "00 01 00 02 61 62 00 00 00 02 03 04"
    )
    assert Plain(small=1, text=None).encode(0).hex(" ") == "00 01 ff ff 00 00 00 00"


def test_a_flexible_layout_has_lengths_plus_one_and_tags_in_order() -> None:
    class Flexible(Message, valid="0", flexible="0+"):
        """A field, and two tags declared out of order."""

        text: str | None = field(String, "0+", "", nullable="0+")
        later: int = field(Int16, "0+", "", tag=2)
        sooner: int = field(Int8, "0+", "", tag=0, default=-1)

    assert Flexible(text="ab").encode(0).hex(" ") == "03 61 62 00"
    message = Flexible(text=None, later=5, sooner=6)
    assert message.encode(0).hex(" ") == "00 02 00 01 06 02 02 00 05"
    assert Flexible.decode(message.encode(0), 0) == message


def test_an_omitted_field_gets_a_default_of_its_own() -> None:
    first, second = Sample(), Sample()
    assert (first.gone, first.tagged, first.maybe_blob, first.names, first.one.since_1) == (
        5,
        "none",
        None,
        [],
        7,
    )
    first.numbers.append(1)
    first.one.name = "mine"
    assert second.numbers == []
    assert second.one.name == ""


def test_the_constructor_takes_known_names_only() -> None:
    with pytest.raises(TypeError, match="unknown"):
        Inner(unknown=1)  # type: ignore[call-arg]  # mypy sees it too


def test_messages_are_compared_by_value_and_cannot_be_keys() -> None:
    assert Inner(name="a") == Inner(name="a") != Inner(name="b")
    assert Inner(name="a") != "a"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Inner())


def test_messages_are_shown_with_names_and_copied() -> None:
    assert repr(Inner(name="a")) == "Inner(name='a', since_1=7)"
    assert (
        repr(PartitionProduceData(index=1, records=b"abc"))
        == "PartitionProduceData(index=1, records=<3 bytes>)"
    )
    assert copy.deepcopy(FULL) == pickle.loads(pickle.dumps(FULL)) == FULL


def test_a_message_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Inner().nmae = "typo"  # type: ignore[attr-defined]  # mypy sees it too


def test_an_unknown_version_is_the_callers_mistake() -> None:
    for call in (lambda: Sample.decode(b"", 3), lambda: FULL.encode(-1)):
        with pytest.raises(ValueError, match="Sample has versions 0-2, not"):
            call()


def test_a_set_field_that_the_version_lacks_is_an_error_unless_ignorable() -> None:
    with pytest.raises(
        KafkaException,
        match=r"Sample.tagged = 'x' cannot be sent in version 1: it is part of versions 2\+",
    ) as caught:
        Sample(tagged="x").encode(1)
    assert caught.value.error is Errors.UNSUPPORTED_VERSION
    with pytest.raises(KafkaException, match=r"Sample\.gone = 6"):
        Sample(gone=6).encode(2)
    with pytest.raises(KafkaException, match=r"Sample\.inners\.since_1 = 8"):
        Sample(maybe_blob=b"", inners=[Inner(since_1=8)]).encode(0)
    assert Sample.decode(Sample(gone_quietly=1).encode(2), 2).gone_quietly == 0


def test_null_is_refused_where_the_version_does_not_allow_it() -> None:
    with pytest.raises(ProtocolError, match=r"Sample\.names cannot be null in this version"):
        Sample(maybe_blob=b"", names=None).encode(0)
    assert Sample.decode(Sample(names=None).encode(1), 1).names is None


def test_metadata_asks_for_all_topics_by_an_empty_list_first_and_by_null_later() -> None:
    assert MetadataRequest.decode(b"\0\0\0\0", 0).topics == []
    assert MetadataRequest.decode(b"\xff\xff\xff\xff", 1).topics is None
    with pytest.raises(ProtocolError, match="length -1 means null, which is not allowed here"):
        MetadataRequest.decode(b"\xff\xff\xff\xff", 0)
    assert (
        MetadataRequest(topics=[MetadataRequestTopic(name="web")]).encode(0).hex()
        == "000000010003" + b"web".hex()
    )


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ProtocolError, match="Sample v0 cannot be encoded"):
        Sample(tiny=128, maybe_blob=b"").encode(0)


def test_strings_are_utf_8_of_at_most_32767_bytes_and_bad_bytes_become_fffd() -> None:
    for version in (0, 2):
        for name in ("x" * 32767, ""):
            assert (
                Sample.decode(
                    Sample(one=Inner(name=name), maybe_blob=b"").encode(version), version
                ).one.name
                == name
            )
        with pytest.raises(ProtocolError, match="a string of 32768 bytes"):
            Sample(one=Inner(name="x" * 32768), maybe_blob=b"").encode(version)
    assert MetadataRequest.decode(b"\0\0\0\1\0\2a\xff", 0).topics == [
        MetadataRequestTopic(name="a\ufffd")
    ]


def test_records_are_passed_through_uncopied_as_parts_of_their_own() -> None:
    records: Part = b"r" * 100
    request = ProduceRequest(
        topic_data=[
            TopicProduceData(
                name="t",
                partition_data=[
                    PartitionProduceData(records=records),
                    PartitionProduceData(index=1),
                ],
            )
        ]
    )
    parts = request.encode_parts(7)
    assert [len(part_bytes(part)) for part in parts] == [2 + 2 + 4 + 4 + 3 + 4 + 8, 100, 8]
    assert parts[1] is records
    frame = request.encode(7)
    decoded = ProduceRequest.decode(frame, 7).topic_data[0].partition_data
    assert isinstance(decoded[0].records, memoryview)
    assert decoded[0].records.obj is frame
    assert decoded[1].records is None


def test_records_may_lie_in_a_file(tmp_path: object) -> None:
    file = OsFileSystem().open(f"{tmp_path}/log")
    file.append([b"0123456789"])
    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic="t",
                partition_responses=[FetchablePartitionResponse(record_set=FileRegion(file, 2, 5))],
            )
        ]
    )
    parts = response.encode_parts(12)
    assert parts[1] == FileRegion(file, 2, 5)
    decoded = FetchResponse.decode(response.encode(12), 12)
    assert decoded.responses[0].partition_responses[0].record_set == b"23456"
    assert "record_set=<5 bytes of a file>" in repr(response)
    file.close()


def test_a_struct_under_a_tag_is_sent_only_if_it_says_something() -> None:
    quiet = FetchablePartitionResponse()
    loud = FetchablePartitionResponse(diverging_epoch=EpochEndOffset(epoch=3, end_offset=120))
    sizes = [
        len(
            FetchResponse(responses=[FetchableTopicResponse(partition_responses=[each])]).encode(12)
        )
        for each in (quiet, loud)
    ]
    assert sizes[1] - sizes[0] == 2 + 4 + 8 + 1


def test_duplicate_unordered_and_unknown_tags_are_accepted_the_last_counts() -> None:
    empty = FetchRequest().encode(12)
    assert empty[-1] == 0
    # tag 9 (unknown), tag 0 = "a", tag 0 = "b"
    request = FetchRequest.decode(empty[:-1] + bytes.fromhex("030901ff0002026100020262"), 12)
    assert request.cluster_id == "b"


@pytest.mark.parametrize("tags", ["ffffffff07", "8001", "01000102", "0100020361"])
def test_bad_tags_are_refused(tags: str) -> None:
    with pytest.raises(ProtocolError):
        FetchRequest.decode(FetchRequest().encode(12)[:-1] + bytes.fromhex(tags), 12)


def test_a_known_tag_ends_where_its_value_ends_whatever_its_size_says() -> None:
    frame = FetchRequest().encode(12)[:-1] + bytes.fromhex("0100070261")
    assert FetchRequest.decode(frame, 12).cluster_id == "a"


@pytest.mark.parametrize("count", ["ffffffff0f", "8080808008"])
def test_a_negative_count_of_tags_is_none(count: str) -> None:
    assert (
        FetchRequest.decode(FetchRequest().encode(12)[:-1] + bytes.fromhex(count), 12).cluster_id
        is None
    )


@pytest.mark.parametrize("length", ["ffffffff0f", "8180808008"])
def test_a_length_below_minus_one_is_null_where_null_may_be(length: str) -> None:
    assert MetadataRequest.decode(bytes.fromhex(length) + b"\0\0\0\0", 9).topics is None
    with pytest.raises(ProtocolError, match="null"):
        OffsetFetchRequest.decode(bytes.fromhex(length) + b"\1\0", 6)


@pytest.mark.parametrize(
    ("version", "count"),
    [(0, b"\x7f\xff\xff\xff"), (9, b"\xff\xff\xff\xff\x07"), (0, b"\0\0\0\x09"), (9, b"\x09")],
)
def test_an_announced_count_is_refused_before_memory_is_taken(version: int, count: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(
        ProtocolError, match=r"MetadataRequest\.topics: .* announced, but only 8 bytes are left"
    ):
        MetadataRequest.decode(count + b"\0" * 8, version)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000


def test_versions_are_written_as_in_kafkas_definitions() -> None:
    assert [str(Versions.parse(text)) for text in ("0+", "3", "8-10", "none")] == [
        "0+",
        "3",
        "8-10",
        "none",
    ]
    assert [Versions.parse("8-10").has(version) for version in (7, 8, 10, 11)] == [
        False,
        True,
        True,
        False,
    ]
    assert not Versions.parse("none").has(0)


def test_structs_are_found_in_order() -> None:
    assert [struct.__name__ for struct in structs_of(ProduceRequest)] == [
        "TopicProduceData",
        "PartitionProduceData",
    ]


def test_neighbours_of_fixed_size_share_one_call() -> None:
    assert "o.acks, o.timeout_ms, n3 = unpack_hii(b, p)" in codegen.decoder_source(
        ProduceRequest, 7, False
    )
    assert "put(pack_hii(o.acks, o.timeout_ms, n" in codegen.encoder_source(
        ProduceRequest, 7, False
    )


def test_a_traceback_shows_the_generated_line() -> None:
    with pytest.raises(AttributeError) as caught:
        FetchResponse(responses=[None]).encode(4)  # type: ignore[list-item]  # what mypy would not let pass
    assert ".topic.encode('utf-8'" in "".join(traceback.format_exception(caught.value))


def test_an_element_without_bytes_is_refused_by_the_generator() -> None:
    class Nothing(Struct):
        """Empty before version 1."""

        later: int = field(Int8, "1+", "")

    class Bomb(Message, valid="0-1", flexible="none"):
        """A count of elements that take no bytes."""

        nothings: list[Nothing] = field(Array(Nothing), "0+", "")

    with pytest.raises(TypeError, match="element without bytes"):
        Bomb.decode(b"\x7f\xff\xff\xff", 0)
    assert Bomb.decode(b"\0\0\0\1\5", 1).nothings == [Nothing(later=5)]


def test_records_default_to_no_bytes_where_nothing_is_said() -> None:
    class Stored(Message, valid="0", flexible="none"):
        """Records that cannot be null."""

        records: Part = field(Records, "0+", "")

    assert Stored().encode(0) == b"\0\0\0\0"
    assert Stored.decode(b"\0\0\0\1x", 0).records == b"x"
