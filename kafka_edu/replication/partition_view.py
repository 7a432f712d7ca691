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
        topic=partition.topic_partition.topic,
        partition=partition.topic_partition.partition,
        log_start=log.log_start_offset,
        hw=hw,
        leo=log.log_end_offset,
        remote_leos=partition.remote_leos(),
        min_isr=min_isr,
    )


def partition_snapshot(partition: Partition) -> PartitionSnapshot | None:
    """The whole state; None without a log."""
    log, isr_state = partition.log, partition.isr_state
    if log is None:
        return None
    return PartitionSnapshot(
        topic=partition.topic_partition.topic,
        partition=partition.topic_partition.partition,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        replicas=partition.assigned_replicas,
        log_start=log.log_start_offset,
        hw=partition.high_watermark.message_offset,
        leo=log.log_end_offset,
        remote_leos=partition.remote_leos(),
        zk_version=isr_state.zk_version,
        proposed_isr=isr_state.proposal.after if isr_state.proposal else (),
        min_isr=log.config.min_insync_replicas,
        adding_replicas=partition.adding_replicas,
    )
