"""The form of the checkpoint files."""

import pytest

from kafka_edu.log.checkpoint_file import CorruptCheckpointError
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.sim.memory_file_system import MemoryFileSystem


@pytest.mark.parametrize(
    "content",
    [
        b"1\n0\n",
        b"0\n2\nweb 0 1\n",
        b"0\n1\nweb 0\n",
        b"0\n1\nweb zero 1\n",
        b"0",
        b"x\n",
        b"\xff\xfe",
    ],
)
def test_a_torn_checkpoint_is_refused(content: bytes) -> None:
    file_system = MemoryFileSystem()
    file_system.write_atomically("/c", content)
    with pytest.raises(CorruptCheckpointError, match="/c"):
        OffsetCheckpointFile("/c", file_system).read()
