"""The records of a partition of __consumer_offsets, read again."""

from kafka_edu.coordinator.group.group_loader import GroupLoader
from kafka_edu.coordinator.group.group_records import (
    read_key,
)
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record_batch import parse_header
from tests.unit.coordinator.group.group_world import GROUP, World
from tests.unit.coordinator.group.test_group_metadata_manager import PRODUCER, T0, txn_commit


def test_its_batch_is_transactional_and_a_loader_counts_it_after_the_marker() -> None:
    world = World()
    world.commit({T0: 1})
    txn_commit(world, {T0: 5}, epoch=3)
    header = parse_header(world.log.batches[-1])
    assert (
        header.is_transactional,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
    ) == (True, PRODUCER, 3, 0)
    loaded = world.log.load()[GROUP]
    assert (loaded.offsets[T0].value.offset, loaded.pending[PRODUCER][T0].value.offset) == (1, 5)
    for kind, counts in ((ControlRecordType.COMMIT, 5), (ControlRecordType.ABORT, 1)):
        world.log.batches.append(
            build_end_transaction_marker(EndTransactionMarker(kind, 0), PRODUCER, 3, 0)
        )
        after = world.log.load()[GROUP]
        assert (after.offsets[T0].value.offset, after.pending) == (counts, {})
        world.log.batches.pop()


def test_a_record_of_a_later_kafka_is_passed_over() -> None:
    assert read_key(b"\0\x09whatever") is None
    loader = GroupLoader()
    assert list(loader.groups()) == []
