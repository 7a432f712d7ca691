"""What `consumer-groups` makes of the answers of the admin client."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.admin.admin_call import Results, results_of
from kafka_edu.clients.admin.group_calls import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    MemberDescription,
)
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.admin.topic_calls import TopicDescription, TopicPartitionInfo
from kafka_edu.clients.client_errors import BrokerException, ClientException, TimeoutException
from kafka_edu.clients.consumer.offset_lookups import FoundOffset
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_edu.tools.group_service import GroupService, Member

T0, T1, GONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("gone", 0)
NODE = Node(1, "h", 9092)
FORMING = ClientException(Errors.INCONSISTENT_GROUP_PROTOCOL, "not yet")


def described(state: str) -> ConsumerGroupDescription:
    member = MemberDescription("m-1", None, "c", "/h", (T0,))
    return ConsumerGroupDescription("g", False, (member,), "range", state, NODE)


class FakeAdmin:
    """Stands for the client, with prepared answers."""

    def __init__(self, *described: ConsumerGroupDescription | ClientException) -> None:
        self.described = list(described)
        self.offsets: dict[tuple[TopicPartition, int], FoundOffset | ClientException] = {}
        self.limits_ms: list[float] = []
        """The time limit of each call."""
        self.committed: dict[TopicPartition, OffsetAndMetadata] = {}

    async def list_consumer_groups(
        self, timeout_ms: float
    ) -> Results[int, list[ConsumerGroupListing]]:
        self.limits_ms.append(timeout_ms)
        return results_of([(2, [ConsumerGroupListing("b", False, None)]), (1, [])])

    async def describe_consumer_groups(
        self, groups: Collection[str], timeout_ms: float
    ) -> Results[str, ConsumerGroupDescription]:
        return results_of((group, self.described.pop(0)) for group in groups)

    async def describe_topics(
        self, topics: Collection[str], timeout_ms: float
    ) -> Results[str, TopicDescription]:
        self.limits_ms.append(timeout_ms)
        partition = TopicPartitionInfo(0, NODE, (NODE,), (NODE,))
        outcomes: dict[str, TopicDescription | ClientException] = {
            "t": TopicDescription("t", None, False, (partition,)),
            "gone": BrokerException(Errors.UNKNOWN_TOPIC_OR_PARTITION),
            "late": TimeoutException("no answer"),
        }
        return results_of((topic, outcomes[topic]) for topic in topics)

    async def list_offsets(
        self, partitions: Mapping[TopicPartition, int], timeout_ms: float
    ) -> Results[TopicPartition, FoundOffset]:
        return results_of((tp, self.offsets[tp, time]) for tp, time in partitions.items())

    async def list_consumer_group_offsets(
        self, group: str, timeout_ms: float
    ) -> Results[TopicPartition, OffsetAndMetadata | None]:
        self.limits_ms.append(timeout_ms)
        return results_of([(T0, OffsetAndMetadata(5)), (T1, None)])

    async def alter_consumer_group_offsets(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float
    ) -> Results[TopicPartition, None]:
        self.limits_ms.append(timeout_ms)
        self.committed |= offsets
        return results_of((tp, None) for tp in offsets)

    async def delete_consumer_groups(
        self, groups: Collection[str], timeout_ms: float
    ) -> Results[str, None]:
        used = BrokerException(Errors.NON_EMPTY_GROUP)
        return results_of((group, used if group == "used" else None) for group in groups)


def service_of(admin: Any, timeout_ms: int = 60_000) -> GroupService:
    return GroupService(admin, timeout_ms)


def test_a_group_that_is_still_forming_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_edu.tools.group_service._LOOK_EVERY_S", 0)
    summary = asyncio.run(service_of(FakeAdmin(FORMING, described("Stable"))).describe("g"))
    assert (summary.state, summary.coordinator) == ("Stable", NODE)
    assert summary.members == [Member("m-1", "c", "/h", (T0,))]
    summary = asyncio.run(service_of(FakeAdmin(described("PreparingRebalance"))).describe("g"))
    assert summary.members == [Member("m-1", "c", "/h", ())]


@pytest.mark.parametrize(
    ("error", "end"),
    [(TimeoutException("no coordinator"), "initialize: "), (FORMING, "initialize")],
)
def test_a_group_that_is_not_ready_in_time(error: ClientException, end: str) -> None:
    with pytest.raises(AdminTimeoutError) as timed_out:
        asyncio.run(service_of(FakeAdmin(error), timeout_ms=0).describe("g"))
    assert str(timed_out.value).endswith(f"while waiting for group to {end}")


def test_an_error_that_a_wait_cannot_change_is_raised_at_once() -> None:
    """A service that asks again would get the second answer."""
    admin = FakeAdmin(BrokerException(Errors.GROUP_AUTHORIZATION_FAILED), described("Stable"))
    with pytest.raises(BrokerException, match="GROUP_AUTHORIZATION_FAILED"):
        asyncio.run(service_of(admin).describe("g"))


def test_an_error_that_passes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_edu.tools.group_service._LOOK_EVERY_S", 0)
    admin = FakeAdmin(BrokerException(Errors.COORDINATOR_LOAD_IN_PROGRESS), described("Stable"))
    assert asyncio.run(service_of(admin).describe("g")).state == "Stable"


def test_a_time_after_the_last_record_means_the_end_of_the_log() -> None:
    admin = FakeAdmin()
    admin.offsets = {
        (T0, 7): FoundOffset(3, 7, 0),
        (T1, 7): FoundOffset(-1, -1, 0),
        (T1, LATEST_TIMESTAMP): FoundOffset(9, -1, 0),
        (GONE, 7): BrokerException(Errors.UNKNOWN_TOPIC_OR_PARTITION),
    }
    assert asyncio.run(service_of(admin).offsets([T0, T1, GONE], 7)) == {T0: 3, T1: 9}
    admin.offsets[T0, 7] = BrokerException(Errors.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(BrokerException, match="TOPIC_AUTHORIZATION_FAILED"):
        asyncio.run(service_of(admin).offsets([T0], 7))


def test_only_a_topic_that_a_broker_does_not_know_has_no_partitions() -> None:
    service = service_of(FakeAdmin())
    assert asyncio.run(service.partitions("t")) == [T0]
    assert asyncio.run(service.partitions("gone")) == []
    with pytest.raises(TimeoutException, match="no answer"):
        asyncio.run(service.partitions("late"))


def test_groups_and_their_offsets() -> None:
    admin = FakeAdmin()
    service = service_of(admin)
    assert asyncio.run(service.list_groups()) == ["b"]
    assert asyncio.run(service.committed("g")) == {T0: 5, T1: -1}
    asyncio.run(service.commit("g", {T1: 2, T0: 1}))
    assert list(admin.committed.items()) == [(T0, OffsetAndMetadata(1)), (T1, OffsetAndMetadata(2))]
    assert asyncio.run(service.delete(["used", "old"])) == {
        "used": Errors.NON_EMPTY_GROUP,
        "old": Errors.NONE,
    }


def test_the_time_limit_holds_for_each_question() -> None:
    admin = FakeAdmin()
    service = service_of(admin, timeout_ms=70)
    asyncio.run(service.list_groups())
    asyncio.run(service.committed("g"))
    asyncio.run(service.commit("g", {T0: 1}))
    asyncio.run(service.partitions("t"))
    assert admin.limits_ms == [70, 70, 70, 70]
