"""Files of the user who runs this program: the folder for its state, and files with a secret
(addresses of event and action sockets, with their access token).
"""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path


def write_private_json(path: str | os.PathLike[str], fields: Mapping[str, object]) -> None:
    """Write `fields` into a file that only its owner can read, either completely or not at all.
    Raises OSError.
    """
    aside = f"{os.fspath(path)}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.remove(aside)
    with os.fdopen(
        os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(fields, file)
    os.replace(aside, path)


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return $KAFKA_EDU_HOME, else kafka-edu in $XDG_STATE_HOME, else ~/.local/state/kafka-edu."""
    if home := environment.get("KAFKA_EDU_HOME"):
        return Path(home).expanduser().absolute()
    if state := environment.get("XDG_STATE_HOME"):
        return Path(state).absolute() / "kafka-edu"
    return Path.home() / ".local" / "state" / "kafka-edu"
