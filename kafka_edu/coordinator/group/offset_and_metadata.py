"""A committed offset (Kafka: OffsetAndMetadata.scala, CommitRecordMetadataAndOffset in
GroupMetadata.scala).
"""

from typing import NamedTuple

from kafka_edu.protocol.messages.group_metadata_log import OffsetCommitValue

NO_LEADER_EPOCH = -1


class OffsetAndMetadata(NamedTuple):
    """What a consumer committed for one partition. Times in ms since 1970."""

    offset: int
    """The offset of the next record to read; what clients commit is not checked, -1 and -9 are
    taken.
    """
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int | None = None
    """When it ends, where the client said so (OffsetCommit v2 to v4); None: by
    offsets.retention.minutes, from when the group is empty (KIP-211).
    """


class CommittedOffset(NamedTuple):
    """A commit with its place in the log of `__consumer_offsets`, by which of two commits the later
    one is told.
    """

    value: OffsetAndMetadata
    appended_batch_offset: int | None
    """The base offset of its batch; None while it is on its way."""

    def older_than(self, other: "CommittedOffset") -> bool:
        """Whether `other` lies behind this one in the log; both must lie there."""
        assert self.appended_batch_offset is not None
        assert other.appended_batch_offset is not None
        return self.appended_batch_offset < other.appended_batch_offset


def offset_of(value: OffsetCommitValue) -> OffsetAndMetadata:
    """As it is read back from the log; an expire time of -1 is none."""
    expire = value.expire_timestamp if value.expire_timestamp >= 0 else None
    return OffsetAndMetadata(
        value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, expire
    )
