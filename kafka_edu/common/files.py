"""The file system as an object, which is passed to the code that reads and writes files.

So a test can use a simulated disk that writes only a part of the data, becomes full, or loses data
that was not flushed. `OsFileSystem` is the file system of the machine. The simulator's file system
is in memory (`kafka_edu.sim`). All calls are synchronous: the log writes directly and awaits
nothing.
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

#: The maximum number of buffers that one system call accepts.
_IOV_MAX: Final = os.sysconf("SC_IOV_MAX")

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """One open file. Data is appended at its end, and can be read at any position."""

    path: str

    def fileno(self) -> int | None:
        """Return the file descriptor for sendfile, or None for a file in memory.

        A file in memory is read with `pread`.
        """
        ...

    def size(self) -> int:
        """Return the number of bytes in the file. O(1)."""
        ...

    def append(self, parts: Sequence[Buffer]) -> int:
        """Write all `parts` in order at the end. Return the position of the first byte.

        Raises OSError. After an OSError the file may contain a part of the data, and the caller
        must truncate the file.
        """
        ...

    def pread(self, count: int, position: int) -> bytes:
        """Return `count` bytes from `position` on, or fewer at the end of the file."""
        ...

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write `data` at `position`. The file grows if necessary."""
        ...

    def truncate(self, size: int) -> None: ...

    def flush(self) -> None:
        """Force written data to the disk (fsync).

        This call may block, so call it from a worker thread.
        """
        ...

    def close(self) -> None: ...

    def map(self, size: int) -> memoryview | mmap.mmap:
        """Return a writable view of the first `size` bytes. Changes in the view change the file.

        The file must have at least `size` bytes. The view is read at scattered positions, not from
        start to end. So the kernel must not read ahead around the first page that is used. With a
        read-ahead of 8 MiB, this would cost 1.5 ms for a sparse file.
        """
        ...


class FileLockedError(Exception):
    """Another process holds the lock of a file.

    `pid` is the id of that process, or None if it is unknown.
    """

    def __init__(self, path: str, pid: int | None) -> None:
        super().__init__(
            f"{path} is locked by {f'process {pid}' if pid is not None else 'another process'}"
        )
        self.path = path
        self.pid = pid


class FileLock(Protocol):
    """The lock of one file. It is held until `release` is called or the process ends."""

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        ...


class FileSystem(Protocol):
    """The file operations that the log, the checkpoints and the embedded ZooKeeper need.

    Paths are strings. Every method may raise OSError.
    """

    def open(self, path: str, *, create: bool = True) -> File: ...

    def read(self, path: str) -> bytes: ...

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Replace the contents of the file `path` with `data`.

        After a crash the file has either the old or the new contents, never a mixture. The data is
        written to a temporary file, forced to the disk (fsync), and renamed. If `sync` is false,
        there is no fsync. Without fsync the call does not block, and the file is safe if the
        process dies, but not if the machine crashes.
        """
        ...

    def exists(self, path: str) -> bool: ...

    def modified_ms(self, path: str) -> int:
        """Return the time of the last change to the file, in ms since 1970. Raises OSError."""
        ...

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """Set the time of the last change to the file, in ms since 1970. Raises OSError."""
        ...

    def list(self, path: str) -> list[str]:
        """Return the sorted names of the files and folders in a folder."""
        ...

    def is_dir(self, path: str) -> bool: ...

    def make_dirs(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def remove(self, path: str) -> None:
        """Remove a file. Do nothing if the file does not exist."""
        ...

    def remove_tree(self, path: str) -> None: ...

    def lock(self, path: str) -> FileLock:
        """Lock the file without waiting. The file is created if it does not exist.

        Raises FileLockedError if the file is already locked, and OSError for other errors.
        """
        ...


class OsFile:
    """A file of the operating system.

    Its size is kept in memory. This size is always right, because only this object writes to the
    file.
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
        fd = self._fd
        if fd < 0:  # the loop has closed the file, because its dir failed while a worker waited
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        os.fsync(fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def map(self, size: int) -> mmap.mmap:
        mapping = mmap.mmap(self._fd, size)
        mapping.madvise(mmap.MADV_RANDOM)
        return mapping


#: struct flock on 64-bit Linux: type, whence, start, length, pid. The length 0 means: up to the end
#: of the file, even if the file grows.
_FLOCK: Final = struct.Struct("hhqqi0q")


class OsFileLock:
    """A file lock of the kernel that also excludes Apache Kafka, which uses FileChannel.tryLock.

    A traditional record lock, as Java takes it, belongs to the process. It does not exclude a
    second broker in the same process, and it is lost when the process closes any descriptor of the
    file. Therefore this class uses an open file description lock (F_OFD_SETLK) on Linux. This lock
    belongs to the descriptor, and it conflicts with traditional locks. The kernel does not say
    which process holds it, so the holder writes its pid into the file.
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
        """Return the pid of the process that holds the lock. Return None if it is unknown.

        If the lock is a traditional lock, such as Java's, the kernel knows the pid. Otherwise the
        pid is read from the file.
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
    """The file system of the machine."""

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
