"""Looks for processes, for tests that say what is left of a cluster."""

import os
import time
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether it runs: a zombie, which waits for a reaper, does not. Of a process with threads the first may be one while others still hold its files."""
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
    """Processes whose command line holds `text`; needs /proc."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if text in command and is_alive(int(folder.name)):
                found.append(int(folder.name))
    return found


def wait_until_gone(pids: list[int], timeout_s: float = 20.0) -> None:
    """Return when none of them is alive; AssertionError when some still are."""
    end = time.monotonic() + timeout_s
    while left := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < end, f"processes {left} are still there"
        time.sleep(0.02)
