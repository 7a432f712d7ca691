"""Read the progress and the whole state of partitions, for subscribers of events (spec M1)."""

from collections.abc import Sequence
from typing import Final

from kafka_edu.replication.partition import Partition
from kafka_edu.trace.events.purgatory import ReplicaProgress, Requirement
from kafka_edu.trace.events.replication import (
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
)

IN_TURN: Final = 10
"""The number of unchanged partitions in each sample. Sampling one takes 12 µs."""
UNSTABLE_SHOWN: Final = 3
"""How many of a partition's open transactions a sample describes. The others are only counted."""
UNSETTLED: Final = -1
"""Stands for a version if the partition must be sampled again next time."""


def remote_progress(partition: Partition) -> tuple[ReplicaProgress, ...]:
    """Return the progress of each follower as the leader knows it; empty if this broker is a
    follower.
    """
    return tuple(
        ReplicaProgress(
            broker=f.broker_id,
            log_end_offset=f.log_end_offset.message_offset,
            last_fetch_ms=f.last_fetch_time_ms if f.has_fetched else -1,
            caught_up_ms=max(f.last_caught_up_time_ms, -1),
        )
        for f in partition.followers
    )


def remote_leos(partition: Partition) -> tuple[tuple[int, int], ...]:
    """Return (broker id, LEO) of each follower as the leader knows it; empty if this broker is
    a follower.
    """
    return tuple((f.broker_id, f.log_end_offset.message_offset) for f in partition.followers)


def waits_for_high_watermark(partition: Partition, required_offset: int) -> Requirement:
    """Return what an acks=all request waits for: the HW that it needs, and the LEO of each
    replica that counts (spec D3).
    """
    leos = {
        partition.broker_id: partition.log.log_end_offset if partition.log else -1,
        **dict(remote_leos(partition)),
    }
    holders = tuple((f"broker {b}", leos.get(b, -1)) for b in partition.isr_state.expected)
    members = set(partition.isr_state.expected)
    checked_ms = partition.isr_checked_ms
    return Requirement(
        subject=str(partition.topic_partition),
        needs="high watermark",
        at_least=required_offset,
        have=partition.high_watermark.offset,
        holders=holders,
        replicas=tuple(r for r in remote_progress(partition) if r.broker in members),
        isr_check_ms=checked_ms + partition.max_lag_ms // 2 if checked_ms else 0,
        max_lag_ms=partition.max_lag_ms,
        min_isr=partition.log.config.min_insync_replicas if partition.log is not None else 0,
    )


def partition_progress(partition: Partition) -> PartitionProgress | None:
    """Return the offsets of this replica and its followers' progress; None without a log."""
    log = partition.log
    if log is None:
        return None
    high_watermark = partition.high_watermark.offset
    return PartitionProgress(
        log_start=log.log_start_offset,
        hw=high_watermark,
        leo=log.log_end_offset,
        remote_leos=remote_leos(partition),
        min_isr=log.config.min_insync_replicas,
        remote_times=tuple(
            (remote.broker, remote.last_fetch_ms, remote.caught_up_ms)
            for remote in remote_progress(partition)
        ),
        last_stable=min(log.last_stable_offset, high_watermark),
        unstable=log.producer_state_manager.unstable_transactions(UNSTABLE_SHOWN),
        unstable_transactions=log.producer_state_manager.unstable_count,
    )


class PartitionSampler:
    """Samples the partitions that have changed since their last sample, and a few others in turn.

    Without this class every partition was sampled ten times a second. Then 460 idle partitions made
    4,600 events a second, and a dashboard that read these events fell half a minute behind. A
    partition has not changed if its version is the same and its followers had all records at the
    last sample. But the times of its followers' fetches change all the time. So each sample also
    includes IN_TURN leader partitions that have not changed, and these take turns.
    """

    def __init__(self, in_turn: int = IN_TURN) -> None:
        self._in_turn = in_turn
        self._sampled: dict[Partition, int] = {}
        """Each partition's version at its last sample; UNSETTLED if a follower did not have all
        records.
        """
        self._turn = 0

    def sample(self, partitions: Sequence[Partition]) -> list[PartitionOffsets]:
        """Return the samples. O(partitions), about 0.1 µs for a partition that has not changed."""
        sampled, found = self._sampled, []
        if self._turn >= len(partitions):
            self._turn = 0
        turn = range(self._turn, self._turn + self._in_turn)
        self._turn = turn.stop
        for index, partition in enumerate(partitions):
            if sampled.get(partition) == partition.version.value and not (
                index in turn and partition.has_followers
            ):
                continue
            progress = partition_progress(partition)
            if progress is None:
                continue
            settled = all(leo == progress.leo for _, leo in progress.remote_leos)
            sampled[partition] = partition.version.value if settled else UNSETTLED
            topic, number = partition.topic_partition
            found.append(PartitionOffsets(topic=topic, partition=number, progress=progress))
        return found

    def forget(self, partition: Partition) -> None:
        """Forget a partition that this broker does not have any more."""
        self._sampled.pop(partition, None)


def partition_snapshot(partition: Partition) -> PartitionSnapshot | None:
    """Return the partition's whole state; None without a log."""
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
