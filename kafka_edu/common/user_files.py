"""Files of the user who runs this program: the folder for its state, and files with access tokens.

The access tokens protect the sockets for events and actions. A StateFile keeps something small
between two runs, for example the learner's place in a chapter.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

#: The default folder for this program's state, relative to the user's home.
DEFAULT_STATE: Final = Path(".local", "state", "kafka-edu")

T = TypeVar("T")


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


class StateFile:
    """A small JSON file in the state folder. It is a convenience: without it, a command still
    works.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, read: Callable[[Mapping[str, Any]], T | None]) -> T | None:
        """Return what `read` makes of the file's fields. Return None if there is no file, or if it
        is broken: then `read` raises ValueError, KeyError, TypeError or AttributeError.
        """
        try:
            return read(json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, fields: Mapping[str, object]) -> None:
        """Write the file, and make its folder. If that is not possible, do nothing."""
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_private_json(self.path, fields)

    def forget(self) -> None:
        """Delete the file, if that is possible."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
