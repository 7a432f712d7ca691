"""Create, check and lock the folders of log.dirs, before any file in them is read (Kafka:
LogManager's createAndValidateLogDirs, lockLogDirs).

Two brokers would destroy a log dir that both use, because the second broker would recover files
that the first broker is writing. So each broker locks the file `.lock` in each of its dirs before
it touches any other file there, and keeps the lock until it ends. The kernel releases the lock when
the process dies, even after kill -9. The file remains, but only the lock counts. A process stopped
by SIGSTOP keeps its locks.

A dir that cannot be created, listed or locked because of an OSError is offline from the start. The
broker serves the other dirs.
"""

from collections.abc import Sequence
from typing import Final

from kafka_edu.common.files import FileLock, FileLockedError, FileSystem
from kafka_edu.trace.events.log import LogDirLocked
from kafka_edu.trace.tracer import Tracer

LOCK_FILE: Final = ".lock"


class LogDirInUseError(Exception):
    """Another broker uses a log dir, so this broker must not start.

    The message names the dir and the process that holds the lock.
    """


class LogDirs:
    """Owner of the locks, and of the list of dirs that failed. Owned by the broker's loop."""

    def __init__(
        self, log_dirs: Sequence[str], file_system: FileSystem, trace: Tracer | None = None
    ) -> None:
        self.all = tuple(log_dirs)
        self.failed: dict[str, OSError] = {}
        """Failed dir → the reason why it cannot be used."""
        self._file_system = file_system
        self._trace = trace
        self._locks: dict[str, FileLock] = {}

    def open(self) -> None:
        """Create, check and lock each dir.

        If another broker uses one of them, raise LogDirInUseError and hold no lock.
        """
        for log_dir in self.all:
            try:
                self._file_system.make_dirs(log_dir)
                self._file_system.list(log_dir)
                self._locks[log_dir] = self._file_system.lock(f"{log_dir}/{LOCK_FILE}")
            except OSError as error:
                self.failed[log_dir] = error
            except FileLockedError as error:
                self.release_all()
                raise LogDirInUseError(_in_use(log_dir, error.pid)) from error
            else:
                if self._trace:
                    self._trace(LogDirLocked(log_dir=log_dir))

    @property
    def live(self) -> list[str]:
        """Return the dirs that have not failed so far."""
        return [log_dir for log_dir in self.all if log_dir not in self.failed]

    def fail(self, log_dir: str, error: OSError) -> None:
        """Record that a dir has failed, and release its lock, because this broker does not use the
        dir any more.
        """
        self.failed.setdefault(log_dir, error)
        lock = self._locks.pop(log_dir, None)
        if lock is not None:
            lock.release()

    def failures(self) -> str:
        """Return each failed dir and the reason, as text for a message."""
        return "; ".join(f"{log_dir}: {error}" for log_dir, error in self.failed.items())

    def release_all(self) -> None:
        """Release the locks of all dirs, because the broker has ended or cannot start."""
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()


def _in_use(log_dir: str, pid: int | None) -> str:
    """Return Kafka's own message, followed by the process that holds the lock, and a hint."""
    holder = f"The lock is held by process {pid}. " if pid is not None else ""
    return (
        f"Failed to acquire lock on file {LOCK_FILE} in {log_dir}. A Kafka instance in another"
        f" process or thread is using this directory. {holder}Stop that broker first, or give this"
        " one other log.dirs."
    )
