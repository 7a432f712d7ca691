import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.coordinator_type import CoordinatorType
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.server.apis.find_coordinator import FindCoordinatorApi

PARTITIONS = {CoordinatorType.GROUP: 50, CoordinatorType.TRANSACTION: 3}


@pytest.fixture
def created(harness):
    names = []

    async def create(name):
        names.append(name)
        return Errors.LEADER_NOT_AVAILABLE

    FindCoordinatorApi(harness.cache, create, PARTITIONS).register(harness.apis)
    return names


@pytest.mark.parametrize("version", range(4))
def test_the_leader_of_the_groups_partition(harness, created, version):
    harness.learn(
        {1: 9092, 2: 9093},
        {("__consumer_offsets", 48): (2, [2]), ("__consumer_offsets", 0): (1, [1])},
    )
    answer = harness.ask(FindCoordinatorRequest(key="test"), version)
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (
        Errors.NONE,
        2,
        "localhost",
        9093,
    )
    assert answer.error_message == ("NONE" if version >= 1 else "")
    assert created == []


def test_a_transactional_id_has_its_own_topic(harness, created):
    harness.learn({1: 9092}, {("__transaction_state", 1): (1, [1])})
    assert harness.ask(FindCoordinatorRequest(key="a", key_type=1), 2).node_id == 1  # 97 % 3


@pytest.mark.parametrize(
    ("key_type", "topic"), [(0, "__consumer_offsets"), (1, "__transaction_state")]
)
def test_a_missing_internal_topic_is_created_and_not_available_yet(
    harness, created, key_type, topic
):
    harness.learn({1: 9092}, {})
    answer = harness.ask(FindCoordinatorRequest(key="test", key_type=key_type), 1)
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (
        Errors.COORDINATOR_NOT_AVAILABLE,
        -1,
        "",
        -1,
    )
    assert created == [topic]


def test_without_a_leader_there_is_no_coordinator(harness, created):
    harness.learn({1: 9092}, {("__consumer_offsets", 48): (-1, [2])})
    assert (
        harness.ask(FindCoordinatorRequest(key="test"), 3).error_code
        == Errors.COORDINATOR_NOT_AVAILABLE
    )
    assert created == []


def test_nobody_knows_key_type_2(harness, created):
    harness.learn({1: 9092}, {})
    assert (
        harness.ask(FindCoordinatorRequest(key="test", key_type=2), 3).error_code
        == Errors.INVALID_REQUEST
    )
    assert created == []
