"""The placement of replicas, as in Kafka."""

from collections import Counter
from random import Random

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.controller.replica_assignment import (
    assign_replicas_to_brokers,
    rack_alternated_broker_list,
)

RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def test_without_racks_the_table_of_the_docstring() -> None:
    assignment = assign_replicas_to_brokers(
        dict.fromkeys(range(5)), 10, 3, Random(0), fixed_start_index=0
    )
    assert [assignment[p] for p in range(5)] == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
    ]
    assert [assignment[p] for p in range(5, 10)] == [
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    ]


def test_with_racks_as_kafka_documents_it() -> None:
    assert rack_alternated_broker_list(RACKS) == [0, 3, 1, 5, 4, 2]
    assignment = assign_replicas_to_brokers(RACKS, 7, 3, Random(0), fixed_start_index=0)
    assert list(assignment.values()) == [
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_random_starts_are_fair_and_cover_racks(seed: int) -> None:
    assignment = assign_replicas_to_brokers(RACKS, 60, 3, Random(seed))
    assert set(Counter(replicas[0] for replicas in assignment.values()).values()) == {10}
    assert all(len({RACKS[b] for b in replicas}) == 3 for replicas in assignment.values())
    assert all(len(set(replicas)) == 3 for replicas in assignment.values())


def test_more_replicas_than_racks_and_uneven_racks() -> None:
    racks = {0: "a", 1: "a", 2: "a", 3: "b"}
    for replicas in assign_replicas_to_brokers(racks, 8, 4, Random(3)).values():
        assert sorted(replicas) == [0, 1, 2, 3]
    for replicas in assign_replicas_to_brokers(racks, 8, 2, Random(3)).values():
        assert 3 in replicas


def test_partitions_are_added_behind_those_there_are() -> None:
    brokers = dict.fromkeys([10, 11, 12])
    all_at_once = assign_replicas_to_brokers(brokers, 6, 2, Random(0), fixed_start_index=1)
    added = assign_replicas_to_brokers(
        brokers, 2, 2, Random(0), fixed_start_index=1, start_partition_id=4
    )
    assert list(added) == [4, 5]
    assert [replicas[0] for replicas in added.values()] == [all_at_once[4][0], all_at_once[5][0]]


@pytest.mark.parametrize(
    ("racks", "partitions", "factor", "error"),
    [
        ({1: None}, 0, 1, Errors.INVALID_PARTITIONS),
        ({1: None}, 10_001, 1, Errors.POLICY_VIOLATION),
        ({1: None}, 2**31 - 1, 1, Errors.POLICY_VIOLATION),
        ({1: None}, 1, 0, Errors.INVALID_REPLICATION_FACTOR),
        ({1: None}, 1, 2, Errors.INVALID_REPLICATION_FACTOR),
        ({1: None, 2: "a"}, 1, 1, Errors.INVALID_REPLICATION_FACTOR),
        ({}, 1, 1, Errors.INVALID_REPLICATION_FACTOR),
    ],
)
def test_assignments_that_are_refused(
    racks: dict[int, str | None], partitions: int, factor: int, error: Errors
) -> None:
    with pytest.raises(KafkaException) as refused:
        assign_replicas_to_brokers(racks, partitions, factor, Random(0))
    assert refused.value.error is error
