"""The folders of log.dirs before anything in them is read: each is created, checked and locked
(Kafka: LogManager's createAndValidateLogDirs, lockLogDirs).

Two brokers on one log dir destroy it: the second recovers files that the first is writing. Each
broker therefore locks the file `.lock` in each of its dirs before it reads or writes anything else
there, and keeps the lock until it ends. The kernel releases the lock when the process dies, also
after kill -9; the file itself stays, and means nothing. A stopped process (SIGSTOP) keeps its
locks.

A dir that cannot be created, listed or locked because of an OSError is offline from the start. The
broker serves the others.
"""

from collections.abc import Sequence
from typing import Final

from kafka_edu.common.files import FileLock, FileLockedError, FileSystem
from kafka_edu.trace.events.log import LogDirLocked
from kafka_edu.trace.tracer import Tracer

LOCK_FILE: Final = ".lock"


class LogDirInUseError(Exception):
    """Another broker uses a log dir, so this one must not start. The message names the dir and the
    holder.
    """


class LogDirs:
    """Owner of the locks, and of the list of dirs that were bad before the log manager took over.
    Belongs to the broker's loop.
    """

    def __init__(
        self, log_dirs: Sequence[str], file_system: FileSystem, trace: Tracer | None = None
    ) -> None:
        self.all = tuple(log_dirs)
        self.failed: dict[str, OSError] = {}
        """Each bad dir, and why it cannot be used."""
        self._file_system = file_system
        self._trace = trace
        self._locks: dict[str, FileLock] = {}

    def open(self) -> None:
        """Create, check and lock each dir. Raises LogDirInUseError; then no lock is held."""
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
        """Return the dirs that can be used, as far as is known."""
        return [log_dir for log_dir in self.all if log_dir not in self.failed]

    def fail(self, log_dir: str, error: OSError) -> None:
        """Give up a dir. Nothing in it is touched any more, so its lock is released."""
        self.failed.setdefault(log_dir, error)
        lock = self._locks.pop(log_dir, None)
        if lock is not None:
            lock.release()

    def failures(self) -> str:
        """Return each bad dir and the reason, for a message."""
        return "; ".join(f"{log_dir}: {error}" for log_dir, error in self.failed.items())

    def release_all(self) -> None:
        """Unlock every dir, because the broker has ended or does not start."""
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()


def _in_use(log_dir: str, pid: int | None) -> str:
    """Return Kafka's own message, then the holder of the lock and the advice."""
    holder = f"The lock is held by process {pid}. " if pid is not None else ""
    return (
        f"Failed to acquire lock on file {LOCK_FILE} in {log_dir}. A Kafka instance in another"
        f" process or thread is using this directory. {holder}Stop that broker first, or give this"
        " one other log.dirs."
    )
