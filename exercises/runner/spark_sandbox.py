"""The files, the brokers and the memory that a jailed Spark job gets from outside.

`kafka_edu.learner.spark_jail` builds the jail. This module decides what is in the jail, and gets
back the files that the job has left. The judge is root, and the job may leave any file. So the
judge follows no link of the job, copies only plain files, and reads Parquet in a second jail
(`parquet_files`).
"""

import ctypes
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.java import NoJavaError, find_java
from kafka_edu.common.package_group import how_to_install
from kafka_edu.learner.learner import Jail, JailError
from kafka_edu.learner.memory_cgroup import MemoryCgroup, NoCgroupError
from kafka_edu.spark.java_gateway import OLDEST_JAVA

from .port_relay import PortRelay

JAIL: Final = Path(__file__).resolve().parents[2] / "kafka_edu" / "learner" / "spark_jail.py"
ROOT: Final = Path(__file__).resolve().parents[1]
MEMORY: Final = 2 << 30
LEFT_BYTES: Final = 128 << 20
"""The size of the file system into which a job writes its results."""
#: The packages that Spark and our connector import in a job.
PACKAGES: Final = (
    "pyspark",
    "py4j",
    "pyarrow",
    "numpy",
    "pandas",
    "dateutil",
    "pytz",
    "tzdata",
    "six",
    "google",
    "google_crc32c",
    "cramjam",
    "zstandard",
)
#: This project's code for jobs. The exercises are not among it.
CODE: Final = ("__init__.py", "runner/__init__.py", "runner/spark_process.py")
READER: Final = "runner/parquet_files.py"
#: The programs that Hadoop's code starts for files of this machine.
PROGRAMS: Final = ("chmod", "ls", "readlink")
#: Settings that keep the number of threads small on machines with many cores.
JVM_OPTIONS: Final = "-XX:ActiveProcessorCount=2 -XX:-UsePerfData"
ENVIRONMENT: Final = {
    "PYTHONPATH": "/code",
    "PYTHONDONTWRITEBYTECODE": "1",
    "SPARK_LOCAL_DIRS": "/work",
    "SPARK_LOCAL_IP": "127.0.0.1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_MS_NOSUID_NODEV_NOEXEC: Final = 2 | 4 | 8
_MS_REC_PRIVATE: Final = 16384 | 1 << 18
_CLONE_NEWNS: Final = 0x00020000


class JobFolders:
    """The folders that the tests and a job share, and copies of the files that the job has left.

    Without a jail, the folders are plain folders, and no copies are made.
    """

    def __init__(self, top: Path, uid: int | None = None) -> None:
        """Make the folders in `top`, which must be empty. With the user id of a jail, this process
        gets a mount namespace, in which the job's folder is a small file system in memory: the
        kernel removes it when the process ends. Raises JailError.
        """
        self.given, self.left, self.copies = (top / name for name in ("given", "left", "copies"))
        self._numbers = count()
        self._jailed = uid is not None
        for folder in (self.given, self.left, self.copies):
            folder.mkdir()
            folder.chmod(0o755)
        if uid is not None:
            _mount_for(uid, self.left)

    def made(self, kind: Path) -> Path:
        """Return a new path for one test in `given` or `left`. No path is returned twice."""
        return kind / f"{next(self._numbers)}"

    def outside(self, path: Path) -> Path:
        """Return where the judge can read a folder that the job has left. Raises OSError.

        If the job runs in a jail, the result is a copy, which exists until the next call.
        """
        if not self._jailed:
            return path
        for old in self.copies.iterdir():
            shutil.rmtree(old)
        copy = self.made(self.copies)
        copy.mkdir()
        inside = path.relative_to(self.left)
        with suppress(FileNotFoundError, NotADirectoryError):
            _copy(self.left, inside, copy)
        return copy


def _mount_for(uid: int, folder: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={LEFT_BYTES},nr_inodes=20000,mode=700,uid={uid},gid={uid}".encode()
    flags = _MS_NOSUID_NODEV_NOEXEC
    failed = (
        libc.unshare(_CLONE_NEWNS)
        or libc.mount(b"", b"/", b"", _MS_REC_PRIVATE, b"")
        or libc.mount(b"tmpfs", bytes(folder), b"tmpfs", flags, options)
    )
    if failed:
        raise JailError(f"the job's folder cannot be made: {os.strerror(ctypes.get_errno())}")


def _copy(top: Path, inside: Path, copy: Path) -> None:
    """Copy the folders and plain files of a folder below `top`. No link is followed."""
    own = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    for name in inside.parts:
        try:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=own)
        finally:
            os.close(own)
        own = below
    left = LEFT_BYTES
    try:
        for place, folders, files, number in os.fwalk(dir_fd=own, follow_symlinks=False):
            target = copy / place
            for name in folders:
                (target / name).mkdir(exist_ok=True)
            for name in files:
                left -= _copy_file(name, number, target / name, left)
    finally:
        os.close(own)


def _copy_file(name: str, folder: int, target: Path, most: int) -> int:
    """Copy a plain file of at most `most` bytes, and return its size. Skip anything else."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        number = os.open(name, flags, dir_fd=folder)
    except OSError:  # a link, or it has gone
        return 0
    with open(number, "rb") as file:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return 0
        content = file.read(most)
    target.write_bytes(content)
    return len(content)


class Sandbox:
    """One jailed process: its command, its cgroup and its open ports."""

    def __init__(self, jail: Jail, folders: JobFolders | None, *, reads: bool = False) -> None:
        """Make the cgroup. `reads` is true for the process that reads the files that a job has
        left.

        Raises JailError.
        """
        self._jail = jail
        self._folders = folders
        self._reads = reads
        self._relay: PortRelay | None = None
        try:
            name = f"{jail.uid}-reader" if reads else f"{jail.uid}"
            self.cgroup = MemoryCgroup(name, MEMORY)
        except NoCgroupError as error:
            raise JailError(str(error)) from error

    def command(self, file: Path, arguments: list[str]) -> list[str]:
        """Return the command that starts the jail."""
        module = "parquet_files" if self._reads else "spark_process"
        # Another user id than the job's: the job could have used up its processes.
        uid = self._jail.uid + READER_UID if self._reads else self._jail.uid
        return [
            *(sys.executable, "-I", "-S", str(JAIL)),
            *(str(uid), str(self._jail.processor_s), json.dumps(self._places())),
            *(str(file), f"exercises.runner.{module}", *arguments),
        ]

    def _places(self) -> dict[str, object]:
        readable, writable = list[str](), list[str]()
        environment = {**ENVIRONMENT}
        if self._folders is not None:
            if self._reads:
                readable.append(str(self._folders.copies))
            else:
                readable.append(str(self._folders.given))
                writable.append(str(self._folders.left))
        if not self._reads:
            java = java_files()
            readable += [*java.files, *filter(None, map(shutil.which, PROGRAMS))]
            environment |= {
                "JAVA_HOME": str(java.home),
                "PATH": f"{java.home}/bin:/usr/bin:/bin",
                "SPARK_SUBMIT_OPTS": f"{JVM_OPTIONS} {_jvm_options()}",
                "XDG_CACHE_HOME": "/code/cache",
            }
        return {
            "cgroup": str(self.cgroup.processes),
            "python": getattr(sys, "_base_executable", sys.executable),
            "packages": dict(self._code()),
            "readable": readable,
            "writable": writable,
            "environment": environment,
        }

    def _code(self) -> Iterator[tuple[str, str]]:
        """Yield (path below /code, file or folder outside) for all code in the jail."""
        for name in PACKAGES:
            yield from _package(name)
        yield "kafka_edu", str(ROOT.parent / "kafka_edu")
        for name in (*CODE, *([READER] if self._reads else [])):
            yield f"exercises/{name}", str(ROOT / name)
        if not self._reads:
            yield from _official_connector()

    def reach(self, pid: int, servers: Sequence[str]) -> None:
        """Open the ports of these brokers in the jail. Raises OSError."""
        if servers and self._relay is None:
            self._relay = PortRelay(pid)
        if self._relay is not None:
            self._relay.open(servers)

    def close(self) -> None:
        """Remove the cgroup and close the ports. The process must have been killed."""
        if self._relay is not None:
            self._relay.close()
        self.cgroup.remove()


READER_UID: Final = 1_000_000
"""The user id of the process that reads, minus that of the job."""


class JavaFiles(NamedTuple):
    """The Java of this machine."""

    home: Path
    files: list[str]
    """The files and folders that it needs."""


_JAVA: Final[list[JavaFiles]] = []


def java_files() -> JavaFiles:
    """Find Java and its files, once for this process. Raises JailError."""
    if not _JAVA:
        try:
            home = find_java(least=OLDEST_JAVA).program.resolve().parents[1]
        except NoJavaError as error:
            raise JailError(
                f"Spark needs Java {OLDEST_JAVA} or newer, and {error}. Run"
                f" `{how_to_install('spark')}`, which brings one"
            ) from error
        files = {str(home)}
        for place, folders, names in os.walk(home):  # Debian has settings of Java in /etc
            for path in (Path(place, name) for name in (*folders, *names)):
                if path.is_symlink() and not path.resolve().is_relative_to(home):
                    files.add(str(path.resolve()))
        _JAVA.append(JavaFiles(home, sorted(files)))
    return _JAVA[0]


def _jvm_options() -> str:
    from kafka_edu.spark.driver_service import JVM_OPTIONS

    return JVM_OPTIONS


def _package(name: str) -> Iterator[tuple[str, str]]:
    """Yield the files of an installed package, with the shared libraries next to it."""
    spec = find_spec(name)
    if spec is None:
        return
    for place in spec.submodule_search_locations or filter(None, [spec.origin]):
        path = Path(place)
        yield path.name, str(path)
        libraries = path.with_name(f"{name}.libs")
        if libraries.is_dir():
            yield libraries.name, str(libraries)


def _official_connector() -> Iterator[tuple[str, str]]:
    """Yield the jars of Spark's own connector, if they have been fetched."""
    from pyspark import __version__

    from kafka_edu.spark.official_jars import fetched_jars

    if (jars := fetched_jars(__version__)) is not None:
        folder = jars.files[0].parents[1]
        yield f"cache/kafka-edu/{folder.name}", str(folder)
