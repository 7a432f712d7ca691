"""What an empty leader-epoch cache answers: a client may ask for any epoch, even for an impossible
one.
"""

from pathlib import Path

from kafka_edu.common.files import OsFileSystem
from kafka_edu.log.leader_epoch_file_cache import LeaderEpochFileCache


def test_an_empty_cache_knows_no_end_of_any_epoch(tmp_path: Path) -> None:
    cache = LeaderEpochFileCache(str(tmp_path / "leader-epoch-checkpoint"), OsFileSystem())
    assert [cache.end_offset_for(epoch, 7) for epoch in (-3, -2, -1, 0, 5)] == [(-1, -1)] * 5
