"""Which broker coordinates what (Kafka: CoordinatorType in FindCoordinatorRequest.java,
partitionFor in GroupMetadataManager.scala).

A group, or a transactional id, belongs to one partition of an internal topic, by the hash of its
name; and its coordinator is whoever leads that partition. So coordinators are spread, elected and
moved by what moves leaders, and no coordinator needs an election of its own.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME

_INT_MIN: Final = -0x8000_0000


class CoordinatorType(IntEnum):
    """What a FindCoordinator request's `key_type` says that its key is."""

    GROUP = 0
    TRANSACTION = 1


#: Whose coordinator → the internal topic that it leads a partition of.
INTERNAL_TOPIC: Final[Mapping[CoordinatorType, str]] = {
    CoordinatorType.GROUP: GROUP_METADATA_TOPIC_NAME,
    CoordinatorType.TRANSACTION: TRANSACTION_STATE_TOPIC_NAME,
}


def partition_for(key: str, partitions: int) -> int:
    """The partition of the internal topic that `key` belongs to: |hash| modulo their number, where
    the lowest hash counts as 0. "test" of 50: 48.
    """
    code = java_hash(key)
    return 0 if code == _INT_MIN else abs(code) % partitions


def java_hash(text: str) -> int:
    """String.hashCode of Java: over UTF-16 units, h = 31 h + unit, in 32 bits with sign.
    O(length).
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(units), 2):
        code = (31 * code + (units[i] << 8 | units[i + 1])) & 0xFFFF_FFFF
    return code - 0x1_0000_0000 if code & 0x8000_0000 else code
