"""Look for a cluster's processes, and start again those that a test has stopped."""

import os
from pathlib import Path

from kafka_edu.supervisor.cluster import Cluster
from tests.waiting import wait_for


def is_alive(pid: int) -> bool:
    """Return whether the process runs. A zombie, which waits to be reaped, does not count as
    running.

    A process whose first thread is a zombie still runs, and still holds its files, if it has other
    threads.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        zombie = stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"
        return not zombie or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def processes_of(text: str) -> list[int]:
    """Return the processes whose command line contains `text`. Needs /proc."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                command = (
                    (folder / "cmdline")
                    .read_bytes()
                    .replace(b"\0", b" ")
                    .decode("utf-8", "replace")
                )
            except OSError:
                continue
            if text in command and is_alive(int(folder.name)):
                found.append(int(folder.name))
    return found


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name: the state, the parent and so on. Return
    an empty list if there is no such process.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def children_of(pid: int) -> list[int]:
    """Return the processes that it has started. Needs /proc."""
    running = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [each for each in running if _stat(each)[1:2] == [str(pid)]]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time used so far, in user code and in the kernel. Needs /proc."""
    ticks = map(int, _stat(pid)[11:13])
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def wait_until_gone(pids: list[int]) -> None:
    """Wait until none of these processes is alive. Raise AssertionError if one still is after a
    minute.
    """

    def left() -> list[int]:
        return [pid for pid in pids if is_alive(pid)]

    wait_for(lambda: not left(), lambda: f"processes {left()} are still there")


def wait_until_none(text: str) -> None:
    """Wait until no process has `text` in its command line. A process that is about to end may
    still start a new process with `text`.
    """
    wait_for(
        lambda: not processes_of(text), lambda: f"processes {processes_of(text)} are still there"
    )


def start_all(cluster: Cluster) -> None:
    """Start stopped brokers, resume paused ones, and wait until all brokers list each other.

    Tests that share a cluster call this first, so that each test finds a cluster that works.
    """
    for process in cluster.status().processes:
        if process.state == "paused":
            cluster.act("resume", process.source)
        elif process.state == "stopped":
            cluster.act("start", process.source)
    cluster.wait_ready()
