"""The tally compares acknowledged records with read records. It finds a lost record in any order of
acknowledgements and reads.
"""

from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.clients.load.load_tally import LoadTally, StoredRecord


def record(number: int, offset: int, partition: int = 0) -> StoredRecord:
    return StoredRecord(partition, offset, number)


def test_what_is_acked_and_read_is_not_lost() -> None:
    tally = LoadTally()
    for number in range(3):
        assert tally.on_ack(record(number, number)) == []
    for number in range(3):
        assert tally.on_read(record(number, number)) == []
    assert (tally.acked, tally.read, tally.lost, tally.unread) == (3, 3, 0, 0)


def test_a_record_may_be_read_before_its_ack_arrives() -> None:
    tally = LoadTally()
    assert tally.on_read(record(7, 0)) == []
    assert tally.on_ack(record(7, 0)) == []
    assert (tally.lost, tally.unread) == (0, 0)


def test_a_record_that_the_consumer_has_passed_is_lost() -> None:
    tally = LoadTally()
    for number in range(3):
        tally.on_ack(record(number, number))
    tally.on_read(record(0, 0))
    assert tally.on_read(record(2, 2)) == [record(1, 1)]
    assert tally.lost == 1


def test_another_record_at_the_offset_means_that_the_acked_one_is_lost() -> None:
    """This happens after an unclean election: the new leader assigns the offset a second time."""
    tally = LoadTally()
    tally.on_ack(record(1, 5))
    assert tally.on_ack(record(9, 5)) == [record(1, 5)]
    assert tally.on_read(record(9, 5)) == []
    assert tally.lost == 1
    other = LoadTally()
    other.on_ack(record(1, 5))
    assert other.on_read(record(2, 5)) == [record(1, 5)]


def test_an_ack_below_the_position_of_a_record_that_nobody_read_is_a_loss() -> None:
    tally = LoadTally()
    tally.on_read(record(4, 4))
    assert tally.on_ack(record(3, 3)) == [record(3, 3)]


def test_a_lost_record_that_turns_up_again_is_not_lost() -> None:
    """The consumer has skipped a record. Later it begins again at the earliest offset, and reads
    the record.
    """
    tally = LoadTally()
    tally.on_ack(record(1, 1))
    tally.on_read(record(2, 2))
    assert tally.lost == 1
    tally.on_read(record(1, 1))
    assert (tally.lost, tally.read_again) == (0, 0)
    tally.on_read(record(1, 1))
    assert tally.read_again == 1


@given(st.data())
def test_in_any_interleaving_just_the_missing_are_lost(data: st.DataObject) -> None:
    """The acknowledgements come in any order, and the reads in the order of the offsets. Both are
    mixed at random.
    """
    offsets = data.draw(st.integers(1, 25))
    missing = data.draw(st.sets(st.integers(0, offsets - 1), max_size=5))
    acks = data.draw(st.permutations(range(offsets)))
    reads = [offset for offset in range(offsets) if offset not in missing]
    tally = LoadTally()
    queues = [list(acks), list(reads)]
    while any(queues):
        choice = data.draw(st.sampled_from([i for i, queue in enumerate(queues) if queue]))
        offset = queues[choice].pop(0)
        (tally.on_ack if choice == 0 else tally.on_read)(record(offset, offset))
    last_read = max(reads, default=-1)
    assert tally.lost == len([offset for offset in missing if offset < last_read])
    assert tally.unread == len([offset for offset in missing if offset > last_read])
    assert tally.read == len(reads)


def test_in_a_compacted_topic_a_record_that_is_not_there_may_be_superseded() -> None:
    tally = LoadTally(compacted=True)
    for offset in range(3):
        assert tally.on_ack(StoredRecord(0, offset, offset)) == []
    assert tally.on_read(StoredRecord(0, 2, 2)) == []
    assert (tally.lost, tally.read, tally.unread) == (0, 1, 0)
