"""The records in the partitions when the producers of `numbered_clients` are done, next to those
acked to them.

Each acked record must be there once, where the ack said, and the records of one producer in one
partition in the order in which it sent them.

A record that was stored twice tells against the cluster only if both copies came under one id and
epoch of an idempotent producer (KIP-98): by those and the sequence a broker knows a batch again,
and by nothing else. librdkafka begins a new epoch by itself when a batch has overtaken another one,
as happens on a busy machine while leaders move ("skipped sequence numbers"): what it had sent
before, and got no answer for, it sends again under the new epoch, stored or not. Such copies are
the client's, and counted apart.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka import KafkaConsumer, TopicPartition

from kafka_edu.cli.progress import Progress
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.supervisor.cluster import Cluster

from .numbered_clients import UNKNOWN_OFFSET, Place


class ProducerIdAndEpoch(NamedTuple):
    """Whose sequence a batch belongs to."""

    producer_id: int
    producer_epoch: int


class Stored(NamedTuple):
    """One record as it lies in its partition."""

    place: Place
    offset: int
    producer: ProducerIdAndEpoch


class Found(NamedTuple):
    """The records in the partitions compared with those acknowledged."""

    consumed: int
    lost: int
    """Acked, but not where the ack said."""
    duplicates: int
    """Stored again under the same id and epoch: no broker may do so."""
    sent_anew: int
    """Stored again under another epoch, which the client had begun."""
    out_of_order: int
    """Records whose number is not above that of the one before, of the same producer in the same
    partition.
    """
    unacked_but_stored: int
    """Allowed, for an ack can get lost."""


def read_all(cluster: Cluster, topic: str, leaders: Mapping[int, int]) -> list[Stored]:
    """Every record of the topic, partition by partition: what kafka-python reads, and beside it the
    header in the leader's file.

    `leaders`: partition → broker. Raises Standstill when no more records come before the ends.
    """
    consumer = KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers.split(","),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    read: list[tuple[Place, int]] = []
    try:
        assigned = [TopicPartition(topic, partition) for partition in leaders]
        consumer.assign(assigned)
        ends = consumer.end_offsets(assigned)
        progress = Progress(f"the records of {topic}, up to the ends {_numbers(ends)}")
        while any(consumer.position(tp) < end for tp, end in ends.items()):
            progress.note(f"{len(read):,} records read")
            for tp, records in consumer.poll(timeout_ms=500).items():
                for record in records:
                    place = Place.parse(record.value)
                    assert place.partition == tp.partition, f"{place} was found in {tp}"
                    read.append((place, record.offset))
    finally:
        consumer.close()
    producers = {
        partition: producers_by_offset(cluster.replica(leader, topic, partition))
        for partition, leader in leaders.items()
    }
    return [Stored(place, offset, producers[place.partition][offset]) for place, offset in read]


def _numbers(ends: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {tp.partition: end for tp, end in ends.items()}


def producers_by_offset(replica: Path) -> dict[int, ProducerIdAndEpoch]:
    """Of every record in a replica's folder, from the batches' headers. O(records)."""
    found: dict[int, ProducerIdAndEpoch] = {}
    for segment in sorted(replica.glob("*.log")):
        for _, header in iter_headers(segment.read_bytes()):
            producer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
            found.update(dict.fromkeys(range(header.base_offset, header.next_offset), producer))
    return found


def compare(acked: Mapping[Place, int], stored: Sequence[Stored]) -> Found:
    """O(records). `stored` must hold the records of a partition in the order of their offsets."""
    there = {(place, offset) for place, offset, _ in stored}
    last: dict[tuple[str, int], int] = {}
    seen: defaultdict[Place, set[ProducerIdAndEpoch]] = defaultdict(set)
    duplicates = sent_anew = out_of_order = 0
    for place, _, producer in stored:
        if place not in seen:
            out_of_order += place.number <= last.get(place[:2], -1)
        elif producer in seen[place]:
            duplicates += 1
        else:
            sent_anew += 1
        seen[place].add(producer)
        last[place[:2]] = max(place.number, last.get(place[:2], -1))
    lost = sum(
        place not in seen if offset == UNKNOWN_OFFSET else (place, offset) not in there
        for place, offset in acked.items()
    )
    return Found(
        len(stored), lost, duplicates, sent_anew, out_of_order, len(seen.keys() - acked.keys())
    )
