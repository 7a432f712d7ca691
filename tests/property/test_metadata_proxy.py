"""Properties of the metadata proxy: a file keeps all of a metadata copy, requests of every version
are answered, and no bytes from a client stop the proxy.
"""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.clients.proxy.metadata_copy import READ_VERSION, MetadataCopy
from kafka_edu.clients.proxy.metadata_proxy import Answer, Refusal
from kafka_edu.clients.proxy.recording import RecordingError, read_recording, write_recording
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import API_LEVELS
from kafka_edu.protocol.headers import RequestHeader, decode_response, encode_response
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from tests.property.message_values import structs
from tests.unit.clients.proxy.proxy_world import Proxy, copy_of, partition

any_response = structs(MetadataResponse, READ_VERSION)


def copied(response: MetadataResponse) -> MetadataCopy:
    return MetadataCopy(response, API_LEVELS["2.8"], 11, "10.0.0.1:9092", 1_600_000_000_000)


@settings(max_examples=150, deadline=None)
@given(response=any_response)
def test_a_recording_loses_nothing(response: MetadataResponse) -> None:
    assert read_recording(write_recording(copied(response))) == copied(response)


@settings(max_examples=150, deadline=None)
@given(response=any_response, version=st.integers(0, 11))
def test_whatever_a_target_says_is_answered_in_every_version(
    response: MetadataResponse, version: int
) -> None:
    proxy = Proxy()
    proxy.targets["a"].copied(copied(response), 1)
    asked = {topic.name: topic for topic in response.topics}
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in [*asked, "no-such-topic"]]
    )
    told = proxy.ask(request, version)
    assert [(b.node_id, b.host, b.port) for b in told.brokers] == [
        (b.node_id, b.host, b.port) for b in response.brokers
    ]
    assert [t.name for t in told.topics] == [*asked, "no-such-topic"]
    for topic in told.topics[:-1]:
        said = asked[topic.name]
        assert topic.error_code == said.error_code
        assert [(p.partition_index, p.leader_id) for p in topic.partitions] == [
            (p.partition_index, p.leader_id) for p in said.partitions
        ]
        if version >= 1:
            assert [(p.replica_nodes, p.isr_nodes) for p in topic.partitions] == [
                (p.replica_nodes, p.isr_nodes) for p in said.partitions
            ]


@settings(max_examples=300, deadline=None)
@given(
    key=st.sampled_from(
        [ApiKey.METADATA, ApiKey.API_VERSIONS, ApiKey.FIND_COORDINATOR, ApiKey.FETCH]
    ),
    version=st.integers(-2, 13),
    body=st.binary(max_size=60),
    client_id=st.none() | st.text(max_size=5),
)
def test_any_bytes_are_answered_or_refused(
    key: ApiKey, version: int, body: bytes, client_id: str | None
) -> None:
    proxy = Proxy(find_coordinator=True)
    proxy.targets["a"].copied(copy_of({"web": [partition(0, 1, [1])]}), 1)
    answer = proxy.core.answer(RequestHeader(key, version, 1, client_id), "127.0.0.1", body, 0)
    if isinstance(answer, Refusal):
        assert answer.reason
        return
    assert isinstance(answer, Answer)
    frame = b"".join(map(part_bytes, encode_response(key, answer.version, 1, answer.response)))
    assert decode_response(key, answer.version, frame[4:])[0] == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["node_id", "host", "brokers", "x"]), inner, max_size=2)
    ),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    ["format", "source", "taken_at_ms", "metadata_version", "api_versions", "metadata"]
)
PARTS = st.sampled_from(["brokers", "cluster_id", "controller_id", "topics", "throttle_time_ms"])


@settings(max_examples=300, deadline=None)
@given(field=FIELDS, part=PARTS, value=json_values)
def test_a_recording_that_was_changed_by_hand_is_read_or_refused(
    field: str, part: str, value: object
) -> None:
    document = json.loads(write_recording(copy_of({"web": [partition(0, 1, [1])]})))
    if field == "metadata":
        document[field][part] = value
    else:
        document[field] = value
    refused, copy = "", None
    try:
        copy = read_recording(json.dumps(document).encode())
    except RecordingError as error:
        refused = str(error)
    assert refused or write_recording(copy)
