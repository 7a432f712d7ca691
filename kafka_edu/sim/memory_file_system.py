"""A disk in memory that can cut a write short, forget what was not flushed, or fill up (spec M6).

A Kafka log must survive each of these faults:

    the process dies    The written data stays, because the page cache belongs to the kernel. The
                        last write may be cut in the middle.
    the power fails     Each file keeps its flushed data, and perhaps the first bytes that
                        were written after the flush. The rest is lost.
    the disk is full    A write ends early with an error.

`crash_after(n)` lets n more bytes be written. The call that would write more, and every later call,
raises SimulatedCrash, until `restart`. `crash_at_change(n)` counts changes instead of bytes;
renames and removals are changes too. `lose_power` is the second fault, `capacity` the third.
`break_folder` makes everything below a folder fail, as a dead disk does, at once or after some
operations.

Renaming and removing are atomic and durable, as on a file system with a journal. The only source of
randomness is the `random.Random` that the caller passes.
"""

import errno
import mmap
import random
from collections.abc import Callable, Sequence
from typing import Final

from kafka_edu.common.files import Buffer, FileLockedError
from kafka_edu.sim.growing_bytes import GrowingBytes

_ZEROS: Final = bytes(1 << 16)


class SimulatedCrash(Exception):
    """Raised in a simulated process that has died, so that none of its code continues."""


class _Content:
    """The content of one file: the bytes in `data`, followed by zeros up to `size`. The zeros use
    no memory, although an empty index is 10 MB long.

    When the file is mapped, `data` is an anonymous mapping. Its pages use no memory until they are
    written. If a mapped file must grow or shrink, it gets new `data`, because existing views of a
    mapping must not move.
    """

    __slots__ = ("data", "durable", "durable_size", "modified_ms", "size")

    def __init__(self, modified_ms: int) -> None:
        self.modified_ms = modified_ms
        self.data: GrowingBytes | mmap.mmap = GrowingBytes()
        self.size = 0
        self.durable = b""
        self.durable_size = 0

    def resize(self, size: int) -> None:
        if isinstance(self.data, mmap.mmap):
            self.data = GrowingBytes(self.data[:size])
        else:
            self.data.truncate(size)
        self.size = size

    def write(self, data: bytes, position: int) -> None:
        end = position + len(data)
        if isinstance(self.data, mmap.mmap) and end > self.size:
            self.resize(end)
        if isinstance(self.data, mmap.mmap):
            self.data[position:end] = data
        else:
            self.data.write(data, position)
        self.size = max(self.size, end)

    def read(self, count: int, position: int) -> bytes:
        end = min(position + count, self.size)
        found = self._stored(position, end)
        return found.ljust(max(end - position, 0), b"\0")

    def _stored(self, begin: int, end: int) -> bytes:
        """Return the bytes of `data` from `begin` up to `end`, without the zeros that follow it."""
        data = self.data
        return data[begin:end] if isinstance(data, mmap.mmap) else data.read(begin, end)

    def map(self, size: int) -> memoryview:
        if not isinstance(self.data, mmap.mmap):
            mapped = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            mapped[: len(self.data)] = self._stored(0, len(self.data))
            self.data = mapped
        return memoryview(self.data)[:size]

    def flush(self) -> None:
        stored = self._stored(0, len(self.data))
        self.durable, self.durable_size = _without_zeros_at_end(stored), self.size

    def lose(self, kept: int) -> None:
        """Go back to the flushed content, and keep the bytes after it up to the offset `kept`."""
        rest = self.read(kept - self.durable_size, self.durable_size)
        self.data, self.size = GrowingBytes(self.durable), self.durable_size
        if rest:
            self.write(rest, self.durable_size)


def _without_zeros_at_end(data: bytes) -> bytes:
    """Return `data` without the zeros at its end.

    Whole blocks of zeros are compared first. For an index of 10 MB this takes 0.4 ms. `rstrip`
    alone took 14 ms, which was a quarter of the time of a simulation.
    """
    end = len(data)
    while end >= len(_ZEROS) and data[end - len(_ZEROS) : end] == _ZEROS:
        end -= len(_ZEROS)
    return data[:end].rstrip(b"\0")


class MemoryFile:
    """One open file. A path may be open several times, and all these files have the same
    content.
    """

    def __init__(self, file_system: "MemoryFileSystem", path: str, content: _Content) -> None:
        self.path = path
        self._file_system = file_system
        self._content = content
        self._closed = False

    def fileno(self) -> int | None:
        return None

    def size(self) -> int:
        return self._content.size

    def append(self, parts: Sequence[Buffer]) -> int:
        position = self._content.size
        self.pwrite(b"".join(parts), position)
        if self._file_system.on_append is not None:
            self._file_system.on_append()
        return position

    def pread(self, count: int, position: int) -> bytes:
        self._check_open()
        found = self._content.read(count, position)
        self._file_system.bytes_read += len(found)
        return found

    def pwrite(self, data: Buffer, position: int) -> None:
        self._check_open()
        content = self._content
        allowed, failure = self._file_system._allow(
            len(data), max(position + len(data) - content.size, 0)
        )
        content.write(bytes(data[:allowed]), position)
        content.modified_ms = self._file_system.now_ms()
        if failure is not None:
            raise failure

    def truncate(self, size: int) -> None:
        self._check_open()
        self._file_system._change()
        self._content.resize(size)
        self._content.modified_ms = self._file_system.now_ms()

    def flush(self) -> None:
        self._check_open()
        self._file_system._check_alive()
        self._file_system.flushes += 1
        self._content.flush()

    def close(self) -> None:
        self._closed = True

    def map(self, size: int) -> memoryview:
        self._check_open()
        if not 0 < size <= self._content.size:
            raise OSError(
                errno.EINVAL, "a mapping must not be empty, nor longer than its file", self.path
            )
        return self._content.map(size)

    def _check_open(self) -> None:
        self._file_system._check_disk(self.path)
        if self._closed:
            raise OSError(errno.EBADF, "the file is closed", self.path)


class MemoryFileLock:
    """The lock on one file. It ends with `release`, or when the process dies
    (`MemoryFileSystem.release_locks`).
    """

    def __init__(self, locks: "dict[str, MemoryFileLock]", path: str) -> None:
        self._locks = locks
        self._path = path

    def release(self) -> None:
        if self._locks.get(self._path) is self:
            del self._locks[self._path]


class MemoryFileSystem:
    """A disk in memory: files and folders by path. It outlives the broker that uses it.

    `capacity` is the size of the disk in bytes. None means that there is no limit.
    """

    def __init__(self, capacity: int | None = None, now_ms: Callable[[], int] = lambda: 0) -> None:
        self.capacity = capacity
        self.now_ms = now_ms
        """Returns the modification time for files, in ms."""
        self.on_append: Callable[[], None] | None = None
        """Called after each append to a file. A simulated slow disk uses it to delay the writer."""
        self.flushes = 0
        """The number of flushes of files to the disk so far. Tests read it."""
        self.bytes_read = 0
        """How many bytes `pread` has returned so far. A mapping is not counted."""
        self._files: dict[str, _Content] = {}
        self._folders: dict[str, None] = {"/": None, "": None}
        self._locks: dict[str, MemoryFileLock] = {}
        self._broken: dict[str, int] = {}
        """Folder → the number of operations below it that still succeed."""
        self._bytes_until_crash: int | None = None
        self._changes_until_crash: int | None = None
        self._crashed = False
        self.on_crash: Callable[[], None] | None = None
        """Called when a write was cut because of `crash_after`. A simulation ends the process."""

    def open(self, path: str, *, create: bool = True) -> MemoryFile:
        self._check_alive()
        self._check_disk(path)
        content = self._files.get(path)
        if content is None:
            if not create or path in self._folders or path.rpartition("/")[0] not in self._folders:
                raise FileNotFoundError(errno.ENOENT, "no such file or folder", path)
            self._change()
            content = self._files[path] = _Content(self.now_ms())
        return MemoryFile(self, path, content)

    def read(self, path: str) -> bytes:
        self._check_disk(path)
        content = self._files.get(path)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return content.read(content.size, 0)

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        aside = path + ".tmp"
        file = self.open(aside)
        file.truncate(0)
        file.append((data,))
        if sync:
            file.flush()
        self.rename(aside, path)

    def modified_ms(self, path: str) -> int:
        self._check_disk(path)
        content = self._files.get(path)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return content.modified_ms

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self._check_disk(path)
        content = self._files.get(path)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        content.modified_ms = modified_ms

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._folders

    def list(self, path: str) -> list[str]:
        self._check_disk(path)
        if path not in self._folders:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        inside = path.rstrip("/") + "/"
        names = {
            p[len(inside) :].partition("/")[0]
            for p in (*self._files, *self._folders)
            if p.startswith(inside)
        }
        return sorted(name for name in names if name)

    def is_dir(self, path: str) -> bool:
        return path in self._folders

    def make_dirs(self, path: str) -> None:
        self._check_alive()
        self._check_disk(path)
        while path and path not in self._folders:
            if path in self._files:
                raise FileExistsError(errno.EEXIST, "a file is there", path)
            self._change()
            self._folders[path] = None
            path = path.rpartition("/")[0]

    def rename(self, old: str, new: str) -> None:
        self._check_alive()
        self._check_disk(old)
        if old in self._files or old in self._folders:
            self._change()
        if old in self._files:
            self._files[new] = self._files.pop(old)
            return
        if old not in self._folders:
            raise FileNotFoundError(errno.ENOENT, "no such file or folder", old)
        if any(path.startswith(new + "/") for path in self._files):
            raise OSError(errno.ENOTEMPTY, "the folder is not empty", new)
        for path in [p for p in self._files if p.startswith(old + "/")]:
            self._files[new + path[len(old) :]] = self._files.pop(path)
        for path in [p for p in self._folders if p == old or p.startswith(old + "/")]:
            del self._folders[path]
            self._folders[new + path[len(old) :]] = None

    def remove(self, path: str) -> None:
        self._check_alive()
        self._check_disk(path)
        if path in self._files:
            self._change()
        self._files.pop(path, None)

    def remove_tree(self, path: str) -> None:
        self._check_alive()
        self._check_disk(path)
        if path in self._folders:
            self._change()
        for name in [p for p in self._files if p.startswith(path + "/")]:
            del self._files[name]
        for name in [p for p in self._folders if p == path or p.startswith(path + "/")]:
            del self._folders[name]

    def lock(self, path: str) -> MemoryFileLock:
        self.open(path).close()
        if path in self._locks:
            raise FileLockedError(path, None)
        lock = self._locks[path] = MemoryFileLock(self._locks, path)
        return lock

    def release_locks(self) -> None:
        """Release all locks, because the process that held them has died."""
        self._locks.clear()

    def crash_after(self, count: int) -> None:
        """Allow `count` more bytes to be written. The write that would exceed this number is cut
        off, and the process dies.
        """
        self._bytes_until_crash = count

    def crash_at_change(self, count: int) -> None:
        """Let `count` more changes happen: writes, truncations, renames, removals, new files and
        folders. The process dies before the next change.
        """
        self._changes_until_crash = count

    @property
    def crashed(self) -> bool:
        return self._crashed

    def restart(self) -> None:
        """Start the process again. The data that the dead process wrote is still there, but its
        locks are gone.
        """
        self.release_locks()
        self.no_crash()

    def no_crash(self) -> None:
        """Take back `crash_after` and `crash_at_change`."""
        self._crashed = False
        self._bytes_until_crash = self._changes_until_crash = None

    def break_folder(self, path: str, *, after: int = 0) -> None:
        """Allow `after` more operations below `path`. Every later operation raises OSError, even
        on files that are already open.
        """
        self._broken[path] = after

    def mend_folder(self, path: str) -> None:
        """Repair the disk below `path`. The data that was written before is still there."""
        self._broken.pop(path, None)

    def _check_disk(self, path: str) -> None:
        for folder in self._broken:
            if path == folder or path.startswith(folder + "/"):
                if self._broken[folder] == 0:
                    raise OSError(errno.EIO, "the disk is broken", path)
                self._broken[folder] -= 1

    def lose_power(self, rng: random.Random | None = None) -> None:
        """Simulate a power failure: every file goes back to its flushed content. With `rng`, a file
        keeps a random part of the bytes that were appended after the flush. Changes within the
        flushed part are lost.
        """
        for content in self._files.values():
            kept = content.durable_size
            if rng is not None and content.size > kept:
                kept = rng.randint(kept, content.size)
            content.lose(kept)

    def used(self) -> int:
        """Return the number of bytes in all files, without the zeros at their ends. O(files)."""
        return sum(
            len(content.data)
            for content in self._files.values()
            if not isinstance(content.data, mmap.mmap)
        )

    def _check_alive(self) -> None:
        if self._crashed:
            raise SimulatedCrash

    def _change(self) -> None:
        """Count a change of the disk that is about to happen."""
        self._check_alive()
        if self._changes_until_crash is not None:
            if self._changes_until_crash == 0:
                self._crashed = True
                raise SimulatedCrash
            self._changes_until_crash -= 1

    def _allow(self, count: int, growth: int) -> tuple[int, BaseException | None]:
        """Return how many bytes of a write are written, and the exception that ends the write if
        this is not the whole write.
        """
        self._change()
        if self._bytes_until_crash is not None:
            if count > self._bytes_until_crash:
                self._crashed = True
                if self.on_crash is not None:
                    self.on_crash()
                return self._bytes_until_crash, SimulatedCrash()
            self._bytes_until_crash -= count
        if self.capacity is not None and growth > (free := max(self.capacity - self.used(), 0)):
            return count - growth + free, OSError(errno.ENOSPC, "no space left on the disk")
        return count, None
