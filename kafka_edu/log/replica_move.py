"""The mark of a replica that moves to another log dir.

A move ends with two renames, in two log dirs: the copy gets the name of the replica, and the
replica gets a name with `-delete`. If the broker is killed between these renames, there are two
folders of the same name, in two dirs. Apache Kafka 2.8 then refuses to start until an operator
removes one of the folders by hand. In this project a file in the folder of the replica, the mark,
names the dir to which the replica moves. The mark is written before the copy begins. If the broker
finds two folders at its start, and one of them has a mark with the dir of the second folder, the
folder with the mark is the old one. If there is no second folder, the mark is removed.

All functions block. The log manager calls them in a worker.
"""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.log.log_file_names import MOVING_TO_FILE


class Folder(NamedTuple):
    """A folder with a partition's records, and the log dir that contains this folder."""

    log_dir: str
    path: str


def mark_move(files: FileSystem, directory: str, log_dir: str) -> None:
    """Write the mark into a replica's folder: the replica moves to `log_dir`. Raises OSError."""
    files.write_atomically(f"{directory}/{MOVING_TO_FILE}", f"{log_dir}\n".encode())


def unmark_move(files: FileSystem, directory: str) -> None:
    """Remove the mark, because the move was given up. Raises OSError."""
    files.remove(f"{directory}/{MOVING_TO_FILE}")


def replaced_folder(files: FileSystem, folders: Sequence[Folder]) -> Folder | None:
    """Return the older of a partition's two folders, which the other folder has replaced.

    Return None if the marks do not show which folder is the older one.
    """
    first, second = folders
    old = [
        one
        for one, other in ((first, second), (second, first))
        if _moving_to(files, one.path) == other.log_dir
    ]
    return old[0] if len(old) == 1 else None


def _moving_to(files: FileSystem, directory: str) -> str | None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return files.read(f"{directory}/{MOVING_TO_FILE}").decode().removesuffix("\n")
    return None
