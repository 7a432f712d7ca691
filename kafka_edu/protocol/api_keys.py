"""API keys: the numbers that name each kind of request (Kafka: ApiKeys.java; book §6.1).

Every request begins with its API key and its version; both are int16. The number and the meaning of
a key never change. Only new versions are added. From some version on, a request is *flexible*
(KIP-482): lengths are varints, and tagged fields may follow every struct. This table lists the
first flexible version of each key. The request and response headers change at the same version. The
table contains every key of a 2.8 broker with ZooKeeper, including keys that our brokers do not
serve.
"""

from enum import IntEnum
from typing import Final

NEVER: Final = 0x7FFF
"""A version number above every real version."""


class ApiKey(IntEnum):
    """An API key, with the first flexible version of its messages, or NEVER if there is none."""

    first_flexible: int

    def __new__(cls, key: int, first_flexible: int = NEVER) -> "ApiKey":
        member = int.__new__(cls, key)
        member._value_ = key
        member.first_flexible = first_flexible
        return member

    def is_flexible(self, version: int) -> bool:
        """Return whether `version` of the request and response is flexible.

        A flexible version uses compact lengths and tagged fields.
        """
        return version >= self.first_flexible

    @property
    def title(self) -> str:
        """Kafka's name of the API, for example `ListOffsets`."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    # each line has the form: name = key, first flexible version
    PRODUCE = 0, 9
    FETCH = 1, 12
    LIST_OFFSETS = 2, 6
    METADATA = 3, 9
    LEADER_AND_ISR = 4, 4
    STOP_REPLICA = 5, 2
    UPDATE_METADATA = 6, 6
    CONTROLLED_SHUTDOWN = 7, 3
    OFFSET_COMMIT = 8, 8
    OFFSET_FETCH = 9, 6
    FIND_COORDINATOR = 10, 3
    JOIN_GROUP = 11, 6
    HEARTBEAT = 12, 4
    LEAVE_GROUP = 13, 4
    SYNC_GROUP = 14, 4
    DESCRIBE_GROUPS = 15, 5
    LIST_GROUPS = 16, 3
    SASL_HANDSHAKE = 17, NEVER
    API_VERSIONS = 18, 3
    CREATE_TOPICS = 19, 5
    DELETE_TOPICS = 20, 4
    DELETE_RECORDS = 21, 2
    INIT_PRODUCER_ID = 22, 2
    OFFSET_FOR_LEADER_EPOCH = 23, 4
    ADD_PARTITIONS_TO_TXN = 24, 3
    ADD_OFFSETS_TO_TXN = 25, 3
    END_TXN = 26, 3
    WRITE_TXN_MARKERS = 27, 1
    TXN_OFFSET_COMMIT = 28, 3
    DESCRIBE_ACLS = 29, 2
    CREATE_ACLS = 30, 2
    DELETE_ACLS = 31, 2
    DESCRIBE_CONFIGS = 32, 4
    ALTER_CONFIGS = 33, 2
    ALTER_REPLICA_LOG_DIRS = 34, 2
    DESCRIBE_LOG_DIRS = 35, 2
    SASL_AUTHENTICATE = 36, 2
    CREATE_PARTITIONS = 37, 2
    CREATE_DELEGATION_TOKEN = 38, 2
    RENEW_DELEGATION_TOKEN = 39, 2
    EXPIRE_DELEGATION_TOKEN = 40, 2
    DESCRIBE_DELEGATION_TOKEN = 41, 2
    DELETE_GROUPS = 42, 2
    ELECT_LEADERS = 43, 2
    INCREMENTAL_ALTER_CONFIGS = 44, 1
    ALTER_PARTITION_REASSIGNMENTS = 45, 0
    LIST_PARTITION_REASSIGNMENTS = 46, 0
    OFFSET_DELETE = 47, NEVER
    DESCRIBE_CLIENT_QUOTAS = 48, 1
    ALTER_CLIENT_QUOTAS = 49, 1
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, 0
    ALTER_USER_SCRAM_CREDENTIALS = 51, 0
    ALTER_ISR = 56, 0
    UPDATE_FEATURES = 57, 0
    DESCRIBE_CLUSTER = 60, 0
    DESCRIBE_PRODUCERS = 61, 0


#: Requests for which the broker may wait as long as the client allows. A Fetch waits for records, a
#: JoinGroup for the other members of the group.
PATIENT_KEYS: Final = frozenset({ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})

#: Requests that change the state of the cluster. They come from the controller or from an admin
#: client. Because they are rare, the trace records every step of such a request even at level
#: `state`.
CONTROL_PLANE_KEYS: Final = frozenset(
    {
        ApiKey.LEADER_AND_ISR,
        ApiKey.STOP_REPLICA,
        ApiKey.UPDATE_METADATA,
        ApiKey.CONTROLLED_SHUTDOWN,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_ISR,
        ApiKey.UPDATE_FEATURES,
    }
)
