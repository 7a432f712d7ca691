"""Limits on a busy machine: the time that a process uses, when it has used too much, and `Hogs`,
which keep the machine busy.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from kafka_edu.common import busy_machine
from kafka_edu.common.busy_machine import (
    Allowance,
    Hogs,
    Meter,
    NotJudgedError,
    Spent,
    Usage,
    began_at,
    family_of,
    family_usage,
    overdrawn,
    waited_for_a_core_s,
)

ALLOWANCE: Final = Allowance()


def measured(*usages: Usage) -> Spent:
    """Return what a meter has seen after all these looks."""
    left = list(usages)
    meter = Meter(1, lambda _: left.pop(0))
    spent = Spent(0.0, 0.0, 0.0)
    while left:
        spent = meter.look()
    return spent


def test_waiting_for_a_core_is_not_idle() -> None:
    """In ten minutes by the clock, the process waits for a core for 9 minutes and 59 seconds."""
    spent = measured(Usage(100.0, 3.0, {7: 1.0}), Usage(700.0, 3.5, {7: 600.0}))
    assert (spent.clock_s, spent.processor_s) == (600.0, 0.5)
    assert spent.idle_s == pytest.approx(0.5)
    assert overdrawn(spent, ALLOWANCE) == ""


def test_who_is_held_back_by_a_cgroup_is_not_idle() -> None:
    """The kernel does not count the time for which a cgroup holds a process back, but the process
    is ready all the time.
    """
    spent = measured(Usage(0.0, 0.0), Usage(30.0, 0.3, ready=True))
    assert spent.idle_s == 0.0
    assert overdrawn(spent, ALLOWANCE) == ""


def test_who_sleeps_is_idle() -> None:
    spent = measured(Usage(0.0, 0.0), Usage(3.0, 0.1), Usage(5.2, 0.1, {7: 0.05}))
    assert spent.idle_s == pytest.approx(5.05)
    assert overdrawn(spent, ALLOWANCE).startswith("within 5 s, in which it did nothing")


def test_an_endless_loop_is_stopped_by_its_processor_time() -> None:
    spent = measured(Usage(0.0, 7.0), Usage(30.0, 8.1, {7: 28.0}))
    assert "within 1 s of processor time" in overdrawn(spent, ALLOWANCE)
    assert overdrawn(spent, ALLOWANCE.widened(0.1, 0.0)) == "", "20 times the reference's 0.1 s"


def test_the_time_of_a_killed_process_that_nobody_waited_for_counts() -> None:
    """A JVM that has used 20 s is killed together with its parent. Another JVM uses 3 s."""
    used = [1.0, 21.0, 1.0, 1.5, 4.0]
    spent = measured(*(Usage(float(at), used_s) for at, used_s in enumerate(used)))
    assert spent.processor_s == pytest.approx(23.0)
    assert measured(Usage(0.0, 1.0), Usage(1.0, 9.0), Usage(2.0, 0.0)).processor_s == 8.0
    twice = [0.0, 9.0, 5.0, 2.0, 2.5]
    spent = measured(*(Usage(float(at), used_s) for at, used_s in enumerate(twice)))
    assert spent.processor_s == pytest.approx(9.5)


def test_a_process_that_ends_while_its_family_is_read_counts_once() -> None:
    """The parent was read before it had waited for the ended child. So 20 s are missing in one
    look.
    """
    used = [1.0, 21.0, 1.2, 21.5, 22.0]
    spent = measured(*(Usage(float(at), used_s) for at, used_s in enumerate(used)))
    assert spent.processor_s == pytest.approx(21.0)


def test_the_time_for_which_the_reader_itself_had_no_core_is_not_idle() -> None:
    """The reader began to read at 10 s, and was stopped for 20 s while it read. The number that it
    read includes these 20 s, so the next interval includes none of them.
    """
    first = Usage(10.0, 0.0, {7: 20.0}, read_s=20.0)
    spent = measured(Usage(0.0, 0.0, {7: 0.0}), first, Usage(30.2, 0.1, {7: 20.1}))
    assert spent.idle_s == pytest.approx(0.0)


def test_what_a_thread_waited_that_has_ended_is_unknown_and_not_idle() -> None:
    """A learner's process waits for 8 s and is ended. Then a new process starts."""
    spent = measured(Usage(0.0, 0.0, {7: 50.0}), Usage(9.0, 0.5, {8: 0.5}))
    assert spent.idle_s == 0.0
    spent = measured(Usage(0.0, 0.0, {7: 50.0}), Usage(0.3, 0.1, {8: 0.1}))
    assert spent.idle_s == pytest.approx(0.1), "at most the time between two looks"


def test_without_proc_the_clock_counts() -> None:
    spent = measured(Usage(0.0), Usage(4.9))
    assert spent == Spent(4.9, None, 0.0)
    assert overdrawn(spent, ALLOWANCE) == ""
    spent = measured(Usage(0.0), Usage(5.1))
    assert overdrawn(spent, ALLOWANCE).startswith("within 5 s: ")
    assert overdrawn(spent, ALLOWANCE.widened(0.0, 0.3)) == "", "20 times the reference's 0.3 s"


def test_an_allowance_is_never_narrowed() -> None:
    assert ALLOWANCE.widened(0.001, 0.001) == ALLOWANCE


def test_nobody_is_judged_says_why_and_what_to_do() -> None:
    text = str(NotJudgedError("test_a: did not come back"))
    assert "test_a: did not come back" in text
    assert "says nothing about this work" in text
    assert "try later" in text


needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/schedstat"), reason="the system has no /proc/PID/schedstat"
)


def until(done: Callable[[], bool]) -> None:
    """Return when it is so. pytest's own time-out is the limit."""
    while not done():
        time.sleep(0.01)


@needs_proc
def test_a_family_is_measured_as_one() -> None:
    """A parent that only waits, and its child, which works until it is stopped."""
    child = "while True: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', '{child}'])"
    with subprocess.Popen([sys.executable, "-S", "-c", parent]) as process:
        try:
            until(lambda: len(family_of(process.pid)) == 2)
            until(lambda: (family_usage(process.pid).processor_s or 0) > 0.3)
            assert family_usage(process.pid).ready
        finally:
            for pid in family_of(process.pid):
                os.kill(pid, 9)


@needs_proc
def test_a_family_that_is_killed_has_used_what_was_seen() -> None:
    """A job and its child are killed together, like a job and its JVM. Nobody waits for the
    child.
    """
    child = "while True: pass"
    job = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', '{child}'])"
    meter = Meter(os.getpid())
    with subprocess.Popen([sys.executable, "-S", "-c", job], start_new_session=True) as process:
        until(lambda: (meter.look().processor_s or 0) > 0.3)
        until(lambda: (family_usage(process.pid).processor_s or 0) > 0.3)
        seen_s = meter.look().processor_s or 0.0
        os.killpg(process.pid, 9)
    spent = [meter.look() for _ in range(3)]
    assert all((one.processor_s or 0.0) >= seen_s for one in spent)


@needs_proc
def test_hogs_use_the_processor_until_they_are_ended() -> None:
    with Hogs(1) as hogs:
        hogs.add()
        assert len(hogs) == 2
        mine = family_of(os.getpid()).keys() - {os.getpid()}
        until(lambda: all((family_usage(pid).processor_s or 0) > 0.05 for pid in mine))
    assert not family_of(os.getpid()).keys() & mine


@needs_proc
def test_hogs_end_with_the_process_that_started_them() -> None:
    """No signal reaches it: it is killed."""
    code = (
        "import sys, time\nfrom kafka_edu.common.busy_machine import Hogs, family_of\n"
        "import os\nwith Hogs(1):\n"
        "    pids = [pid for pid in family_of(os.getpid()) if pid != os.getpid()]\n"
        "    print(*pids, flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        hog = int(process.stdout.readline())
        process.kill()
    until(lambda: not family_of(hog))


@needs_proc
def test_each_hog_has_a_session_so_that_it_counts_as_one_on_a_system_with_autogroups() -> None:
    with Hogs(2):
        mine = family_of(os.getpid()).keys() - {os.getpid()}
        assert [os.getsid(pid) for pid in mine] == list(mine)


@needs_proc
def test_the_wait_of_one_process_for_a_core() -> None:
    core = min(os.sched_getaffinity(0))
    with Hogs(2, cores=[core]):  # on one core at least one of the two waits
        pids = family_of(os.getpid()).keys() - {os.getpid()}
        until(lambda: max(map(waited_for_a_core_s, pids)) > 0.05)
    assert [waited_for_a_core_s(pid) for pid in pids] == [0.0, 0.0]


def test_a_system_without_proc_has_no_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(busy_machine, "_PROC", tmp_path / "proc")
    assert family_of(os.getpid()) == {}
    assert began_at(os.getpid()) == 0


def test_a_process_that_has_ended_has_no_beginning() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert began_at(process.pid) == 0, "its parent has not waited for it yet"
