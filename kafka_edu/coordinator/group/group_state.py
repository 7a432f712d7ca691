"""States of a group (Kafka: GroupState in GroupMetadata.scala; book 001, 002 §6; spec O1).

    Empty → PreparingRebalance → CompletingRebalance → Stable
              ↑                     |                   |
              └─────────────────────┴───────────────────┘         any state → Dead

Empty               nobody is a member; offsets may be there. So begins a group, and also one that
only commits offsets and never joins.
PreparingRebalance  the group gathers: JoinGroup requests wait, at the longest as long as the
slowest member's rebalance time-out.
CompletingRebalance all have joined, the generation is one higher, the leader knows all members:
SyncGroup requests wait for its assignment.
Stable              each member has its assignment, and only heartbeats.
Dead                removed: its last offset is gone and nobody is in it, it was deleted, or its
partition is led by another broker now.

A group leaves PreparingRebalance for Empty when nobody came. It never goes from Stable to Empty:
the last member's leaving is a rebalance too.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class GroupState(StrEnum):
    """The names are those that DescribeGroups and ListGroups answer."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


#: state → the states it may be entered from.
VALID_PREVIOUS_STATES: Final[Mapping[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset(
        {GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE}
    ),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
