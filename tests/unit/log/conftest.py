"""Fixtures of the log's tests."""

from pathlib import Path

import pytest

from kafka_edu.common.files import FileSystem, OsFileSystem
from kafka_edu.sim.memory_file_system import MemoryFileSystem


@pytest.fixture(params=["machine", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileSystem, str]:
    if request.param == "machine":
        return OsFileSystem(), str(tmp_path)
    file_system = MemoryFileSystem()
    file_system.make_dirs("/x")
    return file_system, "/x"
