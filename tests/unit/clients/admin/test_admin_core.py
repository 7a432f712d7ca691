"""Where the admin client sends each item, what it sends again, and when it gives up."""

import pytest

from kafka_edu.clients.admin.admin_core import RETRIED
from kafka_edu.clients.admin.cluster_calls import CLUSTER, describe_api_versions, describe_cluster
from kafka_edu.clients.admin.group_calls import delete_consumer_groups, list_groups_of
from kafka_edu.clients.admin.partition_calls import (
    ElectionType,
    delete_records,
    elect_leaders,
    list_offsets,
)
from kafka_edu.clients.admin.topic_calls import delete_topics
from kafka_edu.clients.client_errors import BrokerException
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kafka_edu.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafka_edu.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_edu.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafka_edu.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.trace.event import CLIENT, Level
from kafka_edu.trace.events.admin import AdminCallEnded, AdminCallStarted, AdminItemRetried
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.unit.clients.admin.parts import Brokers, errors

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
BACKOFF_MS = 100


def deleted(**codes: Errors) -> DeleteTopicsResponse:
    """Return the answer to DeleteTopics: topic → its error."""
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(name=n, error_code=int(code)) for n, code in codes.items()]
    )


def groups_deleted(**codes: Errors) -> DeleteGroupsResponse:
    """Return the answer to DeleteGroups: group → its error."""
    return DeleteGroupsResponse(
        throttle_time_ms=0,
        results=[
            DeletableGroupResult(group_id=group, error_code=int(code))
            for group, code in codes.items()
        ],
    )


def records_deleted(*partitions: tuple[TopicPartition, int, Errors]) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        throttle_time_ms=0,
        topics=[
            DeleteRecordsTopicResult(
                name=tp.topic,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=tp.partition, low_watermark=low, error_code=int(error)
                    )
                ],
            )
            for tp, low, error in partitions
        ],
    )


def test_the_bootstrap_server_is_asked_only_for_the_brokers() -> None:
    brokers = Brokers()
    brokers.call(delete_topics(["t"]))
    assert brokers.seen[:2] == [(-1, ApiKey.API_VERSIONS), (-1, ApiKey.METADATA)]
    assert {node for node, _ in brokers.seen[2:]} == {1}


def test_without_a_call_nothing_is_sent() -> None:
    brokers = Brokers()
    brokers.run()
    brokers.advance(10_000_000)
    assert brokers.seen == []


def test_not_controller_is_sent_to_the_new_controller_after_the_backoff() -> None:
    brokers = Brokers()
    found = brokers.call(delete_topics(["a", "b"]))
    request, message = brokers.only(DeleteTopicsRequest)
    assert (request.node, [topic.name for topic in message.topics]) == (1, ["a", "b"])
    brokers.controller = 3
    brokers.reply(request, deleted(a=Errors.NOT_CONTROLLER, b=Errors.NONE))
    assert brokers.requests == []
    brokers.advance(BACKOFF_MS - 1)
    assert brokers.requests == []
    brokers.advance(1)
    request, message = brokers.only(DeleteTopicsRequest)
    assert (request.node, [topic.name for topic in message.topics]) == (3, ["a"])
    assert found == []
    brokers.reply(request, deleted(a=Errors.NONE))
    assert found[0].all() == {"a": None, "b": None}


def test_it_waits_for_a_controller() -> None:
    brokers = Brokers()
    brokers.controller = -1
    brokers.call(delete_topics(["t"]))
    brokers.advance(BACKOFF_MS)
    assert brokers.requests == []
    brokers.controller = 2
    brokers.advance(BACKOFF_MS)
    assert brokers.only(DeleteTopicsRequest)[0].node == 2


def test_an_error_that_stays_is_the_result_of_its_item_alone() -> None:
    brokers = Brokers()
    found = brokers.call(delete_topics(["a", "b", "c"]))
    brokers.reply(
        brokers.only(DeleteTopicsRequest)[0],
        deleted(a=Errors.NONE, b=Errors.TOPIC_DELETION_DISABLED),
    )
    [results] = found
    assert results.values == {"a": None}
    assert errors(results) == {"b": "TOPIC_DELETION_DISABLED", "c": "UNKNOWN_SERVER_ERROR"}
    with pytest.raises(BrokerException, match="TOPIC_DELETION_DISABLED"):
        results["b"]
    with pytest.raises(BrokerException, match="TOPIC_DELETION_DISABLED"):
        results.all()
    assert str(BrokerException(Errors.TOPIC_ALREADY_EXISTS, "Topic 't' already exists")) == (
        "TOPIC_ALREADY_EXISTS: Topic 't' already exists. Use another name, or the topic that is"
        " there."
    )
    assert sorted(results) == ["a", "b", "c"]
    assert len(results) == 3


def test_each_leader_gets_its_partitions() -> None:
    brokers = Brokers()
    brokers.leaders = {T0: 1, T1: 2, T2: 1}
    found = brokers.call(delete_records({T0: 5, T1: 6, T2: -1}))
    (first, to_1), (second, to_2) = brokers.all(DeleteRecordsRequest)
    assert (first.node, second.node) == (1, 2)
    assert [(p.partition_index, p.offset) for p in to_1.topics[0].partitions] == [(0, 5), (2, -1)]
    assert [(p.partition_index, p.offset) for p in to_2.topics[0].partitions] == [(1, 6)]
    brokers.reply(first, records_deleted((T0, 0, Errors.NONE), (T2, 7, Errors.NONE)))
    assert found == []
    brokers.reply(second, records_deleted((T1, -1, Errors.OFFSET_OUT_OF_RANGE)))
    assert found[0].values == {T0: 0, T2: 7}
    assert errors(found[0]) == {T1: "OFFSET_OUT_OF_RANGE"}


@pytest.mark.parametrize(
    "error", [Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_a_leader_that_moved_is_looked_up_again(error: Errors) -> None:
    brokers = Brokers()
    brokers.leaders = {T0: 1}
    found = brokers.call(delete_records({T0: 5}))
    brokers.leaders = {T0: 3}
    brokers.reply(brokers.only(DeleteRecordsRequest)[0], records_deleted((T0, -1, error)))
    brokers.advance(BACKOFF_MS)
    request, _ = brokers.only(DeleteRecordsRequest)
    assert request.node == 3
    brokers.reply(request, records_deleted((T0, 5, Errors.NONE)))
    assert found[0].all() == {T0: 5}


def test_a_dead_leader_is_replaced_by_the_next_one() -> None:
    brokers = Brokers()
    brokers.leaders = {T0: 2}
    brokers.call(delete_records({T0: 5}))
    brokers.leaders = {T0: 3}
    brokers.die(2)
    brokers.advance(BACKOFF_MS)
    assert brokers.only(DeleteRecordsRequest)[0].node == 3


def test_a_leader_that_cannot_be_reached_is_looked_up_again() -> None:
    brokers = Brokers()
    brokers.leaders = {T0: 2}
    brokers.unreachable = {2}
    brokers.call(delete_records({T0: 5}))
    brokers.leaders = {T0: 3}
    brokers.advance(BACKOFF_MS)
    assert brokers.only(DeleteRecordsRequest)[0].node == 3


def test_an_unknown_topic_or_partition_is_an_error_at_once_and_no_leader_is_waited_for() -> None:
    brokers = Brokers()
    brokers.leaders = {T0: -1}
    other = TopicPartition("other", 0)
    found = brokers.call(list_offsets(dict.fromkeys([T0, T1, other], -1), False))
    assert found == []
    brokers.advance(BACKOFF_MS)
    assert brokers.requests == []
    brokers.leaders = {T0: 2}
    brokers.advance(BACKOFF_MS)
    request, message = brokers.only(ListOffsetsRequest)
    assert request.node == 2
    assert [each.partition_index for each in message.topics[0].partitions] == [0]


def test_a_coordinator_is_found_and_found_again() -> None:
    brokers = Brokers()
    brokers.coordinators = {"g": Errors.COORDINATOR_NOT_AVAILABLE, "h": 3}
    found = brokers.call(delete_consumer_groups(["g", "h", "none"]))
    assert [request.node for request, _ in brokers.all(DeleteGroupsRequest)] == [2, 3]

    def answer(node: int, **codes: Errors) -> None:
        [request] = [r for r, _ in brokers.all(DeleteGroupsRequest) if r.node == node]
        brokers.reply(
            request,
            groups_deleted(**codes),
        )

    answer(2, none=Errors.GROUP_ID_NOT_FOUND)
    answer(3, h=Errors.NOT_COORDINATOR)
    brokers.coordinators = {"g": 1, "h": 2}
    brokers.advance(BACKOFF_MS)
    answer(1, g=Errors.NONE)
    answer(2, h=Errors.NONE)
    assert found[0].values == {"g": None, "h": None}
    assert errors(found[0]) == {"none": "GROUP_ID_NOT_FOUND"}


def test_a_coordinator_that_has_left_the_cluster_is_found_again() -> None:
    brokers = Brokers()
    brokers.coordinators = {"g": 2}
    brokers.call(delete_consumer_groups(["g"]))
    brokers.alive = {1, 3}
    brokers.coordinators = {"g": 3}
    brokers.core.metadata.request_update()
    brokers.advance(BACKOFF_MS)
    brokers.reply(
        brokers.only(DeleteGroupsRequest)[0],
        groups_deleted(g=Errors.COORDINATOR_LOAD_IN_PROGRESS),
    )
    brokers.advance(BACKOFF_MS)
    assert brokers.only(DeleteGroupsRequest)[0].node == 3


def test_a_lookup_that_fails_does_not_end_a_group_that_was_sent_meanwhile() -> None:
    brokers = Brokers()
    brokers.call(list_groups_of([1, 3], []))  # so there are two connections for lookups
    for request, _ in brokers.all(ListGroupsRequest):
        brokers.reply(request, ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=[]))
    brokers.coordinators = {"g": 2}
    found = brokers.call(delete_consumer_groups(["g"]))
    brokers.alive = {1, 3}
    brokers.core.metadata.request_update()
    brokers.advance(BACKOFF_MS)
    brokers.held = {ApiKey.FIND_COORDINATOR}
    brokers.reply(
        brokers.only(DeleteGroupsRequest)[0], groups_deleted(g=Errors.COORDINATOR_LOAD_IN_PROGRESS)
    )
    brokers.advance(BACKOFF_MS)
    lookup, _ = brokers.only(FindCoordinatorRequest)
    brokers.alive = {1, 2, 3}
    brokers.core.metadata.request_update()
    brokers.advance(BACKOFF_MS)
    request, _ = brokers.only(DeleteGroupsRequest)  # the coordinator is back before the answer
    refused = FindCoordinatorResponse(
        error_code=int(Errors.GROUP_AUTHORIZATION_FAILED), node_id=-1, host="", port=-1
    )
    brokers.reply(lookup, refused)
    assert found == []
    brokers.reply(request, groups_deleted(g=Errors.NONE))
    assert found[0].all() == {"g": None}


def test_a_coordinator_may_be_refused() -> None:
    brokers = Brokers()
    brokers.coordinators = {"g": Errors.GROUP_AUTHORIZATION_FAILED}
    found = brokers.call(delete_consumer_groups(["g"]))
    assert errors(found[0]) == {"g": "GROUP_AUTHORIZATION_FAILED"}


def test_each_broker_of_a_call_answers_for_itself() -> None:
    brokers = Brokers()
    found = brokers.call(list_groups_of([1, 2], []))
    for request, _ in brokers.all(ListGroupsRequest):
        group = ListedGroup(group_id=f"g{request.node}", protocol_type="", group_state="Empty")
        answer = ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=[group])
        brokers.reply(request, answer)
    listed = found[0].all()
    assert {node: [g.group_id for g in groups] for node, groups in listed.items()} == {
        1: ["g1"],
        2: ["g2"],
    }


def test_a_broker_that_does_not_exist_is_a_timeout_that_names_it() -> None:
    brokers = Brokers()
    found = brokers.call(list_groups_of([9], []), timeout_ms=1_000)
    brokers.advance(999)
    assert found == []
    brokers.advance(1)
    [(_, error)] = found[0].errors.items()
    assert error.name == "TimeoutException"
    assert "There was no answer from broker 9." in str(error)


def test_a_call_ends_with_its_time_and_names_the_last_error() -> None:
    brokers = Brokers()
    found = brokers.call(delete_topics(["t"]), timeout_ms=BACKOFF_MS * 3)
    for _ in range(3):
        request, message = brokers.only(DeleteTopicsRequest)
        assert message.timeout_ms == 1_000 + BACKOFF_MS * 3 - brokers.now
        brokers.reply(request, deleted(t=Errors.THROTTLING_QUOTA_EXCEEDED))
        brokers.advance(BACKOFF_MS)
    assert "THROTTLING_QUOTA_EXCEEDED" in str(found[0].errors["t"])
    assert found[0].errors["t"].name == "TimeoutException"


def test_a_late_answer_changes_nothing() -> None:
    brokers = Brokers()
    found = brokers.call(delete_topics(["t"]), timeout_ms=50)
    brokers.advance(50)
    assert errors(found[0]) == {"t": "TimeoutException"}
    brokers.reply(brokers.only(DeleteTopicsRequest)[0], deleted(t=Errors.NONE))
    assert len(found) == 1
    assert errors(found[0]) == {"t": "TimeoutException"}


def test_retries_limits_the_tries() -> None:
    brokers = Brokers({"retries": 1})
    found = brokers.call(delete_topics(["t"]))
    brokers.reply(brokers.only(DeleteTopicsRequest)[0], deleted(t=Errors.NOT_CONTROLLER))
    brokers.advance(BACKOFF_MS)
    assert found == []
    brokers.reply(brokers.only(DeleteTopicsRequest)[0], deleted(t=Errors.NOT_CONTROLLER))
    assert errors(found[0]) == {"t": "NOT_CONTROLLER"}


def test_each_broker_says_its_apis_and_one_that_is_away_has_an_error() -> None:
    brokers = Brokers({"retries": 0}, newest={ApiKey.DELETE_RECORDS: -1})
    brokers.unreachable = {2}
    found = brokers.call(describe_api_versions([1, 2]), timeout_ms=500)
    brokers.advance(500)
    [results] = found
    assert errors(results) == {2: "TimeoutException"}
    assert results[1][ApiKey.METADATA] == (0, REGISTRY[ApiKey.METADATA].max_version)
    assert ApiKey.DELETE_RECORDS not in results[1]


@pytest.mark.parametrize("top", [Errors.NONE, Errors.NOT_CONTROLLER])
def test_a_broker_that_is_not_the_controller_may_say_so_for_a_partition_only(top: Errors) -> None:
    """In version 0 of ElectLeaders, the response has no error code for the request as a whole. So
    the broker can report NOT_CONTROLLER only for a partition.
    """
    brokers = Brokers()
    found = brokers.call(elect_leaders(ElectionType.PREFERRED, [T0, T1]))
    refused = elected(top, Errors.NONE, Errors.NOT_CONTROLLER)
    brokers.reply(brokers.only(ElectLeadersRequest)[0], refused)
    assert found == []
    brokers.controller = 2
    brokers.advance(BACKOFF_MS)
    request = brokers.only(ElectLeadersRequest)[0]
    assert request.node == 2
    brokers.reply(request, elected(Errors.NONE, Errors.NONE, Errors.ELECTION_NOT_NEEDED))
    results = found[0][CLUSTER]
    assert (list(results.values), errors(results)) == ([T0], {T1: "ELECTION_NOT_NEEDED"})


def elected(top: Errors, *partitions: Errors) -> ElectLeadersResponse:
    results = [
        PartitionResult(partition_id=number, error_code=error)
        for number, error in enumerate(partitions)
    ]
    return ElectLeadersResponse(
        error_code=top,
        replica_election_results=[ReplicaElectionResult(topic="t", partition_result=results)],
    )


def test_request_timeout_ends_the_connection_and_another_broker_is_asked() -> None:
    brokers = Brokers({"request.timeout.ms": 2_000})
    brokers.call(describe_cluster())
    first, _ = brokers.only(DescribeClusterRequest)
    brokers.advance(1_999)
    assert brokers.only(DescribeClusterRequest)[0] is first
    brokers.alive.discard(first.node)
    brokers.advance(1)
    brokers.advance(BACKOFF_MS)
    brokers.advance(BACKOFF_MS)
    second, _ = brokers.only(DescribeClusterRequest)
    assert second.node != first.node


def test_servers_that_cannot_be_reached_are_a_timeout_with_the_reason() -> None:
    brokers = Brokers({"bootstrap.servers": "boot:9092"})
    found: list[object] = []
    brokers.core.start(describe_cluster(), found.append, 1_000, brokers.now)
    brokers.core.run(brokers.now)
    brokers.core.connections.take_effects()
    brokers.core.connections.disconnected(-1, "cannot connect to boot:9092", brokers.now)
    brokers.core.run(brokers.now + 1_000)
    [results] = found
    assert "cannot connect to boot:9092" in repr(results)


def test_an_older_broker_gets_the_older_request_or_refuses() -> None:
    old = {ApiKey.DESCRIBE_CLUSTER: -1, ApiKey.LIST_GROUPS: 3, ApiKey.DELETE_RECORDS: -1}
    brokers = Brokers(newest=old)
    brokers.leaders = {T0: 1}
    assert brokers.call(describe_cluster())[0][CLUSTER].cluster_id == "c"
    states = brokers.call(list_groups_of([1], ["Stable"]))[0]
    assert errors(states) == {1: "UnsupportedVersionException"}
    assert "LIST_GROUPS only up to version 3" in str(states.errors[1])
    records = brokers.call(delete_records({T0: 1}))[0]
    assert errors(records) == {T0: "UnsupportedVersionException"}
    assert "does not support DELETE_RECORDS" in str(records.errors[T0])


def test_a_value_that_cannot_be_written_is_the_error_of_its_call() -> None:
    brokers = Brokers()
    brokers.leaders = {T0: 1}
    results = brokers.call(delete_records({T0: 1 << 63}))[0]
    assert errors(results) == {T0: "ClientException"}
    assert results.errors[T0].error is Errors.INVALID_REQUEST
    assert len(brokers.call(delete_topics([]))) == 1  # the client goes on


def test_a_call_without_items_ends_at_once() -> None:
    brokers = Brokers()
    assert len(brokers.call(delete_topics([]))[0]) == 0
    assert brokers.seen == []


def test_a_call_that_is_given_up_is_not_sent_again() -> None:
    brokers = Brokers()
    found: list[object] = []
    give_up = brokers.core.start(delete_topics(["t"]), found.append, 60_000, brokers.now)
    brokers.run()
    give_up()
    brokers.reply(brokers.only(DeleteTopicsRequest)[0], deleted(t=Errors.NOT_CONTROLLER))
    brokers.advance(BACKOFF_MS)
    assert brokers.requests == []
    assert found == []


def test_the_next_run_is_when_the_backoff_is_over() -> None:
    brokers = Brokers()
    brokers.call(delete_topics(["t"]))
    brokers.reply(brokers.only(DeleteTopicsRequest)[0], deleted(t=Errors.THROTTLING_QUOTA_EXCEEDED))
    assert brokers.core.next_run_ms(brokers.now + 30) == BACKOFF_MS - 30


def test_its_events_tell_a_call_from_begin_to_end() -> None:
    ring = RingSink(100, Level.STATE)
    tracer = Tracer(CLIENT, MockTime())
    tracer.add_sink(ring)
    brokers = Brokers(trace=tracer)
    brokers.call(delete_topics(["a", "b"]))
    brokers.reply(
        brokers.only(DeleteTopicsRequest)[0],
        deleted(a=Errors.NOT_CONTROLLER, b=Errors.INVALID_TOPIC_EXCEPTION),
    )
    brokers.advance(BACKOFF_MS)
    brokers.reply(brokers.only(DeleteTopicsRequest)[0], deleted(a=Errors.NONE))
    kinds = (AdminCallStarted, AdminItemRetried, AdminCallEnded)
    assert [each.event for each in ring.events if isinstance(each.event, kinds)] == [
        AdminCallStarted(client="a", call="delete_topics", items=2),
        AdminItemRetried(
            client="a", call="delete_topics", item="a", error="NOT_CONTROLLER", tries=1
        ),
        AdminCallEnded(client="a", call="delete_topics", succeeded=1, failed=1),
    ]


def test_every_error_that_is_retried_is_one_that_may_pass() -> None:
    final = {error for error in RETRIED if not error.retriable}
    assert final <= {Errors.UNKNOWN_LEADER_EPOCH}
