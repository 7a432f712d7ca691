"""Ask brokers about consumer groups: members, committed offsets, and the offsets of logs.

Kafka: AdminClient.scala of 2.0.

The requests are Kafka's own messages. Questions about a group go to its coordinator. Questions
about the offsets of a log go to the partition's leader.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.admin.brokers import Brokers, raise_for
from kafka_edu.clients.admin.node import Node
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_coordinator import NO_GENERATION
from kafka_edu.coordinator.group.group_metadata import CONSUMER_PROTOCOL_TYPE
from kafka_edu.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from kafka_edu.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafka_edu.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafka_edu.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafka_edu.protocol.messages.list_offsets import (
    LATEST_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafka_edu.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

_VERSION_BYTES: Final = 2
_LOOK_EVERY_S: Final = 0.1


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
    """Requests about consumer groups.

    Every method raises KafkaException, AdminTimeoutError or OSError if it fails.
    """

    def __init__(self, brokers: Brokers, timeout_ms: int) -> None:
        """`timeout_ms` limits the wait for a coordinator, or for a group that is rebalancing."""
        self._brokers = brokers
        self._timeout_ms = timeout_ms

    async def list_groups(self) -> list[str]:
        """Return the names of all consumer groups, including groups that only store offsets."""
        groups = []
        for _, node in sorted(self._brokers.nodes.items()):
            answer = await self._brokers.ask(node, ListGroupsRequest(), ListGroupsResponse)
            raise_for(answer.error_code)
            groups += [
                group.group_id
                for group in answer.groups
                if group.protocol_type in ("", CONSUMER_PROTOCOL_TYPE)
            ]
        return groups

    async def describe(self, group: str) -> GroupSummary:
        """Return the state and members of a group. Wait while the group is still forming.

        Raises AdminTimeoutError if this takes too long.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self._timeout_ms / 1000
        while True:
            coordinator = await self._coordinator(group)
            described = await self._describe(coordinator, group)
            if described is not None:
                return _summary(described, coordinator)
            if loop.time() >= end:
                raise _timed_out("")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _describe(self, coordinator: Node, group: str) -> DescribedGroup | None:
        answer = (
            await self._brokers.ask(
                coordinator, DescribeGroupsRequest(groups=[group]), DescribeGroupsResponse
            )
        ).groups[0]
        valid = not answer.error_code and (
            answer.group_state in ("Dead", "Empty")
            or answer.protocol_type == CONSUMER_PROTOCOL_TYPE
        )
        return answer if valid else None

    async def _coordinator(self, group: str) -> Node:
        try:
            return await self._brokers.coordinator(group, self._timeout_ms)
        except KafkaException as error:
            if error.error is Errors.COORDINATOR_NOT_AVAILABLE:
                raise _timed_out(": ") from error
            raise

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return partition → the offset that the group has committed."""
        request = OffsetFetchRequest(group_id=group, topics=None)
        answer = await self._brokers.ask_coordinator(
            group, request, OffsetFetchResponse, lambda answer: Errors.of(answer.error_code)
        )
        raise_for(answer.error_code)
        offsets = {}
        for topic in answer.topics:
            for partition in topic.partitions:
                raise_for(partition.error_code)
                offsets[TopicPartition(topic.name, partition.partition_index)] = (
                    partition.committed_offset
                )
        return offsets

    async def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets for a group that has no members."""
        by_topic: defaultdict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
        for tp, offset in sorted(offsets.items()):
            by_topic[tp.topic].append(
                OffsetCommitRequestPartition(
                    partition_index=tp.partition, committed_offset=offset, committed_metadata=""
                )
            )
        topics = [
            OffsetCommitRequestTopic(name=name, partitions=partitions)
            for name, partitions in by_topic.items()
        ]
        request = OffsetCommitRequest(
            group_id=group, generation_id=NO_GENERATION, member_id="", topics=topics
        )
        answer = await self._brokers.ask_coordinator(
            group, request, OffsetCommitResponse, _commit_error
        )
        raise_for(_commit_error(answer))

    async def delete(self, groups: Sequence[str]) -> dict[str, Errors]:
        """Delete groups. Return group → Errors.NONE, or the error that prevented the deletion."""
        errors = {}
        for group in groups:
            try:
                coordinator = await self._brokers.coordinator(group, self._timeout_ms)
            except KafkaException as error:
                errors[group] = error.error
                continue
            answer = await self._brokers.ask(
                coordinator, DeleteGroupsRequest(groups_names=[group]), DeleteGroupsResponse
            )
            errors |= {result.group_id: Errors.of(result.error_code) for result in answer.results}
        return errors

    async def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the topic's partitions, or an empty list if the topic does not exist."""
        return sorted(await self._brokers.leaders([topic]))

    async def offsets(
        self, partitions: Collection[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        """Ask the partitions' leaders for offsets. Return partition → offset.

        `timestamp` selects the earliest offset, the latest offset, or the offset of the first
        record that is not older than `timestamp`. If no record is that new, the latest offset is
        returned. A partition that does not exist is left out.
        """
        found: dict[TopicPartition, int] = {}
        leaders = await self._brokers.leaders({tp.topic for tp in partitions})
        by_leader: defaultdict[int, list[TopicPartition]] = defaultdict(list)
        for tp in partitions:
            leader = leaders.get(tp)
            if isinstance(leader, Errors):
                raise KafkaException(leader)
            if leader is not None:
                by_leader[leader].append(tp)
        for leader_id, asked in by_leader.items():
            found |= await self._ask_offsets(self._brokers.nodes[leader_id], asked, timestamp)
        missing = [
            tp for tp, offset in found.items() if offset < 0 and timestamp != LATEST_TIMESTAMP
        ]
        return found | (await self.offsets(missing, LATEST_TIMESTAMP) if missing else {})

    async def _ask_offsets(
        self, leader: Node, partitions: Collection[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        by_topic: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for tp in partitions:
            by_topic[tp.topic].append(
                ListOffsetsPartition(partition_index=tp.partition, timestamp=timestamp)
            )
        topics = [ListOffsetsTopic(name=name, partitions=parts) for name, parts in by_topic.items()]
        answer = await self._brokers.ask(
            leader,
            ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics),
            ListOffsetsResponse,
        )
        found = {}
        for topic in answer.topics:
            for part in topic.partitions:
                raise_for(part.error_code)
                found[TopicPartition(topic.name, part.partition_index)] = part.offset
        return found


def _commit_error(answer: OffsetCommitResponse) -> Errors:
    """Return the first error of a partition in the answer, or NONE.

    All partitions have the same error if the group is refused. Only an error about too long
    metadata can differ, and this client sends no metadata.
    """
    codes = [partition.error_code for topic in answer.topics for partition in topic.partitions]
    return Errors.of(next((code for code in codes if code), 0))


def _summary(group: DescribedGroup, coordinator: Node) -> GroupSummary:
    stable = group.group_state == "Stable"
    members = [
        Member(
            member.member_id,
            member.client_id,
            member.client_host,
            _assignment(member.member_assignment) if stable else (),
        )
        for member in group.members
    ]
    return GroupSummary(group.group_state, group.protocol_data, members, coordinator)


def _assignment(data: bytes) -> list[TopicPartition]:
    """Decode the assignment that the group's leader wrote. Fields of newer versions are ignored."""
    if not data:
        return []
    version = min(int.from_bytes(data[:_VERSION_BYTES], "big"), ConsumerProtocolAssignment.VALID[1])
    assigned = ConsumerProtocolAssignment.decode(data, version, _VERSION_BYTES).assigned_partitions
    return [
        TopicPartition(topic.topic, number) for topic in assigned for number in topic.partitions
    ]


def _timed_out(end: str) -> AdminTimeoutError:
    return AdminTimeoutError(
        f"The consumer group command timed out while waiting for group to initialize{end}",
    )
