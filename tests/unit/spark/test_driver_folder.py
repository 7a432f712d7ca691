"""The folder in which the warm JVM and its Python workers run."""

import os
from pathlib import Path

import pytest

from kafka_edu.spark.warm_jvm import empty, remove


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files that a job has left. It is the current folder, as in the
    service.
    """
    folder = tmp_path / "work"
    (folder / "inner" / "deep").mkdir(parents=True)
    (folder / "inner" / "deep" / "file").write_text("1", encoding="utf-8")
    (folder / "json.py").write_text("raise SystemExit", encoding="utf-8")
    (folder / "outside").symlink_to(tmp_path / "kept")
    (folder / "nowhere").symlink_to(tmp_path / "none")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("2", encoding="utf-8")
    (folder / "inner" / "deep").chmod(0)
    (folder / "inner").chmod(0)
    monkeypatch.chdir(folder)
    return folder


def test_all_that_is_in_the_folder_goes_and_nothing_that_a_link_names(work: Path) -> None:
    work.chmod(0o500)
    empty(work)
    assert list(work.iterdir()) == []
    assert (work.parent / "kept" / "file").is_file()
    assert os.getcwd() == str(work.resolve()), "the JVM can still run there"


def test_a_folder_that_a_job_has_replaced_is_not_used_again(work: Path) -> None:
    remove(work)
    with pytest.raises(FileNotFoundError):
        empty(work)
    work.mkdir()
    with pytest.raises(FileNotFoundError, match="is not the folder any more"):
        empty(work)
    remove(work)
    remove(work)
    assert not work.exists()
