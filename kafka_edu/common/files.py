"""The file system, as an object that is handed in.

A simulated disk can therefore tear a write, fill up, or forget what was not flushed. `OsFileSystem`
is the machine's. The simulator's lives in memory (`kafka_edu.sim`). All calls are synchronous,
because the log is the one part of the core that writes for itself.
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

#: The largest number of parts that one system call accepts.
_IOV_MAX: Final = os.sysconf("SC_IOV_MAX")

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """One open file. Data is appended at its end and read anywhere."""

    path: str

    def fileno(self) -> int | None:
        """Return the descriptor for sendfile, or None for a file in memory, which is read by
        `pread`.
        """
        ...

    def size(self) -> int:
        """Return the number of bytes in the file. O(1)."""
        ...

    def append(self, parts: Sequence[Buffer]) -> int:
        """Write all `parts` in order at the end. Return the position of the first byte.

        Raises OSError. The file may then hold a part of the data, and the caller truncates it.
        """
        ...

    def pread(self, count: int, position: int) -> bytes:
        """Return up to `count` bytes from `position`, fewer only at the end of the file."""
        ...

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write `data` at `position`. The file grows if necessary."""
        ...

    def truncate(self, size: int) -> None: ...

    def flush(self) -> None:
        """Force written data to the disk (fsync). This may block, so call it from a worker."""
        ...

    def close(self) -> None: ...

    def map(self, size: int) -> memoryview | mmap.mmap:
        """Return a writable view of the first `size` bytes, shared with the file.

        The file must be that long. The view is read at scattered places and not from end to end.
        The kernel must therefore not read ahead around the first page that is touched. Where
        read-ahead is set to 8 MiB, that would cost 1.5 ms for a file full of holes.
        """
        ...


class FileLockedError(Exception):
    """Another process holds the lock of a file. `pid` is that process, or None if it is unknown."""

    def __init__(self, path: str, pid: int | None) -> None:
        super().__init__(
            f"{path} is locked by {f'process {pid}' if pid is not None else 'another process'}"
        )
        self.path = path
        self.pid = pid


class FileLock(Protocol):
    """The lock of one file, from `FileSystem.lock` until `release` or the end of the process."""

    def release(self) -> None:
        """Release the lock. Safe to call twice."""
        ...


class FileSystem(Protocol):
    """The operations that the log, the checkpoints and the embedded ZooKeeper need from a disk.

    Paths are strings. Errors are OSError.
    """

    def open(self, path: str, *, create: bool = True) -> File: ...

    def read(self, path: str) -> bytes: ...

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Replace `path` by `data`: after a crash the file holds the old or the new content, never
        a part.

        The data is written to a temporary file, forced to the disk (fsync), and renamed. Without
        `sync` the fsync is left out. That does not block, and protects against the death of the
        process but not of the machine.
        """
        ...

    def exists(self, path: str) -> bool: ...

    def modified_ms(self, path: str) -> int:
        """Return when the file was last written, in ms since 1970. Raises OSError."""
        ...

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """Say when the file was last written. Raises OSError."""
        ...

    def list(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""
        ...

    def is_dir(self, path: str) -> bool: ...

    def make_dirs(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def remove(self, path: str) -> None:
        """Remove a file. It is no error if the file does not exist."""
        ...

    def remove_tree(self, path: str) -> None: ...

    def lock(self, path: str) -> FileLock:
        """Lock the file without waiting; create it if it does not exist.

        Raises FileLockedError if it is already locked, and OSError.
        """
        ...


class OsFile:
    """A file of the operating system. It remembers its size, because it has one writer."""

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
        if written < total:  # a full disk or a signal: write the rest, or raise
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


#: struct flock on 64-bit Linux: type, whence, start, length (0: to the end of the file, however
#: long it grows), pid.
_FLOCK: Final = struct.Struct("hhqqi0q")


class OsFileLock:
    """A record lock of the kernel, as Java's FileChannel.tryLock takes it.

    This program and Apache Kafka therefore exclude each other.

    A traditional record lock belongs to the process. It does not exclude a second broker in the
    same process, and it is lost when the process closes any descriptor of the file. On Linux this
    is therefore an open file description lock (F_OFD_SETLK), which belongs to the descriptor and
    conflicts with traditional locks. The kernel does not say who holds such a lock, so the holder
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
        ):  # a full disk: the lock still holds, but the holder's pid is not recorded
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
        """Return the holder's pid: from the kernel for a traditional lock (Java's), else from the
        file.
        """
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

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

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
