"""Files that hold a secret: the addresses of event and action sockets, with their access token."""

import contextlib
import json
import os
from collections.abc import Mapping


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
