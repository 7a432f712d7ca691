"""The brokers' logs at the end of a run, read without any client."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.record.control_record import ControlRecordType, read_end_transaction_marker
from kafka_edu.record.memory_records import read_entry
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.replication.partition import Partition
from kafka_edu.sim.sim_cluster import SimCluster

_AT_ONCE: Final = 1 << 20
NAME_HEADER: Final = "name"
"""The header in which a tombstone has its name."""


class StoredRecord(NamedTuple):
    """One record of a log. `name` is the record's value as text. A tombstone has its name in a
    header.
    """

    offset: int
    name: str
    key: str
    producer_id: int
    producer_epoch: int
    is_transactional: bool
    is_tombstone: bool = False


def name_of(value: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> str:
    """Return the name of a record, by which the history knows it."""
    if value is None:
        value = next((value for key, value in headers if key == NAME_HEADER), None)
    return (value or b"").decode(errors="replace")


class Marker(NamedTuple):
    """The end of a transaction in a log."""

    offset: int
    producer_id: int
    is_commit: bool


class StoredLog(NamedTuple):
    """One replica of one partition at the end of a run."""

    broker: int
    tp: TopicPartition
    is_leader: bool
    leader_epoch: int
    isr: tuple[int, ...]
    start: int
    end: int
    high_watermark: int
    entries: tuple[StoredRecord | Marker, ...]

    @property
    def records(self) -> Iterator[StoredRecord]:
        return (entry for entry in self.entries if isinstance(entry, StoredRecord))

    def visible(self) -> tuple[list[StoredRecord], list[StoredRecord]]:
        """Return the records that read_committed shows, and those whose transaction is open.

        The markers show whether a transaction was committed. The log's index of aborted
        transactions is not used, because a wrong index is one of the faults that must be found.
        """
        shown: list[StoredRecord] = []
        open_: dict[int, list[StoredRecord]] = {}
        for entry in self.entries:
            if isinstance(entry, Marker):
                records = open_.pop(entry.producer_id, [])
                shown += records if entry.is_commit else []
            elif entry.is_transactional:
                open_.setdefault(entry.producer_id, []).append(entry)
            else:
                shown.append(entry)
        return shown, [record for records in open_.values() for record in records]


def read_log(log: Log) -> tuple[StoredRecord | Marker, ...]:
    """Return everything in a log, in order. O(bytes)."""
    found: list[StoredRecord | Marker] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = memoryview(part_bytes(log.read(offset, _AT_ONCE, min_one_message=True).records))
        before = offset
        for at, header in iter_headers(data):
            entry = data[at : at + header.size_in_bytes]
            if header.is_control:
                marker = read_end_transaction_marker(entry)
                if marker is not None:
                    found.append(
                        Marker(
                            header.base_offset,
                            header.producer_id,
                            marker.type is ControlRecordType.COMMIT,
                        )
                    )
            else:
                found += [
                    StoredRecord(
                        record.offset,
                        name_of(record.value, record.headers),
                        (record.key or b"").decode(errors="replace"),
                        header.producer_id,
                        header.producer_epoch,
                        header.is_transactional,
                        record.value is None,
                    )
                    for record in read_entry(entry)
                ]
            offset = header.next_offset
        if offset == before:
            break  # nothing whole was read: the rest is compacted away
    return tuple(found)


def partitions_of(cluster: SimCluster, broker: int) -> list[Partition]:
    """Return the online partitions of a broker. The list is empty if the broker is down or still
    starting.
    """
    server = cluster.brokers[broker].server
    if server is None or server.replication is None:
        return []
    return list(server.replication.replicas.partitions)


def ends_out_of_sync(cluster: SimCluster) -> dict[tuple[TopicPartition, int], int]:
    """Return the log end offsets of the replicas that are not in the ISR of their leader, by
    partition and broker.
    """
    found = {broker: partitions_of(cluster, broker) for broker in cluster.brokers}
    in_sync = {
        (partition.topic_partition, broker)
        for partitions in found.values()
        for partition in partitions
        if partition.is_leader
        for broker in partition.isr
    }
    return {
        (partition.topic_partition, broker): partition.local_log().log_end_offset
        for broker, partitions in found.items()
        for partition in partitions
        if (partition.topic_partition, broker) not in in_sync
    }


def stored_logs(
    cluster: SimCluster, topics: Mapping[str, int]
) -> dict[TopicPartition, list[StoredLog]]:
    """Return all replicas of the topics' partitions, by partition."""
    found: dict[TopicPartition, list[StoredLog]] = {
        TopicPartition(topic, number): []
        for topic, partitions in topics.items()
        for number in range(partitions)
    }
    for broker in cluster.brokers:
        for partition in partitions_of(cluster, broker):
            replicas = found.get(partition.topic_partition)
            if replicas is None:
                continue
            log = partition.local_log()
            replicas.append(
                StoredLog(
                    broker,
                    partition.topic_partition,
                    partition.is_leader,
                    partition.leader_epoch,
                    partition.isr,
                    log.log_start_offset,
                    log.log_end_offset,
                    partition.high_watermark.offset,
                    read_log(log),
                )
            )
    return found
