import pytest

from kafka_edu.common.transport import Part, part_bytes, part_size
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
    request_header_version,
    response_header_version,
)
from kafka_edu.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.types import ProtocolError


def _frame(parts: list[Part]) -> bytes:
    """Return the frame of `parts` without its size; the size must be right."""
    data = b"".join(map(part_bytes, parts))
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    return data[4:]


@pytest.mark.parametrize(
    ("key", "version", "request_header", "response_header"),
    [
        (ApiKey.PRODUCE, 8, 1, 0),
        (ApiKey.PRODUCE, 9, 2, 1),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, 0, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, 1, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 3, 2, 1),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
        (ApiKey.API_VERSIONS, 4, 2, 0),
        (ApiKey.API_VERSIONS, -1, 1, 0),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
    ],
)
def test_header_versions_follow_the_key_and_version(
    key: ApiKey, version: int, request_header: int, response_header: int
) -> None:
    assert request_header_version(key, version) == request_header
    assert response_header_version(key, version) == response_header


def test_a_request_travels_as_one_frame() -> None:
    frame = _frame(encode_request(MetadataRequest(topics=None), 9, 77, "web"))
    header, body = decode_request_header(frame)
    assert header == RequestHeader(ApiKey.METADATA, 9, 77, "web")
    assert frame[:14].hex(" ") == "00 03 00 09 00 00 00 4d 00 03 77 65 62 00"
    assert MetadataRequest.decode(frame, 9, body) == MetadataRequest(topics=None)


def test_controlled_shutdown_0_has_no_client_id() -> None:
    frame = _frame(encode_request(ControlledShutdownRequest(broker_id=3), 0, 1, "lost"))
    assert frame.hex(" ") == "00 07 00 00 00 00 00 01 00 00 00 03"
    assert decode_request_header(frame) == (
        RequestHeader(ApiKey.CONTROLLED_SHUTDOWN, 0, 1, None),
        8,
    )


def test_the_head_joins_the_first_part_and_records_stay_whole() -> None:
    records = b"r" * 50
    request = ProduceRequest(
        topic_data=[
            TopicProduceData(name="t", partition_data=[PartitionProduceData(records=records)])
        ]
    )
    parts = encode_request(request, 7, 1, None)
    assert parts[1] is records
    assert len(parts) == 2
    assert int.from_bytes(bytes(part_bytes(parts[0]))[:4], "big") == sum(map(part_size, parts)) - 4


@pytest.mark.parametrize(
    ("tail", "client_id"),
    [("ffff", None), ("fffe", None), ("8000", None), ("0000", ""), ("0002ff61", "\ufffda")],
    ids=["null", "minus 2", "lowest", "empty", "no UTF-8"],
)
def test_a_client_id_of_any_negative_length_is_null_and_of_any_bytes_is_text(
    tail: str, client_id: str | None
) -> None:
    frame = bytes.fromhex("0003 0001 00000005" + tail)
    header, body = decode_request_header(frame)
    assert header.client_id == client_id
    assert body == len(frame)


def test_tags_in_the_header_are_skipped() -> None:
    frame = bytes.fromhex("0003 0009 00000005 ffff 02 0501aa 0500") + b"body"
    assert decode_request_header(frame)[1] == len(frame) - 4


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "00030001000000",
        "0003000100000005",
        "000300010000000500",
        "00030001000000050001",
        "00030009 00000005 ffff",
        "00030009 00000005 ffff ffffffff07",
    ],
)
def test_a_header_that_ends_early_is_refused(frame: str) -> None:
    with pytest.raises(ProtocolError):
        decode_request_header(bytes.fromhex(frame))


def test_a_negative_count_of_tags_is_none() -> None:
    for count in ("ffffffff0f", "8080808008"):
        frame = bytes.fromhex(f"00030009 00000005 ffff {count}")
        assert decode_request_header(frame)[1] == len(frame)


@pytest.mark.parametrize("key", [-1, 52, 65, 32767])
def test_an_unknown_key_is_refused(key: int) -> None:
    with pytest.raises(ProtocolError, match=f"unknown api key {key}"):
        decode_request_header(key.to_bytes(2, "big", signed=True) + bytes(20))


def test_an_unknown_version_is_left_to_the_caller() -> None:
    assert (
        decode_request_header(bytes.fromhex("0003 7fff 00000005 ffff 00"))[0].api_version == 0x7FFF
    )
    assert decode_request_header(bytes.fromhex("0012 ffff 00000005 ffff"))[0] == RequestHeader(
        18, -1, 5, None
    )


def test_a_client_id_that_is_too_long_is_refused() -> None:
    with pytest.raises(ProtocolError, match="client id"):
        encode_request(ApiVersionsRequest(), 0, 1, "x" * 32768)


def test_only_requests_are_encoded_as_requests() -> None:
    class Stored(ApiVersionsRequest, valid="0", flexible="none"):
        """A value without a key."""

    with pytest.raises(ValueError, match="Stored is not a request"):
        encode_request(Stored(), 0, 1, None)


def test_a_flexible_response_has_tags_in_its_header_but_api_versions_has_not() -> None:
    assert (
        _frame(encode_response(ApiKey.METADATA, 9, 5, MetadataResponse()))[:5].hex() == "0000000500"
    )
    frame = _frame(encode_response(ApiKey.API_VERSIONS, 3, 5, ApiVersionsResponse()))
    assert frame.hex(" ") == "00 00 00 05 00 00 01 00 00 00 00 00"


def test_a_refused_api_versions_is_read_as_version_0_whatever_was_asked() -> None:
    refusal = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(api_key=18, max_version=3)])
    frame = _frame(encode_response(ApiKey.API_VERSIONS, 0, 9, refusal))
    assert decode_response(ApiKey.API_VERSIONS, 3, frame) == (9, refusal)


@pytest.mark.parametrize("frame", ["", "000000", "00000005", "0000000500", "0000000505"])
def test_a_response_that_ends_early_is_refused(frame: str) -> None:
    with pytest.raises(ProtocolError):
        decode_response(ApiKey.METADATA, 9, bytes.fromhex(frame))
