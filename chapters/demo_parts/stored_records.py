"""The records in the partitions after the producers of `numbered_clients` have finished.

They are compared with the acks. Each acked record must be stored exactly once, at the offset in the
ack. The records of one producer must be in the order of sending in each partition.

A record that was stored twice is a fault of the cluster only if both copies have the same id and
epoch of an idempotent producer (KIP-98). A broker recognises a repeated batch only by id, epoch and
sequence. librdkafka begins a new epoch by itself when one batch has overtaken another ("skipped
sequence numbers"); this happens on a busy machine while leaders move. Then it sends all unanswered
records again under the new epoch, even if they are stored. These copies are the client's work and
are counted separately.
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
    """The producer id and epoch of a batch. Its sequence numbers belong to this pair."""

    producer_id: int
    producer_epoch: int


class Stored(NamedTuple):
    """One record, as it is stored in its partition."""

    place: Place
    offset: int
    producer: ProducerIdAndEpoch


class Found(NamedTuple):
    """The comparison of the stored records with the acknowledged ones."""

    consumed: int
    lost: int
    """The number of acked records that are not at the offset in the ack."""
    duplicates: int
    """How many records were stored again under the same id and epoch. No broker may do this."""
    sent_anew: int
    """How many records were stored again under a different epoch that the client had begun."""
    out_of_order: int
    """How many records have a number that is not above that of the record before.

    Only records of the same producer in the same partition are compared.
    """
    unacked_but_stored: int
    """The number of stored records that were never acked. They are allowed: an ack can get lost."""


def read_all(cluster: Cluster, topic: str, leaders: Mapping[int, int]) -> list[Stored]:
    """Return every record of the topic, partition by partition.

    The records come from kafka-python, and their producer ids from the leader's log files.
    `leaders` is partition → broker. Raises Standstill if no more records come before the ends.
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
    """Return offset → (producer id, epoch), for every record in a replica's folder.

    They are read from the batches' headers. O(records).
    """
    found: dict[int, ProducerIdAndEpoch] = {}
    for segment in sorted(replica.glob("*.log")):
        for _, header in iter_headers(segment.read_bytes()):
            producer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
            found.update(dict.fromkeys(range(header.base_offset, header.next_offset), producer))
    return found


def compare(acked: Mapping[Place, int], stored: Sequence[Stored]) -> Found:
    """Compare the acked records with the stored ones. O(records).

    `stored` must contain the records of each partition in the order of their offsets.
    """
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
