import struct

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.transport import part_bytes
from kafka_edu.network.request import Request
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header, encode_request
from kafka_edu.protocol.messages.create_topics import CreateTopicsRequest
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.unit.server.conftest import FakeConnection


def error_response(request, _version, error, _message):
    return MetadataResponse(
        topics=[MetadataResponseTopic(error_code=error, name=t.name) for t in request.topics]
    )


def raising(error):
    def handle(_call, _request):
        raise error

    return handle


def awaiting(error):
    async def handle(_call, _request):
        raise error

    return handle


ASK = MetadataRequest(topics=[MetadataRequestTopic(name="web")])


@pytest.mark.parametrize("make", [raising, awaiting])
def test_a_known_error_becomes_the_requests_error_response(harness, make):
    harness.apis.serve(
        ApiKey.METADATA,
        MetadataRequest,
        make(KafkaException(Errors.INVALID_REQUEST)),
        error_response,
    )
    assert harness.ask(ASK, 5).topics[0].error_code == Errors.INVALID_REQUEST
    assert harness.events("RequestFailed") == []


@pytest.mark.parametrize("make", [raising, awaiting])
def test_a_bug_becomes_unknown_server_error_and_is_told(harness, make):
    harness.apis.serve(
        ApiKey.METADATA, MetadataRequest, make(ZeroDivisionError("oops")), error_response
    )
    assert harness.ask(ASK, 5).topics[0].error_code == Errors.UNKNOWN_SERVER_ERROR
    (event,) = harness.events("RequestFailed")
    assert event[-1] == "ZeroDivisionError: oops"


def test_a_bug_in_the_error_response_closes_the_connection(harness):
    harness.apis.serve(
        ApiKey.METADATA, MetadataRequest, raising(ZeroDivisionError()), raising_response
    )
    assert harness.send(ASK, 5).closed
    assert len(harness.events("RequestFailed")) == 2


def raising_response(_request, _version, _error, _message):
    raise KeyError("no response")


def test_no_error_response_means_close(harness):
    harness.apis.serve(
        ApiKey.METADATA,
        MetadataRequest,
        raising(KafkaException(Errors.INVALID_REQUEST)),
        lambda *_: None,
    )
    assert "INVALID_REQUEST" in harness.send(ASK, 5).closed


def test_a_response_that_cannot_be_encoded_costs_its_own_connection_only(harness):
    harness.apis.serve(
        ApiKey.METADATA,
        MetadataRequest,
        lambda call, _: call.respond(MetadataResponse(controller_id="one")),
        error_response,
    )
    connection = harness.send(ASK, 5)
    assert connection.closed
    assert connection.answers == []
    assert len(harness.events("RequestFailed")) == 1


def test_a_request_is_answered_once(harness):
    def twice(call, _):
        call.respond(MetadataResponse())
        call.respond(MetadataResponse())

    harness.apis.serve(ApiKey.METADATA, MetadataRequest, twice, error_response)
    connection = harness.send(ASK, 5)
    assert len(connection.answers) == 1
    assert "twice" in harness.events("RequestFailed")[0][-1]


@pytest.mark.parametrize(
    ("key", "version", "body", "says"),
    [
        (ApiKey.METADATA, 99, b"", "version 99 is not served"),
        (ApiKey.METADATA, -1, b"", "version -1 is not served"),
        (ApiKey.METADATA, 5, b"\x00\x00\x00\x05\x00", "unreadable body"),
        (ApiKey.METADATA, 5, struct.pack(">i", 2**31 - 1), "unreadable body"),
        (ApiKey.DESCRIBE_ACLS, 0, b"", "does not serve"),
    ],
)
def test_what_cannot_be_read_or_is_not_served_costs_the_connection(
    harness, key, version, body, says
):
    harness.apis.serve(ApiKey.METADATA, MetadataRequest, raising(AssertionError), error_response)
    tags = b"\x00" if key.is_flexible(version) else b""
    connection = harness.send_frame(struct.pack(">hhih", key, version, 1, -1) + tags + body)
    assert says in connection.closed
    assert connection.answers == []
    assert len(harness.events("RequestRefused")) == 1


@pytest.mark.parametrize(("version", "timeout_ms"), [(5, 4321), (99, None), (-1, None)])
def test_the_watchdog_may_ask_for_the_time_out_of_a_request_of_any_version(
    harness, version, timeout_ms
):
    """The watchdog also asks about requests that wait in the queue. Their version is not checked
    yet.
    """
    harness.apis.serve(
        ApiKey.CREATE_TOPICS, CreateTopicsRequest, raising(AssertionError), error_response
    )
    parts = encode_request(CreateTopicsRequest(topics=[], timeout_ms=4321), 5, 7, "c")
    frame = b"".join(map(part_bytes, parts))[4:]
    frame = frame[:2] + struct.pack(">h", version) + frame[4:]
    header, body_offset = decode_request_header(frame)
    request = Request(FakeConnection(), header, frame, body_offset, 0)
    assert harness.apis.timeout_ms(request) == timeout_ms


def test_requests_are_counted_by_key(harness):
    harness.apis.serve(
        ApiKey.METADATA,
        MetadataRequest,
        lambda call, _: call.respond(MetadataResponse()),
        error_response,
    )
    harness.ask(ASK, 5)
    harness.ask(ASK, 9)
    assert harness.apis.requests == {ApiKey.METADATA: 2}


def test_a_key_has_one_handler(harness):
    harness.apis.serve(ApiKey.METADATA, MetadataRequest, raising(AssertionError), error_response)
    with pytest.raises(ValueError, match="METADATA"):
        harness.apis.serve(
            ApiKey.METADATA, MetadataRequest, raising(AssertionError), error_response
        )
