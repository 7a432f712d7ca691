"""The parts of a broker's replication work on the same partitions."""

from kafka_edu.common.errors import Errors
from kafka_edu.sim.stepped_cluster import LOG_DIR, SteppedCluster, T


def test_what_one_part_appends_the_others_read_look_up_and_delete() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    manager = cluster.leader.manager
    assert cluster.produce("a", "b").error() is Errors.NONE
    (read,) = cluster.consume()
    assert read.high_watermark == 2
    assert manager.offset_lookup.legacy_fetch_offsets(T, -1, 1, -2) == [2]
    answers: list[object] = []
    manager.delete_records.delete_records(1_000, {T: 1}, answers.append)
    assert len(answers) == 1
    assert cluster.leader.log.log_start_offset == 1


def test_each_kind_of_waiting_has_a_purgatory_of_its_own() -> None:
    manager = SteppedCluster(1).brokers[0].manager
    parts = (manager.append, manager.fetch, manager.delete_records)
    assert len({id(part.purgatory) for part in parts}) == 3


def test_a_partition_that_goes_offline_is_followed_no_more_and_its_coordinator_resigns() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    follower = cluster.brokers[1]
    resigned: list[tuple[int, int | None]] = []

    class Listener:
        def on_election(self, partition: int, leader_epoch: int) -> None: ...

        def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
            resigned.append((partition, leader_epoch))

    follower.manager.leadership.listen(T.topic, Listener())
    (fetcher,) = follower.fetchers.by_leader.values()
    assert len(fetcher) == 1
    follower.logs.handle_log_dir_failure(LOG_DIR, OSError("broken"))
    follower.manager.partitions.take_offline(T)
    assert len(fetcher) == 0
    assert resigned == [(0, None)]
