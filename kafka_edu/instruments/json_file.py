"""Write the result of a command as JSON into the file that the user named with `--json`."""

import json
from pathlib import Path

import click

from kafka_edu.common.user_files import naming


def write_json(path: str | Path, document: object) -> None:
    """Write `document` as JSON. The caller prints its text before this call, so the user sees the
    text even if the file cannot be written.

    Raises ClickException with one line if the file cannot be written, for example because the disk
    is full.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False)
    try:
        with naming(path):
            Path(path).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {error.filename}: {error.strerror}") from error
