"""Measure and judge programs on a machine that other work keeps busy.

Laptops in a class are slow, and a grader runs many jobs at once. On such machines a program waits
for a core most of the time, so the clock says little about it. The limits therefore apply to what
the program itself uses:

* *processor time*: an endless loop uses much of it on any machine. A right answer uses very little.
  The limit is the larger of 1 s and 20 times what the reference solution used in the same run;
* *idle time*: the clock, minus the processor time, minus the time that the program waited for a
  core (the second number of Linux's `/proc/PID/schedstat`). A right answer has almost none. Code
  that sleeps, or that waits for an event that never comes, has much. The limit is 5 s;
* *the clock*, only on systems without /proc: 20 times the time of the reference solution.

An `Allowance` holds these limits, a `Meter` measures a process with all its descendants, and
`overdrawn` compares the two. If the reference solution fails as well, no answer is judged:
`NotJudgedError` is raised. `Hogs` keep a machine busy, for tests, benchmarks and the soak.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

REFERENCES_SHARE: Final = 20
"""A learner's code may use this many times as much time as the reference solution."""
LOOK_EVERY_S: Final = 0.25
LONG_S: Final = 1.0
"""If two measurements are at least this many seconds apart, the time between them is long.

The measurements are usually closer together. A longer time means that the measuring process had no
core.
"""
TRY_LATER: Final = "try later, when nothing else runs on this machine"
_PROC: Final = Path("/proc")
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


class NotJudgedError(Exception):
    """The reference solution fails on this machine now, so no learner's code can be judged."""

    def __init__(self, reference_failed: str) -> None:
        self.reference_failed = reference_failed
        super().__init__(
            f"not judged: the reference solution fails here at this moment too"
            f" ({reference_failed}), which says nothing about this work; {TRY_LATER}"
        )


class Usage(NamedTuple):
    """The resources that a process and its descendants have used until one moment.

    Times are in s.
    """

    clock_s: float
    """The time of a monotonic clock when the measurement began."""
    processor_s: float | None = None
    """Processor time in s. None if this system does not provide it."""
    waited_s: Mapping[int, float] = MappingProxyType({})
    """Thread id → seconds in which the thread was ready to run but had no core."""
    ready: bool = False
    """Whether at least one thread runs now, waits for a core, or waits for the disk."""
    read_s: float = 0.0
    """How long the measurement itself took, in s.

    The measuring process may have to wait for a core too.
    """


class Spent(NamedTuple):
    """The resources that a process has used since a meter began. Times are in s."""

    clock_s: float
    processor_s: float | None
    idle_s: float


class Allowance(NamedTuple):
    """The limits for one call or for one run, in s."""

    processor_s: float = 1.0
    idle_s: float = 5.0
    clock_s: float = 5.0
    """Limit for the time on the clock. It is used only on systems without /proc."""

    def widened(self, processor_s: float, clock_s: float) -> "Allowance":
        """Return these limits. Processor time and clock time are raised to 20 times what the
        reference solution used, if that is more.
        """
        return self._replace(
            processor_s=max(self.processor_s, REFERENCES_SHARE * processor_s),
            clock_s=max(self.clock_s, REFERENCES_SHARE * clock_s),
        )


def overdrawn(spent: Spent, allowance: Allowance) -> str:
    """Return the end of a sentence that names the limit that was exceeded, or "" if none was."""
    if spent.processor_s is None:
        if spent.clock_s <= allowance.clock_s:
            return ""
        return f"within {allowance.clock_s:g} s: is there a loop that never ends?"
    if spent.processor_s > allowance.processor_s:
        return (
            f"within {allowance.processor_s:g} s of processor time: is there a loop that never"
            " ends?"
        )
    if spent.idle_s > allowance.idle_s:
        return (
            f"within {allowance.idle_s:g} s, in which it did nothing: does it sleep, or wait for"
            " something that never comes?"
        )
    return ""


class Meter:
    """Measure what a process and its descendants use, from the creation of this object on.

    The measured idle time is never too high, but it may be too low. The time between two
    measurements counts as idle only if no thread is ready to run at the second measurement. The
    reason: a cgroup may keep a ready process from running, and the kernel does not count this time
    as waiting. If a thread has ended between two measurements, its waiting time is unknown. So if
    there was a long time (LONG_S) between two such measurements, this time does not count as idle
    either.

    The measured processor time is never too high. It includes the time of processes that were
    killed and that no parent has waited for, up to the last measurement before their end.
    """

    def __init__(self, pid: int, usage_of: Callable[[int], Usage] | None = None) -> None:
        """`usage_of` is the function that measures. The default is `family_usage`."""
        self._pid = pid
        self._usage_of = usage_of or family_usage
        self._first = self._last = self._usage_of(pid)
        self._processor_s = _ProcessorTime(self._first.processor_s or 0.0)
        self._idle_s = 0.0

    def look(self) -> Spent:
        """Measure now, and return what was used since the meter began."""
        now, last = self._usage_of(self._pid), self._last
        self._last = now
        clock_s = now.clock_s - self._first.clock_s
        if now.processor_s is None or last.processor_s is None:
            return Spent(clock_s, None, 0.0)
        self._processor_s.add(now.processor_s)
        passed_s = now.clock_s - last.clock_s - last.read_s
        unknown = passed_s > LONG_S and not last.waited_s.keys() <= now.waited_s.keys()
        if not now.ready and not unknown:
            waited_s = sum(
                until_s - last.waited_s.get(thread, 0.0) for thread, until_s in now.waited_s.items()
            )
            used_s = max(now.processor_s - last.processor_s, 0.0)
            self._idle_s += max(passed_s - used_s - waited_s, 0.0)
        return Spent(clock_s, self._processor_s.used_s, self._idle_s)


class _ProcessorTime:
    """Adds up the processor time of a family, from measurements of its sum so far.

    A family is a process and its descendants. The measured sum can fall in two cases:

    1. A process has ended, and no parent has waited for it, for example because a JVM and its
       parent were killed. The time of this process is missing in all later sums.
    2. A parent waits for a process just while the family is measured. The process is gone already,
       and its time does not count as the parent's time yet. The next sum is as high as before.

    So after a fall, the next measurement shows which case it is.
    """

    def __init__(self, sum_s: float) -> None:
        self.used_s = 0.0
        self._base_s = sum_s
        self._fallen_to_s: float | None = None
        """The last sum, if it was lower than the one before."""

    def add(self, sum_s: float) -> None:
        """Add what was used between the last measurement and this one."""
        if sum_s < self._base_s:
            if self._fallen_to_s is None:
                self._fallen_to_s = sum_s
                return
            self._base_s = min(self._fallen_to_s, sum_s)
        self._fallen_to_s = None
        self.used_s += sum_s - self._base_s
        self._base_s = sum_s


def family_usage(*pids: int) -> Usage:
    """Return what the processes `pids` and all their descendants have used until now, as one sum.

    The processor time of a child that has ended counts too, if its parent has waited for it.
    """
    clock_s = time.monotonic()
    if not (_PROC / "self" / "schedstat").exists():
        return Usage(clock_s)
    ticks, ready = 0, False
    waited_s: dict[int, float] = {}
    for member, fields in family_of(*pids).items():
        ticks += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
        with contextlib.suppress(OSError):  # it has just ended
            for task in os.scandir(_PROC / str(member) / "task"):
                state = _read(f"{task.path}/stat").rpartition(")")[2].split()
                ready |= bool(state) and state[0] in "RD"
                waited_s[int(task.name)] = _waited_s(task.path)
    return Usage(clock_s, ticks / _TICKS_A_SECOND, waited_s, ready, time.monotonic() - clock_s)


def waited_for_a_core_s(pid: int) -> float:
    """Return how many seconds the main thread of a process was ready to run but had no core.

    The main thread of our processes runs the event loop. The result is 0 if the time is unknown.
    """
    return _waited_s(f"{_PROC}/{pid}")


def _waited_s(folder: str) -> float:
    numbers = _read(f"{folder}/schedstat").split()
    return int(numbers[1]) / 1e9 if len(numbers) > 1 else 0.0


def family_of(*pids: int) -> dict[int, list[str]]:
    """Return the processes and all their descendants: process id → fields of `/proc/PID/stat`.

    The first field in each list is the state of the process. Without /proc, nothing is found.
    """
    if not _PROC.is_dir():
        return {}
    stats: dict[int, list[str]] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for name in os.listdir(_PROC):
        if name.isdecimal() and (fields := _read(f"{_PROC}/{name}/stat").rpartition(")")[2]):
            stats[int(name)] = fields.split()
            children[int(fields.split()[1])].append(int(name))
    found: dict[int, list[str]] = {}
    left = [*pids]
    while left:
        one = left.pop()
        if one in stats and one not in found:
            found[one] = stats[one]
            left += children[one]
    return found


def began_at(pid: int) -> int:
    """Return when a process began, in ticks since the start of the system.

    The result is 0 if the process has ended, or if this system does not provide the time.
    """
    fields = _read(f"{_PROC}/{pid}/stat").rpartition(")")[2].split()
    return int(fields[19]) if fields and fields[0] != "Z" else 0


def _read(path: str) -> str:
    """Return the text of a file in /proc, or "" if its process has ended."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


#: The program ends by itself when its parent has ended, so it needs no signal.
_HOG: Final = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(200_000):
        pass
"""


class Hogs:
    """Processes that do nothing but use the processor, until the end of a `with` block.

    Each process has its own session. Linux with autogroups (`kernel.sched_autogroup_enabled`, the
    default of many systems) first divides the cores among the sessions. The cluster under test has
    its own session. So eight hogs in one session would take no more time from the cluster than one
    hog.
    """

    def __init__(self, count: int, cores: Iterable[int] | None = None) -> None:
        """`count` is the number of processes.

        With `cores`, they run only on these cores, if the system allows it.
        """
        self._cores = set(cores) if cores is not None else None
        self._processes: list[subprocess.Popen[bytes]] = []
        self.add(count)

    def __enter__(self) -> "Hogs":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._processes)

    def add(self, count: int = 1) -> None:
        """Start `count` more hogs."""
        for _ in range(count):
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _HOG, str(os.getpid())],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._processes.append(process)
            if self._cores is not None and hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(process.pid, self._cores)

    def close(self) -> None:
        """End all hogs."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        self._processes.clear()
