"""Loads and unloads the groups of a partition in the background.

(Kafka: scheduleLoadGroupAndOffsets, removeGroupsForPartition.) One task processes the changes of
leadership in their order, like Kafka's single scheduler thread. So a partition that was lost and
won again is unloaded before it is loaded. The event loop does other work in between, because a log
is read 32 KiB at a time, and groups are loaded or unloaded a hundred at a time.

This module works for GroupMetadataManager. It is the only part of the group coordinator that uses
`await`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_loader import GroupLoader, make_group
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.group_metadata_manager import GroupMetadataManager
from kafka_edu.coordinator.log_loading import load_log
from kafka_edu.log.log import Log
from kafka_edu.trace.events.group import GroupLoaded, GroupsLoaded, GroupsLoading, GroupsUnloaded
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

GROUPS_AT_A_TIME: Final = 100


class LoadListener(Protocol):
    """The part of GroupCoordinator that is called for each loaded and each unloaded group."""

    def on_group_loaded(self, group: GroupMetadata) -> None: ...

    def on_group_unloaded(self, group: GroupMetadata) -> None: ...


class PartitionLoader:
    """Loads and unloads groups when this broker's leadership of `__consumer_offsets` changes.

    It is a LeadershipListener and owns the background task. The function `log_of` returns the log
    of a partition that this broker leads, or None.
    """

    def __init__(
        self,
        manager: GroupMetadataManager,
        listener: LoadListener,
        log_of: Callable[[TopicPartition], Log | None],
        time: Time,
        load_buffer_size: int,
        trace: Tracer | None = None,
    ) -> None:
        self._manager = manager
        self._listener = listener
        self._log_of = log_of
        self._time = time
        self._load_buffer_size = load_buffer_size
        self._trace = trace
        self._jobs: deque[Callable[[], Awaitable[None]]] = deque()
        self._wake = asyncio.Event()

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """Load the groups of a partition that this broker now leads.

        From this moment on, requests for these groups get COORDINATOR_LOAD_IN_PROGRESS.
        """
        self.on_resignation(partition, leader_epoch)
        self._manager.begin_loading(partition, leader_epoch)
        if self._trace:
            self._trace(GroupsLoading(partition=partition, leader_epoch=leader_epoch))
        self._do(lambda: self._load(partition, leader_epoch))

    def on_resignation(self, partition: int, _: int | None) -> None:
        """Unload the groups of a partition that this broker no longer leads.

        From this moment on, requests for these groups get NOT_COORDINATOR. The waiting requests of
        members are answered one group after the other.
        """
        groups = self._manager.unload(partition)
        if groups:
            self._do(lambda: self._unload(partition, groups))

    def complete_transaction(
        self, producer_id: int, partitions: frozenset[int], committed: bool
    ) -> None:
        """Apply the end of a transaction whose markers are in these partitions.

        If partitions are being loaded, the end is applied after the load, because the load may
        bring offsets of this transaction.
        """
        if self._manager.is_loading:
            self._do(lambda: self._complete(producer_id, partitions, committed))
        else:
            self._manager.complete_transaction(producer_id, partitions, committed)

    def _do(self, job: Callable[[], Awaitable[None]]) -> None:
        self._jobs.append(job)
        self._wake.set()

    async def run(self) -> None:
        """Process the queued loads and unloads, without end."""
        while True:
            while self._jobs:
                await self._jobs.popleft()()
            self._wake.clear()
            await self._wake.wait()

    async def _load(self, partition: int, leader_epoch: int) -> None:
        began_ms = self._time.hi_res_clock_ms()

        def wanted() -> bool:
            return self._manager.is_loading_partition(partition, leader_epoch)

        partition_log = self._log_of(TopicPartition(GROUP_METADATA_TOPIC_NAME, partition))
        if partition_log is None or not wanted():
            return
        loader = GroupLoader()
        try:
            if not await load_log(
                partition_log, loader.apply, self._time, self._load_buffer_size, wanted
            ):
                return
        except KafkaException as error:
            log.error(
                "cannot load the groups of partition %d, requests for them get NOT_COORDINATOR: %s",
                partition,
                error,
            )
            self._manager.unload(partition)
            return
        now_ms = self._time.milliseconds()
        groups: list[GroupMetadata] = []
        for loaded in loader.groups():
            groups.append(make_group(loaded, now_ms, self._trace))
            if len(groups) % GROUPS_AT_A_TIME == 0:
                await self._time.sleep(0)
        if not wanted():
            return
        self._manager.loaded(partition, groups)
        for i, group in enumerate(groups):
            if self._trace:
                self._trace(GroupLoaded(group=group.description(partition)))
            self._listener.on_group_loaded(group)
            if i % GROUPS_AT_A_TIME == GROUPS_AT_A_TIME - 1:
                await self._time.sleep(0)
        if self._trace:
            offsets = sum(len(group.offsets.committed) for group in groups)
            self._trace(
                GroupsLoaded(
                    partition=partition,
                    leader_epoch=leader_epoch,
                    groups=len(groups),
                    offsets=offsets,
                    took_ms=self._time.hi_res_clock_ms() - began_ms,
                )
            )

    async def _unload(self, partition: int, groups: list[GroupMetadata]) -> None:
        offsets = sum(len(group.offsets.committed) for group in groups)
        for i, group in enumerate(groups):
            self._listener.on_group_unloaded(group)
            if i % GROUPS_AT_A_TIME == GROUPS_AT_A_TIME - 1:
                await self._time.sleep(0)
        if self._trace:
            self._trace(GroupsUnloaded(partition=partition, groups=len(groups), offsets=offsets))

    async def cleanup_expired(self) -> None:
        """Remove the expired offsets of all groups, a hundred groups at a time."""
        began_ms, removed = self._time.hi_res_clock_ms(), 0
        groups = list(self._manager.groups())
        for i in range(0, len(groups), GROUPS_AT_A_TIME):
            removed += self._manager.cleanup_expired(groups[i : i + GROUPS_AT_A_TIME])
            await self._time.sleep(0)
        if removed:
            log.info(
                "Removed %d expired offsets in %d milliseconds.",
                removed,
                self._time.hi_res_clock_ms() - began_ms,
            )

    async def _complete(
        self, producer_id: int, partitions: frozenset[int], committed: bool
    ) -> None:
        self._manager.complete_transaction(producer_id, partitions, committed)
