"""The folders of a pipeline: if the files of two runs are mixed, this is found before Spark
starts.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyarrow", reason="PySpark is not installed: ./kafka-edu setup spark")

from kafka_edu.spark.pipeline_folder import FolderError, claim_checkpoint, prepare_folders
from kafka_edu.spark.source_errors import CheckpointError

if TYPE_CHECKING:
    from kafka_edu.spark.pipeline_settings import PipelineSettings


def settings(tmp_path: Path, topic: str = "web") -> "PipelineSettings":
    from kafka_edu.spark.pipeline_settings import PipelineSettings

    out = tmp_path / "out"
    return PipelineSettings("127.0.0.1:9092", topic, str(out), str(out / "checkpoint"))


def test_new_folders_are_made(tmp_path: Path) -> None:
    assert not prepare_folders(settings(tmp_path), is_batch=False)
    assert not prepare_folders(settings(tmp_path), is_batch=False)  # the first did not begin
    claim_checkpoint(settings(tmp_path))
    assert (tmp_path / "out" / "checkpoint" / "pipeline.json").exists()


def test_the_same_run_goes_on(tmp_path: Path) -> None:
    prepare_folders(settings(tmp_path), is_batch=False)
    claim_checkpoint(settings(tmp_path))
    (tmp_path / "out" / "lines").mkdir()
    moved = settings(tmp_path)._replace(bootstrap_servers="127.0.0.1:9999")
    assert prepare_folders(moved, is_batch=False)


def test_the_checkpoint_of_another_query(tmp_path: Path) -> None:
    prepare_folders(settings(tmp_path), is_batch=False)
    claim_checkpoint(settings(tmp_path))
    with pytest.raises(CheckpointError, match="topic was web there and is shop now"):
        prepare_folders(settings(tmp_path, "shop"), is_batch=False)


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    mine = settings(tmp_path)._replace(checkpoint=str(tmp_path / "other"))
    with pytest.raises(CheckpointError, match="is not a checkpoint of a pipeline"):
        prepare_folders(mine, is_batch=False)


def test_results_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "out" / "lines").mkdir(parents=True)
    for is_batch in (False, True):
        with pytest.raises(FolderError, match="is not empty"):
            prepare_folders(settings(tmp_path), is_batch=is_batch)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(FolderError, match=r"cannot be written to: File exists.*--out"):
        prepare_folders(settings(tmp_path), is_batch=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o500)
    with pytest.raises(FolderError, match="Permission denied"):
        prepare_folders(settings(tmp_path), is_batch=True)


def test_a_checkpoint_that_has_gone(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="cannot be written: No such file or directory"):
        claim_checkpoint(settings(tmp_path))
