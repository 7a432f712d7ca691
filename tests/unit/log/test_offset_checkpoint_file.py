"""The offsets of a log dir's logs, in one file."""

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.sim.memory_file_system import MemoryFileSystem


def test_offsets_are_written_a_line_each() -> None:
    file_system = MemoryFileSystem()
    file = OffsetCheckpointFile("/recovery-point-offset-checkpoint", file_system)
    assert file.read() == {}
    offsets = {TopicPartition("web", 0): 4711, TopicPartition("a-b.c", 12): 0}
    file.write(offsets)
    assert file_system.read(file.path) == b"0\n2\nweb 0 4711\na-b.c 12 0\n"
    assert file.read() == offsets


def test_an_empty_file_is_as_kafka_makes_it() -> None:
    file_system = MemoryFileSystem()
    file_system.write_atomically("/c", b"")
    assert OffsetCheckpointFile("/c", file_system).read() == {}
