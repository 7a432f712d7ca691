"""The file system is handed in, so that a simulated disk can tear a write, fill up or forget what
was not flushed.

`OsFileSystem` is the machine's. The simulator's lives in memory (`kafka_edu.sim`). All calls are
synchronous: the log is the one part of the core that writes for itself.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import shutil
import struct
import sys
from collections.abc import Sequence
from typing import Final, Protocol

#: How many parts one system call takes.
_IOV_MAX: Final = os.sysconf("SC_IOV_MAX")

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """One open file, appended to at its end and read anywhere."""

    path: str

    def fileno(self) -> int | None:
        """The descriptor for sendfile, or None where there is none (a file in memory): then `pread`
        serves.
        """
        ...

    def size(self) -> int:
        """Bytes in the file. O(1)."""
        ...

    def append(self, parts: Sequence[Buffer]) -> int:
        """Write all `parts`, in order, at the end; returns the position in bytes where the first of
        them starts.

        Raises OSError; then the file may hold part of it, and the caller truncates.
        """
        ...

    def pread(self, count: int, position: int) -> bytes:
        """Up to `count` bytes from `position`; fewer only at the end of the file."""
        ...

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write `data` at `position`, growing the file if need be."""
        ...

    def truncate(self, size: int) -> None: ...

    def flush(self) -> None:
        """Force what was written to the disk (fsync). May block: call it from a worker."""
        ...

    def close(self) -> None: ...

    def map(self, size: int) -> memoryview | mmap.mmap:
        """A writable view of the first `size` bytes, shared with the file (which must be that
        long). It is read here and there, not from end to end: the kernel must not read ahead around
        the page that is touched first (8 MiB of holes and 1.5 ms where it is set to that).
        """
        ...


class FileLockedError(Exception):
    """Another holder has the lock of a file. `pid` is the holder's process, None where it is not
    known.
    """

    def __init__(self, path: str, pid: int | None) -> None:
        super().__init__(
            f"{path} is locked by {f'process {pid}' if pid is not None else 'another process'}"
        )
        self.path = path
        self.pid = pid


class FileLock(Protocol):
    """The lock of one file, from `FileSystem.lock` until `release` or the end of the process."""

    def release(self) -> None:
        """Give the lock up. Safe to call twice."""
        ...


class FileSystem(Protocol):
    """What the log, the checkpoints and the embedded ZooKeeper need of a disk. Paths are strings;
    errors are OSError.
    """

    def open(self, path: str, *, create: bool = True) -> File: ...

    def read(self, path: str) -> bytes: ...

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Replace `path` by `data` so that after a crash it holds the old or the new content, never
        a part (write aside, fsync, rename).

        Without `sync` the fsync is left out: that does not block, and holds against the death of
        the process, not of the machine.
        """
        ...

    def exists(self, path: str) -> bool: ...

    def modified_ms(self, path: str) -> int:
        """When the file was last written to, in ms since 1970. Raises OSError."""
        ...

    def list(self, path: str) -> list[str]:
        """Names in a folder, sorted."""
        ...

    def is_dir(self, path: str) -> bool: ...

    def make_dirs(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def remove(self, path: str) -> None:
        """Remove a file; no error if it is not there."""
        ...

    def remove_tree(self, path: str) -> None: ...

    def lock(self, path: str) -> FileLock:
        """Create the file if it is not there, and lock it, without waiting. Raises FileLockedError
        when it is locked; OSError.
        """
        ...


class OsFile:
    """A file of the operating system, by its descriptor. The size is kept, not asked for: one owner
    writes to it.
    """

    def __init__(self, path: str, create: bool) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o644)
        self._size = os.fstat(self._fd).st_size

    def fileno(self) -> int:
        return self._fd

    def size(self) -> int:
        return self._size

    def append(self, parts: Sequence[Buffer]) -> int:
        start = self._size
        total = sum(map(len, parts))
        if len(parts) > _IOV_MAX:
            parts = [b"".join(parts)]
        written = os.pwritev(self._fd, parts, start)
        if written < total:  # a full disk or a signal: finish it plainly, or raise
            rest = memoryview(b"".join(parts))[written:]
            while rest:
                n = os.pwrite(self._fd, rest, start + total - len(rest))
                rest = rest[n:]
        self._size = start + total
        return start

    def pread(self, count: int, position: int) -> bytes:
        return os.pread(self._fd, count, position)

    def pwrite(self, data: Buffer, position: int) -> None:
        rest = memoryview(data)
        while rest:
            n = os.pwrite(self._fd, rest, position)
            position += n
            rest = rest[n:]
        self._size = max(self._size, position)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)
        self._size = size

    def flush(self) -> None:
        os.fsync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def map(self, size: int) -> mmap.mmap:
        mapping = mmap.mmap(self._fd, size)
        mapping.madvise(mmap.MADV_RANDOM)
        return mapping


#: struct flock of 64-bit Linux: type, whence, start, length (0: to the end of the file, however
#: long it gets), pid.
_FLOCK: Final = struct.Struct("hhqqi0q")


class OsFileLock:
    """A record lock of the kernel, the kind that Java's FileChannel.tryLock takes: this program and
    Apache Kafka exclude each other.

    A traditional record lock belongs to the process. It does not exclude a second broker in the
    same process, and it is lost when the process closes any descriptor of the file. On Linux this
    is therefore an open file description lock (F_OFD_SETLK), which belongs to the descriptor and
    conflicts with traditional ones. The kernel does not say who holds such a lock, so the holder
    writes its pid into the file.
    """

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._take()
        except OSError as error:
            pid = self._holder() if error.errno in (errno.EAGAIN, errno.EACCES) else None
            self.release()
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise FileLockedError(path, pid) from None
            raise
        with contextlib.suppress(
            OSError
        ):  # a full disk: the lock holds all the same, only its holder has no name
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)

    def _take(self) -> None:
        if sys.platform == "linux":
            fcntl.fcntl(
                self._fd, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            )
        else:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _holder(self) -> int | None:
        """The holder's pid: from the kernel for a traditional lock (Java's), else from the file."""
        with contextlib.suppress(OSError, ValueError):
            if sys.platform == "linux":
                found = fcntl.fcntl(
                    self._fd, fcntl.F_OFD_GETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
                )
                pid: int = _FLOCK.unpack(found)[4]
                if pid > 0:
                    return pid
            return int(os.pread(self._fd, 20, 0))
        return None

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class OsFileSystem:
    """The machine's file system."""

    def open(self, path: str, *, create: bool = True) -> OsFile:
        return OsFile(path, create)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        aside = path + ".tmp"
        with open(aside, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(aside, path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def list(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def lock(self, path: str) -> OsFileLock:
        return OsFileLock(path)
