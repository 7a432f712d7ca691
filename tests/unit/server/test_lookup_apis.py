"""ListOffsets, OffsetForLeaderEpoch, InitProducerId."""

import asyncio

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafka_edu.log.fetch_data_info import TimestampOffset
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_edu.replication.log_read_result import EpochAndOffset
from kafka_edu.server.apis.init_producer_id import InitProducerIdApi
from kafka_edu.server.apis.list_offsets import ListOffsetsApi
from kafka_edu.server.apis.offset_for_leader_epoch import OffsetForLeaderEpochApi
from kafka_edu.server.producer_id_manager import ProducerIdManager
from kafka_edu.server.transaction_service import or_unavailable
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode
from tests.unit.coordinator.transaction.world import CONFIG


class FakeOffsetLookup:
    def __init__(self):
        self.error = None
        self.asked = []

    def fetch_offset_for_timestamp(
        self, tp, timestamp, replica_id, current_leader_epoch, isolation_level
    ):
        self.asked.append((str(tp), timestamp, replica_id, current_leader_epoch, isolation_level))
        if self.error:
            raise KafkaException(self.error)
        return TimestampOffset(timestamp, 42, 7) if timestamp != 99 else None

    def legacy_fetch_offsets(self, tp, timestamp, max_offsets, replica_id):
        self.asked.append((str(tp), timestamp, max_offsets, replica_id))
        if self.error:
            raise KafkaException(self.error)
        return [20, 10, 0]

    def last_offset_for_leader_epoch(self, tp, leader_epoch, current_leader_epoch):
        self.asked.append((str(tp), leader_epoch, current_leader_epoch))
        if self.error:
            raise KafkaException(self.error)
        return EpochAndOffset(leader_epoch - 1, 120)


@pytest.fixture
def replicas(harness):
    manager = FakeOffsetLookup()
    ListOffsetsApi(manager).register(harness.apis)
    OffsetForLeaderEpochApi(manager).register(harness.apis)
    return manager


def list_offsets(*timestamps):
    partitions = [
        ListOffsetsPartition(partition_index=i, timestamp=t, current_leader_epoch=3)
        for i, t in timestamps
    ]
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name="web", partitions=partitions)]
    )


@pytest.mark.parametrize("version", range(1, 7))
def test_list_offsets_in_every_version(harness, replicas, version):
    found, missing = harness.ask(list_offsets((0, 1000), (1, 99)), version).topics[0].partitions
    assert (found.error_code, found.timestamp, found.offset, found.leader_epoch) == (
        0,
        1000,
        42,
        7 if version >= 4 else -1,
    )
    assert (missing.error_code, missing.timestamp, missing.offset) == (0, -1, -1)
    assert replicas.asked[0] == ("web-0", 1000, -1, 3 if version >= 4 else -1, 0)


def test_a_partition_asked_for_twice_is_invalid_in_both_places(harness, replicas):
    results = harness.ask(list_offsets((0, -1), (0, -2), (1, -1)), 5).topics[0].partitions
    assert [Errors(r.error_code) for r in results] == [
        Errors.INVALID_REQUEST,
        Errors.INVALID_REQUEST,
        Errors.NONE,
    ]


def test_offset_not_available_is_told_by_another_name_before_v5(harness, replicas):
    replicas.error = Errors.OFFSET_NOT_AVAILABLE
    assert (
        harness.ask(list_offsets((0, -1)), 5).topics[0].partitions[0].error_code
        == Errors.OFFSET_NOT_AVAILABLE
    )
    assert (
        harness.ask(list_offsets((0, -1)), 4).topics[0].partitions[0].error_code
        == Errors.LEADER_NOT_AVAILABLE
    )


def test_version_0_gets_several_offsets(harness, replicas):
    (result,) = harness.ask(list_offsets((0, -1)), 0).topics[0].partitions
    assert (result.error_code, result.old_style_offsets) == (0, [20, 10, 0])
    assert replicas.asked == [("web-0", -1, 1, -1)]
    replicas.error = Errors.NOT_LEADER_OR_FOLLOWER
    assert (
        harness.ask(list_offsets((0, -1)), 0).topics[0].partitions[0].error_code
        == Errors.NOT_LEADER_OR_FOLLOWER
    )


def epochs(*leader_epochs):
    partitions = [
        OffsetForLeaderPartition(partition=i, leader_epoch=e, current_leader_epoch=4)
        for i, e in enumerate(leader_epochs)
    ]
    return OffsetForLeaderEpochRequest(
        replica_id=2, topics=[OffsetForLeaderTopic(topic="web", partitions=partitions)]
    )


@pytest.mark.parametrize("version", range(5))
def test_offset_for_leader_epoch_in_every_version(harness, replicas, version):
    (result,) = harness.ask(epochs(3), version).topics[0].partitions
    assert (result.error_code, result.end_offset, result.leader_epoch) == (
        0,
        120,
        2 if version >= 1 else -1,
    )
    assert replicas.asked == [("web-0", 3, 4 if version >= 2 else -1)]


def test_offset_for_leader_epoch_errors(harness, replicas):
    replicas.error = Errors.FENCED_LEADER_EPOCH
    (result,) = harness.ask(epochs(3), 4).topics[0].partitions
    assert (result.error_code, result.end_offset, result.leader_epoch) == (
        Errors.FENCED_LEADER_EPOCH,
        -1,
        -1,
    )


class NobodysCoordinator:
    def get_transaction_state(self, _):
        raise KafkaException(Errors.NOT_COORDINATOR)


@pytest.fixture
def blocks(harness):
    """Return how often a block of three ids was taken from ZooKeeper."""
    taken = []

    async def allocate():
        await asyncio.sleep(0)
        if len(taken) == 3:
            raise ZkError(ZkErrorCode.CONNECTION_LOSS)
        taken.append(len(taken))
        return taken[-1] * 3, taken[-1] * 3 + 2

    coordinator = TransactionCoordinator(
        CONFIG,
        NobodysCoordinator(),
        None,
        or_unavailable(ProducerIdManager(allocate, harness.trace)),
        harness.time,
        None,
    )
    InitProducerIdApi(coordinator).register(harness.apis)
    return taken


@pytest.mark.parametrize("version", range(5))
def test_every_request_gets_a_new_producer_id(harness, blocks, version):
    asked = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    answers = [harness.ask(asked, version) for _ in range(4)]
    assert [(a.error_code, a.producer_id, a.producer_epoch) for a in answers] == [
        (0, i, 0) for i in range(4)
    ]
    assert len(blocks) == 2


def test_who_asks_while_a_block_is_on_its_way_shares_it(harness):
    taken = []

    async def allocate():
        taken.append(1)
        await asyncio.sleep(0)
        return 0, 999

    async def main():
        ids = ProducerIdManager(allocate, harness.trace)
        return await asyncio.gather(*(ids.generate_producer_id() for _ in range(5)))

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]
    assert len(taken) == 1


def test_what_init_producer_id_refuses(harness, blocks):
    def code(**fields):
        return Errors(
            harness.ask(InitProducerIdRequest(transaction_timeout_ms=1, **fields), 4).error_code
        )

    assert code(transactional_id="") is Errors.INVALID_REQUEST
    assert code(transactional_id=None, producer_id=5) is Errors.INVALID_REQUEST
    assert code(transactional_id=None, producer_epoch=5) is Errors.INVALID_REQUEST
    assert code(transactional_id="t") is Errors.NOT_COORDINATOR
    for _ in range(9):
        assert code(transactional_id=None) is Errors.NONE
    assert code(transactional_id=None) is Errors.COORDINATOR_NOT_AVAILABLE
