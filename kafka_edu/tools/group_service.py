"""Send requests about consumer groups to brokers, for the tool `consumer-groups` (Kafka:
AdminClient.scala of 2.0).

The requests go through our admin client. Waiting times and messages are the same as in Kafka's
tool.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.group_calls import ConsumerGroupDescription
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.list_offsets import LATEST_TIMESTAMP

_LOOK_EVERY_S: Final = 0.1
_NOT_COMMITTED: Final = -1


class Member(NamedTuple):
    consumer_id: str
    client_id: str
    host: str
    assignment: Sequence[TopicPartition]
    """The partitions of the member. Empty unless the group is in the state Stable."""


class GroupSummary(NamedTuple):
    state: str
    """Kafka's name of the group's state. `Dead` means that the group does not exist."""
    assignment_strategy: str
    members: Sequence[Member]
    coordinator: Node


class GroupService:
    """Reads and changes consumer groups.

    Every method raises KafkaException or AdminTimeoutError if it fails.
    """

    def __init__(self, admin: Admin, timeout_ms: int) -> None:
        """`timeout_ms` limits each request, and the wait for a group that is rebalancing."""
        self._admin = admin
        self._timeout_ms = timeout_ms

    async def list_groups(self) -> list[str]:
        """Return the names of all consumer groups, including groups that only store offsets."""
        found = (await self._admin.list_consumer_groups(timeout_ms=self._timeout_ms)).all()
        return [group.group_id for broker in sorted(found) for group in found[broker]]

    async def describe(self, group: str) -> GroupSummary:
        """Return the state and members of a group. Wait while the group is still forming.

        Raises AdminTimeoutError if this takes too long. An error that will not change is raised at
        once.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self._timeout_ms / 1000
        while True:
            results = await self._admin.describe_consumer_groups(
                [group], timeout_ms=self._timeout_ms
            )
            described = results.values.get(group)
            if described is not None:
                return _summary(described)
            error = results.errors[group]
            if isinstance(error, TimeoutException):
                raise _timed_out(": ")
            if not error.error.retriable and error.error is not Errors.INCONSISTENT_GROUP_PROTOCOL:
                raise error
            if loop.time() >= end:
                raise _timed_out("")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return partition → the offset that the group has committed."""
        offsets = await self._admin.list_consumer_group_offsets(group, timeout_ms=self._timeout_ms)
        return {
            tp: _NOT_COMMITTED if offset is None else offset.offset
            for tp, offset in offsets.all().items()
        }

    async def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets for a group that has no members."""
        new = {tp: OffsetAndMetadata(offset) for tp, offset in sorted(offsets.items())}
        results = await self._admin.alter_consumer_group_offsets(
            group, new, timeout_ms=self._timeout_ms
        )
        results.all()

    async def delete(self, groups: Sequence[str]) -> dict[str, Errors]:
        """Delete groups. Return group → Errors.NONE, or the error that prevented the deletion."""
        results = await self._admin.delete_consumer_groups(groups, timeout_ms=self._timeout_ms)
        return {
            group: results.errors[group].error if group in results.errors else Errors.NONE
            for group in groups
        }

    async def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the topic's partitions, or an empty list if the topic does not exist."""
        results = await self._admin.describe_topics([topic], timeout_ms=self._timeout_ms)
        found = results.existing().get(topic)
        return [TopicPartition(topic, each.partition) for each in found.partitions] if found else []

    async def offsets(
        self, partitions: Collection[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        """Ask the partitions' leaders for offsets. Return partition → offset.

        `timestamp` selects the earliest offset, the latest offset, or the offset of the first
        record that is not older than `timestamp`. If no record is that new, the latest offset is
        returned. A partition that does not exist is left out.
        """
        results = await self._admin.list_offsets(
            dict.fromkeys(partitions, timestamp), timeout_ms=self._timeout_ms
        )
        found = {tp: each.offset for tp, each in results.existing().items()}
        missing = [
            tp for tp, offset in found.items() if offset < 0 and timestamp != LATEST_TIMESTAMP
        ]
        return found | (await self.offsets(missing, LATEST_TIMESTAMP) if missing else {})


def _summary(group: ConsumerGroupDescription) -> GroupSummary:
    members = [
        Member(
            member.member_id,
            member.client_id,
            member.host,
            member.assignment if group.state == "Stable" else (),
        )
        for member in group.members
    ]
    return GroupSummary(group.state, group.partition_assignor, members, group.coordinator)


def _timed_out(end: str) -> AdminTimeoutError:
    return AdminTimeoutError(
        f"The consumer group command timed out while waiting for group to initialize{end}",
    )
