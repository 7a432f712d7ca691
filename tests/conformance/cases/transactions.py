"""Idempotent and transactional producers: ids and epochs, the partitions and offsets of a
transaction, its end, fencing, markers, and the records that read_committed consumers see.
"""

from typing import Any, Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_edu.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafka_edu.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_edu.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafka_edu.protocol.messages.end_txn import EndTxnRequest
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_edu.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from tests.conformance.replay import Asker

SETTINGS: Final = {
    "transaction.max.timeout.ms": "60000",
    "log.roll.ms": "9000000000000000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
DIFFERENT: Final[dict[str, str]] = {}
NOW: Final = 1_700_000_000_000
Producer = tuple[int, int]
"""A producer's id and epoch."""


def init(
    transactional_id: str | None = "a", *, timeout_ms: int = 60_000, producer: Producer = (-1, -1)
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer[0],
        producer_epoch=producer[1],
    )


def add(
    producer: Producer, *partitions: tuple[str, int], transactional_id: str = "a"
) -> AddPartitionsToTxnRequest:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    named = [
        AddPartitionsToTxnTopic(name=topic, partitions=indexes) for topic, indexes in topics.items()
    ]
    return AddPartitionsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=named,
    )


def add_offsets(
    producer: Producer, group: str = "g", *, transactional_id: str = "a"
) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        group_id=group,
    )


def end(producer: Producer, commit: bool = True, *, transactional_id: str = "a") -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=commit,
    )


def commit_offsets(
    producer: Producer, *offsets: tuple[str, int, int], group: str = "g", **member: Any
) -> TxnOffsetCommitRequest:
    topics = [
        TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=[
                TxnOffsetCommitRequestPartition(
                    partition_index=p, committed_offset=offset, committed_metadata="m"
                )
            ],
        )
        for topic, p, offset in offsets
    ]
    return TxnOffsetCommitRequest(
        transactional_id="a",
        group_id=group,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=topics,
        **member,
    )


def offsets_of(group: str = "g", *, stable: bool = False) -> OffsetFetchRequest:
    return OffsetFetchRequest(
        group_id=group,
        topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])],
        require_stable=stable,
    )


def produce(
    producer: Producer,
    sequence: int,
    *,
    partition: int = 0,
    count: int = 1,
    transactional: bool = True,
    **request: Any,
) -> ProduceRequest:
    batch = build_batch(
        [Record(i, NOW + i, b"k", b"v%d" % i) for i in range(count)],
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        is_transactional=transactional,
    )
    given = {
        "transactional_id": "a" if transactional else None,
        "acks": -1,
        "timeout_ms": 5000,
    } | request
    return ProduceRequest(
        topic_data=[
            TopicProduceData(
                name="t", partition_data=[PartitionProduceData(index=partition, records=batch)]
            )
        ],
        **given,
    )


def fetch(offset: int, *, partition: int = 0, isolation: int = 1) -> FetchRequest:
    wanted = FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20, log_start_offset=-1
    )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=10,
        min_bytes=1,
        isolation_level=isolation,
        topics=[FetchTopic(topic="t", partitions=[wanted])],
    )


def latest(isolation: int, partition: int = 0, timestamp: int = -1) -> ListOffsetsRequest:
    entry = ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=-1
    )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name="t", partitions=[entry])],
    )


def markers(
    producer: Producer,
    *partitions: tuple[str, int],
    commit: bool = True,
    coordinator_epoch: int = 0,
) -> WriteTxnMarkersRequest:
    topics = [
        WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])
        for topic, partition in partitions
    ]
    marker = WritableTxnMarker(
        producer_id=producer[0],
        producer_epoch=producer[1],
        transaction_result=commit,
        topics=topics,
        coordinator_epoch=coordinator_epoch,
    )
    return WriteTxnMarkersRequest(markers=[marker])


def describe(*partitions: tuple[str, int]) -> DescribeProducersRequest:
    return DescribeProducersRequest(
        topics=[
            TopicRequest(name=topic, partition_indexes=[partition])
            for topic, partition in partitions
        ]
    )


def settled(response: Any) -> bool:
    return response.error_code not in (
        Errors.CONCURRENT_TRANSACTIONS,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.NOT_COORDINATOR,
    )


def started(asker: Asker, name: str, version: int = 4, **more: Any) -> Producer:
    answer = asker.ask(
        name, init(**more), version, until=lambda r: settled(r) and r.error_code == 0
    )
    return answer.producer_id, answer.producer_epoch


def stable_at(offset: int) -> Any:
    return lambda response: (
        response.responses[0].partition_responses[0].last_stable_offset == offset
    )


def ask_all(asker: Asker) -> None:
    asker.ask(
        "create",
        CreateTopicsRequest(
            topics=[CreatableTopic(name="t", num_partitions=3, replication_factor=1)],
            timeout_ms=5000,
        ),
        4,
    )
    for key_type, key in ((1, "a"), (0, "g")):
        asker.ask(
            f"find {key}",
            FindCoordinatorRequest(key=key, key_type=key_type),
            2,
            until=lambda r: r.error_code == 0,
        )
    _ids(asker)
    a = _partitions(asker)
    a = _records(asker, a)
    a = _ends(asker, a)
    _fencing(asker)
    _offsets(asker)
    _markers(asker)
    _time_outs(asker)


def _ids(asker: Asker) -> None:
    started(asker, "the first id", 0)
    for version in range(1, 5):
        started(asker, "the next epoch", version)
    for version in (1, 3, 4):
        asker.ask("a time-out that is too long", init(timeout_ms=60_001), version)
        asker.ask("a time-out of 0", init(timeout_ms=0), version)
        asker.ask("an empty id", init(""), version)
        asker.ask("no id", init(None), version)
    asker.ask("an id and no epoch", init(producer=(0, -1)), 4)
    asker.ask("an epoch and no id", init(producer=(-1, 0)), 3)
    b = started(asker, "another", transactional_id="b")
    again = started(asker, "it goes on", transactional_id="b", producer=b)
    started(asker, "and asks again", transactional_id="b", producer=b)
    started(asker, "and goes on", transactional_id="b", producer=again)
    for version in (3, 4):
        asker.ask("an older epoch", init("b", producer=b), version)
        asker.ask("another's id", init("b", producer=(4711, 0)), version)
    started(asker, "unknown, with an id", transactional_id="c", producer=(4711, 3))


def _partitions(asker: Asker) -> Producer:
    a = started(asker, "begin")
    stale, ahead, other = (a[0], a[1] - 1), (a[0], a[1] + 1), (a[0] + 1000, a[1])
    for version in range(4):
        asker.ask(
            "add",
            add(a, ("t", 0), ("t", 1)),
            version,
            until=lambda r: r.results[0].results[0].error_code == 0,
        )
        asker.ask("add with an older epoch", add(stale, ("t", 0)), version)
        asker.ask("add with a newer epoch", add(ahead, ("t", 0)), version)
        asker.ask("add with another id", add(other, ("t", 0)), version)
        asker.ask("add for an unknown one", add(a, ("t", 0), transactional_id="nobody"), version)
        asker.ask("add for an empty one", add(a, ("t", 0), transactional_id=""), version)
        asker.ask("add what does not exist", add(a, ("t", 0), ("nope", 0)), version)
        asker.ask("add a partition that does not exist", add(a, ("t", 7), ("t", 1)), version)
        asker.ask("add offsets' own topic", add(a, ("__consumer_offsets", 0), ("t", 1)), version)
        asker.ask("add offsets", add_offsets(a), version, until=settled)
        asker.ask("add offsets with an older epoch", add_offsets(stale), version)
        asker.ask("add offsets with another id", add_offsets(other), version)
        asker.ask("add offsets of an empty group", add_offsets(a, ""), version, until=settled)
        asker.ask("add offsets for an empty one", add_offsets(a, transactional_id=""), version)
    asker.ask("add nothing", add(a), 2)
    return a


def _records(asker: Asker, a: Producer) -> Producer:
    for version in (3, 7, 9):
        asker.ask("no transactional id", produce(a, 0, transactional_id=None), version)
    asker.ask("write", produce(a, 0, count=2), 8)
    asker.ask("write again", produce(a, 0, count=2), 8)
    asker.ask("write with a gap", produce(a, 5), 8)
    asker.ask("write outside of the transaction", produce(a, 2, transactional=False), 8)
    asker.ask("write under another name", produce(a, 2, transactional_id="b"), 8)
    asker.ask("write with acks=1", produce(a, 3, acks=1), 8)
    asker.ask("write what was not added", produce(a, 0, partition=2), 8)
    asker.ask("another producer's record", produce((5000, 0), 0, transactional=False), 8)
    for isolation in (0, 1):
        for version in (4, 11, 12):
            asker.ask(f"fetch {isolation}", fetch(0, isolation=isolation), version)
        for version in (2, 4, 6):
            asker.ask(f"latest {isolation}", latest(isolation), version)
            asker.ask(f"by time {isolation}", latest(isolation, timestamp=NOW), version)
    asker.ask("describe", describe(("t", 0), ("t", 1), ("nope", 0), ("t", 9)), 0)
    return a


def _ends(asker: Asker, a: Producer) -> Producer:
    stale, other = (a[0], a[1] - 1), (a[0] + 1000, a[1])
    for version in range(4):
        asker.ask("end with an older epoch", end(stale), version)
        asker.ask("end with another id", end(other), version)
        asker.ask("end an unknown one", end(a, transactional_id="nobody"), version)
        asker.ask("end an empty one", end(a, transactional_id=""), version)
        asker.ask("end before it begins", end((3, 0), transactional_id="c"), version)
    asker.ask("commit", end(a), 3)
    asker.ask("all is stable", fetch(0), 11, until=stable_at(6))
    asker.ask("commit again", end(a), 3, until=settled)
    asker.ask("abort what is committed", end(a, False), 3, until=settled)
    asker.ask("latest, committed", latest(1), 5)
    asker.ask("describe after the marker", describe(("t", 0), ("t", 1)), 0)
    asker.ask("begin another", add(a, ("t", 0)), 2)
    asker.ask("write into another", produce(a, 4), 8)
    asker.ask("abort", end(a, False), 2)
    asker.ask("all is stable, aborted", fetch(0), 11, until=stable_at(8))
    asker.ask("from behind the first", fetch(6), 11)
    asker.ask("from the marker", fetch(7), 11)
    asker.ask("at the end", fetch(8), 11)
    asker.ask("uncommitted", fetch(0, isolation=0), 11)
    asker.ask("abort again", end(a, False), 1, until=settled)
    asker.ask("commit what is aborted", end(a), 1, until=settled)
    return a


def _fencing(asker: Asker) -> None:
    first = started(asker, "the first process")
    asker.ask(
        "the first adds",
        add(first, ("t", 1)),
        2,
        until=lambda r: r.results[0].results[0].error_code == 0,
    )
    asker.ask("the first writes", produce(first, 0, partition=1), 8)
    asker.ask("the second process meets it", init(), 4)
    second = started(asker, "the second process")
    for version in (1, 2):
        asker.ask("the zombie adds", add(first, ("t", 1)), version)
        asker.ask("the zombie adds offsets", add_offsets(first), version)
        asker.ask("the zombie ends", end(first), version)
    for version in (3, 4):
        asker.ask("the zombie goes on", init(producer=first), version)
    asker.ask("the zombie writes", produce(first, 1, partition=1), 8)
    asker.ask("the second adds", add(second, ("t", 1)), 2)
    asker.ask("the second begins at 5", produce(second, 5, partition=1), 8)
    asker.ask("the second begins at 0", produce(second, 0, partition=1), 8)
    asker.ask("the second commits", end(second), 2)
    asker.ask("what was the zombie's is left out", fetch(0, partition=1), 11, until=stable_at(5))


def _offsets(asker: Asker) -> None:
    a = started(asker, "begin with offsets")
    for version in range(4):
        asker.ask("offsets without add", commit_offsets(a, ("t", 0, 10 + version)), version)
        asker.ask(
            "offsets of what does not exist",
            commit_offsets(a, ("t", 0, 3), ("nope", 0, 3)),
            version,
        )
        asker.ask("offsets of nothing that exists", commit_offsets(a, ("nope", 0, 3)), version)
        asker.ask("offsets of an empty group", commit_offsets(a, ("t", 0, 3), group=""), version)
        asker.ask(
            "offsets of an unknown producer",
            commit_offsets((9999, 0), ("t", 1, 3), group="h"),
            version,
        )
    asker.ask(
        "offsets of an unknown member",
        commit_offsets(a, ("t", 0, 3), generation_id=1, member_id="m"),
        3,
    )
    asker.ask("offsets of a generation", commit_offsets(a, ("t", 0, 3), generation_id=5), 3)
    asker.ask(
        "offsets of a static member",
        commit_offsets(a, ("t", 0, 3), member_id="m", group_instance_id="i"),
        3,
    )
    asker.ask("add offsets", add_offsets(a), 2, until=settled)
    asker.ask("commit offsets", commit_offsets(a, ("t", 0, 42)), 3)
    for stable in (False, True):
        asker.ask(f"what is committed, stable {stable}", offsets_of(stable=stable), 7)
    asker.ask("commit with offsets", end(a), 3)
    asker.ask(
        "they count",
        offsets_of(),
        7,
        until=lambda r: r.topics[0].partitions[0].committed_offset == 42,
    )
    asker.ask("add offsets again", add_offsets(a), 2, until=settled)
    asker.ask("commit other offsets", commit_offsets(a, ("t", 0, 43), ("t", 1, 1)), 3)
    asker.ask("abort with offsets", end(a, False), 3)
    asker.ask(
        "the aborted do not count",
        offsets_of(stable=True),
        7,
        until=lambda r: not any(p.error_code for p in r.topics[0].partitions),
    )
    asker.ask("an older epoch's offsets", commit_offsets((a[0], a[1] - 1), ("t", 0, 44)), 3)


def _markers(asker: Asker) -> None:
    """Write markers, as the transaction coordinator on another broker does."""
    p = (6000, 3)
    for version in (0, 1):
        asker.ask("no markers", WriteTxnMarkersRequest(markers=[]), version)
        asker.ask("a marker for what does not exist", markers(p, ("nope", 0), ("t", 9)), version)
        asker.ask("a marker where nothing was written", markers(p, ("t", 2)), version)
    asker.ask("write for markers", produce(p, 0, partition=2), 8)
    asker.ask("a marker of an older epoch", markers((6000, 2), ("t", 2)), 0)
    asker.ask(
        "a marker of a newer epoch",
        markers((6000, 4), ("t", 2), ("nope", 0), commit=False, coordinator_epoch=5),
        1,
    )
    asker.ask("the old epoch writes", produce(p, 1, partition=2), 8)
    asker.ask("an older coordinator's marker", markers((6000, 4), ("t", 2), coordinator_epoch=4), 1)
    asker.ask(
        "the same coordinator's marker again", markers((6000, 4), ("t", 2), coordinator_epoch=5), 1
    )
    asker.ask("describe after markers", describe(("t", 2)), 0)
    asker.ask("fetch after markers", fetch(0, partition=2), 11)
    two = markers((6001, 0), ("t", 0)).markers + markers((6002, 0), ("t", 1), ("nope", 1)).markers
    asker.ask("two markers", WriteTxnMarkersRequest(markers=two), 1)


def _time_outs(asker: Asker) -> None:
    late = started(asker, "in a hurry", transactional_id="late", timeout_ms=200)
    asker.ask("the late one adds", add(late, ("t", 0), transactional_id="late"), 2)
    asker.pause(3000)
    asker.ask("the late one ends", end(late, transactional_id="late"), 2)
    asker.ask("the late one goes on", init("late", producer=late), 4)
    started(asker, "the late one begins anew", transactional_id="late")
