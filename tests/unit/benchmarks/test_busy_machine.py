"""`bench busy-machine`: how it takes processor time away, what it reads from a terminal, and its
report.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from benchmarks import squeeze as squeezing
from benchmarks.busy_machine import (
    LESSON,
    ROOT,
    Found,
    RunError,
    acknowledged,
    lateness_in,
    quantile,
    report_of,
    saved_step,
    times_of_steps,
    titles_of,
)
from benchmarks.squeeze import (
    NO_SQUEEZE,
    ShareMeter,
    Squeeze,
    make_cgroup,
    remove_cgroup,
    squeezed,
)
from benchmarks.watched_terminal import WatchedTerminal, lateness_said, plain
from kafka_edu.common.busy_machine import Hogs

FOUND: Final = Found(
    "a cgroup",
    share=0.29,
    ready_s=20.0,
    load=180.0,
    late_s=(0.3, 0.4, 2.0),
    late_said_s=(0.3, 0.5, 2.1),
    keys_s=(0.1, 0.2),
    quit_s=0.5,
    memory_mb=90.0,
    steps=(("Records arrive", 3.0), ("Kill a leader", 9.0)),
    machine_load=1.0,
)


def test_the_targets_are_those_of_the_squeezed_run() -> None:
    slow = FOUND._replace(quit_s=9.0, squeeze="alone")
    assert report_of({"squeezed": FOUND, "alone": slow}).holds
    unsaid = FOUND._replace(late_s=(9.0,), late_said_s=())
    assert not report_of({"squeezed": unsaid}).holds, "then what is seen from outside counts"
    report = report_of({"squeezed": slow._replace(share=0.4, steps=(("Kill", None),))})
    failed = [target.name for target in report.targets if not target.holds]
    assert failed == ["share of one core, %", "q, s", "steps missed"]


def test_a_quantile_is_one_of_the_values() -> None:
    values = [float(number) for number in range(1, 101)]
    assert [quantile(values, share) for share in (0.5, 0.95, 0.99)] == [51.0, 96.0, 100.0]
    assert quantile([], 0.5) is None


def test_a_step_that_was_not_seen_is_missed() -> None:
    titles = ["a", "b", "c"]
    entered = {0: 10.0, 1: 12.0, 2: 17.0, 3: 20.0}
    assert times_of_steps(titles, entered, finished=True) == [("a", 2.0), ("b", 5.0), ("c", 3.0)]
    stopped = {0: 10.0, 1: 12.0, 3: 20.0}
    assert times_of_steps(titles, stopped, finished=False) == [("a", 2.0), ("b", None), ("c", None)]


def test_a_step_that_was_passed_between_two_looks_is_not_missed() -> None:
    entered = {0: 10.0, 2: 17.0, 3: 20.0}
    assert times_of_steps(["a", "b", "c"], entered, finished=True) == [
        ("a", 7.0),
        ("b", 0.0),
        ("c", 3.0),
    ]


def test_files_of_a_run_are_read(tmp_path: Path) -> None:
    assert len(titles_of(ROOT / LESSON)) == 5
    assert saved_step(tmp_path) is None
    (tmp_path / "script-1.json").write_text('{"step": 2}', encoding="utf-8")
    assert saved_step(tmp_path) == 2
    report = tmp_path / "report.jsonl"
    report.write_text('{"late_ms": 310}\n{"late_ms": 1500}\n', encoding="utf-8")
    assert lateness_in(report) == [0.31, 1.5]
    load = tmp_path / "load.json"
    with pytest.raises(RunError, match="not reported"):
        acknowledged(load)
    load.write_text('{"figures": {"acked": 400, "seconds": 2.0}}', encoding="utf-8")
    assert acknowledged(load) == 200.0


@pytest.mark.parametrize(
    ("shown", "late_s"),
    [
        ("nothing of it", None),
        ("▶ 40 s late … ▶ live", 0.0),
        ("▶ live ▶ 2.4 s late", 2.4),
        ("▶ 12 min 05 s late", 725.0),
        ("▶ 2 h 07 min late", 7620.0),
    ],
)
def test_the_status_line_says_how_late_it_is(shown: str, late_s: float | None) -> None:
    assert lateness_said(shown) == late_s


def test_places_and_colours_are_no_text() -> None:
    assert plain(b"\x1b[2J\x1b[1;31mkill\x1b[0m \x1b[?25hload") == "kill load"


def test_a_key_is_answered_when_the_text_has_come(tmp_path: Path) -> None:
    """The program in this test answers the key `a`, ends at the key `q`, and ignores other keys."""
    code = (
        "import sys, tty\ntty.setcbreak(0)\nprint('ready', flush=True)\n"
        "while (key := sys.stdin.read(1)) != 'q':\n"
        "    if key == 'a': print('an ans' + '\\x1b[1m' + 'wer', flush=True)\n"
    )
    terminal = WatchedTerminal([sys.executable, "-c", code], tmp_path, os.environ)
    try:
        assert terminal.wait_for("ready", 0.0, 60.0) is not None
        took_s = terminal.time_key("a", "an answer", 60.0)
        assert took_s is not None
        assert took_s > 0
        assert terminal.time_key("b", "an answer", 0.0) is None
        terminal.press("q")
        assert terminal.wait_end(60.0) == 0
    finally:
        terminal.close()


def cgroup_files(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


def test_a_cgroup_gets_its_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel creates the files of a new cgroup. In this test, `mkdir` creates them."""
    make = Path.mkdir

    def mkdir(path: Path, *arguments: object, **options: object) -> None:
        make(path)
        names = (
            ["cpu.max", "cpu.weight"]
            if path.parent == tmp_path
            else ["cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.shares"]
        )
        for name in names:
            (path / name).touch()

    (tmp_path / "cpu").mkdir()
    monkeypatch.setattr(Path, "mkdir", mkdir)
    one = make_cgroup("bench", tmp_path)
    assert one == tmp_path / "cpu" / "bench"
    assert (one / "cpu.cfs_quota_us").read_text() == "30000"
    assert (one / "cpu.cfs_period_us").read_text() == "100000"
    two = make_cgroup("bench", tmp_path)
    assert two == tmp_path / "bench", "there is a folder of that name in version 1"
    assert (two / "cpu.max").read_text() == "30000 100000"


def test_a_folder_that_is_no_cgroup_is_none(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    assert make_cgroup("bench", tmp_path) is None
    assert list(tmp_path.iterdir()) == [tmp_path / "cpu"], "nothing is left behind"
    remove_cgroup(tmp_path / "gone", lambda _: None)


def test_what_is_left_in_a_cgroup_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        (folder / "cgroup.procs").write_text(f"{process.pid}\n", encoding="ascii")

        def emptied(_: float) -> None:
            process.wait()
            (folder / "cgroup.procs").unlink()

        remove_cgroup(folder, emptied)
        assert process.returncode == -9
    assert not folder.exists()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="nothing can be pinned here")
def test_without_cgroups_all_is_pinned_next_to_hogs(tmp_path: Path) -> None:
    with squeezed(tmp_path) as squeeze:
        assert squeeze.hogs is not None
        before = len(squeeze.hogs)
        squeeze.settle(0.5)
        squeeze.settle(0.2)
        assert len(squeeze.hogs) == before + 1
        says = "import os; print(*os.sched_getaffinity(0))"
        command = squeeze.command([sys.executable, "-c", says])
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [squeeze.place]
    assert len(squeeze.hogs) == 0


def test_alone_a_command_is_as_it_was() -> None:
    assert NO_SQUEEZE.command(["a", "b"]) == ["a", "b"]
    NO_SQUEEZE.settle(1.0)


def test_hogs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squeezing, "MOST_HOGS", 1)
    with Hogs(1) as hogs:
        Squeeze("", "0", hogs).settle(1.0)
        assert len(hogs) == 1


class MadeMeter(ShareMeter):
    """A meter of processes that are made up."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.spent: dict[int, float] = {1: 5.0}
        super().__init__("home", lambda: self.now_s)

    def processes(self) -> dict[int, float]:
        return dict(self.spent)


def test_the_share_is_that_of_all_processes_ended_ones_too() -> None:
    meter = MadeMeter()
    meter.now_s, meter.spent = 10.0, {1: 6.0, 2: 2.0}
    assert meter.look() == pytest.approx(0.3)
    meter.now_s, meter.spent = 20.0, {1: 7.0}
    assert meter.look() == pytest.approx(0.1)
    assert meter.share == pytest.approx(0.2)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_processes_are_known_by_their_environment(tmp_path: Path) -> None:
    code = "while True: pass"
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "MINE": str(tmp_path)}
    ) as process:
        try:
            meter = ShareMeter(str(tmp_path))
            while not meter.processes().get(process.pid):
                time.sleep(0.01)
            assert meter.processes().keys() == {process.pid}
        finally:
            process.kill()
