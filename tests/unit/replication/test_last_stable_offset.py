"""What read_committed readers see of a replicated partition: they read up to the last stable
offset, and are woken when it moves, also after a change of leaders.
"""

from kafka_edu.common.errors import Errors
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.protocol.messages.list_offsets import LATEST_TIMESTAMP
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.fetch_params import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchParams,
    PartitionFetch,
)
from kafka_edu.replication.log_read_result import LogReadResult
from kafka_edu.sim.stepped_cluster import Produced, SteppedCluster, T
from tests.unit.replication.logs import in_loop

NOW = 1_600_000_000_000


def append(
    cluster: SteppedCluster, batch: bytes, origin: AppendOrigin = AppendOrigin.CLIENT
) -> Produced:
    answer = Produced()
    cluster.leader.manager.append.append_records(30_000, -1, {T: batch}, answer, origin=origin)
    return answer


def write(cluster: SteppedCluster, sequence: int, producer: int = 7) -> Produced:
    batch = build_batch(
        [Record(0, NOW, b"k", b"v")],
        producer_id=producer,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )
    return append(cluster, batch)


def end(cluster: SteppedCluster, kind: ControlRecordType, producer: int = 7) -> Produced:
    return append(
        cluster,
        build_end_transaction_marker(EndTransactionMarker(kind, 0), producer, 0, NOW),
        AppendOrigin.COORDINATOR,
    )


def fetch(
    cluster: SteppedCluster, offset: int, wait_ms: int = 0, isolation: int = READ_COMMITTED
) -> list[LogReadResult]:
    """Filled when it is answered."""
    answer: list[LogReadResult] = []
    params = FetchParams(-1, wait_ms, 1, 1 << 20, 10, isolation)
    infos = [(T, PartitionFetch(offset, -1, 1 << 20))]
    cluster.leader.manager.fetch.fetch_messages(
        params, infos, lambda results: answer.extend(read for _, read in results)
    )
    return answer


def replicate(cluster: SteppedCluster) -> None:
    """Let the follower fetch, and fetch again to tell the leader that it has the records."""
    follower = next(b for b in (0, 1) if b != cluster.leader.id)
    cluster.fetch(follower)
    cluster.fetch(follower)


@in_loop
def test_a_reader_waits_for_the_end_of_the_transaction_and_is_woken_by_it() -> None:
    cluster = SteppedCluster(2)
    cluster.elect(0, (0, 1))
    write(cluster, 0)
    replicate(cluster)
    waiting = fetch(cluster, 0, wait_ms=10_000)
    [seen] = fetch(cluster, 0, isolation=READ_UNCOMMITTED)
    assert (seen.size_in_bytes > 0, seen.aborted_transactions) == (True, None)
    write(cluster, 1)
    replicate(cluster)
    assert waiting == [], "the high watermark has moved, the last stable offset has not"
    marker = end(cluster, ControlRecordType.ABORT)
    assert waiting == [], "the marker is not replicated"
    replicate(cluster)
    assert marker.error() is Errors.NONE
    [read] = waiting
    assert (read.last_stable_offset, read.high_watermark) == (3, 3)
    assert [(a.producer_id, a.first_offset) for a in read.aborted_transactions or ()] == [(7, 0)]


@in_loop
def test_the_latest_committed_offset_is_the_last_stable_one() -> None:
    cluster = SteppedCluster(2)
    cluster.elect(0, (0, 1))
    cluster.produce("a")
    write(cluster, 0)
    replicate(cluster)
    found = [
        cluster.leader.manager.offset_lookup.fetch_offset_for_timestamp(
            T, LATEST_TIMESTAMP, -1, -1, isolation
        )
        for isolation in (0, 1)
    ]
    assert [each.offset for each in found if each] == [2, 1]
    by_time = cluster.leader.manager.offset_lookup.fetch_offset_for_timestamp(
        T, NOW + 10**9, -1, -1, READ_COMMITTED
    )
    assert by_time is None


@in_loop
def test_a_new_leader_knows_open_transactions_and_what_was_aborted() -> None:
    cluster = SteppedCluster(2)
    cluster.elect(0, (0, 1))
    write(cluster, 0, producer=7)
    end(cluster, ControlRecordType.ABORT, producer=7)
    write(cluster, 0, producer=8)
    replicate(cluster)
    replicate(cluster)
    cluster.elect(1, (0, 1))
    replicate(cluster)
    [read] = fetch(cluster, 0)
    assert read.last_stable_offset == 2
    assert [
        (a.producer_id, a.first_offset, a.last_offset) for a in read.aborted_transactions or ()
    ] == [(7, 0, 1)]
    assert write(cluster, 2, producer=8).error() is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert write(cluster, 0, producer=8).base_offset == 2, "known again by the new leader"
    end(cluster, ControlRecordType.COMMIT, producer=8)
    replicate(cluster)
    [read] = fetch(cluster, 2)
    assert (read.last_stable_offset, read.aborted_transactions) == (4, ())
