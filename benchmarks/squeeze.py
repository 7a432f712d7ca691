"""Give all processes of a cluster together less than one core.

There are two ways. A cgroup with a quota is exact, but it needs a folder under /sys/fs/cgroup in
which this user may write. If there is none, all processes are bound to one core together with hogs,
and `settle` adds hogs until the share is small enough.

In both cases the processor time of the processes is measured (`ShareMeter`). This is necessary
because a quota is only a limit: the processes may get less or need less.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.busy_machine import Hogs

SHARE: Final = 0.30
"""The share of one core that all processes have together."""
PERIOD_US: Final = 100_000
MOST_HOGS: Final = 64
CGROUPS: Final = Path("/sys/fs/cgroup")
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
#: A program that puts itself into a cgroup or onto one core, and then becomes another program.
_ENTER: Final = """
import os, sys
place, *command = sys.argv[1:]
if place.startswith("/"):
    with open(place + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
elif place:
    os.sched_setaffinity(0, {int(place)})
os.execvp(command[0], command)
"""


class Squeeze(NamedTuple):
    """A way to limit the processor time of programs."""

    name: str
    """The kind of limit, as the report names it."""
    place: str
    """The folder of the cgroup, or the number of the core, or "" for no limit."""
    hogs: Hogs | None = None

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs `command` with the limit.

        Its child processes have the limit too.
        """
        return (
            [sys.executable, "-S", "-c", _ENTER, self.place, *command] if self.place else [*command]
        )

    def settle(self, share: float) -> None:
        """Add a hog (a process that only uses processor time) if the measured share is too high."""
        if self.hogs is not None and share > SHARE and len(self.hogs) < MOST_HOGS:
            self.hogs.add()


NO_SQUEEZE: Final = Squeeze("alone", "")


def make_cgroup(name: str, root: Path = CGROUPS) -> Path | None:
    """Make a cgroup (version 1 or 2) with the quota. Return its folder, or None if that fails.

    The cgroup has the highest weight, so that it gets its quota even if other programs run.
    """
    quota_us = round(SHARE * PERIOD_US)
    version_1 = {
        "cpu.cfs_period_us": f"{PERIOD_US}",
        "cpu.cfs_quota_us": f"{quota_us}",
        "cpu.shares": f"{1 << 18}",
    }
    version_2 = {"cpu.max": f"{quota_us} {PERIOD_US}", "cpu.weight": "10000"}
    for parent, settings in ((root / "cpu", version_1), (root, version_2)):
        folder = parent / name
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            for setting, value in settings.items():
                # Without O_CREAT this fails if the file does not exist. Then the folder is not a
                # cgroup of this version.
                descriptor = os.open(folder / setting, os.O_WRONLY)
                with open(descriptor, "w", encoding="ascii") as file:
                    file.write(value)
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        return folder
    return None


@contextlib.contextmanager
def squeezed(cgroups: Path = CGROUPS) -> Iterator[Squeeze]:
    """Limit programs by a cgroup, or by hogs if no cgroup can be made. Raises OSError if the system
    allows neither.
    """
    cgroup = make_cgroup(f"kafka-edu-{os.getpid()}", cgroups)
    if cgroup is not None:
        try:
            yield Squeeze(f"a cgroup with {SHARE:.0%} of one core", str(cgroup))
        finally:
            remove_cgroup(cgroup)
        return
    if not hasattr(os, "sched_setaffinity"):
        raise OSError("this system has neither cgroups that we may write to nor pinned processes")
    core = max(os.sched_getaffinity(0))
    with Hogs(4, [core]) as hogs:
        yield Squeeze(f"core {core} alone, next to hogs", str(core), hogs)


def remove_cgroup(folder: Path, pause: Callable[[float], None] = time.sleep) -> None:
    """Kill the processes that are left in a cgroup, and remove the cgroup.

    Such a process is, for example, a load whose presenter was killed.
    """
    for _ in range(100):
        with contextlib.suppress(OSError):
            for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split():
                os.kill(int(pid), signal.SIGKILL)
        try:
            folder.rmdir()
        except OSError:
            pause(0.1)
        else:
            return


class ShareMeter:
    """Measure the processor time of all processes of a cluster since this object was made.

    The processes are those with the text `text` in their environment, which is the cluster's own
    state folder. A process that has ended counts with its last measured time.
    """

    def __init__(self, text: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._text = text.encode()
        self._clock = clock
        self._first: dict[int, float] = {}
        self._used: dict[int, float] = {}
        self._began_s = self._looked_s = clock()
        self._first = self.processes()
        self._used = dict(self._first)

    def look(self) -> float:
        """Measure now.

        Return the share of one core that the processes have used since the last measurement.
        """
        now_s, seen = self._clock(), self.processes()
        used_s = sum(spent - self._used.get(pid, 0.0) for pid, spent in seen.items())
        share = used_s / max(now_s - self._looked_s, 1e-9)
        self._looked_s = now_s
        self._used.update(seen)
        return share

    @property
    def share(self) -> float:
        """The share of one core from the beginning to the last measurement."""
        used_s = sum(self._used.values()) - sum(self._first.values())
        return used_s / max(self._looked_s - self._began_s, 1e-9)

    def processes(self) -> dict[int, float]:
        """Return process id → processor time of the process until now, in s."""
        found = {}
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with contextlib.suppress(OSError):
                    folder = Path("/proc", name)
                    if self._text in (folder / "environ").read_bytes():
                        fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2]
                        ticks = sum(map(int, fields.split()[11:13]))
                        found[int(name)] = ticks / _TICKS_A_SECOND
        return found
