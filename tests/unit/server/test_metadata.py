import pytest

from kafka_edu.cluster.metadata_response import NOT_ASKED
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.server.apis.metadata import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, MetadataApi


@pytest.fixture
def created(harness):
    """Return the names that were created automatically."""
    names = []

    async def create(name):
        names.append(name)
        return Errors.INVALID_TOPIC_EXCEPTION if " " in name else Errors.LEADER_NOT_AVAILABLE

    MetadataApi(harness.cache, "cluster-id", create, auto_create_topics_enable=True).register(
        harness.apis
    )
    harness.learn(
        {1: 9092, 2: 9093}, {("web", 0): (1, [1, 2]), ("web", 1): (2, [2, 1]), ("app", 0): (3, [3])}
    )
    return names


def topics(*names):
    return [MetadataRequestTopic(name=name) for name in names]


@pytest.mark.parametrize("version", range(12))
def test_brokers_and_partitions_in_every_version(harness, created, version):
    response = harness.ask(MetadataRequest(topics=topics("web")), version)
    assert [(b.node_id, b.host, b.port) for b in response.brokers] == [
        (1, "localhost", 9092),
        (2, "localhost", 9093),
    ]
    assert response.controller_id == (1 if version >= 1 else -1)
    assert response.cluster_id == ("cluster-id" if version >= 2 else None)
    (topic,) = response.topics
    assert (topic.name, topic.error_code) == ("web", Errors.NONE)
    assert [
        (p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes) for p in topic.partitions
    ] == [
        (0, 1, [1, 2], [1, 2]),
        (1, 2, [2, 1], [2, 1]),
    ]
    assert topic.partitions[0].leader_epoch == (3 if version >= 7 else -1)
    assert created == []


def test_all_topics_by_null_and_in_v0_by_an_empty_list(harness, created):
    assert [t.name for t in harness.ask(MetadataRequest(topics=None), 9).topics] == ["app", "web"]
    assert [t.name for t in harness.ask(MetadataRequest(topics=[]), 0).topics] == ["app", "web"]
    assert harness.ask(MetadataRequest(topics=[]), 1).topics == []


def test_a_missing_topic_is_created_and_not_available_yet(harness, created):
    response = harness.ask(MetadataRequest(topics=topics("new", "web", "a b")), 9)
    assert {t.name: t.error_code for t in response.topics} == {
        "new": Errors.LEADER_NOT_AVAILABLE,
        "web": Errors.NONE,
        "a b": Errors.INVALID_TOPIC_EXCEPTION,
    }
    assert created == ["new", "a b"]


def test_nothing_is_created_for_one_who_does_not_want_it(harness, created):
    response = harness.ask(
        MetadataRequest(topics=topics("new", "a b"), allow_auto_topic_creation=False), 4
    )
    assert [t.error_code for t in response.topics] == [
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.INVALID_TOPIC_EXCEPTION,
    ]
    assert created == []


def test_the_operators_no_goes_before_the_clients_yes(harness):
    MetadataApi(harness.cache, "c", None, auto_create_topics_enable=False).register(harness.apis)
    assert (
        harness.ask(MetadataRequest(topics=topics("new")), 9).topics[0].error_code
        == Errors.UNKNOWN_TOPIC_OR_PARTITION
    )


def test_a_leader_that_is_not_alive(harness, created):
    for version in (1, 11):
        (topic,) = harness.ask(MetadataRequest(topics=topics("app")), version).topics
        assert (topic.partitions[0].error_code, topic.partitions[0].leader_id) == (
            Errors.LEADER_NOT_AVAILABLE,
            -1,
        )


def test_a_null_name_is_an_invalid_request(harness, created):
    response = harness.ask(MetadataRequest(topics=[MetadataRequestTopic(name=None)]), 10)
    assert (response.brokers, response.cluster_id, response.controller_id) == ([], None, -1)
    assert [t.error_code for t in response.topics] == [Errors.INVALID_REQUEST]


def test_authorized_operations_are_told_when_asked_for(harness, created):
    asked = MetadataRequest(
        topics=topics("web"),
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    response = harness.ask(asked, 8)
    assert response.cluster_authorized_operations == CLUSTER_OPERATIONS
    assert response.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    response = harness.ask(MetadataRequest(topics=topics("web")), 8)
    assert (
        response.cluster_authorized_operations,
        response.topics[0].topic_authorized_operations,
    ) == (NOT_ASKED, NOT_ASKED)
