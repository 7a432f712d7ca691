"""A replica gets its log, and the high watermark from the checkpoint of its log dir."""

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.new_log import NewLog
from kafka_edu.replication.high_watermark_checkpoints import HIGH_WATERMARK_FILENAME
from kafka_edu.replication.replica_logs import KnownHighWatermarks, ReplicaLogs
from kafka_edu.sim.stepped_cluster import LOG_DIR, ModelBroker, SteppedCluster, T

SETTINGS = LogConfig.parse({"segment.index.bytes": 4096, "min.insync.replicas": 2})


def logs_of(broker: ModelBroker) -> ReplicaLogs:
    return ReplicaLogs(broker.logs, broker.checkpoints, lambda _: SETTINGS)


def restarted(high_watermark: int) -> ModelBroker:
    """A broker with three records and that high watermark in its checkpoint, started again."""
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    cluster.produce("a", "b", "c")
    broker = cluster.leader
    broker.restart(high_watermark)
    cluster.tell(0)
    return broker


def test_the_high_watermark_is_that_of_the_checkpoint_which_is_read_once() -> None:
    broker = restarted(2)
    partition, known = broker.partition, KnownHighWatermarks()
    log, partition.log = partition.log, None
    logs_of(broker).attach(partition, known, is_new=False)
    assert partition.log is log, "it was there already"
    assert broker.values() == ["a", "b", "c"]
    assert broker.hw == 2
    assert known == {LOG_DIR: {T: 2}}


def test_a_partition_with_a_log_keeps_it_and_reads_no_checkpoint() -> None:
    broker = restarted(2)
    log, known = broker.partition.log, KnownHighWatermarks()
    logs_of(broker).attach(broker.partition, known, is_new=False)
    assert broker.partition.log is log
    assert known == {}


def test_a_new_log_has_the_settings_of_its_topic() -> None:
    broker = restarted(0)
    other = TopicPartition("other", 1)
    logs = logs_of(broker)
    assert logs.exists(T)
    assert not logs.exists(other)
    assert logs.new_log(other, is_new=True) == NewLog(other, SETTINGS, True)


def test_a_checkpoint_that_cannot_be_read_takes_its_dir_offline() -> None:
    broker = restarted(2)
    partition = broker.partition
    partition.log = None
    broker.disk.write_atomically(f"{LOG_DIR}/{HIGH_WATERMARK_FILENAME}", b"nonsense\n")
    with pytest.raises(KafkaException) as refused:
        logs_of(broker).attach(partition, KnownHighWatermarks(), is_new=False)
    assert refused.value.error is Errors.KAFKA_STORAGE_ERROR
    assert list(broker.logs.live_log_dirs) == []
