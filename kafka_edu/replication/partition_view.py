"""Samples of a partition, and its whole state, for subscribers of events (spec M1)."""

from kafka_edu.replication.partition import Partition
from kafka_edu.trace.events.replication import (
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
)


def partition_progress(partition: Partition) -> PartitionProgress | None:
    """Return how far the replica here is; None without a log."""
    log = partition.log
    if log is None:
        return None
    return PartitionProgress(
        log_start=log.log_start_offset,
        hw=partition.high_watermark.message_offset,
        leo=log.log_end_offset,
        remote_leos=partition.remote_leos(),
        min_isr=log.config.min_insync_replicas,
        remote_times=tuple(
            (remote.broker, remote.last_fetch_ms, remote.caught_up_ms)
            for remote in partition.remote_progress()
        ),
    )


def partition_offsets(partition: Partition) -> PartitionOffsets | None:
    """Return a gauge; None without a log."""
    progress = partition_progress(partition)
    if progress is None:
        return None
    topic, number = partition.topic_partition
    return PartitionOffsets(topic=topic, partition=number, progress=progress)


def partition_snapshot(partition: Partition) -> PartitionSnapshot | None:
    """Return the whole state; None without a log."""
    progress, isr_state = partition_progress(partition), partition.isr_state
    if progress is None:
        return None
    return PartitionSnapshot(
        topic=partition.topic_partition.topic,
        partition=partition.topic_partition.partition,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        replicas=partition.assigned_replicas,
        progress=progress,
        zk_version=isr_state.zk_version,
        proposed_isr=isr_state.proposal.after if isr_state.proposal else (),
        adding_replicas=partition.adding_replicas,
    )
