"""The markers of a decided transaction, on their way to the leaders."""

import pytest

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.marker_writer import TxnMarker
from tests.unit.coordinator.transaction.test_transaction_coordinator import in_world
from tests.unit.coordinator.transaction.world import DATA, STATE


@pytest.mark.parametrize(
    "error", [Errors.TRANSACTION_COORDINATOR_FENCED, Errors.INVALID_PRODUCER_EPOCH]
)
@in_world
async def test_markers_that_are_fenced_are_given_up(world, error):
    """Another coordinator has ended the transaction.

    The old coordinator does not know yet that it was replaced.
    """
    a = await world.start()
    world.add(a, DATA[0], DATA[1])
    world.replicas.errors[DATA[0]] = error
    world.end(a)
    world.replicas.errors.clear()
    await world.settle()
    assert world.markers_in(DATA[0]) == []
    assert world.states_logged()[-1] == ("a", "PrepareCommit")


@in_world
async def test_markers_of_an_older_coordinator_are_refused_by_the_log(world):
    a = await world.start()
    told = []
    for epoch in (7, 6, 7):
        world.writer.write(
            TxnMarker(
                a.producer_id, a.epoch, epoch, True, (DATA[0], TopicPartition("elsewhere", 0))
            ),
            told.append,
        )
    elsewhere = {TopicPartition("elsewhere", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION}
    expected = [Errors.NONE, Errors.TRANSACTION_COORDINATOR_FENCED, Errors.NONE]
    assert told == [elsewhere | {DATA[0]: error} for error in expected]


@in_world
async def test_markers_wait_for_leaders_and_need_none_where_the_topic_is_gone(world):
    a = await world.start()
    world.leaders[DATA[0]] = -1
    world.learn()
    gone = TopicPartition("gone", 0)
    world.add(a, DATA[0], gone)
    world.end(a)
    await world.settle()
    assert world.metadata().state == "PrepareCommit"
    world.leaders[DATA[0]] = 1
    world.learn()
    await world.settle()
    assert world.metadata().state == "CompleteCommit"
    assert len(world.markers_in(DATA[0])) == 1


@in_world
async def test_a_partition_that_the_metadata_does_not_name_yet_still_needs_its_marker(world):
    """A broker that has just started may coordinate before it has received all partitions."""
    a = await world.start()
    world.add(a, DATA[0])
    world.write(a, DATA[0], 0)
    world.replicas.errors[DATA[0]] = Errors.NOT_LEADER_OR_FOLLOWER
    world.end(a)
    await world.markers.shutdown()
    world.replicas.errors.clear()
    world.cache = MetadataCache(1)
    world.restart()
    await world.settle()
    assert world.metadata().state == "PrepareCommit"
    world.learn()
    await world.settle()
    assert world.metadata().state == "CompleteCommit"
    assert world.markers_in(DATA[0]) == [(1001, 0, "COMMIT", 2)]


@in_world
async def test_the_last_record_is_tried_again_until_it_is_in_the_log(world):
    a = await world.start()
    world.add(a, DATA[0])
    world.replicas.hold()
    world.end(a)
    held, world.replicas.held = world.replicas.held, None
    world.replicas.errors[STATE] = Errors.NOT_ENOUGH_REPLICAS
    held[0]()
    assert world.metadata().state == "PrepareCommit"
    assert world.end(a) is Errors.CONCURRENT_TRANSACTIONS, "and nothing else may begin meanwhile"
    world.replicas.errors.clear()
    await world.settle()
    assert world.metadata().state == "CompleteCommit"
    assert len(world.markers_in(DATA[0])) == 1
