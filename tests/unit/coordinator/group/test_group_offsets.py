"""The offsets of a group: committed, expired, deleted."""

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_coordinator import Member
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from tests.defaults import OFFSET_DEFAULTS
from tests.unit.coordinator.group.group_world import GROUP, Answer, World
from tests.unit.coordinator.group.test_group_metadata_manager import PRODUCER, T0, T1, txn_commit


def test_an_offset_counts_when_the_log_has_it() -> None:
    world = World()
    world.log.hold = True
    answer = world.commit({T0: 5})
    assert answer.waits
    assert world.committed() == {}
    assert (
        world.coordinator.handle_fetch_offsets(GROUP, [T0], require_stable=True)[1][T0][0]
        is Errors.UNSTABLE_OFFSET_COMMIT
    )
    world.log.release()
    assert answer.now == {T0: Errors.NONE}
    assert world.committed(require_stable=True) == {T0: 5}


def test_of_two_unfinished_commits_the_later_one_in_the_log_counts() -> None:
    world = World()
    world.log.hold = True
    world.commit({T0: 5})
    world.commit({T0: 6})
    world.log.release()
    assert world.committed(require_stable=True) == {T0: 6}


def test_a_commit_that_fails_changes_nothing() -> None:
    world = World()
    world.commit({T0: 5})
    world.log.error = Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert world.commit({T0: 6}).now == {T0: Errors.COORDINATOR_NOT_AVAILABLE}
    world.log.error = Errors.RECORD_LIST_TOO_LARGE
    assert world.commit({T0: 6}).now == {T0: Errors.INVALID_COMMIT_OFFSET_SIZE}
    assert world.committed(require_stable=True) == {T0: 5}


def test_an_offset_with_too_long_a_text_does_not_affect_the_others() -> None:
    world = World(offsets=OFFSET_DEFAULTS._replace(offset_metadata_max_bytes=3))
    world.commit({T0: 1})
    values = {T0: OffsetAndMetadata(2, metadata="äöü"), T1: OffsetAndMetadata(2, metadata="long")}
    answer = Answer[dict[TopicPartition, Errors]]()
    world.coordinator.handle_commit_offsets(GROUP, Member(), values, answer.take)
    assert answer.now == {T0: Errors.NONE, T1: Errors.OFFSET_METADATA_TOO_LARGE}
    assert world.committed() == {T0: 2}


def test_offsets_of_a_transaction_count_when_it_commits() -> None:
    world = World()
    world.commit({T0: 1})
    assert txn_commit(world, {T0: 5, T1: 6}) == {T0: Errors.NONE, T1: Errors.NONE}
    assert world.committed() == {T0: 1}
    assert world.coordinator.handle_fetch_offsets(GROUP, [T0, T1], require_stable=True)[1] == {
        T0: (Errors.UNSTABLE_OFFSET_COMMIT, None),
        T1: (Errors.UNSTABLE_OFFSET_COMMIT, None),
    }
    world.manager.complete_transaction(PRODUCER, {0}, True)
    assert world.committed(require_stable=True) == {T0: 5, T1: 6}
    world.manager.complete_transaction(PRODUCER, {0}, False)
    assert world.committed() == {T0: 5, T1: 6}, "a marker that comes twice changes nothing"


def test_offsets_of_an_aborted_transaction_are_dropped() -> None:
    world = World()
    txn_commit(world, {T0: 5})
    world.manager.complete_transaction(PRODUCER, {0}, False)
    assert world.committed(require_stable=True) == {}


def test_a_later_commit_outside_counts_before_that_of_the_transaction() -> None:
    world = World()
    txn_commit(world, {T0: 5})
    world.commit({T0: 9})
    world.manager.complete_transaction(PRODUCER, {0}, True)
    assert world.committed() == {T0: 9}
