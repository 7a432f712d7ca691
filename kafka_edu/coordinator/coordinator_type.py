"""Find out which broker coordinates a group or a transactional id.

(Kafka: CoordinatorType in FindCoordinatorRequest.java, partitionFor in GroupMetadataManager.scala.)
A group or a transactional id belongs to one partition of an internal topic, by the hash of its
name. The coordinator is the broker that leads this partition. So coordinators are spread over the
brokers, elected and moved together with partition leaders, and need no separate election.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME

_INT_MIN: Final = -0x8000_0000


class CoordinatorType(IntEnum):
    """The `key_type` in a FindCoordinator request: what the key names."""

    GROUP = 0
    TRANSACTION = 1


#: Type of coordinator → its internal topic. A coordinator leads one of the topic's partitions.
INTERNAL_TOPIC: Final[Mapping[CoordinatorType, str]] = {
    CoordinatorType.GROUP: GROUP_METADATA_TOPIC_NAME,
    CoordinatorType.TRANSACTION: TRANSACTION_STATE_TOPIC_NAME,
}


def partition_for(key: str, partitions: int) -> int:
    """Return the number of the internal topic's partition to which `key` belongs.

    The result is |hash| modulo the number of partitions. The lowest possible hash, -2³¹, counts as
    0. For example, the group "test" belongs to partition 48 of 50.
    """
    code = java_hash(key)
    return 0 if code == _INT_MIN else abs(code) % partitions


def java_hash(text: str) -> int:
    """Return the hash of `text` that Java's String.hashCode computes. O(length).

    The hash h begins at 0. For each UTF-16 unit, h becomes 31 · h + unit, as a signed 32-bit
    integer.
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(units), 2):
        code = (31 * code + (units[i] << 8 | units[i + 1])) & 0xFFFF_FFFF
    return code - 0x1_0000_0000 if code & 0x8000_0000 else code
