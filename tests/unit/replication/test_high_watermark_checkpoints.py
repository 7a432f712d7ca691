"""The high watermarks on disk."""

import asyncio

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.replication.high_watermark_checkpoints import HIGH_WATERMARK_FILENAME
from kafka_edu.sim.stepped_cluster import LOG_DIR, SteppedCluster, T


def test_high_watermarks_are_checkpointed_in_kafkas_form_and_found_again() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    cluster.produce("a")
    cluster.produce("b")
    broker = cluster.leader
    asyncio.run(
        broker.checkpoints.write(broker.manager.partitions, broker.logs.handle_log_dir_failure)
    )
    path = f"{LOG_DIR}/{HIGH_WATERMARK_FILENAME}"
    assert broker.disk.read(path) == b"0\n1\nt 0 2\n"
    assert OffsetCheckpointFile(path, broker.disk).read() == {T: 2}
    assert broker.checkpoints.read(LOG_DIR) == {T: 2}
    assert broker.events("HwCheckpointed") == [(LOG_DIR, 1)]
    broker.disk.write_atomically(path, b"nonsense\n")
    with pytest.raises(KafkaException) as unreadable:
        broker.checkpoints.read(LOG_DIR)
    assert unreadable.value.error is Errors.KAFKA_STORAGE_ERROR
