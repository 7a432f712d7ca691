"""Check the folders of a pipeline's results and of its checkpoint: whether they belong to this run,
and whether they can be written to. Wrong folders would cost the user minutes, so the check comes
before Spark starts.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafka_edu.spark.source_errors import CheckpointError, SourceError

if TYPE_CHECKING:
    from kafka_edu.spark.pipeline_settings import PipelineSettings

#: The file in a checkpoint with the settings of the run that began it.
SETTINGS_FILE: Final = "pipeline.json"
#: Settings that may be different when a later run continues from a checkpoint.
_MAY_DIFFER: Final = frozenset({"bootstrap_servers", "checkpoint", "batch_lines"})


class FolderError(SourceError):
    """Raised if a folder cannot be used."""


def prepare_folders(settings: "PipelineSettings", *, is_batch: bool) -> bool:
    """Create the folders. Return whether there is a checkpoint of an earlier run, from which this
    run continues.

    Raises FolderError if a folder cannot be written to or contains results of another run. Raises
    CheckpointError if the checkpoint belongs to another query.
    """
    out, checkpoint = Path(settings.out), Path(settings.checkpoint)
    _make(out, "--out")
    goes_on = False
    if not is_batch:
        _make(checkpoint, "--checkpoint")
        goes_on = _goes_on(settings, checkpoint)
    if not goes_on and any(name != checkpoint.name for name in os.listdir(out)):
        raise FolderError(
            f"{out} is not empty, and the results of two runs must not be mixed. Give another"
            " folder as --out, or delete this one"
        )
    return goes_on


def claim_checkpoint(settings: "PipelineSettings") -> None:
    """Write this run's settings into the checkpoint, so that a later run can see whose checkpoint
    it is. Call this when it is certain that the run begins. Raises FolderError.
    """
    file = Path(settings.checkpoint, SETTINGS_FILE)
    try:
        file.write_text(settings.to_json() + "\n", encoding="utf-8")
    except OSError as error:
        raise FolderError(
            f"{file} cannot be written: {error.strerror}. Make room, or give another folder as"
            " --checkpoint"
        ) from error


def _make(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        raise FolderError(
            f"{folder} cannot be written to: {error.strerror}. Give another folder as {option}"
        ) from error


def _goes_on(settings: "PipelineSettings", checkpoint: Path) -> bool:
    there = os.listdir(checkpoint)
    if not there:
        return False
    try:
        before: dict[str, Any] = json.loads((checkpoint / SETTINGS_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        raise CheckpointError(
            f"{checkpoint} is not empty, and is not a checkpoint of a pipeline. Give another"
            " folder as"
            " --checkpoint"
        ) from None
    now: dict[str, Any] = json.loads(settings.to_json())
    for name in sorted((before.keys() | now.keys()) - _MAY_DIFFER):
        if before.get(name) != now.get(name):
            raise CheckpointError(
                f"the checkpoint {checkpoint} is that of another query: {name} was"
                f" {before.get(name)} there and is {now.get(name)} now. Give another folder as"
                " --checkpoint, or the options of before"
            )
    return True
