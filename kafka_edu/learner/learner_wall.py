"""Keep a learner's process from reading the files of the course.

If a learner's code could read a reference solution, it could execute that solution. It could also
import the shipped class. So before the learner's code begins, its process gives up the right to
read files. Three exceptions remain: the learner's own file, the working folder, and Python's
library without the packages that were added to it. The process may write only in its working
folder, and may start no program.

There are two walls. First, Python calls an *audit hook* before it opens a file or starts a program.
This works on every system and gives an error with the learner's line, but clever code can get
around it. Second, if the Linux kernel has *Landlock* (5.13 and later), the process sets its rules
in the kernel. The kernel then refuses such accesses of this process and of all its children, and
the rules cannot be removed. Neither wall needs the rights of an administrator.

The walls protect an honest learner from a solution that is easy to import. They are not enough to
grade code that is not trusted. That needs limits, and a separate user and network (`learner_jail`).
"""

import ctypes
import os
import resource
import struct
import sys
import sysconfig
from contextlib import suppress
from typing import Final

MEMORY_LIMIT: Final = 2 << 30
FILE_LIMIT: Final = 64 << 20
"""The largest file (bytes) that the process may write. In a broker its prints go to the log."""
#: The names of Python's audit events for attempts to start a program.
STARTS_A_PROGRAM: Final = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"}
)
#: Folders in Python's library that hold added packages, perhaps also this project.
ADDED_PACKAGES: Final = ("site-packages", "dist-packages")

# linux/landlock.h
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1
_PATH_BENEATH: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
#: Access rights of Landlock. Bit 0 is execute, 1 write, 2 read a file, 3 list a folder, 4 to 12
#: remove and make entries. Version 2 adds bit 13, to move entries between folders. Version 3 adds
#: bit 14, to truncate a file.
_EXECUTE: Final = 1 << 0
_READ_FILE: Final = 1 << 2
_READ_FOLDER: Final = _READ_FILE | 1 << 3
_OF_A_FILE: Final = 1 << 1 | _READ_FILE | 1 << 14


def build_wall(file: str) -> None:
    """Limit this process to `file`, the current folder and Python's library.

    The limits cannot be removed again.
    """
    for what, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, FILE_LIMIT),
        (resource.RLIMIT_AS, MEMORY_LIMIT),
    ):
        with suppress(ValueError, OSError):  # macOS has no such limit
            resource.setrlimit(what, (limit, limit))
    readable = [file, os.devnull, "/dev/urandom", *library_paths()]
    folder = os.getcwd()
    restrict_with_landlock(readable, [folder])
    allowed = tuple(os.path.realpath(path) for path in [*readable, folder])

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in STARTS_A_PROGRAM:
            raise PermissionError("a learner's code cannot start a program")
        if event != "open" or not isinstance(arguments[0], str | bytes):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if not any(path == one or path.startswith(one + os.sep) for one in allowed):
            raise PermissionError(
                f"{path} is out of reach: a learner's code can read its own file and Python's"
                " library, nothing else"
            )

    sys.addaudithook(refuse)


def library_paths() -> list[str]:
    """Return the files and folders that the learner's process may read.

    The result has the entries of Python's library, without the folders of added packages, and the
    folders of the shared libraries that this process uses.
    """
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    paths = [
        os.path.join(folder, entry)
        for folder in sorted(folders)
        if os.path.isdir(folder)
        for entry in os.listdir(folder)
        if entry not in ADDED_PACKAGES
    ]
    course = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    return paths + [
        folder
        for folder in mapped_folders()
        if os.path.commonpath([folder, course]) != folder  # the folder contains the course
    ]


def mapped_folders() -> list[str]:
    """Return the folders of the files that are mapped into this process's memory (Linux only)."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = [line.split(None, 5)[-1].strip() for line in maps]
    except OSError:
        return []
    return sorted({os.path.dirname(path) for path in paths if ".so" in path})


def landlock_version() -> int:
    """Return the version of the kernel's Landlock, or 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)), 0)


def restrict_with_landlock(readable: list[str], writable: list[str]) -> bool:
    """Let the kernel refuse all files except those in `readable` and `writable`.

    Return False if there is no Landlock.
    """
    version = landlock_version()
    if not version:
        return False
    libc = ctypes.CDLL(None)
    all_rights = (1 << 12 + min(version, 3)) - 1
    handled = struct.pack("Q", all_rights)
    ruleset = libc.syscall(_CREATE_RULESET, handled, len(handled), 0)
    if ruleset < 0:
        return False
    for path, rights in [(path, _READ_FOLDER) for path in readable] + [
        (path, all_rights & ~_EXECUTE) for path in writable
    ]:
        with suppress(OSError):  # a missing entry needs no right
            entry = os.open(path, os.O_PATH | os.O_CLOEXEC)
            if not os.path.isdir(path):
                rights &= _OF_A_FILE
            beneath = struct.pack("=Qi", rights, entry)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, beneath, 0)
            os.close(entry)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    restricted: bool = libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return restricted
