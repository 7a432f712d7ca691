"""The placement of the replicas of new partitions (Kafka: AdminUtils.assignReplicasToBrokers).

The placement has three aims. First, replicas are spread evenly over the brokers. Second, the
followers of one broker's leaders are spread over all other brokers; when that broker dies, all
other brokers share its work evenly. Third, each partition is in as many racks as possible.

Without racks, the first replicas of partitions 0, 1, 2 … go to one broker after the other, from a
random start. The followers are on the brokers after the leader. The distance from the leader to the
first follower grows by one after each round. An example has ten partitions of three replicas on
five brokers, with start and shift 0:

    p0 0 1 2    p1 1 2 3    p2 2 3 4    p3 3 4 0    p4 4 0 1
    p5 0 2 3    p6 1 3 4    p7 2 4 0    p8 3 0 1    p9 4 1 2

With racks, the brokers are first listed so that the racks alternate. No rack gets a second replica
of a partition before each rack has one.

Next: the caller writes the assignment to ZooKeeper, and the controller's TopicChange event reads
it.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException

MAX_NEW_PARTITIONS: Final = 10_000
"""The maximum number of partitions that are created at once.

A client's request may contain any number up to two thousand million (four bytes). That number of
partitions would use up all memory. Kafka has the same limit since KRaft.
"""


def assign_replicas_to_brokers(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    random: Random,
    *,
    fixed_start_index: int = -1,
    start_partition_id: int = 0,
) -> dict[int, tuple[int, ...]]:
    """Return partition number → ids of its brokers, the preferred leader first.

    O(partitions × brokers) at worst. `racks` is broker id → rack, for the live brokers. If
    `fixed_start_index` is ≥ 0, it replaces the two random numbers. To add partitions to a topic,
    pass the first new partition number as `start_partition_id`, and the index of partition 0's
    first replica in the list of brokers as `fixed_start_index`.

    Raises KafkaException: INVALID_PARTITIONS, POLICY_VIOLATION for more than MAX_NEW_PARTITIONS, or
    INVALID_REPLICATION_FACTOR. INVALID_REPLICATION_FACTOR is also raised if some brokers have a
    rack and some have none.
    """
    if partitions <= 0:
        raise KafkaException(
            Errors.INVALID_PARTITIONS, "Number of partitions must be larger than 0."
        )
    if replication_factor <= 0:
        raise KafkaException(
            Errors.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."
        )
    if replication_factor > len(racks):
        raise KafkaException(
            Errors.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {replication_factor} larger than available brokers:"
            f" {len(racks)}.",
        )
    if partitions > MAX_NEW_PARTITIONS:
        raise KafkaException(
            Errors.POLICY_VIOLATION,
            f"{partitions} new partitions are more than {MAX_NEW_PARTITIONS}: request fewer at a"
            " time.",
        )
    known = {broker_id: rack for broker_id, rack in sorted(racks.items()) if rack is not None}
    if known and len(known) < len(racks):
        raise KafkaException(
            Errors.INVALID_REPLICATION_FACTOR,
            "Not all brokers have rack information for replica rack aware assignment.",
        )
    brokers = rack_alternated_broker_list(known) if known else sorted(racks)
    start = fixed_start_index if fixed_start_index >= 0 else random.randrange(len(brokers))
    shift = fixed_start_index if fixed_start_index >= 0 else random.randrange(len(brokers))
    assignment = {}
    for partition in range(start_partition_id, start_partition_id + partitions):
        if partition > 0 and partition % len(brokers) == 0:
            shift += 1
        first = (partition + start) % len(brokers)
        assignment[partition] = _replicas(brokers, known, first, shift, replication_factor)
    return assignment


def rack_alternated_broker_list(racks: Mapping[int, str]) -> list[int]:
    """Return the broker ids in an order in which the racks alternate.

    For example, {0: a, 1: c, 2: c, 3: b, 4: b, 5: a} → [0, 3, 1, 5, 4, 2].
    """
    by_rack: dict[str, list[int]] = {}
    for broker_id, rack in sorted(racks.items()):
        by_rack.setdefault(rack, []).append(broker_id)
    rounds = range(max(map(len, by_rack.values())))
    return [
        by_rack[rack][turn]
        for turn in rounds
        for rack in sorted(by_rack)
        if turn < len(by_rack[rack])
    ]


def _replicas(
    brokers: Sequence[int],
    racks: Mapping[int, str],
    first: int,
    shift: int,
    replication_factor: int,
) -> tuple[int, ...]:
    """Return one partition's broker ids: the leader at index `first`, then its followers.

    A broker whose rack already has a replica is skipped until every rack has one.
    """
    rack_count = len(set(racks.values()))
    chosen = [brokers[first]]
    racks_taken = {racks.get(brokers[first])}
    step = 0
    while len(chosen) < replication_factor:
        broker_id = brokers[_replica_index(first, shift * max(rack_count, 1), step, len(brokers))]
        step += 1
        if broker_id not in chosen and (
            racks.get(broker_id) not in racks_taken or len(racks_taken) >= rack_count
        ):
            chosen.append(broker_id)
            racks_taken.add(racks.get(broker_id))
    return tuple(chosen)


def _replica_index(first: int, shift: int, step: int, brokers: int) -> int:
    """Return a follower's index in the list of brokers; it is never the leader's own index."""
    return (first + 1 + (shift + step) % (brokers - 1)) % brokers
