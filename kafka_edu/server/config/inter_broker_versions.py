"""The versions of the requests that brokers send to each other, and a check whether a request comes
from a broker.

A broker's API level (edu.api.level) decides which versions its clients can use. Requests between
brokers depend only on inter.broker.protocol.version, as in Kafka. Otherwise some brokers would
refuse requests of their own controller. These are brokers with the API level 2.0 for clients, but
inter.broker.protocol.version 2.8.
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.controller.controller_brokers_request_batch import request_versions
from kafka_edu.coordinator.transaction.transaction_marker_channel_manager import marker_version
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_edu.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafka_edu.protocol.schema import Message
from kafka_edu.replication.replica_fetcher_thread import fetcher_versions
from kafka_edu.server.controlled_shutdown import controlled_shutdown_version

FIRST_EPOCH_LOOKUP_WITH_REPLICA_ID: Final = 3
ALTER_ISR_SINCE: Final = (2, 7)


def inter_broker_versions(inter_broker_protocol: tuple[int, int]) -> Mapping[ApiKey, int]:
    """Return the highest version of each API that a broker with this inter.broker.protocol.version
    sends to other brokers.
    """
    leader_and_isr, stop_replica, update_metadata = request_versions(inter_broker_protocol)
    fetcher = fetcher_versions(inter_broker_protocol)
    return {
        ApiKey.LEADER_AND_ISR: leader_and_isr,
        ApiKey.STOP_REPLICA: stop_replica,
        ApiKey.UPDATE_METADATA: update_metadata,
        ApiKey.CONTROLLED_SHUTDOWN: controlled_shutdown_version(inter_broker_protocol),
        ApiKey.FETCH: fetcher.fetch,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: fetcher.offset_for_leader_epoch,
        ApiKey.LIST_OFFSETS: fetcher.list_offsets,
        ApiKey.WRITE_TXN_MARKERS: marker_version(inter_broker_protocol),
    } | ({ApiKey.ALTER_ISR: 0} if inter_broker_protocol >= ALTER_ISR_SINCE else {})


def is_from_broker(key: ApiKey, version: int, body: Message) -> bool:
    """Return whether a request comes from a broker. Its API must be one of `inter_broker_versions`.

    Clients also send three of these APIs. For these APIs the replica id in the request shows
    whether the sender is a broker. OffsetForLeaderEpoch has no replica id before version 3. Such a
    request is treated as a follower's request.
    """
    match body:
        case FetchRequest() | ListOffsetsRequest():
            return body.replica_id >= 0
        case OffsetForLeaderEpochRequest():
            return version < FIRST_EPOCH_LOOKUP_WITH_REPLICA_ID or body.replica_id >= 0
        case _:
            return True
