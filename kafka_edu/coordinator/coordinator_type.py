"""Which broker coordinates a group or a transactional id.

(Kafka: CoordinatorType in FindCoordinatorRequest.java, partitionFor in GroupMetadataManager.scala.)
A group or a transactional id belongs to one partition of an internal topic, by the hash of its
name. The leader of that partition is its coordinator. So coordinators are spread, elected and moved
together with leaders, and need no election of their own.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME

_INT_MIN: Final = -0x8000_0000


class CoordinatorType(IntEnum):
    """The meaning of the key in a FindCoordinator request, by its `key_type`."""

    GROUP = 0
    TRANSACTION = 1


#: Type of coordinator → the internal topic; the coordinator leads one of its partitions.
INTERNAL_TOPIC: Final[Mapping[CoordinatorType, str]] = {
    CoordinatorType.GROUP: GROUP_METADATA_TOPIC_NAME,
    CoordinatorType.TRANSACTION: TRANSACTION_STATE_TOPIC_NAME,
}


def partition_for(key: str, partitions: int) -> int:
    """Return the partition of the internal topic that `key` belongs to.

    It is |hash| modulo the number of partitions; the lowest hash counts as 0. "test" of 50: 48.
    """
    code = java_hash(key)
    return 0 if code == _INT_MIN else abs(code) % partitions


def java_hash(text: str) -> int:
    """Return Java's String.hashCode of `text`. O(length).

    It goes over UTF-16 units: h = 31 h + unit, in 32 bits with sign.
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(units), 2):
        code = (31 * code + (units[i] << 8 | units[i + 1])) & 0xFFFF_FFFF
    return code - 0x1_0000_0000 if code & 0x8000_0000 else code
