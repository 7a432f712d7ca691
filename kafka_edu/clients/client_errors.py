"""The errors that our clients raise, with Kafka's names. Each has advice for the user.

`BrokerException` is an error code that a broker has sent. The other classes are mostly errors that
the client itself finds (Kafka: org.apache.kafka.common.errors).
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException

#: Error → a sentence about what the user of a client can do.
ADVICE: Final[Mapping[Errors, str]] = {
    Errors.UNKNOWN_SERVER_ERROR: "Read the log of the broker.",
    Errors.CORRUPT_MESSAGE: "Give the record a key if the topic is compacted.",
    Errors.UNKNOWN_TOPIC_OR_PARTITION: "Create the topic, or check its name and partition.",
    Errors.LEADER_NOT_AVAILABLE: "Check that the partition's replicas are alive.",
    Errors.NOT_LEADER_OR_FOLLOWER: "Send the record again.",
    Errors.REQUEST_TIMED_OUT: "Check that the brokers are alive, or raise the time limit.",
    Errors.MESSAGE_TOO_LARGE: "Send smaller records, or raise the topic's max.message.bytes.",
    Errors.NETWORK_EXCEPTION: "Check that the brokers are alive and can be reached.",
    Errors.INVALID_TOPIC_EXCEPTION: "Use another topic name: letters, digits, '.', '_' and '-'.",
    Errors.RECORD_LIST_TOO_LARGE: "Lower batch.size below the topic's segment.bytes.",
    Errors.NOT_ENOUGH_REPLICAS: "Start the missing brokers, or lower min.insync.replicas.",
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "Start the missing brokers. The record may be stored.",
    Errors.INVALID_REQUIRED_ACKS: "Set acks to 0, 1 or all.",
    Errors.TOPIC_AUTHORIZATION_FAILED: "Get the permission to write to the topic.",
    Errors.CLUSTER_AUTHORIZATION_FAILED: "Get the permission for idempotent writes.",
    Errors.INVALID_TIMESTAMP: "Check the clock and the topic's settings for timestamps.",
    Errors.UNSUPPORTED_VERSION: "Use a newer broker, or fewer features.",
    Errors.OUT_OF_ORDER_SEQUENCE_NUMBER: "Send the record again. Records before it may be lost.",
    Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT: "Raise the topic's message.format.version.",
    Errors.INVALID_PRODUCER_EPOCH: "Abort the transaction, or create a new producer.",
    Errors.PRODUCER_FENCED: "Close this producer. Only the newest one may go on.",
    Errors.INVALID_TXN_STATE: "Close this producer and create a new one.",
    Errors.INVALID_PRODUCER_ID_MAPPING: "Abort the transaction, or create a new producer.",
    Errors.INVALID_TRANSACTION_TIMEOUT: (
        "Lower transaction.timeout.ms, or raise transaction.max.timeout.ms on the brokers."
    ),
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ("Get the permission for this transactional id."),
    Errors.GROUP_AUTHORIZATION_FAILED: "Get the permission to read with this group.",
    Errors.FENCED_INSTANCE_ID: "Give each member its own group.instance.id.",
    Errors.KAFKA_STORAGE_ERROR: "Check the disk of the broker.",
    Errors.UNKNOWN_PRODUCER_ID: "Send the record again. The broker has forgotten the producer.",
    Errors.UNSUPPORTED_COMPRESSION_TYPE: "Choose another compression.type.",
    Errors.INVALID_RECORD: "Check the record against the rules of the topic.",
    Errors.NOT_CONTROLLER: "Check that the brokers have a controller.",
    Errors.COORDINATOR_NOT_AVAILABLE: "Check that the brokers are alive.",
    Errors.TOPIC_ALREADY_EXISTS: "Use another name, or the topic that is there.",
    Errors.TOPIC_DELETION_DISABLED: "Set delete.topic.enable=true on the brokers.",
    Errors.INVALID_PARTITIONS: "Give a positive number. A topic can get more partitions only.",
    Errors.INVALID_REPLICATION_FACTOR: "Give at most as many replicas as there are brokers.",
    Errors.INVALID_REPLICA_ASSIGNMENT: "Name each broker once, and only brokers that are alive.",
    Errors.INVALID_CONFIG: "Check the name and the value of the config.",
    Errors.OFFSET_OUT_OF_RANGE: "Give an offset between the start and the end of the log.",
    Errors.LOG_DIR_NOT_FOUND: "Give a path of the broker's log.dirs.",
    Errors.REASSIGNMENT_IN_PROGRESS: "Wait until the partition has moved, or cancel the move.",
    Errors.NO_REASSIGNMENT_IN_PROGRESS: "There is nothing to cancel.",
    Errors.ELECTION_NOT_NEEDED: "The partition has the wanted leader already.",
    Errors.PREFERRED_LEADER_NOT_AVAILABLE: "Start the broker that the partition names first.",
    Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Start a broker that has a replica of the partition.",
    Errors.NON_EMPTY_GROUP: "Stop the members of the group.",
    Errors.GROUP_ID_NOT_FOUND: "Check the name of the group.",
    Errors.GROUP_SUBSCRIBED_TO_TOPIC: "Stop the members that read the topic.",
    Errors.UNKNOWN_MEMBER_ID: "Stop the members of the group.",
}


class ClientException(KafkaException):
    """An error of a client, with advice for the user."""

    def __init__(self, error: Errors, message: str = "", advice: str | None = None) -> None:
        super().__init__(error, message)
        self.advice = ADVICE.get(error, "") if advice is None else advice

    def __str__(self) -> str:
        if not self.advice:
            return f"{self.name}: {self.message}"
        stop = "" if self.message.endswith(".") else "."  # a broker's own message has none
        return f"{self.name}: {self.message}{stop} {self.advice}"

    @property
    def name(self) -> str:
        """The error's name: the name of the class, or of the broker's error code."""
        return type(self).__name__


class BrokerException(ClientException):
    """A broker answered with an error code."""

    @property
    def name(self) -> str:
        return self.error.name


class TimeoutException(ClientException):
    """Something did not happen within its time limit."""

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(Errors.REQUEST_TIMED_OUT, message, advice)


class BufferExhaustedException(TimeoutException):
    """The producer's buffer stayed full for max.block.ms."""


class RecordTooLargeException(ClientException):
    """One record is larger than the limit for a request or for the buffer."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(Errors.MESSAGE_TOO_LARGE, message, advice)


class SerializationException(ClientException):
    """A key, value or header is of a type that cannot be sent."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(Errors.INVALID_RECORD, message, advice)


class InvalidPartitionException(ClientException):
    """A partitioner returned a partition that the topic does not have."""

    def __init__(self, message: str) -> None:
        super().__init__(Errors.UNKNOWN_TOPIC_OR_PARTITION, message, "Correct the partitioner.")


class InvalidTimestampException(ClientException):
    """The timestamp of a record is negative."""

    def __init__(self, timestamp_ms: int) -> None:
        super().__init__(
            Errors.INVALID_TIMESTAMP,
            f"Invalid timestamp: {timestamp_ms}. Timestamp should always be non-negative or null.",
            "Give the time in ms since 1970, or leave it out.",
        )


class ProducerClosedException(ClientException):
    """The producer was closed before the record was acknowledged."""

    def __init__(self, message: str, advice: str = "Send records before close().") -> None:
        super().__init__(Errors.NETWORK_EXCEPTION, message, advice)


class IllegalStateException(ClientException):
    """A call is not possible in the current state, for example a commit without a transaction."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(Errors.INVALID_TXN_STATE, message, advice)


class ProducerFencedException(BrokerException):
    """A newer producer has this transactional id, or the transaction lasted too long."""

    def __init__(self, transactional_id: str) -> None:
        super().__init__(
            Errors.PRODUCER_FENCED,
            f"Another producer with the transactional id {transactional_id} has started, or the"
            " transaction was open for longer than transaction.timeout.ms.",
        )


class TransactionAbortedException(ClientException):
    """A record was not sent, because its transaction is aborted."""

    def __init__(self) -> None:
        super().__init__(
            Errors.INVALID_TXN_STATE,
            "The record was not sent since its transaction was aborted.",
            "Send it again in a new transaction.",
        )


class UnsupportedVersionException(ClientException):
    """The broker is too old for a feature that the client needs."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(Errors.UNSUPPORTED_VERSION, message, advice)
