"""A committed offset, without and with its position in the log.

(Kafka: OffsetAndMetadata.scala, CommitRecordMetadataAndOffset in GroupMetadata.scala.)
"""

from typing import NamedTuple

from kafka_edu.protocol.messages.group_metadata_log import OffsetCommitValue

NO_LEADER_EPOCH = -1


class OffsetAndMetadata(NamedTuple):
    """One consumer's commit for one partition. Times are in ms since 1970."""

    offset: int
    """The offset of the next record that the consumer will read.

    The coordinator does not check the value, so clients may also commit -1 or -9.
    """
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int | None = None
    """The time when the offset expires, if the client set one (OffsetCommit v2 to v4).

    None: the offset expires offsets.retention.minutes after the group became empty (KIP-211).
    """


class CommittedOffset(NamedTuple):
    """A commit with its position in the log of `__consumer_offsets`.

    The position shows which of two commits is the later one.
    """

    value: OffsetAndMetadata
    appended_batch_offset: int | None
    """The base offset of the batch with this commit; None while it is being written."""

    def older_than(self, other: "CommittedOffset") -> bool:
        """Return whether `other` comes later in the log; both commits must be in the log."""
        assert self.appended_batch_offset is not None
        assert other.appended_batch_offset is not None
        return self.appended_batch_offset < other.appended_batch_offset


def offset_of(value: OffsetCommitValue) -> OffsetAndMetadata:
    """Return the commit that a record's value contains; an expire time of -1 becomes None."""
    expire = value.expire_timestamp if value.expire_timestamp >= 0 else None
    return OffsetAndMetadata(
        value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, expire
    )
