"""The folder in which a learner's process works. It is removed even if its owner is killed.

The owner is the process that made the folder. It holds a lock on the folder, which the kernel
releases when the owner dies. When a process makes the next folder, it removes all old folders that
are not locked.
"""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

PREFIX: Final = "kafka-edu-learner-"
YOUNG_S: Final = 60.0
"""A folder younger than this (s) is kept, because its owner may not have locked it yet."""


class WorkingFolder:
    """A new empty folder, which exists until `remove` is called."""

    def __init__(self, base: Path) -> None:
        """Make a new folder inside `base`, and lock it. Raises OSError."""
        remove_left_behind(base)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        self._lock = _locked(self.path)

    def remove(self) -> None:
        """Remove the folder and its contents, as far as this user has the right to."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


@cache
def remove_left_behind(base: Path) -> None:
    """Remove the folders in `base` whose owners were killed. Each process does this only once."""
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime < YOUNG_S:
                continue
        lock = _locked(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """Return a file descriptor that holds the folder's lock.

    Return None if another process holds the lock, or if the file system has no locks.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
