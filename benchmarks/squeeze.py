"""Give a whole cluster, with all that belongs to it, less than one core.

Two ways. A cgroup with a quota is exact, and needs a folder under /sys/fs/cgroup that this user may
write to. Elsewhere everything is pinned to one core, next to hogs, and `settle` adds hogs until the
share is small enough.

What all its processes get is measured in either case (`ShareMeter`), because a quota is a limit and
no promise: they may have less, or want less.
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
"""Of one core, for everything together."""
PERIOD_US: Final = 100_000
MOST_HOGS: Final = 64
CGROUPS: Final = Path("/sys/fs/cgroup")
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
#: Puts itself into a cgroup, or onto one core, and becomes another program.
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
    """A way to hold programs back."""

    name: str
    """The kind of squeeze, for the report."""
    place: str
    """The folder of a cgroup, the number of a core, or nothing."""
    hogs: Hogs | None = None

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs inside from its first instruction on. So do its children."""
        return (
            [sys.executable, "-S", "-c", _ENTER, self.place, *command] if self.place else [*command]
        )

    def settle(self, share: float) -> None:
        """Add a hog if a share of one core is more than it should be."""
        if self.hogs is not None and share > SHARE and len(self.hogs) < MOST_HOGS:
            self.hogs.add()


NO_SQUEEZE: Final = Squeeze("alone", "")


def make_cgroup(name: str, root: Path = CGROUPS) -> Path | None:
    """Return a new cgroup with the quota, of version 1 or 2, or None where that is not possible.

    It has the highest weight, so that other work on the machine leaves it its quota.
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
                # No O_CREAT: where this is no cgroup of that version, there is no such file.
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
    """Yield the squeeze that this system allows. Raises OSError if it allows none."""
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
    """Remove a cgroup. What is left in it is killed: a load, for example, whose presenter was."""
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
    """Measures what all processes of a cluster use, from the first look on.

    They are those with a certain text in their environment: the cluster's own state folder. Ended
    ones count as they were last seen.
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
        """Return the share of one core that they have had since the last look."""
        now_s, seen = self._clock(), self.processes()
        used_s = sum(spent - self._used.get(pid, 0.0) for pid, spent in seen.items())
        share = used_s / max(now_s - self._looked_s, 1e-9)
        self._looked_s = now_s
        self._used.update(seen)
        return share

    @property
    def share(self) -> float:
        """The share of one core from the beginning to the last look."""
        used_s = sum(self._used.values()) - sum(self._first.values())
        return used_s / max(self._looked_s - self._began_s, 1e-9)

    def processes(self) -> dict[int, float]:
        """Return the processor time of each process now, in s."""
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
