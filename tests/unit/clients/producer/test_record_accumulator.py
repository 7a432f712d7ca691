"""The queues of batches and the memory that they share."""

from kafka_edu.clients.metadata import Metadata
from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.record_accumulator import (
    BufferPool,
    RecordAccumulator,
)
from kafka_edu.record.compression import CompressionType
from tests.unit.clients.producer.parts import Core


def accumulator(linger_ms: float = 10, batch_size: int = 200) -> RecordAccumulator:
    return RecordAccumulator(
        "p", batch_size, linger_ms, 100, CompressionType.NONE, BufferPool(10_000)
    )


def cluster() -> Metadata:
    """Return metadata in which broker 1 leads t-0 and t-1."""
    core = Core(partitions=2)
    core.metadata.use("t", 0)
    core.metadata.update(core.metadata_answer(), 0)
    return core.metadata


def begin(records: RecordAccumulator, partition: int, value: bytes, now: float) -> ProducerBatch:
    assert records.pool.allocate(200)
    return records.append_to_new_batch("t", partition, 0, None, value, (), 200, now)


def anyone(batch: ProducerBatch) -> bool:
    return True


def nothing(batch: ProducerBatch) -> None: ...


def test_memory_goes_to_waiters_in_their_order() -> None:
    pool = BufferPool(100)
    assert pool.allocate(80)
    order: list[str] = []
    large = pool.wait(90, lambda: order.append("large"))
    small = pool.wait(10, lambda: order.append("small"))
    assert not pool.allocate(5)  # 20 bytes are free, but others wait
    pool.free(80)
    assert order == ["large", "small"]
    assert (large.granted, small.granted, pool.available) == (True, True, 0)


def test_a_waiter_that_gives_up_keeps_no_memory() -> None:
    pool = BufferPool(100)
    assert pool.allocate(60)
    large, small = pool.wait(90, lambda: None), pool.wait(10, lambda: None)
    pool.cancel(large)
    assert small.granted
    pool.cancel(small)
    assert (pool.available, pool.waiting) == (40, 0)


def test_a_record_goes_into_the_last_batch_while_it_has_room() -> None:
    records = accumulator()
    assert records.try_append("t", 0, 0, None, b"v", ()) is None
    batch = begin(records, 0, b"v" * 50, 0)
    assert records.try_append("t", 0, 0, None, b"v" * 50, ()) is batch
    assert batch.count == 2
    assert records.try_append("t", 0, 0, None, b"v" * 50, ()) is None
    assert batch.size <= batch.limit == 200


def test_a_batch_is_ready_when_it_is_full_or_has_lingered_or_memory_is_short() -> None:
    records, metadata = accumulator(), cluster()
    begin(records, 0, b"v", 0)
    ready = records.ready(metadata, 4)
    assert (ready.queues, ready.next_ms) == ({}, 6)
    assert [queue.tp.partition for queue in records.ready(metadata, 10).queues[1]] == [0]
    begin(records, 0, b"v", 4)  # a second batch of the partition: the first is full
    assert 1 in records.ready(metadata, 4).queues
    other = accumulator()
    begin(other, 1, b"v", 0)
    assert not other.ready(metadata, 1).queues
    other.pool.wait(10_000, lambda: None)
    assert 1 in other.ready(metadata, 1).queues


def test_a_muted_partition_and_one_without_a_leader_are_not_ready() -> None:
    records, metadata = accumulator(0), cluster()
    batch = begin(records, 0, b"v", 0)
    begin(records, 5, b"v", 0)
    records.mute(batch.tp, True)
    ready = records.ready(metadata, 0)
    assert (ready.queues, ready.unknown_topics) == ({}, {"t"})
    records.mute(batch.tp, False)
    assert 1 in records.ready(metadata, 0).queues


def test_retried_batches_come_back_in_front_in_their_order() -> None:
    records, metadata = accumulator(0), cluster()
    batches = [begin(records, 0, b"%d" % n, 0) for n in range(3)]
    for _ in range(2):
        records.drain(1, records.ready(metadata, 0).queues[1], 1_000, anyone, nothing, 0)
    records.reenqueue(batches[1], 5)
    records.reenqueue(batches[0], 5)
    assert list(records.queued[batches[0].tp].batches) == batches
    waiting = records.ready(metadata, 50)
    assert (waiting.queues, waiting.next_ms) == ({}, 55)
    assert 1 in records.ready(metadata, 105).queues


def test_the_requests_to_other_brokers_do_not_decide_who_is_first() -> None:
    records, metadata = accumulator(linger_ms=0), cluster()
    for partition in (0, 1):
        for _ in range(4):
            begin(records, partition, b"v" * 50, 0)
    first = []
    for _ in range(4):
        [batch] = records.drain(1, records.ready(metadata, 0).queues[1], 100, anyone, nothing, 0)
        first.append(batch.tp.partition)
        assert records.drain(2, [], 100, anyone, nothing, 0) == []
    assert first == [1, 0, 1, 0]


def test_drain_takes_one_batch_of_each_partition_up_to_the_size_and_in_turn() -> None:
    records, metadata = accumulator(0), cluster()
    for partition in (0, 0, 1, 1):
        begin(records, partition, b"v" * 60, 0)
    firsts = []
    for _ in range(2):
        [batch] = records.drain(1, records.ready(metadata, 0).queues[1], 100, anyone, nothing, 0)
        assert batch.data is not None
        firsts.append(batch.tp.partition)
    assert sorted(firsts) == [0, 1]
    both = records.drain(1, records.ready(metadata, 0).queues[1], 1_000, anyone, nothing, 0)
    assert sorted(batch.tp.partition for batch in both) == [0, 1]
    assert not records.queued


def test_release_frees_memory_once() -> None:
    records = accumulator()
    batch = begin(records, 0, b"v", 0)
    records.release(batch)
    records.release(batch)
    assert records.pool.available == records.pool.total
    assert not records.incomplete
