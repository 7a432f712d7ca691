"""The states of a group (Kafka: GroupState in GroupMetadata.scala; book 001, 002 §6; spec O1).

    Empty → PreparingRebalance → CompletingRebalance → Stable
              ↑                     |                   |
              └─────────────────────┴───────────────────┘         any state → Dead

- Empty: the group has no members, but it may have offsets. A new group begins here. A group that
  only commits offsets stays here.
- PreparingRebalance: the group gathers. JoinGroup requests wait, at most for the rebalance time-out
  of the slowest member.
- CompletingRebalance: all members have joined, the generation is one higher, and the leader knows
  all members. SyncGroup requests wait for its assignment.
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
    """The state, by the name in responses to DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


#: State → the states from which it may be entered.
VALID_PREVIOUS_STATES: Final[Mapping[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset(
        {GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE}
    ),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
