"""Every error code of the protocol, in one table (Kafka: Errors.java).

The broker puts an error code (an int16) into a response. If an error is `retriable`, the same
request can succeed when the client sends it again, perhaps after a metadata refresh. The client
reports all other errors to the application.
"""

from enum import IntEnum
from typing import Final

RETRIABLE: Final = True
FINAL: Final = False


class Errors(IntEnum):
    """The codes of Kafka 2.8.

    `Errors(3)` is UNKNOWN_TOPIC_OR_PARTITION. `Errors.of(code)` accepts any code, including those
    of later brokers.
    """

    retriable: bool
    """Whether the same request can succeed when it is sent again later."""
    message: str
    """The error in one sentence. A response may have a more precise sentence instead."""

    def __new__(cls, code: int, retriable: bool = FINAL, message: str = "") -> "Errors":
        member = int.__new__(cls, code)
        member._value_ = code
        member.retriable = retriable
        member.message = message
        return member

    @classmethod
    def of(cls, code: int) -> "Errors":
        """Return the error of `code`, or UNKNOWN_SERVER_ERROR if the code is not in the table.
        O(1).
        """
        return _BY_CODE.get(code, cls.UNKNOWN_SERVER_ERROR)

    # fmt: off
    # name = code, retriable, message
    UNKNOWN_SERVER_ERROR = -1, FINAL, "The broker could not work on the request. If it failed, its log says how."
    NONE = 0, FINAL, "No error."
    OFFSET_OUT_OF_RANGE = 1, FINAL, "The offset lies before the start or behind the end of the log."
    CORRUPT_MESSAGE = 2, RETRIABLE, "The records fail their checksum, have a wrong size, or have no key in a compacted topic."
    UNKNOWN_TOPIC_OR_PARTITION = 3, RETRIABLE, "This broker has no such topic or partition."
    INVALID_FETCH_SIZE = 4, FINAL, "The size to fetch is not valid."
    LEADER_NOT_AVAILABLE = 5, RETRIABLE, "The partition has no leader now; an election is under way."
    NOT_LEADER_OR_FOLLOWER = 6, RETRIABLE, "This broker is not the leader (or not a replica) of the partition; the metadata is out of date."
    REQUEST_TIMED_OUT = 7, RETRIABLE, "The request was not completed in its time."
    BROKER_NOT_AVAILABLE = 8, FINAL, "The broker is not alive."
    REPLICA_NOT_AVAILABLE = 9, RETRIABLE, "The replica is not there now."
    MESSAGE_TOO_LARGE = 10, FINAL, "A record batch is larger than the broker takes (message.max.bytes, max.message.bytes)."
    STALE_CONTROLLER_EPOCH = 11, FINAL, "The request comes from a controller that has been replaced."
    OFFSET_METADATA_TOO_LARGE = 12, FINAL, "The text committed with an offset is too long (offset.metadata.max.bytes)."
    NETWORK_EXCEPTION = 13, RETRIABLE, "The connection was lost before the response came."
    COORDINATOR_LOAD_IN_PROGRESS = 14, RETRIABLE, "The coordinator is still reading its state from its log."
    COORDINATOR_NOT_AVAILABLE = 15, RETRIABLE, "There is no coordinator now, or its topic is being created."
    NOT_COORDINATOR = 16, RETRIABLE, "This broker is not the coordinator; ask for it again."
    INVALID_TOPIC_EXCEPTION = 17, FINAL, "The topic name is not valid, or the topic is internal."
    RECORD_LIST_TOO_LARGE = 18, FINAL, "The records are larger than a segment of the log (segment.bytes)."
    NOT_ENOUGH_REPLICAS = 19, RETRIABLE, "Fewer replicas are in sync than min.insync.replicas; nothing was written."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, RETRIABLE, "Written to the leader's log, but then fewer replicas were in sync than min.insync.replicas."
    INVALID_REQUIRED_ACKS = 21, FINAL, "acks is not one of -1, 0 and 1."
    ILLEGAL_GENERATION = 22, FINAL, "The group has moved on to another generation."
    INCONSISTENT_GROUP_PROTOCOL = 23, FINAL, "The member shares no protocol with the group, or names none."
    INVALID_GROUP_ID = 24, FINAL, "The group id is not valid."
    UNKNOWN_MEMBER_ID = 25, FINAL, "The group has no such member."
    INVALID_SESSION_TIMEOUT = 26, FINAL, "The session time-out is outside group.min.session.timeout.ms and group.max.session.timeout.ms."
    REBALANCE_IN_PROGRESS = 27, FINAL, "The group is rebalancing; join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, FINAL, "The offsets to commit are too large for one batch."
    TOPIC_AUTHORIZATION_FAILED = 29, FINAL, "Not allowed on this topic."
    GROUP_AUTHORIZATION_FAILED = 30, FINAL, "Not allowed on this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, FINAL, "Not allowed on the cluster."
    INVALID_TIMESTAMP = 32, FINAL, "A record's timestamp is too far from the broker's clock, or of a type that a producer may not set."
    UNSUPPORTED_SASL_MECHANISM = 33, FINAL, "The broker does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, FINAL, "The request does not fit the state of the SASL exchange."
    UNSUPPORTED_VERSION = 35, FINAL, "The broker does not speak this version of the request."
    TOPIC_ALREADY_EXISTS = 36, FINAL, "There is a topic of this name."
    INVALID_PARTITIONS = 37, FINAL, "The number of partitions is not valid."
    INVALID_REPLICATION_FACTOR = 38, FINAL, "The replication factor is below 1 or above the number of live brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, FINAL, "The assignment of replicas to brokers is not valid."
    INVALID_CONFIG = 40, FINAL, "A config key or value is not valid."
    NOT_CONTROLLER = 41, RETRIABLE, "This broker is not the controller."
    INVALID_REQUEST = 42, FINAL, "The request can be read, but the broker cannot do what it says."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, FINAL, "The topic's message format is too old for this request."
    POLICY_VIOLATION = 44, FINAL, "The broker's policy forbids this."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, FINAL, "The batch does not follow the last one of its producer; one between is missing."
    DUPLICATE_SEQUENCE_NUMBER = 46, FINAL, "The batch has been written before."
    INVALID_PRODUCER_EPOCH = 47, FINAL, "The producer's epoch is older than one the broker has seen."
    INVALID_TXN_STATE = 48, FINAL, "The transaction is in a state that does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, FINAL, "The producer id does not belong to the transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, FINAL, "The transaction time-out is above transaction.max.timeout.ms."
    CONCURRENT_TRANSACTIONS = 51, FINAL, "The transaction is still being completed; try a little later."
    TRANSACTION_COORDINATOR_FENCED = 52, FINAL, "The markers come from a transaction coordinator that has been replaced."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, FINAL, "Not allowed with this transactional id."
    SECURITY_DISABLED = 54, FINAL, "The broker runs without an authorizer."
    OPERATION_NOT_ATTEMPTED = 55, FINAL, "Not tried, because another part of the same request failed."
    KAFKA_STORAGE_ERROR = 56, RETRIABLE, "The disk below the log failed."
    LOG_DIR_NOT_FOUND = 57, FINAL, "The broker has no such log dir."
    SASL_AUTHENTICATION_FAILED = 58, FINAL, "The user could not be authenticated."
    UNKNOWN_PRODUCER_ID = 59, FINAL, "The broker knows nothing of this producer id; its records may have expired."
    REASSIGNMENT_IN_PROGRESS = 60, FINAL, "The partition is being reassigned."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, FINAL, "Delegation tokens are not switched on."
    DELEGATION_TOKEN_NOT_FOUND = 62, FINAL, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, FINAL, "The user is neither owner nor renewer of the token."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, FINAL, "Token requests need an authenticated channel that was not itself opened by a token."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, FINAL, "Not allowed on this delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, FINAL, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, FINAL, "The type of principal is not supported."
    NON_EMPTY_GROUP = 68, FINAL, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, FINAL, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, RETRIABLE, "The fetch session is gone; start a new one."
    INVALID_FETCH_SESSION_EPOCH = 71, RETRIABLE, "The fetch session expects another epoch; start a new one."
    LISTENER_NOT_FOUND = 72, RETRIABLE, "The leader has no listener of the name by which this request came."
    TOPIC_DELETION_DISABLED = 73, FINAL, "Topics cannot be deleted here (delete.topic.enable)."
    FENCED_LEADER_EPOCH = 74, RETRIABLE, "The request's leader epoch is older than the broker's."
    UNKNOWN_LEADER_EPOCH = 75, RETRIABLE, "The request's leader epoch is newer than the broker's."
    UNSUPPORTED_COMPRESSION_TYPE = 76, FINAL, "The version of the request does not allow this compression."
    STALE_BROKER_EPOCH = 77, FINAL, "The broker has registered again since the request was made for it."
    OFFSET_NOT_AVAILABLE = 78, RETRIABLE, "A new leader does not know the high watermark yet; offsets could go backward."
    MEMBER_ID_REQUIRED = 79, FINAL, "Join again with the member id that this response gives."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, RETRIABLE, "The preferred leader is not alive or not in sync."
    GROUP_MAX_SIZE_REACHED = 81, FINAL, "The group is full (group.max.size)."
    FENCED_INSTANCE_ID = 82, FINAL, "Another member has registered with the same group.instance.id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, RETRIABLE, "No replica that may lead is alive."
    ELECTION_NOT_NEEDED = 84, RETRIABLE, "The partition has the leader that was asked for."
    NO_REASSIGNMENT_IN_PROGRESS = 85, FINAL, "The partition is not being reassigned."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, FINAL, "The group still consumes the topic; its offsets cannot be deleted."
    INVALID_RECORD = 87, FINAL, "A record or batch breaks a rule of its format."
    UNSTABLE_OFFSET_COMMIT = 88, RETRIABLE, "Offsets of an open transaction are not settled yet."
    THROTTLING_QUOTA_EXCEEDED = 89, RETRIABLE, "The quota of changes is used up; wait."
    PRODUCER_FENCED = 90, FINAL, "A newer producer uses the same transactional id."
    RESOURCE_NOT_FOUND = 91, FINAL, "There is no such resource."
    DUPLICATE_RESOURCE = 92, FINAL, "The request names a resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, FINAL, "The credential does not meet the rules."
    INCONSISTENT_VOTER_SET = 94, FINAL, "Sender or receiver is not one of the quorum's voters (KRaft only)."
    INVALID_UPDATE_VERSION = 95, FINAL, "The version to update is not the current one."
    FEATURE_UPDATE_FAILED = 96, FINAL, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, FINAL, "The principal of a forwarded request cannot be read."
    SNAPSHOT_NOT_FOUND = 98, FINAL, "There is no such snapshot (KRaft only)."
    POSITION_OUT_OF_RANGE = 99, FINAL, "The position lies outside the snapshot (KRaft only)."
    UNKNOWN_TOPIC_ID = 100, RETRIABLE, "This broker has no topic with this id."
    DUPLICATE_BROKER_REGISTRATION = 101, FINAL, "The broker id is in use."
    BROKER_ID_NOT_REGISTERED = 102, FINAL, "The broker id is not registered."
    INCONSISTENT_TOPIC_ID = 103, FINAL, "The log belongs to another topic id than the request's."
    INCONSISTENT_CLUSTER_ID = 104, FINAL, "The request is meant for another cluster."
    # fmt: on


_BY_CODE: Final[dict[int, Errors]] = {int(error): error for error in Errors}


def message_beside(error: Errors, message: str) -> str | None:
    """Return the error message that a response contains in addition to the code.

    The result is None if the message says nothing more than the code. It is also None for
    UNKNOWN_SERVER_ERROR, because its details are not meant for clients (Kafka:
    ApiError.fromThrowable).
    """
    return (
        None
        if error in (Errors.NONE, Errors.UNKNOWN_SERVER_ERROR) or message in ("", error.message)
        else message
    )


class KafkaException(Exception):
    """An error with an error code. The broker sends this code in its response (Kafka:
    ApiException.java).
    """

    def __init__(self, error: Errors, message: str = "") -> None:
        super().__init__(message or error.message)
        self.error = error

    @property
    def message(self) -> str:
        return str(self.args[0])

    @property
    def response_message(self) -> str | None:
        """The error message that the response contains in addition to the code, or None."""
        return message_beside(self.error, self.message)

    def __str__(self) -> str:
        return f"{self.error.name}: {self.message}"
