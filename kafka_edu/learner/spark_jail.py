"""Run a learner's Spark process in a jail, as root.

Usage: `python -I -S spark_jail.py UID PROCESSOR_S PLACES FILE MODULE ARGUMENT …`

This jail is for PySpark programs, which `learner_jail` cannot hold. The jail runs `python -m MODULE
FILE ARGUMENT …`. That process starts its own JVM and its Python workers. The jail has:

* *limits*: PROCESSOR_S of processor time for each process, 2 GB of memory for all processes
  together (a cgroup, made by the process that starts this one), 600 threads, 64 MB for a file;
* *namespaces*, as in `learner_jail`. The jail has its own loopback interface. A process outside the
  jail may open ports of brokers there;
* *a new file system*: Python's library, Java, PySpark and the packages that it uses, and this
  project's code for jobs can be read. The job can write into /work and /tmp, a file system in
  memory of 256 MB, and into the folders that are given for its results;
* *a user id* without any right of root, and `no_new_privs`.

There is no Landlock and no audit hook, because the process must start the JVM and its workers. The
new file system holds nothing that these would protect.

PLACES is JSON, with the fields of `Places`.
"""

import json
import os
import resource
import socket
import sys
from typing import Final, NamedTuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from learner_jail import (  # type: ignore[import-not-found]
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_REMOUNT,
    NAMESPACES,
    NO_JAIL,
    become,
    begin_root,
    bind,
    bind_library,
    finish_root,
    mount,
    raise_loopback,
    run_as_learner,
    run_jail,
)

del sys.path[0]

FOLDER_BYTES: Final = 256 << 20
MEMORY: Final = 2 << 30
#: The maximum number of threads of a submission, in all its processes.
#:
#: Spark begins with 80, and two of its pools grow with each short job. A job that wrote 15 small
#: batches (16-4s) had more than 300.
THREADS: Final = 600
LIMITS: Final = (
    (resource.RLIMIT_DATA, MEMORY),  # not RLIMIT_AS: a JVM reserves more than it uses
    (resource.RLIMIT_FSIZE, 64 << 20),
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_NOFILE, 4096),
)
#: The folders of the system's shared libraries, and of what loads them.
LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
#: Without a name for its user id, Hadoop's code refuses to start. Java looks the host's name up.
_ETC: Final = {
    "passwd": "learner:x:{uid}:{uid}::/work:/bin/false\n",
    "group": "learner:x:{uid}:\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "hosts: files\n",
}


class Places(NamedTuple):
    """The files that the jail gets, and its cgroup."""

    cgroup: str
    """The file into which a process writes its id to join the cgroup."""
    python: str
    """The program that runs Python."""
    packages: dict[str, str]
    """Path below /code → file or folder. /code is in Python's path."""
    readable: list[str]
    """Files and folders that the jail has under their own paths."""
    writable: list[str]
    """Folders that the jail has under their own paths. They belong to the learner's user id."""
    environment: dict[str, str]


def enter_spark_root(top: str, file: str, uid: int, places: Places) -> str:
    """Replace the file system with a new one. Return the path of the learner's file in it."""
    root = begin_root(top, FOLDER_BYTES)
    for path in dict.fromkeys(map(os.path.realpath, LIBRARIES)):
        bind(root, path)
    bind_library(root)  # after these, to hide the packages that were added to one of them
    for path in ("/dev/random", os.path.realpath(places.python), *places.readable):
        if not os.path.exists(root + path):  # it may be in a folder of libraries
            bind(root, path)
    for name, path in places.packages.items():
        bind(root, path, f"/code/{name}")
    for folder in places.writable:
        os.makedirs(root + folder)
        mount(folder, root + folder, "", MS_BIND)
        flags = MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC
        mount("", root + folder, "", flags)
    os.makedirs(root + "/etc", exist_ok=True)
    for name, text in _ETC.items():
        with open(f"{root}/etc/{name}", "w", encoding="ascii") as written:
            written.write(text.format(uid=uid))
    os.makedirs(root + "/tmp", exist_ok=True)
    os.chown(root + "/tmp", uid, uid)
    inside: str = finish_root(top, root, file, uid)
    return inside


def first_process(uid: int, processor_s: int, places: Places, program: list[str]) -> int:
    """Build the jail, run the learner's process in it, and return its exit code."""
    socket.sethostname("localhost")
    raise_loopback()
    file, module, *arguments = program
    inside = enter_spark_root(os.getcwd(), file, uid, places)

    def begin() -> None:
        become(uid, processor_s, LIMITS, THREADS)
        os.environ.update(places.environment)

    def run() -> None:
        python = os.path.realpath(places.python)
        os.execv(python, [python, "-m", module, inside, *arguments])

    code: int = run_as_learner(begin, run)
    return code


def main() -> None:
    """Start the jail in its cgroup, and end with the exit code of the learner's process."""
    uid, processor_s, text, *program = sys.argv[1:]
    places = Places(**json.loads(text))
    try:
        with open(places.cgroup, "w", encoding="ascii") as group:
            group.write("0")  # this process, and all that it will start
    except OSError as error:
        print(f"the jail could not be built: {error}", file=sys.stderr)
        sys.exit(NO_JAIL)
    run_jail(NAMESPACES, lambda: first_process(int(uid), int(processor_s), places, program))


if __name__ == "__main__":
    main()
