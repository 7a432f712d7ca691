"""Tests of `describe_producer`, which returns the state of a producer at one moment: its buffers,
connections and counts. The events ProducerSampled and ProducerSnapshot contain this state.
"""

from kafka_edu.clients.producer.producer_sample import describe_producer
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.events.producer import PartitionBuffer, ProducerDescription
from tests.unit.clients.producer.parts import Core, partitions_added, produced
from tests.unit.clients.producer.test_transactions import Txn


def describe(core: Core) -> ProducerDescription:
    return describe_producer(core.config, core.parts, core.now)


def one(core: Core) -> PartitionBuffer:
    (partition,) = describe(core).partitions
    return partition


def test_a_batch_fills_waits_for_linger_leaves_and_is_acknowledged() -> None:
    core = Core({"linger.ms": 20})
    core.append(b"a")
    core.append(b"b")
    core.run()
    core.advance(5)
    held = one(core)
    assert (held.batches, held.records, held.wait, held.left_ms, held.age_ms) == (
        1, 2, "linger", 15, 5,
    )  # fmt: skip
    assert held.filling == held.bytes > 0
    assert describe(core).buffer_used == core.config.batch_size
    core.advance(15)
    sent = one(core)
    assert (sent.batches, sent.wait, sent.in_flight, sent.leader) == (0, "", 1, 1)
    assert (sent.sent, sent.sent_records, sent.last_records, sent.last_waited_ms) == (1, 2, 2, 20)
    core.advance(7)
    state = describe(core)
    (link,) = [link for link in state.links if link.broker_id == 1]
    assert (link.state, link.in_flight, link.oldest_ms) == ("READY", 1, 7)
    assert (state.oldest_ms, state.acked) == (27, 0)
    core.answer(core.requests[0], produced({0: (Errors.NONE, 0)}))
    state = describe(core)
    assert (state.acked, state.buffer_used, state.oldest_ms) == (2, 0, 0)
    assert one(core).in_flight == 0


def test_a_batch_says_what_it_waits_for() -> None:
    core = Core({"batch.size": 0, "enable.idempotence": True})
    core.leaders[0] = (-1, 0)
    core.append(b"a")
    core.run()
    assert one(core).wait == "no leader"
    core.leaders[0] = (1, 0)
    core.advance(100)
    for number in range(6):
        core.append(b"%d" % number)
        core.run()
    assert one(core).wait == "order", "a new leader gets one batch alone"
    core.answer(core.requests[0], core.store(core.requests[0]))
    core.run()
    state = one(core)
    assert (state.wait, state.in_flight, state.batches) == ("in flight", 5, 1)
    core.lose(1)
    state = one(core)
    assert (state.wait, state.attempts, state.batches) == ("backoff", 1, 6)
    assert state.left_ms == 100
    core.now += 100
    assert one(core).wait == "no connection"
    assert describe(core).retried == 5


def test_without_a_producer_id_nothing_goes() -> None:
    core = Core({"enable.idempotence": True})
    core.id_error = Errors.COORDINATOR_LOAD_IN_PROGRESS
    core.append(b"a")
    core.run()
    assert one(core).wait == "producer id"
    state = describe(core)
    assert (state.producer_id, state.state, state.transactional_id) == (-1, "INITIALIZING", "")


def test_with_one_request_in_flight_the_next_batch_waits_for_the_order() -> None:
    settings = {
        "max.in.flight.requests.per.connection": 1,
        "enable.idempotence": False,
        "batch.size": 0,
    }
    core = Core(settings)
    for value in (b"1", b"2"):
        core.append(value)
    core.run()
    assert one(core).wait == "order"


def test_records_that_failed_are_counted() -> None:
    core = Core()
    core.append(b"a")
    core.append(b"b")
    core.run()
    core.answer(core.requests[0], produced({0: (Errors.TOPIC_AUTHORIZATION_FAILED, -1)}))
    assert describe(core).failed == 2
    assert describe(core).acked == 0


def test_calls_of_send_that_wait_for_memory_are_counted() -> None:
    core = Core()
    core.pool.wait(core.pool.total, lambda: None)
    waiter = core.pool.wait(1, lambda: None)
    assert describe(core).waiting_sends == 1, "the first one has its memory"
    core.pool.cancel(waiter)
    assert describe(core).waiting_sends == 0


def test_a_sample_changes_nothing() -> None:
    core = Core({"linger.ms": 20}, partitions=2)
    core.append(b"a", 1)
    core.run()
    before = [describe(core) for _ in range(3)]
    assert before[0] == before[1] == before[2]
    assert not core.requests


def test_a_batch_waits_until_its_partition_is_in_the_transaction() -> None:
    core = Txn().begun()
    core.held = {ApiKey.ADD_PARTITIONS_TO_TXN}
    core.send(b"a")
    assert one(core).wait == "transaction"
    state = describe(core)
    assert state.producer_id >= 0
    assert state.state == "IN_TRANSACTION"
    assert state.transactional_id == core.config.transactional_id
    asked = core.next_request(ApiKey.ADD_PARTITIONS_TO_TXN)
    core.reply(ApiKey.ADD_PARTITIONS_TO_TXN, partitions_added(asked))
    assert (one(core).wait, one(core).in_flight) == ("", 1)
