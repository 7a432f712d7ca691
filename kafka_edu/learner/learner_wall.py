"""Keep the files of the course out of the reach of a learner's process.

A solution that can be read can be executed, and the shipped class can be imported. So before the
learner's code begins, its process gives up the right to read files, except for three things: the
learner's own file, the folder it works in, and Python's library without the packages that were
added to it. It may write only in its folder, and it may start no program.

There are two walls. Python asks an *audit hook* before it opens a file or starts a program. That
works on every system and gives an error with the learner's line, but code that is clever enough can
go around it. Where the Linux kernel has *Landlock* (5.13 and later), the process also tells the
kernel, which then refuses for this process and all it starts, and never takes it back. No
rights of an administrator are needed for either.

The processes of a check protect an honest learner from a solution that is only an import away. To
grade work of people whom nobody trusts needs more: users, limits and a network of their own.
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
"""The size of a file that the process may write; its prints in a broker go to the broker's log."""
#: What Python's audit hook calls an attempt to start a program.
STARTS_A_PROGRAM: Final = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"}
)
#: Folders in Python's library that hold packages of others, ours perhaps among them.
ADDED_PACKAGES: Final = ("site-packages", "dist-packages")

# linux/landlock.h
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION_FLAG: Final = 1
_PATH_BENEATH: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
#: Bit 0 is execute, 1 write, 2 read a file, 3 list a folder, 4 to 12 remove and make entries. The
#: second version knows 13, to move between folders, and the third 14, to cut a file short.
_EXECUTE: Final = 1 << 0
_READ_FILE: Final = 1 << 2
_READ_FOLDER: Final = _READ_FILE | 1 << 3
_OF_A_FILE: Final = 1 << 1 | _READ_FILE | 1 << 14


def build_wall(file: str) -> None:
    """Leave this process with `file`, the current folder and Python's library. There is no way
    back.
    """
    for what, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, FILE_LIMIT),
        (resource.RLIMIT_AS, MEMORY_LIMIT),
    ):
        with suppress(ValueError, OSError):  # macOS knows no limit of memory
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
    """Return the entries of Python's library, without the folders of added packages, and the
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
        if os.path.commonpath([folder, course]) != folder  # it holds the course
    ]


def mapped_folders() -> list[str]:
    """Return the folders of the files that this process has mapped; Linux only."""
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
    """Let the kernel refuse everything but these. Returns False where it has no Landlock."""
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
        with suppress(OSError):  # an entry that is not there needs no right
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
