"""A coordinator's error answers to the requests of a transaction, and their consequences.

(Kafka: the handlers in TransactionManager.java.) An answer that is not in the table is fatal.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey


class Verdict(StrEnum):
    """The consequence of an error answer."""

    RETRY = "send the request again after the back-off"
    MOVED = "look for the coordinator again, and then send the request again"
    ABORTABLE = "the transaction must be aborted"
    NEW_EPOCH = "the transaction must be aborted, and the epoch must be raised"
    FENCED = "a newer producer has the transactional id"
    FATAL = "the producer can do nothing more"


_COORDINATOR: Final[Mapping[Errors, Verdict]] = {
    Errors.COORDINATOR_NOT_AVAILABLE: Verdict.MOVED,
    Errors.NOT_COORDINATOR: Verdict.MOVED,
    Errors.NETWORK_EXCEPTION: Verdict.MOVED,
    Errors.COORDINATOR_LOAD_IN_PROGRESS: Verdict.RETRY,
    Errors.CONCURRENT_TRANSACTIONS: Verdict.RETRY,
    Errors.INVALID_PRODUCER_EPOCH: Verdict.FENCED,
    Errors.PRODUCER_FENCED: Verdict.FENCED,
}
_OF_TRANSACTION: Final[Mapping[Errors, Verdict]] = {
    **_COORDINATOR,
    Errors.UNKNOWN_PRODUCER_ID: Verdict.NEW_EPOCH,
    Errors.INVALID_PRODUCER_ID_MAPPING: Verdict.NEW_EPOCH,
}

#: request → error → consequence. NETWORK_EXCEPTION means that no answer arrived.
VERDICTS: Final[Mapping[ApiKey, Mapping[Errors, Verdict]]] = {
    ApiKey.INIT_PRODUCER_ID: _COORDINATOR,
    ApiKey.ADD_PARTITIONS_TO_TXN: {
        **dict.fromkeys(Errors, Verdict.ABORTABLE),
        **_OF_TRANSACTION,
        Errors.UNKNOWN_TOPIC_OR_PARTITION: Verdict.RETRY,
        Errors.INVALID_TXN_STATE: Verdict.FATAL,
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Verdict.FATAL,
    },
    ApiKey.ADD_OFFSETS_TO_TXN: {
        **_OF_TRANSACTION,
        Errors.GROUP_AUTHORIZATION_FAILED: Verdict.ABORTABLE,
    },
    ApiKey.TXN_OFFSET_COMMIT: {
        **{error: Verdict.RETRY for error in Errors if error.retriable},
        **_COORDINATOR,
        Errors.REQUEST_TIMED_OUT: Verdict.MOVED,
        Errors.GROUP_AUTHORIZATION_FAILED: Verdict.ABORTABLE,
        Errors.FENCED_INSTANCE_ID: Verdict.ABORTABLE,
        Errors.UNKNOWN_MEMBER_ID: Verdict.ABORTABLE,
        Errors.ILLEGAL_GENERATION: Verdict.ABORTABLE,
    },
    ApiKey.END_TXN: _OF_TRANSACTION,
}


def verdict_of(request: ApiKey, error: Errors) -> Verdict:
    """Return the consequence of an error answer. O(1)."""
    return VERDICTS[request].get(error, Verdict.FATAL)
