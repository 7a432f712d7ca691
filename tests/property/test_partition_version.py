"""As long as a partition's version is the same, each read of the partition returns the same, and so
does each sample.

A fetch session leaves out the partitions whose version has not changed (kafka_edu.log.
version_counter). So each change that a reader could notice must move the version: here random
changes are made to real partitions, and each of many reads is repeated after each change.
"""

from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.delete_records import delete_records_on_leader
from kafka_edu.replication.fetch_params import FetchIsolation
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partition_reads import read_records
from kafka_edu.replication.partition_view import PartitionSampler, partition_progress
from kafka_edu.sim.stepped_cluster import ModelBroker, SteppedCluster, T

CHANGES = st.lists(
    st.sampled_from(
        [
            "produce",
            "produce_and_wait",
            "in_transaction",
            "commit",
            "fetch",
            "fetch_all",
            "elect_same",
            "elect_other",
            "delete_records",
            "roll",
            "retention",
            "zookeeper",
            "lag",
            "offline",
        ]
    ),
    max_size=25,
)


class Seen(NamedTuple):
    """The results of all reads of one partition, and the partition's version at that time."""

    partition: Partition
    version: int
    """The value of its counter."""
    reads: list[tuple[object, ...]]


def all_reads(partition: Partition) -> list[tuple[object, ...]]:
    """Read from each offset that matters, by each isolation, with and without fencing."""
    found: list[tuple[object, ...]] = []
    log = partition.local_log()
    start, end = log.log_start_offset, log.log_end_offset
    middle = (partition.high_watermark.offset, log.last_stable_offset)
    for offset in sorted({start - 1, start, *middle, end - 1, end, end + 1}):
        for isolation in FetchIsolation:
            for epochs in ((-1, -1), (0, 0), (1, 0), (2, 1)):
                for from_leader in (True, False):
                    try:
                        read = read_records(
                            partition,
                            offset,
                            1 << 20,
                            current_leader_epoch=epochs[0],
                            last_fetched_epoch=epochs[1],
                            only_from_leader=from_leader,
                            isolation=isolation,
                            min_one_message=True,
                            hard_limit=False,
                        )
                    except KafkaException as failure:
                        found.append((failure.error,))
                    else:
                        found.append((*read._replace(records=bytes(part_bytes(read.records))),))
    return found


class World:
    """Two brokers and one partition."""

    def __init__(self) -> None:
        self.cluster = SteppedCluster(2)
        self.cluster.elect(0, (0, 1))
        for broker in self.cluster.brokers:
            broker.logs._start = lambda name, work: None  # type: ignore[method-assign]  # no loop
        self.seen: dict[int, Seen] = {}
        self.sequence = 0
        self.in_transaction = False
        self.moved = 0

    @property
    def leader(self) -> ModelBroker:
        return self.cluster.leader

    def change(self, name: str) -> None:
        """Make one change, if it is possible now."""
        getattr(self, name)()

    def produce(self) -> None:
        self.cluster.produce("x", acks=1)

    def produce_and_wait(self) -> None:
        self.cluster.produce("x", "y")
        self.fetch_all()

    def _append(self, batch: bytes, origin: AppendOrigin) -> None:
        self.leader.manager.append.append_records(
            1000, 1, {T: batch}, lambda _: None, origin=origin
        )

    def in_transaction_batch(self) -> bytes:
        record = Record(0, 1_600_000_000_000, None, b"t")
        batch = build_batch(
            [record],
            producer_id=7,
            producer_epoch=0,
            base_sequence=self.sequence,
            is_transactional=True,
        )
        self.sequence += 1
        return batch

    def commit(self) -> None:
        marker = EndTransactionMarker(ControlRecordType.COMMIT, 0)
        batch = build_end_transaction_marker(marker, 7, 0, 1_600_000_000_000)
        self._append(batch, AppendOrigin.COORDINATOR)

    def fetch(self) -> None:
        self.cluster.fetch(1 - self.cluster.state.leader)

    def fetch_all(self) -> None:
        for _ in range(3):
            self.fetch()

    def elect_same(self) -> None:
        self.cluster.elect(self.cluster.state.leader, self.cluster.state.isr)

    def elect_other(self) -> None:
        if len(self.cluster.state.isr) > 1:
            self.cluster.elect(1 - self.cluster.state.leader, self.cluster.state.isr)

    def delete_records(self) -> None:
        if self.leader.hw:
            delete_records_on_leader(self.leader.partition, self.leader.hw - 1)

    def roll(self) -> None:
        if self.leader.log.active_segment.size:
            self.leader.log.roll(0)

    def retention(self) -> None:
        self.leader.log.delete_old_segments(1 << 50)

    def zookeeper(self) -> None:
        self.cluster.settle_isr()

    def lag(self) -> None:
        self.cluster.step(11_000)
        self.leader.manager.isr_updates.maybe_shrink_isr()

    def offline(self) -> None:
        follower = self.cluster.brokers[1 - self.cluster.state.leader]
        partition = follower.manager.partitions.get(T)
        assert partition is not None
        log = partition.local_log()
        log.truncate_to(max(log.log_start_offset, log.log_end_offset - 1))
        partition.update_follower_offsets(0, 0)

    def check(self) -> None:
        """Read each partition. If its version has not changed since the last check, every read must
        return the same as before.
        """
        for broker in self.cluster.brokers:
            partition = broker.manager.partitions.get(T)
            if partition is None or partition.log is None:
                continue
            now = Seen(partition, partition.version.value, all_reads(partition))
            before = self.seen.get(broker.id)
            if before is not None and before.partition is partition:
                assert now.version >= before.version
                if now.version == before.version:
                    assert now.reads == before.reads
                else:
                    self.moved += 1
            self.seen[broker.id] = now


@given(CHANGES)
def test_the_same_version_means_the_same_read(changes: list[str]) -> None:
    world = World()
    world.check()
    for name in changes:
        if name == "in_transaction":
            world._append(world.in_transaction_batch(), AppendOrigin.CLIENT)
        else:
            world.change(name)
        world.check()


@given(CHANGES)
@example(["produce", "roll", "produce", "roll", "produce_and_wait"])  # a segment at each fetch
@example(["produce_and_wait", "fetch_all"])
def test_samples_leave_out_only_what_has_not_moved(changes: list[str]) -> None:
    """The last sample of each partition always shows the partition's present offsets."""
    world = World()
    samplers = {broker.id: PartitionSampler(in_turn=0) for broker in world.cluster.brokers}
    known: dict[int, tuple[object, ...]] = {}
    for name in changes:
        if name == "in_transaction":
            world._append(world.in_transaction_batch(), AppendOrigin.CLIENT)
        elif name != "offline":  # a follower that lost records is sampled when its turn comes
            world.change(name)
        for broker in world.cluster.brokers:
            for sample in samplers[broker.id].sample([broker.partition]):
                known[broker.id] = sample.progress._replace(remote_times=())
            now = partition_progress(broker.partition)
            assert now is not None
            assert known[broker.id] == now._replace(remote_times=())
            settled = all(leo == now.leo for _, leo in now.remote_leos)
            assert (samplers[broker.id].sample([broker.partition]) == []) == settled


def test_the_changes_change_something() -> None:
    world = World()
    world.check()
    for name in ("produce_and_wait", "delete_records", "elect_same", "elect_other"):
        world.change(name)
        world.check()
    assert world.moved >= 4
    assert Errors.NONE in {read[0] for read in world.seen[0].reads}
