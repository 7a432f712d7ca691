"""Run a learner's process in a jail, as root.

Usage: `python -I -S learner_jail.py UID KIND PROCESSOR_S LEARNER_PROCESS FILE WANTED
PROCESSOR_LIMIT_S`

`lab grade` runs code that is not trusted. So the learner's process gets, in this order, before the
learner's code is read:

* *limits*: processor time (PROCESSOR_S for the whole process), memory, processes, the size and
  number of files;
* *namespaces* (KIND `namespaces`): the process sees no processes but those in the jail. Its only
  network is a loopback interface that no other process uses. Its file system is a new one that
  holds only the learner's file, Python's library, and a working folder of 16 MB;
* *a user id*, which no other process uses and which owns no other files, without any right of root;
* the walls of `learner_wall`, as in every check.

KIND `user` leaves the namespaces out. It is for a container that holds one submission only.

There are three processes: this process, which stays outside and waits; the first process of the new
process namespace, which is root and collects ended processes; and the learner's process. When the
first or the second process ends, for whatever reason, the kernel kills every process in the
namespace. So no process is left after a grade.

The exit code is the exit code of the learner's process, 128 + N if signal N ended that process, or
97 if the jail could not be built. If the learner's process ends with 97, the exit code is 96
instead.
"""

import ctypes
import fcntl
import os
import platform
import resource
import shutil
import signal
import socket
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, NoReturn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import learner_process  # type: ignore[import-not-found]
from learner_wall import ADDED_PACKAGES, library_paths  # type: ignore[import-not-found]

del sys.path[0]

NO_JAIL: Final = 97
NAMESPACES: Final = "namespaces"
USER: Final = "user"
FOLDER_BYTES: Final = 16 << 20
#: The limits of one submission for the whole grade, in addition to processor time.
LIMITS: Final = (
    (resource.RLIMIT_AS, 512 << 20),
    (resource.RLIMIT_FSIZE, 4 << 20),
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_NOFILE, 64),
)
#: The maximum number of processes of a submission. Threads count too. The learner's process has
#: two.
PROCESSES: Final = 4

#: Settings of the new IPC namespace that forbid System V's shared memory and messages.
#:
#: The limits above do not count these.
NO_SHARED_MEMORY: Final = ("shmall", "shmmni", "msgmni")

# The numbers come from linux/sched.h, linux/mount.h, linux/prctl.h and linux/sockios.h.
_NEW_NAMESPACES: Final = 0x00020000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
_MNT_DETACH: Final = 2
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1

_libc = ctypes.CDLL(None, use_errno=True)


def demand(result: int, what: str) -> None:
    """Raise OSError unless `result`, which a system call returned, is 0. The message begins with
    `what`.
    """
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system with the system call mount(2). Raises OSError."""
    demand(
        _libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()),
        f"mount {kind} {target}",
    )


def bind(root: str, path: str, inside: str = "") -> None:
    """Make the file or folder `path` readable under `root`, but not writable. Raises OSError.

    Under `root`, the file or folder has the same path, or the path `inside` if that is given. If
    `path` does not exist, nothing is done.
    """
    real = os.path.realpath(path)
    if not os.path.exists(real):
        return
    for name in {inside} if inside else {path, real}:
        target = root + name
        if os.path.isdir(real):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "a"):
                pass
        mount(real, target, "", MS_BIND)
        device = 0 if path.startswith("/dev/") else MS_NODEV
        mount("", target, "", MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | device)


def raise_loopback() -> None:
    """Switch on the loopback interface of this network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack("16xH14x", fcntl.ioctl(asking, _SIOCGIFFLAGS, request))
        fcntl.ioctl(asking, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def enter_new_root(top: str, file: str, uid: int) -> str:
    """Replace the file system with a new one. Return the path of the learner's file in it."""
    root = begin_root(top, FOLDER_BYTES)
    bind_library(root)
    return finish_root(top, root, file, uid)


def begin_root(top: str, size: int) -> str:
    """Make the folder that becomes the new root, in a file system of its own of `size` bytes."""
    mount("", "/", "", MS_REC | MS_PRIVATE)
    mount("tmpfs", top, "tmpfs", MS_NOSUID, f"size={size},nr_inodes={size >> 12},mode=755")
    root = os.path.join(top, "root")
    os.mkdir(root)
    for name in os.listdir("/"):
        if os.path.islink("/" + name):  # /lib may be a link to /usr/lib
            os.symlink(os.readlink("/" + name), os.path.join(root, name))
    return root


def bind_library(root: str) -> None:
    """Make Python's library readable under `root`, without the packages that were added to it."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    for folder in sorted(folders):
        bind(root, folder)
        for name in ADDED_PACKAGES:
            added = root + os.path.join(os.path.realpath(folder), name)
            if os.path.isdir(added):
                mount("tmpfs", added, "tmpfs", MS_RDONLY, "size=4096")
    of_library = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    for path in library_paths():
        if not os.path.realpath(path).startswith(of_library):
            bind(root, path)
    for path in ("/etc/ld.so.cache", "/dev/null", "/dev/urandom"):
        bind(root, path)


def finish_root(top: str, root: str, file: str, uid: int) -> str:
    """Make `root` the root of this process. Return the path of the learner's file in it.

    The old file system is removed from this namespace, and not only hidden. The last step is a
    chroot, because the kernel forbids user namespaces inside a chroot. A user namespace could give
    the process more rights.
    """
    os.mkdir(root + "/proc")
    mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in NO_SHARED_MEMORY:
        with open(f"{root}/proc/sys/kernel/{name}", "w", encoding="ascii") as setting:
            setting.write("0")
    os.mkdir(root + "/work")
    os.chown(root + "/work", uid, uid)
    os.mkdir(root + "/submission")
    inside = "/submission/" + os.path.basename(file)
    shutil.copyfile(file, root + inside)
    os.chdir(top)
    demand(_libc.syscall(_PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    demand(_libc.umount2(b".", _MNT_DETACH), "umount of the old root")
    os.chdir("/")
    os.chroot("/root")
    os.chdir("/work")
    return inside


def become(
    uid: int,
    processor_s: int,
    limits: Iterable[tuple[int, int]] = LIMITS,
    processes: int = PROCESSES,
) -> None:
    """Set the limits, and change from root to the user `uid`. This cannot be undone."""
    for what, limit in ((resource.RLIMIT_CPU, processor_s), *limits):
        resource.setrlimit(what, (limit, limit))
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    demand(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a change of user clears this
    os.environ.clear()
    os.environ.update({"HOME": os.getcwd(), "TMPDIR": os.getcwd(), "LC_CTYPE": "C.UTF-8"})
    os.setsid()


def first_process(uid: int, kind: str, processor_s: int, program: list[str]) -> int:
    """Build the jail, run the learner's process in it, and return its exit code."""
    file, *rest = program[1:]
    if kind == NAMESPACES:
        raise_loopback()
        file = enter_new_root(os.getcwd(), file, uid)
    else:
        kill_all_of(uid)  # an interrupted earlier run may have left processes
        os.chown(".", uid, uid)
        # Only root can read the course's folder, so the file is copied to the learner's working
        # folder.
        copy = os.path.join(os.getcwd(), os.path.basename(file))
        shutil.copyfile(file, copy)
        file = copy

    def begin() -> None:
        become(uid, processor_s)

    def run() -> None:
        sys.argv = [program[0], file, *rest]
        learner_process.main()

    code = run_as_learner(begin, run)
    if kind == USER:
        kill_all_of(uid)
    return code


def run_as_learner(begin: Callable[[], None], run: Callable[[], None]) -> int:
    """Call `begin` and `run` in a child process, and return its exit code.

    `begin` makes the child the learner's process. Raises OSError if that fails.
    """
    os.umask(0o022)
    reading, writing = os.pipe()
    learner = os.fork()
    if learner == 0:
        os.close(reading)
        try:
            begin()
        except (OSError, ValueError) as error:
            os.write(writing, str(error).encode())
            os._exit(NO_JAIL)
        os.close(writing)
        try:
            run()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as complaint:
        if failed := complaint.read():
            raise OSError(failed)
    while True:
        pid, status = os.wait()
        if pid == learner:
            return min(code_of(status), 255)


def kill_all_of(uid: int) -> None:
    """Kill the processes that the learner's process has left behind.

    A child process with the same user id does this, because it cannot signal any other user's
    processes.
    """
    killer = os.fork()
    if killer == 0:
        os.setresuid(uid, uid, uid)
        with suppress(OSError):
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(killer, 0)


def code_of(status: int) -> int:
    """Return a wait status as an exit code, as a shell does: 128 + N for signal N."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def main() -> None:
    """Start the jail in new namespaces, and end with the exit code of the learner's process."""
    uid, kind, processor_s, *program = sys.argv[1:]
    run_jail(kind, lambda: first_process(int(uid), kind, int(processor_s), program))


def run_jail(kind: str, first_process: Callable[[], int]) -> NoReturn:
    """Run the first process of a jail, and end with its exit code.

    The first process gets new namespaces, unless `kind` is `user`.
    """
    parent = os.getppid()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(NO_JAIL)
    try:
        if kind != USER:
            demand(_libc.unshare(_NEW_NAMESPACES), "unshare")
        first = os.fork()
        if first == 0:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            code = NO_JAIL
            try:
                code = first_process()
                code = NO_JAIL - 1 if code == NO_JAIL else code
            except BaseException as error:
                print(f"the jail could not be built: {error}", file=sys.stderr)
            finally:
                with suppress(OSError):
                    sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(first, 0)
    except OSError as error:
        print(f"the jail could not be built: {error}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(NO_JAIL)
    os._exit(code_of(status))


if __name__ == "__main__":
    main()
