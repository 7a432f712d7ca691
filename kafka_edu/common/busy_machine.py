"""Measure and judge on a machine that other work keeps busy.

A class has weak laptops, and a grader runs many jobs at once. There the clock says little about a
program: most of the time it waits for a core. So a limit counts what the program itself spends:

* *processor time*: an endless loop spends it, on any machine, and a right answer hardly any. The
  limit is the larger of 1 s and 20 times what the reference solution used in the same run;
* *idle time*: the clock, minus the processor time, minus the time that the program waited for a
  core (the second number of Linux's `/proc/PID/schedstat`). A right answer has next to none, and
  code that sleeps or waits for itself has nothing else. The limit is 5 s;
* *the clock*, only where the system has no /proc: 20 times that of the reference solution.

An `Allowance` holds these limits, a `Meter` measures a process with all its descendants, and
`overdrawn` compares them. Nobody is judged while the reference solution fails as well: that is a
`NotJudgedError`. `Hogs` make a machine busy, for tests, benchmarks and the soak.
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
"""How many times the reference solution's time a learner's code may take."""
LOOK_EVERY_S: Final = 0.25
LONG_S: Final = 1.0
"""A time between two looks that is long: whoever looks had no core."""
TRY_LATER: Final = "try later, when nothing else runs on this machine"
_PROC: Final = Path("/proc")
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


class NotJudgedError(Exception):
    """The reference solution fails here at this moment, so nobody's work can be judged."""

    def __init__(self, reference_failed: str) -> None:
        self.reference_failed = reference_failed
        super().__init__(
            f"not judged: the reference solution fails here at this moment too"
            f" ({reference_failed}), which says nothing about this work; {TRY_LATER}"
        )


class Usage(NamedTuple):
    """The state of a process and its descendants at one moment; times in s, since they began."""

    clock_s: float
    """The time of a monotonic clock, when reading the numbers began."""
    processor_s: float | None = None
    """None: this system does not say."""
    waited_s: Mapping[int, float] = MappingProxyType({})
    """Thread → how long it could have run, but had no core."""
    ready: bool = False
    """Whether one of them runs now, waits for a core, or waits for the disk."""
    read_s: float = 0.0
    """How long reading the numbers took. Whoever reads them may have to wait for a core too."""


class Spent(NamedTuple):
    """The spending of a process since a meter began, in s."""

    clock_s: float
    processor_s: float | None
    idle_s: float


class Allowance(NamedTuple):
    """The limits for one call, or for one run; in s."""

    processor_s: float = 1.0
    idle_s: float = 5.0
    clock_s: float = 5.0
    """It counts only where the system has no /proc."""

    def widened(self, processor_s: float, clock_s: float) -> "Allowance":
        """Return these limits, or 20 times what the reference solution used, if that is more."""
        return self._replace(
            processor_s=max(self.processor_s, REFERENCES_SHARE * processor_s),
            clock_s=max(self.clock_s, REFERENCES_SHARE * clock_s),
        )


def overdrawn(spent: Spent, allowance: Allowance) -> str:
    """Return which limit is exceeded, for a sentence that ends so; empty if none is."""
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
    """Measures what a process and its descendants spend, from the first look on.

    Idle time is a lower bound. Between two looks it counts only if nobody is ready to run at the
    second one: a process that a cgroup holds back is ready all the time, and no number of the
    kernel says so. If a thread has ended meanwhile, nobody knows how long it had waited, so a long
    time between two looks does not count either.
    """

    def __init__(self, pid: int, usage_of: Callable[[int], Usage] | None = None) -> None:
        """`usage_of` is another measure than this system's."""
        self._pid = pid
        self._usage_of = usage_of or family_usage
        self._first = self._last = self._usage_of(pid)
        self._idle_s = 0.0

    def look(self) -> Spent:
        """Return what was spent until now."""
        now, last = self._usage_of(self._pid), self._last
        self._last = now
        clock_s = now.clock_s - self._first.clock_s
        if now.processor_s is None or last.processor_s is None or self._first.processor_s is None:
            return Spent(clock_s, None, 0.0)
        passed_s = now.clock_s - last.clock_s - last.read_s
        unknown = passed_s > LONG_S and not last.waited_s.keys() <= now.waited_s.keys()
        if not now.ready and not unknown:
            waited_s = sum(
                until_s - last.waited_s.get(thread, 0.0) for thread, until_s in now.waited_s.items()
            )
            used_s = max(now.processor_s - last.processor_s, 0.0)
            self._idle_s += max(passed_s - used_s - waited_s, 0.0)
        return Spent(clock_s, max(now.processor_s - self._first.processor_s, 0.0), self._idle_s)


def family_usage(pid: int) -> Usage:
    """Return what a process and its descendants have used until now.

    Children that have ended count too, with their processor time, once their parent has waited for
    them.
    """
    clock_s = time.monotonic()
    if not (_PROC / "self" / "schedstat").exists():
        return Usage(clock_s)
    ticks, ready = 0, False
    waited_s: dict[int, float] = {}
    for member, fields in family_of(pid).items():
        ticks += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
        with contextlib.suppress(OSError):  # it has just ended
            for task in os.scandir(_PROC / str(member) / "task"):
                state = _read(f"{task.path}/stat").rpartition(")")[2].split()
                ready |= bool(state) and state[0] in "RD"
                waited_s[int(task.name)] = _waited_s(task.path)
    return Usage(clock_s, ticks / _TICKS_A_SECOND, waited_s, ready, time.monotonic() - clock_s)


def waited_for_a_core_s(pid: int) -> float:
    """Return how long the main thread of a process has been ready to run without a core, in s; 0 if
    unknown. It is the thread of the loop in our processes.
    """
    return _waited_s(f"{_PROC}/{pid}")


def _waited_s(folder: str) -> float:
    numbers = _read(f"{folder}/schedstat").split()
    return int(numbers[1]) / 1e9 if len(numbers) > 1 else 0.0


def family_of(pid: int) -> dict[int, list[str]]:
    """Return a process and all its descendants, each with its fields of `/proc/PID/stat` from the
    state on.
    """
    stats: dict[int, list[str]] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for name in os.listdir(_PROC):
        if name.isdecimal() and (fields := _read(f"{_PROC}/{name}/stat").rpartition(")")[2]):
            stats[int(name)] = fields.split()
            children[int(fields.split()[1])].append(int(name))
    found: dict[int, list[str]] = {}
    left = [pid]
    while left:
        one = left.pop()
        if one in stats and one not in found:
            found[one] = stats[one]
            left += children[one]
    return found


def _read(path: str) -> str:
    """Return the text of a file in /proc; empty if its process has gone."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


#: It ends when the process that started it is not its parent any more. No signal is needed then.
_HOG: Final = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(200_000):
        pass
"""


class Hogs:
    """Processes that do nothing but use the processor, until the end of a `with` block.

    Each has a session of its own. Linux with autogroups (`kernel.sched_autogroup_enabled`, the
    default of many systems) shares the cores among sessions first. Eight hogs in one session would
    take no more from a cluster, which has its own, than one hog does.
    """

    def __init__(self, count: int, cores: Iterable[int] | None = None) -> None:
        """With `cores`, they use these only, where the system can do that."""
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
        """Start more of them."""
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
        """End all of them."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        self._processes.clear()
