import pytest

from kafka_edu.clients.proxy.metadata_proxy import Refusal
from kafka_edu.cluster.metadata_response import NOT_ASKED
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import RequestHeader
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.types import ZERO_UUID
from tests.unit.clients.proxy.proxy_world import OPERATIONS, copy_of, partition


def topics(*names):
    return [MetadataRequestTopic(name=name) for name in names]


def served(response):
    return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}


@pytest.mark.parametrize("version", range(4))
def test_api_versions_lists_what_a_proxy_serves_and_no_more(proxy, proxy_of, version):
    request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    assert served(proxy.ask(request, version)) == {
        ApiKey.METADATA: (0, 11),
        ApiKey.FIND_COORDINATOR: (0, 3),
        ApiKey.API_VERSIONS: (0, 3),
    }
    assert served(proxy_of().ask(request, version)) == {
        ApiKey.METADATA: (0, 11),
        ApiKey.API_VERSIONS: (0, 3),
    }


@pytest.mark.parametrize(("old", "new"), ["ab", "ba"])
def test_metadata_is_offered_in_no_newer_version_than_the_targets_serve(proxy_of, old, new):
    proxy = proxy_of((old, new), (f"client=east to={new}", f"to={new},{old}"))
    proxy.targets[new].copied(copy_of({}, version=11), 1)
    assert served(proxy.ask(ApiVersionsRequest(), 0))[ApiKey.METADATA] == (0, 11)
    proxy.targets[old].copied(copy_of({}, version=6), 1)
    assert served(proxy.ask(ApiVersionsRequest(), 0))[ApiKey.METADATA] == (0, 6)
    assert served(proxy.ask(ApiVersionsRequest(), 0, client_id="east"))[ApiKey.METADATA] == (0, 11)
    assert isinstance(proxy.answer(MetadataRequest(topics=None), 7), Refusal)


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(proxy):
    answer = proxy.core.answer(
        RequestHeader(ApiKey.API_VERSIONS, 17, 1, None), "127.0.0.1", b"whatever", 0
    )
    assert answer.version == 0
    assert answer.response.error_code == Errors.UNSUPPORTED_VERSION
    assert served(answer.response) == {ApiKey.API_VERSIONS: (0, 3)}


def test_a_software_name_that_breaks_the_rules_is_an_invalid_request(proxy):
    response = proxy.ask(
        ApiVersionsRequest(client_software_name="-", client_software_version="1"), 3
    )
    assert (response.error_code, response.api_keys) == (Errors.INVALID_REQUEST, [])


@pytest.mark.parametrize("version", range(12))
def test_the_copy_in_every_version(proxy, version):
    response = proxy.ask(MetadataRequest(topics=topics("web")), version)
    assert [(b.node_id, b.host, b.port) for b in response.brokers] == [
        (1, "10.0.0.1", 9093),
        (2, "10.0.0.1", 9094),
    ]
    assert [b.rack for b in response.brokers] == (["r1", "r2"] if version >= 1 else [None, None])
    assert response.controller_id == (1 if version >= 1 else -1)
    assert response.cluster_id == ("cluster-a" if version >= 2 else None)
    (web,) = response.topics
    assert [(p.partition_index, p.leader_id, p.leader_epoch) for p in web.partitions] == [
        (0, 1, 7 if version >= 7 else -1),
        (1, -1, 7 if version >= 7 else -1),
        (2, 2, 7 if version >= 7 else -1),
    ]
    assert [p.offline_replicas for p in web.partitions] == (
        [[], [3], [3]] if version >= 5 else [[], [], []]
    )
    dead_are_listed = version >= 1
    assert [p.replica_nodes for p in web.partitions] == [
        [1, 2],
        [3] if dead_are_listed else [],
        [2, 3] if dead_are_listed else [2],
    ]
    of_third = Errors.NONE if dead_are_listed else Errors.REPLICA_NOT_AVAILABLE
    assert [p.error_code for p in web.partitions] == [
        Errors.NONE,
        Errors.LEADER_NOT_AVAILABLE,
        of_third,
    ]


@pytest.mark.parametrize("version", range(12))
def test_all_topics_and_no_topic(proxy, version):
    everything = MetadataRequest(topics=[] if version == 0 else None)
    assert [t.name for t in proxy.ask(everything, version).topics] == [
        "web",
        "elsewhere",
        "__consumer_offsets",
    ]
    if version:
        nothing = proxy.ask(MetadataRequest(topics=[]), version)
        assert (nothing.topics, len(nothing.brokers)) == ([], 2)


@pytest.mark.parametrize("version", range(12))
def test_old_clients_do_not_know_that_a_listener_can_be_missing(proxy, version):
    (topic,) = proxy.ask(MetadataRequest(topics=topics("elsewhere")), version).topics
    assert topic.partitions[0].error_code == (
        Errors.LISTENER_NOT_FOUND if version >= 6 else Errors.LEADER_NOT_AVAILABLE
    )


def test_a_topic_that_the_copy_lacks_is_not_created(proxy):
    response = proxy.ask(
        MetadataRequest(topics=topics("new", "web", "a b", "new"), allow_auto_topic_creation=True),
        9,
    )
    assert [(t.name, t.error_code, len(t.partitions)) for t in response.topics] == [
        ("new", Errors.UNKNOWN_TOPIC_OR_PARTITION, 0),
        ("web", Errors.NONE, 3),
        ("a b", Errors.INVALID_TOPIC_EXCEPTION, 0),
    ]


def test_what_the_client_may_do_is_told_to_those_who_ask(proxy):
    asked = MetadataRequest(
        topics=topics("web"),
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    response = proxy.ask(asked, 8)
    assert (
        response.cluster_authorized_operations,
        response.topics[0].topic_authorized_operations,
    ) == (OPERATIONS, OPERATIONS)
    response = proxy.ask(MetadataRequest(topics=topics("web")), 8)
    assert (
        response.cluster_authorized_operations,
        response.topics[0].topic_authorized_operations,
    ) == (NOT_ASKED, NOT_ASKED)


def test_a_topic_asked_for_by_id_is_an_invalid_request_as_of_a_broker(proxy):
    response = proxy.ask(
        MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=ZERO_UUID)]), 10
    )
    assert (response.brokers, response.cluster_id, response.controller_id) == ([], None, -1)
    assert [t.error_code for t in response.topics] == [Errors.INVALID_REQUEST]


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize(
    ("group", "leader"), [("test", 1), ("tester", 2)]
)  # partitions 48 and 43 of 50
def test_the_coordinator_by_the_copy(proxy, version, group, leader):
    response = proxy.ask(FindCoordinatorRequest(key=group), version)
    assert (response.error_code, response.node_id, response.host, response.port) == (
        Errors.NONE,
        leader,
        "10.0.0.1",
        9092 + leader,
    )


def test_no_coordinator_without_the_internal_topic(proxy):
    response = proxy.ask(FindCoordinatorRequest(key="x", key_type=1), 1)
    assert (response.error_code, response.node_id, response.port) == (
        Errors.COORDINATOR_NOT_AVAILABLE,
        -1,
        -1,
    )
    assert (
        proxy.ask(FindCoordinatorRequest(key="x", key_type=9), 1).error_code
        == Errors.INVALID_REQUEST
    )


@pytest.mark.parametrize(
    "key", sorted(set(REGISTRY) - {ApiKey.METADATA, ApiKey.API_VERSIONS, ApiKey.FIND_COORDINATOR})
)
def test_every_other_api_closes_the_connection(proxy, key):
    answer = proxy.core.answer(RequestHeader(key, 0, 1, "c"), "127.0.0.1", bytes(64), 0)
    assert isinstance(answer, Refusal)
    assert ApiKey(key).name in answer.reason


def test_find_coordinator_is_by_choice(proxy_of):
    proxy = proxy_of()
    proxy.targets["a"].copied(copy_of({"__consumer_offsets": [partition(0, 1, [1])]}), 1)
    assert isinstance(proxy.answer(FindCoordinatorRequest(key="g"), 0), Refusal)


@pytest.mark.parametrize("version", [-1, 12])
def test_a_version_that_nobody_serves_closes_the_connection(proxy, version):
    answer = proxy.core.answer(
        RequestHeader(ApiKey.METADATA, version, 1, None), "127.0.0.1", b"\0\0\0\0", 0
    )
    assert answer == Refusal(f"version {version} is not served, only 0 to 11")


def test_a_body_that_cannot_be_read_closes_the_connection(proxy):
    answer = proxy.core.answer(
        RequestHeader(ApiKey.METADATA, 1, 1, None), "127.0.0.1", b"\0\0\0\x09", 0
    )
    assert isinstance(answer, Refusal)
    assert "unreadable body" in answer.reason


def test_before_the_first_copy_nobody_is_sent_anywhere(proxy_of):
    proxy = proxy_of()
    assert proxy.answer(MetadataRequest(topics=None), 1) == Refusal("no target answers of a")
    assert served(proxy.ask(ApiVersionsRequest(), 0))[ApiKey.METADATA] == (0, 11)


def test_what_the_targets_serve_can_be_claimed_and_is_not_served(proxy_of):
    """Some clients, such as kafka-python, believe that the ApiVersions of their first server hold
    for the whole cluster. For them the proxy can list APIs that only the targets serve. It refuses
    requests of these APIs.
    """
    proxy = proxy_of(("old", "new"), target_versions=True)
    assert served(proxy.ask(ApiVersionsRequest(), 0)) == {
        ApiKey.METADATA: (0, 11),
        ApiKey.API_VERSIONS: (0, 3),
    }
    proxy.targets["new"].copied(copy_of({}, version=11, produce=(3, 9)), 1)
    proxy.targets["old"].copied(copy_of({}, version=6, produce=(0, 7)), 1)
    assert served(proxy.ask(ApiVersionsRequest(), 0)) == {
        ApiKey.PRODUCE: (3, 7),
        ApiKey.METADATA: (0, 6),
        ApiKey.API_VERSIONS: (0, 3),
    }
    proxy.targets["old"].copied(copy_of({}, version=6, produce=(0, 2)), 1)
    assert served(proxy.ask(ApiVersionsRequest(), 0)) == {
        ApiKey.METADATA: (0, 6),
        ApiKey.API_VERSIONS: (0, 3),
    }, "no version that both serve"
    assert isinstance(
        proxy.core.answer(RequestHeader(ApiKey.PRODUCE, 0, 1, "c"), "127.0.0.1", bytes(64), 0),
        Refusal,
    )
