"""Files of the user who runs this program: the folder for its state, and files with access tokens.

The access tokens protect the sockets for events and actions.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

#: The default folder for this program's state, relative to the user's home.
DEFAULT_STATE: Final = Path(".local", "state", "kafka-edu")


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """If the block raises an OSError without a file name, for example because the disk is full, add
    this path to the error.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def write_private_json(path: str | os.PathLike[str], fields: Mapping[str, object]) -> None:
    """Write `fields` as JSON into a file that only its owner can read. Never leave a partial file.

    Raises an OSError that names the file, even when the disk is full.
    """
    aside = f"{os.fspath(path)}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.remove(aside)
    try:
        with (
            naming(path),
            os.fdopen(
                os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
            ) as file,
        ):
            json.dump(fields, file)
        os.replace(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(aside)
        raise


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for this program's state.

    It is $KAFKA_EDU_HOME, else kafka-edu in $XDG_STATE_HOME, else ~/.local/state/kafka-edu.
    """
    if home := environment.get("KAFKA_EDU_HOME"):
        return Path(home).expanduser().absolute()
    if state := environment.get("XDG_STATE_HOME"):
        return Path(state).absolute() / "kafka-edu"
    return Path.home() / DEFAULT_STATE
