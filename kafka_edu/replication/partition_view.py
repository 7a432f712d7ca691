"""What watchers are told of a partition without anything having happened: samples of its offsets,
and its whole state (spec M1).
"""

from kafka_edu.replication.partition import Partition
from kafka_edu.trace.events.replication import PartitionOffsets, PartitionSnapshot


def partition_offsets(partition: Partition) -> PartitionOffsets | None:
    """A gauge; None without a log."""
    log = partition.log
    if log is None:
        return None
    hw, min_isr = partition.high_watermark.message_offset, log.config.min_insync_replicas
    return PartitionOffsets(
        *partition.topic_partition,
        log.log_start_offset,
        hw,
        log.log_end_offset,
        partition.remote_leos(),
        min_isr,
    )


def partition_snapshot(partition: Partition) -> PartitionSnapshot | None:
    """The whole state; None without a log."""
    log, isr_state = partition.log, partition.isr_state
    if log is None:
        return None
    return PartitionSnapshot(
        *partition.topic_partition,
        partition.leader,
        partition.leader_epoch,
        partition.isr,
        partition.assigned_replicas,
        log.log_start_offset,
        partition.high_watermark.message_offset,
        log.log_end_offset,
        partition.remote_leos(),
        isr_state.zk_version,
        isr_state.proposal.after if isr_state.proposal else (),
        log.config.min_insync_replicas,
        partition.adding_replicas,
    )
