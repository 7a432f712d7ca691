"""The states of a group (Kafka: GroupState in GroupMetadata.scala; book 001, 002 §6; spec O1).

    Empty → PreparingRebalance → CompletingRebalance → Stable
              ↑                     |                   |
              └─────────────────────┴───────────────────┘         any state → Dead

- Empty: the group has no members, but it may have offsets. A new group begins here. A group that
  only commits offsets stays here.
- PreparingRebalance: the group waits until all members have sent JoinGroup. These requests wait, at
  most for the longest rebalance time-out of all members.
- CompletingRebalance: all members have joined, the generation is one higher, and the leader has the
  list of members. SyncGroup requests wait until the leader sends its assignment.
- Stable: each member has its assignment and sends only heartbeats.
- Dead: the group is removed. Its last offset is gone and it has no members, or it was deleted, or
  another broker now leads its partition.

A group goes from PreparingRebalance to Empty if no member joins. It never goes from Stable to
Empty, because there is a rebalance even when the last member leaves.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class GroupState(StrEnum):
    """The state of a group; the values are the names in DescribeGroups and ListGroups responses."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


#: New state → the old states from which a group may enter it.
VALID_PREVIOUS_STATES: Final[Mapping[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset(
        {GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE}
    ),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
