"""Limit the bytes in each log dir, so that a dir can be full although the machine's disk is not
full (`edu.log.dir.quota.bytes`).

A real small disk needs a mount, which many machines do not allow. With a quota, a write that does
not fit raises OSError as on a full disk, and the broker takes the dir offline as it does for any
OSError. One difference from a full disk is that only segments count: indexes, checkpoints and
snapshots can still be written. The cleaner's process is not limited, but its files count.
"""

import errno
import os
from collections.abc import Sequence
from typing import Final

from kafka_edu.common.files import Buffer, OsFile, OsFileSystem

SEGMENT: Final = ".log"
"""The name of each file of batches contains this text, perhaps followed by a suffix such as
.deleted.
"""


class DirQuota:
    """Counts the free bytes of one log dir.

    `_left` is the number of free bytes. An append takes its bytes from `_left`, in O(1). If there
    are too few free bytes, the files are measured again, because some files may have been deleted.
    The measurement costs one stat for each file of the dir.
    """

    def __init__(self, log_dir: str, limit: int) -> None:
        self._log_dir = log_dir
        self._limit = limit
        self._left = 0

    def take(self, count: int) -> None:
        """Take `count` bytes. Raises OSError if the dir would then have more than its quota."""
        if count > self._left:
            self._left = self._limit - segment_bytes(self._log_dir)
        if count > self._left:
            raise OSError(
                errno.EDQUOT,
                f"{os.strerror(errno.EDQUOT)}: the segments of this dir may have"
                f" {self._limit:,} bytes (edu.log.dir.quota.bytes). Let a topic become smaller",
                self._log_dir,
            )
        self._left -= count


def segment_bytes(log_dir: str) -> int:
    """Return the bytes of all segments in a log dir, including those that will be removed soon."""
    total = 0
    for folder, _, names in os.walk(log_dir):
        for name in names:
            if SEGMENT in name:
                try:
                    total += os.stat(os.path.join(folder, name)).st_size
                except FileNotFoundError:  # a worker has removed or renamed the file meanwhile
                    continue
    return total


class QuotaFile(OsFile):
    """A segment file in a log dir with a quota. Appending takes bytes from the quota."""

    def __init__(self, path: str, create: bool, quota: DirQuota) -> None:
        super().__init__(path, create)
        self._quota = quota

    def append(self, parts: Sequence[Buffer]) -> int:
        self._quota.take(sum(map(len, parts)))
        return super().append(parts)


class QuotaFileSystem(OsFileSystem):
    """The file system of the machine, with a quota of the same size for each log dir."""

    def __init__(self, log_dirs: Sequence[str], limit: int) -> None:
        self._quotas = {f"{log_dir}{os.sep}": DirQuota(log_dir, limit) for log_dir in log_dirs}

    def open(self, path: str, *, create: bool = True) -> OsFile:
        if SEGMENT in os.path.basename(path):
            for prefix, quota in self._quotas.items():
                if path.startswith(prefix):
                    return QuotaFile(path, create, quota)
        return super().open(path, create=create)


def file_system(log_dirs: Sequence[str], limit: int) -> OsFileSystem:
    """Return the file system of a broker. A limit of -1 means no quota."""
    return OsFileSystem() if limit < 0 else QuotaFileSystem(log_dirs, limit)
