"""Each call of the admin client with every version of its request: the request is sent, or the
call's error says why this version cannot be used.
"""

from typing import Any, Final

import pytest

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.admin_call import (
    AdminCall,
    AnyBroker,
    Broker,
    Controller,
    CoordinatorOf,
    Form,
    LeaderOf,
)
from kafka_edu.clients.admin.cluster_calls import (
    CLUSTER,
    controlled_shutdown,
    describe_api_versions,
    describe_cluster,
)
from kafka_edu.clients.admin.config_calls import (
    AlterConfigOp,
    ConfigResource,
    alter_configs,
    describe_configs,
    incremental_alter_configs,
)
from kafka_edu.clients.admin.group_calls import (
    alter_consumer_group_offsets,
    delete_consumer_group_offsets,
    delete_consumer_groups,
    describe_consumer_groups,
    list_consumer_group_offsets,
    list_groups_of,
)
from kafka_edu.clients.admin.log_dir_calls import (
    BrokerReplica,
    alter_replica_log_dirs,
    describe_log_dirs,
)
from kafka_edu.clients.admin.partition_calls import (
    ElectionType,
    alter_partition_reassignments,
    delete_records,
    elect_leaders,
    list_offsets,
    list_partition_reassignments,
)
from kafka_edu.clients.admin.topic_calls import (
    NewPartitions,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topics,
    list_topics,
)
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafka_edu.protocol.messages.describe_configs import (
    ConfigSource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    ResourceType,
)
from kafka_edu.protocol.messages.incremental_alter_configs import OpType
from kafka_edu.protocol.messages.registry import REGISTRY
from tests.unit.clients.admin.parts import Brokers

T0: Final = TopicPartition("t", 0)
TOPIC: Final = ConfigResource(ResourceType.TOPIC, "t")
BROKER: Final = ConfigResource(ResourceType.BROKER, "7")
EVERY_BROKER: Final = ConfigResource(ResourceType.BROKER, "")
SOME: Final = [NewTopic("t", 1, 1)]
#: Call → the oldest version in which it can be sent, by the name of the test.
CALLS: Final[dict[str, tuple[AdminCall[Any, Any], int]]] = {
    "describe_cluster": (describe_cluster(), 0),
    "describe_api_versions": (describe_api_versions([1]), 0),
    "controlled_shutdown": (controlled_shutdown(3, 17), 0),
    "list_topics": (list_topics(False), 4),
    "describe_topics": (describe_topics(["t"]), 4),
    "create_topics": (create_topics(SOME, False), 0),
    "create_topics, only checked": (create_topics(SOME, True), 1),
    "create_topics with the defaults": (create_topics([NewTopic("t")], False), 4),
    "create_topics with brokers": (create_topics([NewTopic("t", assignments={0: [1]})], False), 0),
    "delete_topics": (delete_topics(["t"]), 0),
    "create_partitions": (create_partitions({"t": NewPartitions(2, [[1]])}, False), 0),
    "describe_configs": (describe_configs([TOPIC], True, True), 0),
    "alter_configs": (alter_configs({TOPIC: {"a": "b"}}, True), 0),
    "incremental_alter_configs": (
        incremental_alter_configs({TOPIC: [AlterConfigOp("a", OpType.SET, "b")]}, True),
        0,
    ),
    "list_offsets": (list_offsets({T0: -1}, False), 1),
    "list_offsets of committed records": (list_offsets({T0: -1}, True), 2),
    "delete_records": (delete_records({T0: 1}), 0),
    "elect_leaders": (elect_leaders(ElectionType.PREFERRED, [T0]), 0),
    "elect_leaders, unclean": (elect_leaders(ElectionType.UNCLEAN, [T0]), 1),
    "alter_partition_reassignments": (alter_partition_reassignments({T0: [1]}), 0),
    "list_partition_reassignments": (list_partition_reassignments([T0]), 0),
    "describe_log_dirs": (describe_log_dirs([1]), 0),
    "alter_replica_log_dirs": (alter_replica_log_dirs({BrokerReplica(T0, 1): "/a"}), 0),
    "list_consumer_groups": (list_groups_of([1], []), 0),
    "list_consumer_groups by state": (list_groups_of([1], ["Empty"]), 4),
    "describe_consumer_groups": (describe_consumer_groups(["g"]), 0),
    "list_consumer_group_offsets": (list_consumer_group_offsets("g", [T0]), 0),
    "list_consumer_group_offsets of all": (list_consumer_group_offsets("g", None), 2),
    "alter_consumer_group_offsets": (
        alter_consumer_group_offsets("g", {T0: OffsetAndMetadata(1)}),
        0,
    ),
    "delete_consumer_group_offsets": (delete_consumer_group_offsets("g", [T0]), 0),
    "delete_consumer_groups": (delete_consumer_groups(["g"]), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_can_be_sent_in_each_version_from_its_oldest_on(name: str) -> None:
    call, oldest = CALLS[name]
    key = call.keys[0]
    pair = REGISTRY[key]
    for version in range(pair.min_version, pair.max_version + 1):
        if version < oldest:
            with pytest.raises(KafkaException) as error:
                call.write(list(call.routes), Form(key, version, 5)).encode(version)
            assert error.value.error is Errors.UNSUPPORTED_VERSION
            continue
        request = call.write(list(call.routes), Form(key, version, 5))
        assert request.KEY is key
        again = type(request).decode(request.encode(version), version, 0)
        assert again.encode(version) == request.encode(version)


def test_every_call_of_the_client_is_in_the_table() -> None:
    methods = {name for name in vars(Admin) if not name.startswith("_")}
    without_method = {"controlled_shutdown"}  # it is given to `ask`
    calls = methods - {"start", "close", "ask"} | without_method
    assert {call.name for call, _ in CALLS.values()} == calls


@pytest.mark.parametrize(
    ("name", "route"),
    [
        ("describe_topics", AnyBroker()),
        ("create_topics", Controller()),
        ("delete_topics", Controller()),
        ("create_partitions", Controller()),
        ("controlled_shutdown", Controller()),
        ("elect_leaders", Controller()),
        ("alter_partition_reassignments", Controller()),
        ("list_partition_reassignments", Controller()),
        ("list_offsets", LeaderOf(T0)),
        ("delete_records", LeaderOf(T0)),
        ("describe_log_dirs", Broker(1)),
        ("alter_replica_log_dirs", Broker(1)),
        ("list_consumer_groups", Broker(1)),
        ("describe_consumer_groups", CoordinatorOf("g")),
        ("alter_consumer_group_offsets", CoordinatorOf("g")),
        ("list_consumer_group_offsets", CoordinatorOf("g")),
        ("delete_consumer_group_offsets", CoordinatorOf("g")),
        ("delete_consumer_groups", CoordinatorOf("g")),
    ],
)
def test_each_item_goes_to_its_broker(name: str, route: object) -> None:
    assert list(CALLS[name][0].routes.values()) == [route]


def test_the_configs_of_a_broker_are_asked_from_this_broker() -> None:
    routes = describe_configs([TOPIC, BROKER, EVERY_BROKER], False, False).routes
    assert routes == {TOPIC: AnyBroker(), BROKER: Broker(7), EVERY_BROKER: AnyBroker()}
    with pytest.raises(ClientException, match="'one' is no number"):
        alter_configs({ConfigResource(ResourceType.BROKER, "one"): {}}, False)


def test_a_controlled_shutdown_goes_on_to_the_broker_that_is_the_controller_now() -> None:
    brokers = Brokers()
    found = brokers.call(controlled_shutdown(3, 17))
    [request] = brokers.requests
    assert (request.node, request.message) == (
        1,
        ControlledShutdownRequest(broker_id=3, broker_epoch=17),
    )
    brokers.controller = 2
    moved = Errors.STALE_CONTROLLER_EPOCH
    brokers.reply(request, ControlledShutdownResponse(error_code=moved, remaining_partitions=[]))
    brokers.advance(100)
    [request] = brokers.requests
    left = [RemainingPartition(topic_name="t", partition_index=p) for p in (2, 1)]
    brokers.reply(request, ControlledShutdownResponse(error_code=0, remaining_partitions=left))
    controller, remaining = found[0][CLUSTER]
    assert (controller.id, remaining) == (2, (TopicPartition("t", 1), TopicPartition("t", 2)))


@pytest.mark.parametrize("error", [Errors.BROKER_NOT_AVAILABLE, Errors.STALE_BROKER_EPOCH])
def test_other_errors_of_a_controlled_shutdown_stay(error: Errors) -> None:
    brokers = Brokers()
    found = brokers.call(controlled_shutdown(3))
    [request] = brokers.requests
    brokers.reply(request, ControlledShutdownResponse(error_code=error, remaining_partitions=[]))
    assert found[0].errors[CLUSTER].error is error


@pytest.mark.parametrize(
    ("resource", "is_default", "source"),
    [
        (TOPIC, True, ConfigSource.DEFAULT),
        (TOPIC, False, ConfigSource.TOPIC),
        (BROKER, False, ConfigSource.STATIC_BROKER),
    ],
)
def test_version_0_of_describe_configs_tells_the_source_by_the_resource(
    resource: ConfigResource, is_default: bool, source: ConfigSource
) -> None:
    call = describe_configs([resource], False, False)
    brokers = Brokers(newest={ApiKey.DESCRIBE_CONFIGS: 0})
    brokers.alive.add(7)
    found = brokers.call(call)
    [request] = brokers.requests
    config = DescribeConfigsResourceResult(
        name="a", value="b", read_only=False, is_default=is_default, is_sensitive=False
    )
    answered = DescribeConfigsResult(
        error_code=0,
        error_message=None,
        resource_type=resource.type,
        resource_name=resource.name,
        configs=[config],
    )
    brokers.reply(request, DescribeConfigsResponse(throttle_time_ms=0, results=[answered]))
    entry = found[0].all()[resource]["a"]
    assert (entry.source, entry.documentation, entry.synonyms) == (source, None, ())
