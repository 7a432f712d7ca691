"""The transactions of the partitions that this broker coordinates."""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.transaction.transaction_coordinator import ProducerIdAndEpoch
from kafka_edu.trace.events.transaction import (
    TransactionalIdExpired,
    TransactionsLoaded,
    TransactionsUnloaded,
)
from tests.unit.coordinator.transaction.test_transaction_coordinator import in_world
from tests.unit.coordinator.transaction.world import CONFIG, DATA, STATE


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.REQUEST_TIMED_OUT, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR),
        (Errors.KAFKA_STORAGE_ERROR, Errors.NOT_COORDINATOR),
        (Errors.MESSAGE_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.INVALID_TIMESTAMP, Errors.INVALID_TIMESTAMP),
    ],
)
@in_world
async def test_a_change_that_the_log_refuses_is_reported_and_forgotten(world, error, told):
    a = await world.start()
    world.replicas.errors[STATE] = error
    assert world.add(a) is told
    world.replicas.errors.clear()
    assert world.metadata().state == "Empty"
    assert world.add(a) is Errors.NONE


@in_world
async def test_a_new_coordinator_knows_what_the_old_one_answered(world):
    a = await world.start()
    b = await world.start("b")
    world.add(a, DATA[0])
    world.add(b, DATA[1], transactional_id="b")
    world.end(b, transactional_id="b")
    world.restart()
    assert world.add(a, DATA[1]) is Errors.COORDINATOR_LOAD_IN_PROGRESS
    await world.settle()
    assert world.add(a, DATA[1]) is Errors.NONE
    assert world.metadata().topic_partitions == {DATA[0], DATA[1]}
    assert world.metadata("b").state == "CompleteCommit"
    assert world.end(a) is Errors.NONE
    assert world.markers_in(DATA[0]) == [(1001, 0, "COMMIT", 2)]
    assert [
        (e.coordinator_epoch, e.transactional_ids) for e in world.events(TransactionsLoaded)
    ] == [(1, 0), (2, 2)]


@in_world
async def test_a_coordinator_that_is_replaced_changes_nothing_any_more(world):
    a = await world.start()
    world.replicas.hold()
    answers = []
    world.coordinator.handle_add_partitions_to_transaction("a", a, DATA, answers.append)
    world.coordinator.on_resignation(0, 5)
    world.replicas.release()
    assert answers == [Errors.NOT_COORDINATOR], "though it is in the log"
    assert world.add(a) is Errors.NOT_COORDINATOR
    assert (await world.init()).error is Errors.NOT_COORDINATOR
    assert world.events(TransactionsUnloaded) == [(0, 1, 1)]
    world.restart()
    await world.settle()
    assert world.metadata().state == "Ongoing"


@in_world
async def test_unused_ids_expire(world):
    await world.start()
    b = await world.start("b")
    world.add(b, transactional_id="b")
    world.time.advance(CONFIG.transactional_id_expiration_ms - 1)
    world.states.remove_expired_transactional_ids()
    assert world.states.get_transaction_state("a") is not None
    world.time.advance(1)
    world.states.remove_expired_transactional_ids()
    assert world.states.get_transaction_state("a") is None
    assert world.metadata("b").state == "Ongoing", "what is open does not expire"
    assert world.states_logged()[-1] == ("a", "")
    assert world.events(TransactionalIdExpired) == [("a", 1001, 0, 1)]
    world.restart()
    await world.settle()
    assert world.states.get_transaction_state("a") is None
    assert (await world.init(expected=ProducerIdAndEpoch(1001, 0))).error is Errors.NONE, (
        "recreated: nobody is fenced"
    )
