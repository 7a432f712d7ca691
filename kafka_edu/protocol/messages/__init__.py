"""One module for each api key, with its request and its response; REGISTRY has them all.

Fields bear the names of Kafka's message definitions, in snake_case, so that Kafka's documentation can be read beside them.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from kafka_edu.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_edu.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafka_edu.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from kafka_edu.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_edu.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kafka_edu.protocol.schema import Message


class MessagePair(NamedTuple):
    """A request and its response. Both have the versions `min_version` to `max_version`, whatever a broker advertises."""

    request: type[Message]
    response: type[Message]
    min_version: int
    max_version: int


def _registry(*pairs: tuple[type[Message], type[Message]]) -> dict[ApiKey, MessagePair]:
    registry = {}
    for request, response in pairs:
        if request.KEY is None or response.KEY is not request.KEY or request.VALID != response.VALID:
            raise ValueError(f"{request.__name__} and {response.__name__} are no pair")
        registry[request.KEY] = MessagePair(request, response, *request.VALID)
    return dict(sorted(registry.items()))


#: key → its messages, in the order of the keys.
REGISTRY: Final[Mapping[ApiKey, MessagePair]] = _registry(
    (ProduceRequest, ProduceResponse),
    (FetchRequest, FetchResponse),
    (ListOffsetsRequest, ListOffsetsResponse),
    (MetadataRequest, MetadataResponse),
    (LeaderAndIsrRequest, LeaderAndIsrResponse),
    (StopReplicaRequest, StopReplicaResponse),
    (UpdateMetadataRequest, UpdateMetadataResponse),
    (ControlledShutdownRequest, ControlledShutdownResponse),
    (ApiVersionsRequest, ApiVersionsResponse),
    (CreateTopicsRequest, CreateTopicsResponse),
    (InitProducerIdRequest, InitProducerIdResponse),
    (OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse),
)
