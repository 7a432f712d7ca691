"""A committed offset.

(Kafka: OffsetAndMetadata.scala, CommitRecordMetadataAndOffset in GroupMetadata.scala.)
"""

from typing import NamedTuple

from kafka_edu.protocol.messages.group_metadata_log import OffsetCommitValue

NO_LEADER_EPOCH = -1


class OffsetAndMetadata(NamedTuple):
    """The commit of a consumer for one partition. Times in ms since 1970."""

    offset: int
    """The offset of the next record to read.

    The coordinator does not check it: -1 and -9 are accepted.
    """
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int | None = None
    """When the offset expires, if the client set a time (OffsetCommit v2 to v4).

    None: offsets.retention.minutes after the group became empty (KIP-211).
    """


class CommittedOffset(NamedTuple):
    """A commit with its place in the log of `__consumer_offsets`.

    The place shows which of two commits is the later one.
    """

    value: OffsetAndMetadata
    appended_batch_offset: int | None
    """The base offset of its batch; None while it is being written."""

    def older_than(self, other: "CommittedOffset") -> bool:
        """Return whether `other` comes after this one in the log; both must be there."""
        assert self.appended_batch_offset is not None
        assert other.appended_batch_offset is not None
        return self.appended_batch_offset < other.appended_batch_offset


def offset_of(value: OffsetCommitValue) -> OffsetAndMetadata:
    """Return the offset as it is read from the log; an expire time of -1 means none."""
    expire = value.expire_timestamp if value.expire_timestamp >= 0 else None
    return OffsetAndMetadata(
        value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, expire
    )
