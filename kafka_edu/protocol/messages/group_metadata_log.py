"""The records of `__consumer_offsets`: committed offsets and groups (Kafka: OffsetCommitKey.json,
GroupMetadataValue.json …).

Each key and value begins with its version, an int16. The key's version tells which of the two it
is: 0 and 1 an offset, 2 a group. A null value is a tombstone.
"""

from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int32, Int64, String


class OffsetCommitKey(Message, valid="0-1", flexible="none"):
    """Whose offset, and of which partition."""

    group: str = field(String, "0-1", "The group.")
    topic: str = field(String, "0-1", "The topic.")
    partition: int = field(Int32, "0-1", "The partition.")


class OffsetCommitValue(Message, valid="0-3", flexible="none"):
    """A committed offset."""

    offset: int = field(Int64, "0+", "The offset of the next record to read.")
    leader_epoch: int = field(
        Int32,
        "3+",
        "The leader epoch of the last record read; -1 if unknown (KIP-320).",
        default=-1,
        ignorable=True,
    )
    metadata: str = field(String, "0+", "Whatever the client wants to remember beside it.")
    commit_timestamp: int = field(Int64, "0+", "When it was committed, in ms since 1970.")
    expire_timestamp: int = field(
        Int64,
        "1",
        "When it ends, in ms since 1970; -1: by offsets.retention.minutes.",
        default=-1,
        ignorable=True,
    )


class GroupMetadataKey(Message, valid="2", flexible="none"):
    """A group."""

    group: str = field(String, "2", "The group.")


class MemberMetadata(Struct):
    """One member."""

    member_id: str = field(String, "0+", "The member's id, given by the coordinator.")
    group_instance_id: str | None = field(
        String,
        "3+",
        "The static member's own id; null: a dynamic one (KIP-345).",
        nullable="3+",
        default=None,
        ignorable=True,
    )
    client_id: str = field(String, "0+", "The member's client id.")
    client_host: str = field(String, "0+", "The member's address, `/127.0.0.1`.")
    rebalance_timeout: int = field(
        Int32, "1+", "How long a rebalance waits for it, in ms.", ignorable=True
    )
    session_timeout: int = field(Int32, "0+", "How long it may go without a heartbeat, in ms.")
    subscription: bytes = field(Bytes, "0+", "What it says of itself for the chosen protocol.")
    assignment: bytes = field(Bytes, "0+", "The member's assignment, as the leader wrote it.")


class GroupMetadataValue(Message, valid="0-3", flexible="none"):
    """A group's generation and members."""

    protocol_type: str = field(
        String, "0+", "What the group's members speak: `consumer`, `connect` …"
    )
    generation: int = field(Int32, "0+", "The generation.")
    protocol: str | None = field(
        String, "0+", "The chosen protocol; null if the group is empty.", nullable="0+"
    )
    leader: str | None = field(
        String, "0+", "The member that assigns; null if the group is empty.", nullable="0+"
    )
    current_state_timestamp: int = field(
        Int64,
        "2+",
        "Since when it is in its state, in ms since 1970 (KIP-211).",
        default=-1,
        ignorable=True,
    )
    members: list[MemberMetadata] = field(Array(MemberMetadata), "0+", "The members.")
