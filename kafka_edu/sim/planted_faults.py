"""Bugs that Kafka once had, or nearly had, for a test of the simulator's checker.

A checker that has never found a bug proves nothing. So `sim explore --plant NAME` puts one of these
bugs into the broker's own classes, and runs the general scenarios. The checker must find the bug.
No scenario was written for a particular bug.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import numpy as np

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.errors import Errors
from kafka_edu.controller import leader_election
from kafka_edu.coordinator.group.group_coordinator import GroupCoordinator
from kafka_edu.coordinator.group.group_metadata_manager import GroupMetadataManager
from kafka_edu.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafka_edu.coordinator.transaction.transaction_state_manager import TransactionStateManager
from kafka_edu.log.cleaner.offset_map import OffsetMap
from kafka_edu.log.producer_state_manager import ProducerStateManager
from kafka_edu.log.sequence_check import SequenceCheck
from kafka_edu.log.stable_rule import StableRule
from kafka_edu.replication import high_watermark
from kafka_edu.replication.append import Append
from kafka_edu.replication.controller_orders import ControllerOrders
from kafka_edu.replication.high_watermark import HighWatermarkRule
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.replica_fetcher import ReplicaFetcher
from kafka_edu.replication.truncation import OffsetTruncationState


class PlantedFault(NamedTuple):
    """One bug: what is wrong, where Kafka had the bug, and how the broker's classes are changed."""

    about: str
    source: str
    patches: Callable[[], list[Any]]
    """Returns the patches of `unittest.mock` that plant it."""


def _truncate_to_high_watermark() -> list[Any]:
    def state(
        self: ReplicaFetcher, partition: Partition, leader_epoch: int, leader_end_offset: int
    ) -> OffsetTruncationState:
        log = partition.local_log()
        return OffsetTruncationState(
            min(partition.high_watermark.offset, log.log_end_offset), complete=True
        )

    return [patch.object(ReplicaFetcher, "_truncation_state", state)]


def _truncate_nothing() -> list[Any]:
    def state(
        self: ReplicaFetcher, partition: Partition, leader_epoch: int, leader_end_offset: int
    ) -> OffsetTruncationState:
        return OffsetTruncationState(partition.local_log().log_end_offset, complete=True)

    return [patch.object(ReplicaFetcher, "_truncation_state", state)]


def _isr_without_zookeeper() -> list[Any]:
    shrink = Partition.maybe_shrink_isr

    def at_once(self: Partition, now_ms: int) -> None:
        shrink(self, now_ms)
        proposal = self.isr_state.proposal
        if proposal is not None and len(proposal.after) < len(self.isr):
            self.isr_written(proposal, self.isr_state.zk_version, now_ms)

    return [patch.object(Partition, "maybe_shrink_isr", at_once)]


def _isr_without_catching_up() -> list[Any]:
    return [patch("kafka_edu.replication.isr.may_join_isr", lambda *_: True)]


def _unfenced_controller() -> list[Any]:
    accept = ControllerOrders._accept

    def anybody(self: ControllerOrders, request: str, who: int, epoch: int) -> bool:
        accept(self, request, who, epoch)
        return True

    def check(self: ControllerOrders, tp: object, state: object) -> Errors:
        return Errors.NONE

    return [
        patch.object(ControllerOrders, "_accept", anybody),
        patch.object(ControllerOrders, "_check", check),
    ]


def _no_sequence_check() -> list[Any]:
    return [
        patch.object(ProducerStateManager, "check", lambda self, header, origin=None: None),
    ]


def _no_duplicates_known() -> list[Any]:
    def check(self: SequenceCheck, entry: Any, header: Any) -> None:
        if entry is not None:
            self.check_epoch(entry, header.producer_epoch)

    return [patch.object(SequenceCheck, "check", check)]


def _commit_before_it_replicates() -> list[Any]:
    append = GroupMetadataManager._append

    def early(
        self: GroupMetadataManager,
        partition: int,
        records: Any,
        required_acks: int,
        *rest: Any,
        **named: Any,
    ) -> None:
        append(self, partition, records, 1, *rest, **named)

    return [patch.object(GroupMetadataManager, "_append", early)]


def _zombie_member() -> list[Any]:
    return [
        patch.object(GroupCoordinator, "_check_commit", lambda self, group, member: Errors.NONE)
    ]


def _acked_before_it_replicates() -> list[Any]:
    append = Append.append_records

    def early(self: Append, timeout_ms: int, acks: int, *rest: Any, **named: Any) -> None:
        append(self, timeout_ms, 1 if acks == -1 else acks, *rest, **named)

    return [patch.object(Append, "append_records", early)]


def _high_watermark_too_early() -> list[Any]:
    def of_leader(self: HighWatermarkRule, current: Any, log_end_offset: Any, *_: Any) -> Any:
        return log_end_offset

    return [patch.object(HighWatermarkRule, "of_leader", of_leader)]


def _high_watermark_without_isr() -> list[Any]:
    def two_of_three(
        log_end_offset: Any, isr: Any, followers: Any, now_ms: int, max_lag_ms: int
    ) -> Any:
        ends = sorted(
            (follower.log_end_offset for follower in followers),
            key=lambda end: end.message_offset,
            reverse=True,
        )
        first = ends[0] if ends else log_end_offset
        return min(first, log_end_offset, key=lambda end: end.message_offset)

    return [patch.object(high_watermark, "leader_high_watermark", two_of_three)]


def _unclean_election() -> list[Any]:
    def anybody(
        assignment: Any, isr: Any, live_replicas: Any, unclean_leader_election_enabled: bool
    ) -> int | None:
        return next((replica for replica in assignment if replica in live_replicas), None)

    return [patch.object(leader_election, "offline_partition_leader_election", anybody)]


def _epoch_used_twice() -> list[Any]:
    def with_leader(self: LeaderAndIsr, leader: int, isr: tuple[int, ...]) -> LeaderAndIsr:
        epoch = self.leader_epoch + (self.leader_epoch % 2 == 0 or self.leader < 0)
        return LeaderAndIsr(leader, epoch, isr, self.zk_version)

    return [patch.object(LeaderAndIsr, "with_leader", with_leader)]


def _marker_lost() -> list[Any]:
    return [patch.object(TransactionCoordinator, "_on_loaded", lambda self, *_: None)]


def _decision_before_it_replicates() -> list[Any]:
    append = TransactionStateManager.append_transaction_to_log

    def early(self: TransactionStateManager, *args: Any, **named: Any) -> None:
        whole = self._append.append_records

        def one(timeout_ms: int, acks: int, *rest: Any, **more: Any) -> None:
            whole(timeout_ms, 1, *rest, **more)

        with patch.object(self._append, "append_records", one):
            append(self, *args, **named)

    return [patch.object(TransactionStateManager, "append_transaction_to_log", early)]


def _aborted_list_is_empty() -> list[Any]:
    return [patch.object(StableRule, "overlapping", lambda self, index, start, end: ([], True))]


def _last_stable_offset_ignored() -> list[Any]:
    return [patch.object(StableRule, "first_unstable", lambda self, *_: None)]


def _zombie_producer() -> list[Any]:
    return [patch.object(SequenceCheck, "check_epoch", lambda self, entry, epoch: None)]


def _cleaner_loses_values() -> list[Any]:
    get = OffsetMap.get

    def older(self: OffsetMap, digests: Any) -> Any:
        found = get(self, digests)
        # Every tenth offset in the map is too high by one, as after an error in its rounding.
        return np.where(found % 10 == 0, found + 1, found)

    return [patch.object(OffsetMap, "get", older)]


PLANTED: Final[Mapping[str, PlantedFault]] = {
    "truncate-to-high-watermark": PlantedFault(
        "a follower truncates to its own high watermark, which may be old",
        "before KIP-101 (Kafka 0.11)",
        _truncate_to_high_watermark,
    ),
    "truncate-nothing": PlantedFault(
        "a follower keeps records that the new leader does not have",
        "KAFKA-1211, KIP-279",
        _truncate_nothing,
    ),
    "isr-without-zookeeper": PlantedFault(
        "a leader uses a smaller ISR before ZooKeeper has accepted it",
        "KAFKA-2729, KAFKA-4277",
        _isr_without_zookeeper,
    ),
    "isr-without-catching-up": PlantedFault(
        "a follower joins the ISR before it has all committed records",
        "KAFKA-7128 (Kafka 2.1)",
        _isr_without_catching_up,
    ),
    "unfenced-controller": PlantedFault(
        "brokers obey a controller with an old epoch",
        "KAFKA-6082 (Kafka 2.2)",
        _unfenced_controller,
    ),
    "no-sequence-check": PlantedFault(
        "the log takes every batch of an idempotent producer",
        "before KIP-98 (Kafka 0.11)",
        _no_sequence_check,
    ),
    "duplicates-unknown": PlantedFault(
        "the log forgets which batches it has",
        "KAFKA-6003: producer state lost",
        _no_duplicates_known,
    ),
    "commit-too-early": PlantedFault(
        "an offset commit is answered before the followers have it",
        "offsets.commit.required.acks=1",
        _commit_before_it_replicates,
    ),
    "zombie-member": PlantedFault(
        "a member that the group has removed may still commit",
        "before generations were checked",
        _zombie_member,
    ),
    "acked-too-early": PlantedFault(
        "acks=all is answered as soon as the leader has the record",
        "acks=1 instead of acks=all",
        _acked_before_it_replicates,
    ),
    "high-watermark-too-early": PlantedFault(
        "the high watermark is the leader's log end",
        "a wrong minimum",
        _high_watermark_too_early,
    ),
    "high-watermark-of-the-fastest": PlantedFault(
        "the high watermark follows the fastest follower, also outside of the ISR",
        "KAFKA-2334, KAFKA-7128",
        _high_watermark_without_isr,
    ),
    "unclean-election": PlantedFault(
        "any live replica may lead, although unclean elections are off",
        "unclean.leader.election.enable=true before Kafka 0.11",
        _unclean_election,
    ),
    "epoch-used-twice": PlantedFault(
        "two elections give the same leader epoch",
        "KAFKA-5759 and others: epochs that go on wrongly",
        _epoch_used_twice,
    ),
    "marker-lost": PlantedFault(
        "a new coordinator does not finish what the dead one had decided",
        "KAFKA-5351 and others in Kafka 0.11",
        _marker_lost,
    ),
    "decision-too-early": PlantedFault(
        "the coordinator writes markers before its decision is replicated",
        "acks=1 for __transaction_state",
        _decision_before_it_replicates,
    ),
    "aborted-unknown": PlantedFault(
        "a fetch does not name the aborted transactions",
        "KAFKA-5610 and others",
        _aborted_list_is_empty,
    ),
    "reads-open-transactions": PlantedFault(
        "read_committed reads up to the high watermark",
        "KAFKA-5256: the last stable offset left out",
        _last_stable_offset_ignored,
    ),
    "zombie-producer": PlantedFault(
        "a producer with an old epoch may still write",
        "KIP-98: fencing left out",
        _zombie_producer,
    ),
    "cleaner-loses-values": PlantedFault(
        "the cleaner's map is wrong by one for some keys",
        "KAFKA-4790, KAFKA-5413",
        _cleaner_loses_values,
    ),
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Put a fault into the broker's classes during the `with` block; an empty name means no fault.
    Raises KeyError for an unknown name.
    """
    patches = PLANTED[name].patches() if name else []
    begun: list[Any] = []
    try:
        for one in patches:
            one.start()
            begun.append(one)
        yield
    finally:
        for one in reversed(begun):
            one.stop()
