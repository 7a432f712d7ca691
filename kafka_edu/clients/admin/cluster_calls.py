"""The admin client's calls about the brokers themselves."""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from kafka_edu.clients.admin.admin_call import (
    ANY_BROKER,
    CONTROLLER,
    AdminCall,
    Broker,
    Form,
    Requested,
    expect,
    failed,
)
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.client_connections import api_versions_request
from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.api_versions import ApiVersionsResponse
from kafka_edu.protocol.messages.controlled_shutdown import (
    EPOCH_NOT_CHECKED,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from kafka_edu.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError

CLUSTER: Final = "the cluster"
"""The only item of a call about the whole cluster."""


class ClusterDescription(NamedTuple):
    """The live brokers, and which of them is the controller."""

    cluster_id: str | None
    controller: Node | None
    """None if there is no controller at the moment."""
    nodes: tuple[Node, ...]
    """The brokers, in the order of their ids."""


def describe_cluster() -> AdminCall[str, ClusterDescription]:
    """Send DescribeCluster (KIP-700), or Metadata if the broker is older than 2.8."""

    def write(_: object, form: Form) -> Message:
        if form.key is ApiKey.DESCRIBE_CLUSTER:
            return DescribeClusterRequest()
        return MetadataRequest(topics=[])

    def read(_: object, answer: Message) -> dict[str, ClusterDescription | ClientException]:
        match answer:
            case DescribeClusterResponse():
                error = failed(answer.error_code, answer.error_message)
                if error:
                    return {CLUSTER: error}
                nodes = [Node(b.broker_id, b.host, b.port, b.rack) for b in answer.brokers]
            case MetadataResponse():
                nodes = nodes_of(answer)
            case _:
                raise ProtocolError(f"{type(answer).__name__} is not an answer to describe_cluster")
        by_id = {node.id: node for node in sorted(nodes)}
        controller = by_id.get(answer.controller_id)
        return {CLUSTER: ClusterDescription(answer.cluster_id, controller, tuple(by_id.values()))}

    return AdminCall(
        "describe_cluster",
        (ApiKey.DESCRIBE_CLUSTER, ApiKey.METADATA),
        {CLUSTER: ANY_BROKER},
        write,
        read,
    )


def describe_api_versions(
    brokers: Collection[int],
) -> AdminCall[int, Mapping[int, tuple[int, int]]]:
    """Ask each broker for its APIs (Kafka: listAllBrokerVersionInfo of AdminClient.scala in 2.0).

    A result maps the key of an API to its oldest and its newest version.
    """

    def read(
        requested: Requested[int], answer: Message
    ) -> dict[int, Mapping[int, tuple[int, int]] | ClientException]:
        response = expect(ApiVersionsResponse, answer)
        served = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        return dict.fromkeys(requested.items, failed(response.error_code) or served)

    return AdminCall(
        "describe_api_versions",
        (ApiKey.API_VERSIONS,),
        {broker: Broker(broker) for broker in brokers},
        lambda _, form: api_versions_request(),
        read,
    )


class LeadersMoved(NamedTuple):
    """The result of the controller's attempt to move the leaderships of a broker away."""

    controller: Node
    remaining: tuple[TopicPartition, ...]
    """The partitions that the broker still leads, in order."""


def controlled_shutdown(
    broker: int, broker_epoch: int = EPOCH_NOT_CHECKED
) -> AdminCall[str, LeadersMoved]:
    """Request that the controller moves a broker's leaderships away. Usually a broker sends this
    request itself, before it stops.

    Kafka's admin client does not have this call, because only brokers send the request. So our
    client has no method for this call. Pass the call to `Admin.ask`. A broker that is not the
    controller answers STALE_CONTROLLER_EPOCH. After this answer, the client sends the request
    again, to the controller.
    """

    def read(
        requested: Requested[str], answer: Message
    ) -> dict[str, LeadersMoved | ClientException]:
        response = expect(ControlledShutdownResponse, answer)
        if response.error_code == Errors.STALE_CONTROLLER_EPOCH:
            return {CLUSTER: BrokerException(Errors.NOT_CONTROLLER)}
        remaining = sorted(
            TopicPartition(each.topic_name, each.partition_index)
            for each in response.remaining_partitions
        )
        return {
            CLUSTER: failed(response.error_code) or LeadersMoved(requested.node, tuple(remaining))
        }

    return AdminCall(
        "controlled_shutdown",
        (ApiKey.CONTROLLED_SHUTDOWN,),
        {CLUSTER: CONTROLLER},
        lambda _, form: ControlledShutdownRequest(broker_id=broker, broker_epoch=broker_epoch),
        read,
    )


def nodes_of(answer: MetadataResponse) -> list[Node]:
    """Return the brokers of a metadata response."""
    return [Node(b.node_id, b.host, b.port, b.rack) for b in answer.brokers]
