"""A dir with a quota: a write that does not fit fails, and deleted files make room."""

import errno
from pathlib import Path

import pytest

from kafka_edu.common.dir_quota import QuotaFileSystem, file_system, segment_bytes
from kafka_edu.common.files import OsFile, OsFileSystem


@pytest.fixture
def files(tmp_path: Path) -> QuotaFileSystem:
    for folder in ("one/t-0", "two/t-0"):
        (tmp_path / folder).mkdir(parents=True)
    return QuotaFileSystem([str(tmp_path / "one"), str(tmp_path / "two")], 1_000)


def segment(files: QuotaFileSystem, folder: Path, name: str = "00.log") -> OsFile:
    return files.open(str(folder / "t-0" / name))


def test_the_last_byte_fits_and_the_next_does_not(files: QuotaFileSystem, tmp_path: Path) -> None:
    file = segment(files, tmp_path / "one")
    assert file.append([bytes(600), bytes(399)]) == 0
    assert file.append([b"x"]) == 999
    with pytest.raises(OSError, match="may have 1,000 bytes") as raised:
        file.append([b"x"])
    assert raised.value.errno == errno.EDQUOT
    assert raised.value.filename == str(tmp_path / "one")
    assert file.size() == (tmp_path / "one/t-0/00.log").stat().st_size == 1_000


def test_all_segments_of_a_dir_count_together_and_other_dirs_do_not(
    files: QuotaFileSystem, tmp_path: Path
) -> None:
    segment(files, tmp_path / "one").append([bytes(600)])
    segment(files, tmp_path / "two").append([bytes(1_000)])
    with pytest.raises(OSError, match="quota"):
        segment(files, tmp_path / "one", "09.log").append([bytes(401)])
    segment(files, tmp_path / "one", "09.log").append([bytes(400)])


def test_what_was_there_before_counts(tmp_path: Path, files: QuotaFileSystem) -> None:
    (tmp_path / "one/t-0/00.log").write_bytes(bytes(700))
    (tmp_path / "one/t-0/00.log.deleted").write_bytes(bytes(200))
    (tmp_path / "one/t-0/00.index").write_bytes(bytes(5_000))
    assert segment_bytes(str(tmp_path / "one")) == 900
    file = segment(files, tmp_path / "one", "09.log")
    with pytest.raises(OSError, match="quota"):
        file.append([bytes(101)])
    file.append([bytes(100)])


def test_a_removed_file_makes_room(files: QuotaFileSystem, tmp_path: Path) -> None:
    old, new = segment(files, tmp_path / "one"), segment(files, tmp_path / "one", "09.log")
    old.append([bytes(1_000)])
    with pytest.raises(OSError, match="quota"):
        new.append([bytes(1)])
    files.remove(old.path)
    new.append([bytes(1_000)])


def test_indexes_and_checkpoints_are_not_limited(files: QuotaFileSystem, tmp_path: Path) -> None:
    segment(files, tmp_path / "one").append([bytes(1_000)])
    files.open(str(tmp_path / "one/t-0/00.index")).append([bytes(10)])
    files.write_atomically(str(tmp_path / "one/recovery-point-offset-checkpoint"), b"0\n")


def test_without_a_quota_it_is_the_file_system_of_the_machine(tmp_path: Path) -> None:
    assert type(file_system([str(tmp_path)], -1)) is OsFileSystem
    assert isinstance(file_system([str(tmp_path)], 0), QuotaFileSystem)
