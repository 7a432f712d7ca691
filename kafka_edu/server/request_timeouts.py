"""Find the time-out that a client has put into its request."""

from typing import Final

from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from kafka_edu.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_edu.protocol.messages.create_topics import CreateTopicsRequest
from kafka_edu.protocol.messages.delete_records import DeleteRecordsRequest
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_edu.protocol.messages.elect_leaders import ElectLeadersRequest
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.protocol.messages.join_group import JoinGroupRequest
from kafka_edu.protocol.messages.produce import ProduceRequest
from kafka_edu.protocol.messages.sync_group import SyncGroupRequest
from kafka_edu.protocol.messages.update_features import UpdateFeaturesRequest
from kafka_edu.protocol.schema import Message

MAX_POLL_INTERVAL_MS: Final = 300_000
"""The time-out in ms for SyncGroup, whose request contains no time-out. SyncGroup waits for the
group's leader, for at most the group's rebalance time-out. This value is the default of that
time-out in Kafka's consumer.
"""


def timeout_ms_of(request: Message) -> int | None:
    """Return the time-out that a request contains, in ms, or None. O(1)."""
    match request:
        case FetchRequest():
            return request.max_wait_ms
        case (
            ProduceRequest()
            | CreateTopicsRequest()
            | CreatePartitionsRequest()
            | DeleteTopicsRequest()
            | DeleteRecordsRequest()
            | ElectLeadersRequest()
            | AlterPartitionReassignmentsRequest()
            | UpdateFeaturesRequest()
        ):
            return request.timeout_ms
        case JoinGroupRequest():
            return max(request.rebalance_timeout_ms, request.session_timeout_ms)
        case SyncGroupRequest():
            return MAX_POLL_INTERVAL_MS
    return None
