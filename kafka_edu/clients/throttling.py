"""Find how long a client must not send on a connection because it exceeded a quota (KIP-219).

Kafka: AbstractResponse.shouldClientThrottle. A broker with quotas puts throttle_time_ms into its
response. Before KIP-219, the broker waits before it answers, so the client continues at once. Since
KIP-219, the broker answers at once, and both sides wait: for this time the broker does not read
from the connection, and the client sends nothing. The version of the response decides.
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafka_edu.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from kafka_edu.protocol.messages.alter_configs import AlterConfigsResponse
from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsResponse,
)
from kafka_edu.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsResponse
from kafka_edu.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
)
from kafka_edu.protocol.messages.api_versions import ApiVersionsResponse
from kafka_edu.protocol.messages.create_acls import CreateAclsResponse
from kafka_edu.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from kafka_edu.protocol.messages.create_partitions import CreatePartitionsResponse
from kafka_edu.protocol.messages.create_topics import CreateTopicsResponse
from kafka_edu.protocol.messages.delete_acls import DeleteAclsResponse
from kafka_edu.protocol.messages.delete_groups import DeleteGroupsResponse
from kafka_edu.protocol.messages.delete_records import DeleteRecordsResponse
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsResponse
from kafka_edu.protocol.messages.describe_acls import DescribeAclsResponse
from kafka_edu.protocol.messages.describe_configs import DescribeConfigsResponse
from kafka_edu.protocol.messages.describe_delegation_token import DescribeDelegationTokenResponse
from kafka_edu.protocol.messages.describe_groups import DescribeGroupsResponse
from kafka_edu.protocol.messages.describe_log_dirs import DescribeLogDirsResponse
from kafka_edu.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsResponse,
)
from kafka_edu.protocol.messages.elect_leaders import ElectLeadersResponse
from kafka_edu.protocol.messages.end_txn import EndTxnResponse
from kafka_edu.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from kafka_edu.protocol.messages.fetch import FetchResponse
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_edu.protocol.messages.heartbeat import HeartbeatResponse
from kafka_edu.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_edu.protocol.messages.join_group import JoinGroupResponse
from kafka_edu.protocol.messages.leave_group import LeaveGroupResponse
from kafka_edu.protocol.messages.list_groups import ListGroupsResponse
from kafka_edu.protocol.messages.list_offsets import ListOffsetsResponse
from kafka_edu.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
)
from kafka_edu.protocol.messages.metadata import MetadataResponse
from kafka_edu.protocol.messages.offset_commit import OffsetCommitResponse
from kafka_edu.protocol.messages.offset_delete import OffsetDeleteResponse
from kafka_edu.protocol.messages.offset_fetch import OffsetFetchResponse
from kafka_edu.protocol.messages.produce import ProduceResponse
from kafka_edu.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse
from kafka_edu.protocol.messages.sync_group import SyncGroupResponse
from kafka_edu.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from kafka_edu.protocol.schema import Message

#: Request → the first version of its response after which the client itself waits, as in Kafka 2.8.
#: For requests that are not in this table, such as DescribeCluster, Kafka's client does not wait.
FIRST_THROTTLED_VERSION: Final[Mapping[int, int]] = {
    ApiKey.PRODUCE: 6,
    ApiKey.FETCH: 8,
    ApiKey.LIST_OFFSETS: 3,
    ApiKey.METADATA: 6,
    ApiKey.OFFSET_COMMIT: 4,
    ApiKey.OFFSET_FETCH: 4,
    ApiKey.FIND_COORDINATOR: 2,
    ApiKey.JOIN_GROUP: 3,
    ApiKey.HEARTBEAT: 2,
    ApiKey.LEAVE_GROUP: 2,
    ApiKey.SYNC_GROUP: 2,
    ApiKey.DESCRIBE_GROUPS: 2,
    ApiKey.LIST_GROUPS: 2,
    ApiKey.API_VERSIONS: 2,
    ApiKey.CREATE_TOPICS: 3,
    ApiKey.DELETE_TOPICS: 2,
    ApiKey.DELETE_RECORDS: 1,
    ApiKey.INIT_PRODUCER_ID: 1,
    ApiKey.ADD_PARTITIONS_TO_TXN: 1,
    ApiKey.ADD_OFFSETS_TO_TXN: 1,
    ApiKey.END_TXN: 1,
    ApiKey.TXN_OFFSET_COMMIT: 1,
    ApiKey.DESCRIBE_CONFIGS: 2,
    ApiKey.ALTER_CONFIGS: 1,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 1,
    ApiKey.CREATE_PARTITIONS: 1,
    ApiKey.DELETE_GROUPS: 1,
    ApiKey.ELECT_LEADERS: 0,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 0,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.DESCRIBE_ACLS: 1,
    ApiKey.CREATE_ACLS: 1,
    ApiKey.DELETE_ACLS: 1,
    ApiKey.CREATE_DELEGATION_TOKEN: 1,
    ApiKey.RENEW_DELEGATION_TOKEN: 1,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 1,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 1,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
}
_WITH_THROTTLE_TIME: Final = (
    ProduceResponse,
    FetchResponse,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    FindCoordinatorResponse,
    JoinGroupResponse,
    HeartbeatResponse,
    LeaveGroupResponse,
    SyncGroupResponse,
    DescribeGroupsResponse,
    ListGroupsResponse,
    ApiVersionsResponse,
    CreateTopicsResponse,
    DeleteTopicsResponse,
    DeleteRecordsResponse,
    InitProducerIdResponse,
    AddPartitionsToTxnResponse,
    AddOffsetsToTxnResponse,
    EndTxnResponse,
    TxnOffsetCommitResponse,
    DescribeConfigsResponse,
    AlterConfigsResponse,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsResponse,
    CreatePartitionsResponse,
    DeleteGroupsResponse,
    ElectLeadersResponse,
    IncrementalAlterConfigsResponse,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsResponse,
    OffsetDeleteResponse,
    DescribeAclsResponse,
    CreateAclsResponse,
    DeleteAclsResponse,
    CreateDelegationTokenResponse,
    RenewDelegationTokenResponse,
    ExpireDelegationTokenResponse,
    DescribeDelegationTokenResponse,
    DescribeUserScramCredentialsResponse,
    AlterUserScramCredentialsResponse,
)


def throttle_time_ms(response: Message, api_key: int, version: int) -> int:
    """Return for how many ms the client must send nothing after this response. 0 if it does not
    have to wait.

    `version` is the version of the request.
    """
    first = FIRST_THROTTLED_VERSION.get(api_key)
    if first is None or version < first or not isinstance(response, _WITH_THROTTLE_TIME):
        return 0
    return response.throttle_time_ms
