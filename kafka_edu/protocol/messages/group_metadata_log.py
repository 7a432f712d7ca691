"""The keys and values of the records in `__consumer_offsets`: committed offsets and groups.

(Kafka: OffsetCommitKey.json, GroupMetadataValue.json …) Each key and value begins with its version,
an int16. The version of the key shows the kind of record: 0 and 1 for an offset, 2 for a group. A
null value is a tombstone.
"""

from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int32, Int64, String


class OffsetCommitKey(Message, valid="0-1", flexible="none"):
    """The group, topic and partition of a committed offset."""

    group: str = field(String, "0-1", "The group.")
    topic: str = field(String, "0-1", "The topic.")
    partition: int = field(Int32, "0-1", "The partition.")


class OffsetCommitValue(Message, valid="0-3", flexible="none"):
    """A committed offset with its metadata and times."""

    offset: int = field(Int64, "0+", "The offset of the next record to read.")
    leader_epoch: int = field(
        Int32,
        "3+",
        "The leader epoch of the last record read; -1 if unknown (KIP-320).",
        default=-1,
        ignorable=True,
    )
    metadata: str = field(String, "0+", "Free text that the client stores with the offset.")
    commit_timestamp: int = field(Int64, "0+", "When it was committed, in ms since 1970.")
    expire_timestamp: int = field(
        Int64,
        "1",
        "When the offset expires, in ms since 1970; -1: offsets.retention.minutes decides.",
        default=-1,
        ignorable=True,
    )


class GroupMetadataKey(Message, valid="2", flexible="none"):
    """The id of the group that the record describes."""

    group: str = field(String, "2", "The group.")


class MemberMetadata(Struct):
    """One member of the group: its ids, time-outs, subscription and assignment."""

    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    group_instance_id: str | None = field(
        String,
        "3+",
        "The id that a static member chose itself; null: a dynamic member (KIP-345).",
        nullable="3+",
        default=None,
        ignorable=True,
    )
    client_id: str = field(String, "0+", "The member's client id.")
    client_host: str = field(String, "0+", "The member's address, `/127.0.0.1`.")
    rebalance_timeout: int = field(
        Int32, "1+", "How long a rebalance waits for the member, in ms.", ignorable=True
    )
    session_timeout: int = field(Int32, "0+", "How long the member may send no heartbeat, in ms.")
    subscription: bytes = field(Bytes, "0+", "The member's own data for the chosen protocol.")
    assignment: bytes = field(
        Bytes, "0+", "The member's assignment, in the bytes that the leader wrote."
    )


class GroupMetadataValue(Message, valid="0-3", flexible="none"):
    """The state of a group: its generation, protocol, leader and members."""

    protocol_type: str = field(String, "0+", "The kind of group: `consumer`, `connect` …")
    generation: int = field(Int32, "0+", "The generation.")
    protocol: str | None = field(
        String, "0+", "The chosen protocol; null if the group is empty.", nullable="0+"
    )
    leader: str | None = field(
        String,
        "0+",
        "The group leader, which makes the assignment; null if the group is empty.",
        nullable="0+",
    )
    current_state_timestamp: int = field(
        Int64,
        "2+",
        "When the group entered its state, in ms since 1970 (KIP-211).",
        default=-1,
        ignorable=True,
    )
    members: list[MemberMetadata] = field(Array(MemberMetadata), "0+", "The members.")
