"""The transaction coordinator on real logs: its decisions, records and responses."""

import asyncio
import functools
import inspect

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.coordinator.transaction.transaction_coordinator import (
    ProducerIdAndEpoch,
    Requester,
)
from kafka_edu.trace.events.transaction import (
    BY_ANOTHER,
    ProducerFenced,
    TransactionalIdInitialised,
    TransactionMarkersSnapshot,
    TransactionResumed,
    TransactionSnapshot,
    TransactionStateChanged,
    TransactionTimedOut,
)
from tests.unit.coordinator.transaction.world import CONFIG, DATA, OFFSETS, STATE, World

UNKNOWN = ProducerIdAndEpoch(77, 0)


def in_world(test):
    """Run the test in a loop, with a world whose coordinator has loaded its (empty) partition."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        async def main():
            world = World()
            await world.settle()
            await test(world, *args, **kwargs)
            await world.markers.shutdown()

        asyncio.run(main())

    asked = inspect.signature(test)
    run.__signature__ = asked.replace(
        parameters=list(asked.parameters.values())[1:]
    )  # pytest would take `world` for a fixture
    return run


@in_world
async def test_a_transaction_from_beginning_to_end(world):
    a = await world.start()
    assert a == (1001, 0)
    assert world.add(a, DATA[0]) is Errors.NONE
    world.write(a, DATA[0], 0)
    assert world.add(a, DATA[1], OFFSETS) is Errors.NONE
    world.write(a, DATA[1], 0)
    assert world.end(a) is Errors.NONE
    states = ["Empty", "Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert world.states_logged() == [("a", state) for state in states]
    assert [(e.before, e.after) for e in world.events(TransactionStateChanged)] == list(
        zip(["Empty", *states[:-1]], states, strict=True)
    )
    for tp in (DATA[0], DATA[1], OFFSETS):
        assert world.markers_in(tp) == [(1001, 0, "COMMIT", 1)]
    assert world.markers_in(DATA[2]) == []
    assert world.offsets_completed == [(1001, [4], True)]
    assert world.replicas.logs[DATA[0]].last_stable_offset == 2
    assert world.add(a, DATA[2]) is Errors.NONE
    assert world.end(a, commit=False) is Errors.NONE
    assert world.markers_in(DATA[2]) == [(1001, 0, "ABORT", 1)]


@in_world
async def test_partitions_already_in_the_transaction_are_not_written_again(world):
    a = await world.start()
    world.add(a, DATA[0], DATA[1])
    before = len(world.states_logged())
    assert world.add(a, DATA[1]) is Errors.NONE
    assert len(world.states_logged()) == before


@in_world
async def test_repeated_and_contradictory_end_requests(world):
    a = await world.start()
    assert world.end(a) is Errors.INVALID_TXN_STATE, "nothing was begun"
    world.add(a)
    world.end(a)
    assert world.end(a) is Errors.NONE
    assert world.end(a, commit=False) is Errors.INVALID_TXN_STATE
    world.replicas.errors[DATA[0]] = Errors.NOT_LEADER_OR_FOLLOWER
    world.add(a)
    world.end(a, commit=False)
    assert world.metadata().pending_state == "CompleteAbort", "one marker is missing"
    assert world.end(a, commit=False) is Errors.CONCURRENT_TRANSACTIONS
    assert world.add(a) is Errors.CONCURRENT_TRANSACTIONS
    assert (await world.init()).error is Errors.CONCURRENT_TRANSACTIONS


@in_world
async def test_requests_of_a_wrong_producer_are_refused(world):
    a = await world.start()
    assert world.add(UNKNOWN) is Errors.INVALID_PRODUCER_ID_MAPPING
    assert world.add(UNKNOWN, transactional_id="unheard of") is Errors.INVALID_PRODUCER_ID_MAPPING
    assert world.end(UNKNOWN) is Errors.INVALID_PRODUCER_ID_MAPPING
    assert world.add(a._replace(epoch=1)) is Errors.PRODUCER_FENCED, (
        "an epoch that nobody has yet is no better than an old one"
    )
    assert world.end(a._replace(epoch=1)) is Errors.PRODUCER_FENCED
    assert world.add(a, transactional_id="") is Errors.INVALID_REQUEST
    assert world.end(a, transactional_id="") is Errors.INVALID_REQUEST


@in_world
async def test_requests_that_init_refuses(world):
    for timeout_ms in (0, -1, CONFIG.transaction_max_timeout_ms + 1):
        assert (await world.init(timeout_ms=timeout_ms)).error is Errors.INVALID_TRANSACTION_TIMEOUT
    assert (await world.init("")).error is Errors.INVALID_REQUEST
    assert await world.init(None) == (1001, 0, Errors.NONE), "an idempotent producer's id"


@in_world
async def test_a_second_process_fences_the_first_and_aborts_what_it_left(world):
    first = await world.start()
    world.add(first, DATA[0])
    world.write(first, DATA[0], 0)
    assert (await world.init()).error is Errors.CONCURRENT_TRANSACTIONS, (
        "while the abort is on its way"
    )
    assert world.markers_in(DATA[0]) == [(1001, 1, "ABORT", 1)], (
        "with the raised epoch: the log refuses the zombie"
    )
    second = await world.start()
    assert second == (1001, 2), "raised by two"
    assert world.add(first) is Errors.PRODUCER_FENCED
    assert world.end(first) is Errors.PRODUCER_FENCED
    with pytest.raises(KafkaException) as refused:
        world.write(first, DATA[0], 1)
    assert refused.value.error is Errors.INVALID_PRODUCER_EPOCH
    assert [(e.producer_epoch, e.current_epoch, e.asked) for e in world.events(ProducerFenced)] == [
        (0, 1, "InitProducerId of another"),
        (0, 2, "AddPartitionsToTxn"),
        (0, 2, "EndTxn"),
    ]


@in_world
async def test_events_name_the_client_that_fences_and_the_one_that_is_fenced(world):
    old, new = Requester("old", "b:1-c:2-0"), Requester("new", "b:1-c:3-1")
    first = ProducerIdAndEpoch(*(await world.init(requester=old))[:2])
    world.add(first, DATA[0])
    await world.init(requester=new)
    await world.init(requester=new)
    answers = []
    world.coordinator.handle_end_transaction("a", first, True, answers.append, old)
    assert answers == [Errors.PRODUCER_FENCED]
    assert world.events(TransactionalIdInitialised) == [
        ("a", 1001, 0, 60_000, "old", old.connection_id),
        ("a", 1001, 2, 60_000, "new", new.connection_id),
    ]
    assert world.events(ProducerFenced) == [
        ("a", 1001, 0, 1, BY_ANOTHER, "new", new.connection_id),
        ("a", 1001, 0, 2, "EndTxn", "old", old.connection_id),
    ]


@in_world
async def test_a_snapshot_has_the_clock_of_a_transaction_and_the_markers_that_are_missing(world):
    a = await world.start(timeout_ms=30_000)
    began_ms = world.time.milliseconds()
    world.add(a, DATA[0], DATA[1])
    world.replicas.errors[DATA[1]] = Errors.NOT_LEADER_OR_FOLLOWER
    world.time.advance(500)
    world.end(a)
    decided = world.events(TransactionStateChanged)[-1]
    assert (decided.after, decided.log_partition) == ("PrepareCommit", 0)
    assert (decided.started_ms, decided.timeout_ms) == (began_ms, 30_000)
    told = [envelope.event for envelope in world.trace.snapshot()]
    [state] = [event for event in told if isinstance(event, TransactionSnapshot)]
    assert (state.state, state.pending_state) == ("PrepareCommit", "CompleteCommit")
    assert (state.started_ms, state.updated_ms) == (began_ms, began_ms + 500)
    assert (state.log_partition, state.timeout_ms) == (0, 30_000)
    [markers] = [event for event in told if isinstance(event, TransactionMarkersSnapshot)]
    assert markers == ("a", ("t-1",), 1)


@in_world
async def test_a_producer_goes_on_after_an_error_and_retries(world):
    first = await world.start()
    again = await world.init(expected=first)
    assert again == (1001, 1, Errors.NONE)
    assert await world.init(expected=first) == again, "the answer was lost: the same again"
    other = await world.start()
    assert other.epoch == 2
    assert (await world.init(expected=first)).error is Errors.PRODUCER_FENCED
    assert (await world.init(expected=ProducerIdAndEpoch(5, 2))).error is Errors.PRODUCER_FENCED


@in_world
async def test_epochs_that_are_used_up_bring_a_new_producer_id(world):
    await world.start()
    world.metadata().producer_epoch = 32765
    last = await world.start()
    assert last == (1001, 32766)
    world.add(last, DATA[0])
    assert (await world.init()).error is Errors.CONCURRENT_TRANSACTIONS
    assert world.markers_in(DATA[0]) == [(1001, 32767, "ABORT", 1)], "the last epoch is for fencing"
    rotated = await world.start()
    assert rotated == (1002, 0)
    assert world.end(last) is Errors.INVALID_PRODUCER_ID_MAPPING


@in_world
async def test_a_producer_whose_id_was_replaced_may_retry(world):
    await world.start()
    world.metadata().producer_epoch = 32766
    old = ProducerIdAndEpoch(1001, 32766)
    rotated = await world.init(expected=old)
    assert rotated == (1002, 0, Errors.NONE)
    assert await world.init(expected=old) == rotated


@in_world
async def test_one_change_at_a_time(world):
    a = await world.start()
    world.replicas.hold()
    assert world.add(a, DATA[0]) is None
    assert world.add(a, DATA[1]) is Errors.CONCURRENT_TRANSACTIONS
    assert world.end(a) is Errors.CONCURRENT_TRANSACTIONS
    assert (await world.init()).error is Errors.CONCURRENT_TRANSACTIONS
    world.replicas.release()
    assert world.add(a, DATA[1]) is Errors.NONE


@in_world
async def test_a_fencing_that_could_not_be_logged_does_not_raise_the_epoch_twice(world):
    a = await world.start()
    world.add(a, DATA[0])
    world.replicas.errors[STATE] = Errors.NOT_ENOUGH_REPLICAS
    assert (await world.init()).error is Errors.COORDINATOR_NOT_AVAILABLE
    world.replicas.errors.clear()
    assert world.end(a) is Errors.PRODUCER_FENCED, "but it did fence"
    assert await world.start() == (1001, 2)
    assert world.markers_in(DATA[0]) == [(1001, 1, "ABORT", 1)]


@in_world
async def test_overdue_transactions_are_aborted_and_their_producers_fenced(world):
    a = await world.start(timeout_ms=5_000)
    world.add(a, DATA[0])
    world.write(a, DATA[0], 0)
    world.time.advance(5_000)
    world.coordinator.abort_timed_out_transactions()
    assert world.metadata().state == "Ongoing", "not overdue yet"
    world.time.advance(1)
    world.coordinator.abort_timed_out_transactions()
    assert world.metadata().state == "CompleteAbort"
    assert world.markers_in(DATA[0]) == [(1001, 1, "ABORT", 1)]
    assert world.end(a) is Errors.PRODUCER_FENCED
    assert world.events(TransactionTimedOut) == [("a", 1001, 0, 5_001, 5_000)]
    again = await world.init(expected=a)
    assert again.error is Errors.PRODUCER_FENCED, (
        "in 2.8 an abort by time-out is final for a producer that names its epoch"
    )
    assert await world.start() == (1001, 2)


@pytest.mark.parametrize("commit", [True, False])
@in_world
async def test_a_new_coordinator_writes_the_missing_markers_of_the_old_one(world, commit):
    a = await world.start()
    world.add(a)
    world.replicas.errors = dict.fromkeys(DATA[1:], Errors.NOT_LEADER_OR_FOLLOWER)
    assert world.end(a, commit) is Errors.NONE
    assert world.metadata().state == ("PrepareCommit" if commit else "PrepareAbort")
    await world.markers.shutdown()
    world.replicas.errors.clear()
    world.restart()
    await world.settle()
    assert world.metadata().state == ("CompleteCommit" if commit else "CompleteAbort")
    kind = "COMMIT" if commit else "ABORT"
    assert world.markers_in(DATA[0]) == [
        (1001, 0, kind, 1),
        (1001, 0, kind, 2),
    ], "twice does no harm"
    assert world.markers_in(DATA[1]) == [(1001, 0, kind, 2)]
    (resumed,) = world.events(TransactionResumed)
    assert (resumed.transactional_id, resumed.coordinator_epoch) == ("a", 2)
