import struct

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.server.apis.api_versions import ApiVersionsApi


def serving(harness):
    ApiVersionsApi(harness.apis.versions, lambda: None).register(harness.apis)
    return harness


def names(version=3, name="librdkafka", software="2.3.0"):
    return (
        ApiVersionsRequest(client_software_name=name, client_software_version=software)
        if version >= 3
        else ApiVersionsRequest()
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_lists_what_is_served_in_order(harness, version):
    response = serving(harness).ask(names(version), version)
    keys = [entry.api_key for entry in response.api_keys]
    assert response.error_code == Errors.NONE
    assert keys == sorted(keys)
    assert {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}[
        ApiKey.PRODUCE
    ] == (0, 9)


def test_level_2_0_is_kafka_2_0s_table(harness_at):
    response = serving(harness_at("2.0")).ask(ApiVersionsRequest(), 2)
    table = {entry.api_key: entry.max_version for entry in response.api_keys}
    assert table[ApiKey.PRODUCE] == 6
    assert table[ApiKey.FETCH] == 8
    assert table[ApiKey.API_VERSIONS] == 2


@pytest.mark.parametrize("version", [4, 9, -1])
def test_an_unknown_version_gets_a_v0_body_that_says_which_there_are(harness, version):
    frame = struct.pack(">hhih", ApiKey.API_VERSIONS, version, 77, -1) + b"\x00whatever comes"
    connection = serving(harness).send_frame(frame)
    (parts,) = connection.answers
    assert b"".join(map(part_bytes, parts))[4:] == struct.pack(
        ">ihi", 77, Errors.UNSUPPORTED_VERSION, 1
    ) + struct.pack(">hhh", 18, 0, 3)
    assert not connection.closed


@pytest.mark.parametrize(
    ("name", "software"), [("", "1"), ("-x", "1"), ("x", ""), ("x y", "1"), ("x", "1.")]
)
def test_a_bad_software_name_is_an_invalid_request(harness, name, software):
    response = serving(harness).ask(names(3, name, software), 3)
    assert (response.error_code, response.api_keys) == (Errors.INVALID_REQUEST, [])
