"""Limit the memory of a group of processes together, by a cgroup of Linux. This needs root.

Both versions of cgroups are supported. In version 1 the controller `memory` has a file system of
its own. In version 2 one file system has all controllers.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "kafka-edu-grade-"
MOUNTS: Final = Path("/proc/self/mounts")
REMOVING_S: Final = 10.0
"""How long killed processes may take to leave their cgroup."""


class NoCgroupError(Exception):
    """This system has no cgroups for memory, or does not let this user make one. The text says
    why.
    """


class MemoryCgroup:
    """A new cgroup with a limit of memory. It exists until `remove` is called."""

    def __init__(self, name: str, limit: int, mounts: Path = MOUNTS) -> None:
        """Make the cgroup. `limit` is in bytes. Raises NoCgroupError."""
        top, version = _memory_controller(mounts)
        self.folder = top / f"{PREFIX}{name}"
        self._events = "memory.events" if version == 2 else "memory.oom_control"
        try:
            if version == 2:
                control = top / "cgroup.subtree_control"
                if "memory" not in control.read_text(encoding="ascii").split():
                    control.write_text("+memory", encoding="ascii")
            self.folder.mkdir(exist_ok=True)
            for limit_of, value in _limits(version, limit).items():
                with suppress(FileNotFoundError):  # a kernel without a count of swap
                    (self.folder / limit_of).write_text(value, encoding="ascii")
        except OSError as error:
            raise NoCgroupError(f"the cgroup {self.folder} cannot be made: {error}") from error

    @property
    def processes(self) -> Path:
        """The file into which a process writes its id, or 0, to join the cgroup."""
        return self.folder / "cgroup.procs"

    def has_killed(self) -> bool:
        """Return whether the kernel has killed a process because the limit was reached."""
        with suppress(OSError):
            for line in (self.folder / self._events).read_text(encoding="ascii").splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1]) > 0
        return False

    def remove(self) -> None:
        """Remove the cgroup. The caller must have killed its processes; this method waits a short
        time until they have ended.
        """
        until_s = time.monotonic() + REMOVING_S
        while True:
            try:
                self.folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > until_s:
                    return  # its processes are ending; an empty cgroup is harmless
                time.sleep(0.01)  # the kernel does not say when the last process has left
            else:
                return


def _memory_controller(mounts: Path) -> tuple[Path, int]:
    """Return the folder of the cgroups with the controller `memory`, and the version of cgroups."""
    try:
        lines = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise NoCgroupError(f"{mounts} cannot be read: {error}") from error
    for _, place, kind, options, *_ in lines:
        if kind == "cgroup" and "memory" in options.split(","):
            return Path(place), 1
        if kind == "cgroup2":
            with suppress(OSError):
                found = Path(place, "cgroup.controllers").read_text(encoding="ascii").split()
                if "memory" in found:
                    return Path(place), 2
    raise NoCgroupError("this system has no cgroups with the controller `memory`")


def _limits(version: int, limit: int) -> dict[str, str]:
    """Return the settings of a cgroup: file → value. Swap counts as memory."""
    if version == 2:
        return {"memory.max": f"{limit}", "memory.swap.max": "0"}
    return {"memory.limit_in_bytes": f"{limit}", "memory.memsw.limit_in_bytes": f"{limit}"}


def remove_left_behind(mounts: Path = MOUNTS) -> None:
    """Remove empty cgroups that were left behind because the process that made them was killed."""
    with suppress(NoCgroupError, OSError):
        top, _ = _memory_controller(mounts)
        for folder in top.glob(f"{PREFIX}*"):
            with suppress(OSError):  # it has processes
                os.rmdir(folder)
