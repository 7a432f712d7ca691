"""The versions that a broker advertises at each API level.

(Spec P5; Kafka: ApiVersion.scala and ApiMessageType.java.) A client's first request is ApiVersions,
and the response contains this table. For each key, the client then uses the highest version that
both sides support. With `--api-level 2.0` a broker advertises exactly the versions of Kafka 2.0.0.
With `2.8` it advertises the versions of Kafka 2.8 with ZooKeeper. The lowest version is 0 for every
key, because some clients use a feature only if the broker supports one certain old version.
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.protocol.api_keys import ApiKey

#: Key → (highest version in 2.0.0, highest version in 2.8). The first is None if 2.0.0 did not have
#: the key.
MAX_VERSIONS: Final[Mapping[ApiKey, tuple[int | None, int]]] = {
    ApiKey.PRODUCE: (6, 9),
    ApiKey.FETCH: (8, 12),
    ApiKey.LIST_OFFSETS: (3, 6),
    ApiKey.METADATA: (6, 11),
    ApiKey.LEADER_AND_ISR: (1, 5),
    ApiKey.STOP_REPLICA: (0, 3),
    ApiKey.UPDATE_METADATA: (4, 7),
    ApiKey.CONTROLLED_SHUTDOWN: (1, 3),
    ApiKey.OFFSET_COMMIT: (4, 8),
    ApiKey.OFFSET_FETCH: (4, 7),
    ApiKey.FIND_COORDINATOR: (2, 3),
    ApiKey.JOIN_GROUP: (3, 7),
    ApiKey.HEARTBEAT: (2, 4),
    ApiKey.LEAVE_GROUP: (2, 4),
    ApiKey.SYNC_GROUP: (2, 5),
    ApiKey.DESCRIBE_GROUPS: (2, 5),
    ApiKey.LIST_GROUPS: (2, 4),
    ApiKey.SASL_HANDSHAKE: (1, 1),
    ApiKey.API_VERSIONS: (2, 3),
    ApiKey.CREATE_TOPICS: (3, 7),
    ApiKey.DELETE_TOPICS: (2, 6),
    ApiKey.DELETE_RECORDS: (1, 2),
    ApiKey.INIT_PRODUCER_ID: (1, 4),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (1, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: (1, 3),
    ApiKey.ADD_OFFSETS_TO_TXN: (1, 3),
    ApiKey.END_TXN: (1, 3),
    ApiKey.WRITE_TXN_MARKERS: (0, 1),
    ApiKey.TXN_OFFSET_COMMIT: (1, 3),
    ApiKey.DESCRIBE_ACLS: (1, 2),
    ApiKey.CREATE_ACLS: (1, 2),
    ApiKey.DELETE_ACLS: (1, 2),
    ApiKey.DESCRIBE_CONFIGS: (2, 4),
    ApiKey.ALTER_CONFIGS: (1, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (1, 2),
    ApiKey.DESCRIBE_LOG_DIRS: (1, 2),
    ApiKey.SASL_AUTHENTICATE: (0, 2),
    ApiKey.CREATE_PARTITIONS: (1, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: (1, 2),
    ApiKey.RENEW_DELEGATION_TOKEN: (1, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (1, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (1, 2),
    ApiKey.DELETE_GROUPS: (1, 2),
    ApiKey.ELECT_LEADERS: (None, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (None, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (None, 0),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (None, 0),
    ApiKey.OFFSET_DELETE: (None, 0),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (None, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: (None, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (None, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (None, 0),
    ApiKey.ALTER_ISR: (None, 0),
    ApiKey.UPDATE_FEATURES: (None, 0),
    ApiKey.DESCRIBE_CLUSTER: (None, 0),
    ApiKey.DESCRIBE_PRODUCERS: (None, 0),
}

#: The keys for which this broker has a handler. A broker advertises no other keys, so the tables of
#: all API levels leave them out.
SERVED: Final[frozenset[ApiKey]] = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.LIST_OFFSETS,
        ApiKey.METADATA,
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
        ApiKey.CONTROLLED_SHUTDOWN,
        ApiKey.FIND_COORDINATOR,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.DELETE_GROUPS,
        ApiKey.OFFSET_DELETE,
        ApiKey.API_VERSIONS,
        ApiKey.CREATE_TOPICS,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.END_TXN,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.DELETE_TOPICS,
        ApiKey.DELETE_RECORDS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.UPDATE_FEATURES,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.ALTER_ISR,
    }
)

VersionTable = Mapping[ApiKey, tuple[int, int]]

#: API level → (key → (lowest version, highest version)), in the order of the keys.
API_LEVELS: Final[Mapping[str, VersionTable]] = {
    "2.0": {
        key: (0, in_2_0)
        for key, (in_2_0, _) in MAX_VERSIONS.items()
        if in_2_0 is not None and key in SERVED
    },
    "2.8": {key: (0, in_2_8) for key, (_, in_2_8) in MAX_VERSIONS.items() if key in SERVED},
}
