"""`kafka-edu bench busy-machine`: run kafka-edu on 30 % of one core, and compare with a normal run.

A run has three brokers, their ZooKeeper and supervisor, a load of 200 records a second, and the
dashboard in a terminal. After that the presenter shows the first lesson in the dashboard. All these
processes get little processor time (`squeeze`) from their start to their end.

    share         the part of one core that all processes together had. A run above 35 % does not
                  count, because it had too much time. Other programs may make the share smaller
                  than 30 %
    load          records acknowledged a second
    lateness      how old the picture on the dashboard is. It is measured in two ways. From outside,
                  it is the age in the status line (which says nothing up to 2 s), plus the time
                  since the last drawing. `dashboard --report` writes exact values; the dashboard
                  of an older checkout does not have this option
    keys          time from a key to the new picture in the terminal. A key without an answer
                  within 60 s counts as 60 s. For `q`, the time until the program has ended
    memory        the dashboard's largest resident memory
    steps         the time of each step of the lesson, and how many were not seen within 2 minutes

`--checkout FOLDER` runs the programs of another checkout, for figures before and after a change.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line

from .squeeze import NO_SQUEEZE, ShareMeter, Squeeze, squeezed
from .watched_terminal import WatchedTerminal, lateness_said

NAME = "busy-machine"
HELP = (
    "brokers, load, dashboard and a lesson on 30 % of one core: lateness, keys, memory, steps (five"
    " minutes)"
)

ROOT: Final = Path(__file__).resolve().parents[1]
LESSON: Final = Path("chapters/ch00_first_lesson/script.toml")
RATE: Final = 200
VOID_SHARE: Final = 0.35
LATE_S: Final = 3.0
KEY_S: Final = 0.3
QUIT_S: Final = 1.0
MEMORY_MB: Final = 150.0
KEY_EVERY_S: Final = 2.0
KEY_PATIENCE_S: Final = 60.0
PATIENCE_S: Final = 300.0
STEP_PATIENCE_S: Final = 120.0
"""After this number of seconds, a step of the lesson counts as missed. No class would wait longer.

The steps after it then count as missed too.
"""
LOOK_EVERY_S: Final = 0.5
#: Pairs of a key and a text. Only the footer of the screen that the key opens contains the text.
KEYS: Final = (("5", "events/partitions"), ("4", "worst first"), ("7", "one more joins"))


class RunError(Exception):
    """The run could not be made. The message says why."""


class Found(NamedTuple):
    """The figures of one run. Times are in s."""

    squeeze: str
    share: float
    ready_s: float
    """How long `cluster up` took, in s."""
    load: float
    """Records acknowledged in a second."""
    late_s: tuple[float, ...]
    """How old the picture was, in s. The age was measured from outside twice a second."""
    late_said_s: tuple[float, ...]
    """The lateness that the dashboard itself reports, in s, about once a second.

    Empty if it reports none.
    """
    keys_s: tuple[float, ...]
    quit_s: float
    memory_mb: float
    steps: tuple[tuple[str, float | None], ...]
    """Title of each step of the lesson → the time it took in s, or None if it was not seen."""
    machine_load: float
    """Processes of the whole machine that ran or waited for a core, on average over a minute."""

    @property
    def missed(self) -> int:
        return sum(seconds is None for _, seconds in self.steps)


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return a quantile. The part `share` (0 to 1) of all values is less than or equal to it.

    Return None if there are no values.
    """
    ordered = sorted(values)
    if not ordered:
        return None
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


class Watch:
    """Measure a run from outside every half second, in a thread."""

    def __init__(self, home: Path, squeeze: Squeeze) -> None:
        self.meter = ShareMeter(str(home))
        self._squeeze = squeeze
        self._terminal: WatchedTerminal | None = None
        self._said_s = 0.0
        self._judges_lateness = False
        self.late_s: list[float] = []
        self.memory_mb = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def begin(self, terminal: WatchedTerminal, *, judges_lateness: bool) -> None:
        """Observe this dashboard from now on, and measure its memory.

        `judges_lateness` says whether the age of the dashboard's picture is measured too.
        """
        self._said_s, self._judges_lateness, self._terminal = 0.0, judges_lateness, terminal

    def _look(self) -> None:
        seen_s = 0.0
        while not self._end.wait(LOOK_EVERY_S):
            self._squeeze.settle(self.meter.look())
            terminal = self._terminal
            if terminal is None or not terminal.pid:
                continue
            drawn_s = terminal.last_s
            if drawn_s > seen_s:
                said_s = lateness_said(terminal.since(seen_s))
                self._said_s = said_s if said_s is not None else self._said_s
                seen_s = drawn_s
            if self._judges_lateness:
                self.late_s.append(self._said_s + time.monotonic() - drawn_s)
            self.memory_mb = max(self.memory_mb, rss_mb(terminal.pid))

    def close(self) -> None:
        self._end.set()
        self._thread.join()


def rss_mb(pid: int) -> float:
    """Return the resident memory of a process in MB, or 0 if the process has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Run:
    """One run of the benchmark: a lesson on a cluster under load, seen in the dashboard."""

    def __init__(self, tree: Path, squeeze: Squeeze, home: Path, seconds: float) -> None:
        self._tree = tree
        self._squeeze = squeeze
        self._home = home
        self._seconds = seconds
        self._env = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "KAFKA_EDU_HOME": str(home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }

    def _command(self, *words: str) -> list[str]:
        return self._squeeze.command([sys.executable, "-m", "kafka_edu", *words])

    def _do(self, *words: str) -> None:
        """Run a command until it ends. Raises RunError if it fails."""
        done = subprocess.run(
            self._command(*words),
            cwd=self._tree,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise RunError(f"`kafka-edu {' '.join(words)}`: {said[-1] if said else 'failed'}")

    @contextlib.contextmanager
    def _cluster(self) -> Iterator[float]:
        """Run a cluster during the block. Yield the seconds that its start took."""
        began_s = time.monotonic()
        try:
            self._do("cluster", "up")
            yield time.monotonic() - began_s
        finally:
            with contextlib.suppress(RunError):
                self._do("cluster", "down", "--delete")

    @contextlib.contextmanager
    def _terminal(self, *words: str) -> Iterator[WatchedTerminal]:
        terminal = WatchedTerminal(self._command(*words), self._tree, self._env)
        try:
            yield terminal
        finally:
            terminal.close()

    def found(self) -> Found:
        """Make the whole run, and return its figures. Raises RunError."""
        watch = Watch(self._home, self._squeeze)
        try:
            with self._cluster() as ready_s:
                result = self._load_home()
                load = subprocess.Popen(
                    self._command("load", "--rate", f"{RATE}", "--json", str(result)),
                    cwd=self._tree,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                try:
                    keys_s, quit_s, said = self._dashboard(watch)
                finally:
                    load.send_signal(2)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        load.wait(PATIENCE_S)
                    load.kill()
                steps = self._lesson(watch)
                machine_load = os.getloadavg()[0]
        finally:
            watch.close()
        return Found(
            self._squeeze.name,
            watch.meter.share,
            ready_s,
            acknowledged(result),
            tuple(watch.late_s),
            tuple(said),
            tuple(keys_s),
            quit_s,
            watch.memory_mb,
            tuple(steps),
            machine_load,
        )

    def _load_home(self) -> Path:
        return self._home / "load.json"

    def _dashboard(self, watch: Watch) -> tuple[list[float], float, list[float]]:
        """Run the dashboard while the load runs, and press its keys.

        Return three results: how long the dashboard took to answer each key, how long it took to
        end after `q`, and the lateness values that it reports.
        """
        report = self._home / "report.jsonl"
        says = "--report" in (self._tree / "tui" / "command.py").read_text(encoding="utf-8")
        options = ["--report", str(report)] if says else []
        began_s = time.monotonic()
        with self._terminal("dashboard", *options) as terminal:
            if terminal.wait_for("quit", began_s, PATIENCE_S) is None:
                raise RunError("the dashboard drew nothing")
            watch.begin(terminal, judges_lateness=True)
            keys_s: list[float] = []
            end_s = time.monotonic() + self._seconds
            while not keys_s or time.monotonic() < end_s:
                key, answer = KEYS[len(keys_s) % len(KEYS)]
                took_s = terminal.time_key(key, answer, KEY_PATIENCE_S)
                keys_s.append(KEY_PATIENCE_S if took_s is None else took_s)
                time.sleep(KEY_EVERY_S)
            pressed_s = terminal.press("q")
            if terminal.wait_end(PATIENCE_S) is None:
                raise RunError(f"the dashboard did not end within {PATIENCE_S:g} s of `q`")
            quit_s = time.monotonic() - pressed_s
        return keys_s, quit_s, lateness_in(report) if says else []

    def _lesson(self, watch: Watch) -> list[tuple[str, float | None]]:
        """Let the presenter show the first lesson by itself. Return how long each step took.

        The presenter writes its current step to a file, from which this method reads it.
        """
        script = self._tree / LESSON
        titles = titles_of(script)
        entered_s: dict[int, float] = {0: time.monotonic()}
        with self._terminal("present", str(script), "--fast", "--from-start") as terminal:
            watch.begin(terminal, judges_lateness=False)
            code = None
            while code is None and time.monotonic() < max(entered_s.values()) + STEP_PATIENCE_S:
                code = terminal.wait_end(0.05)
                step = saved_step(self._home / "presenter")
                if step is not None:
                    entered_s.setdefault(step, time.monotonic())
            entered_s[len(titles)] = time.monotonic()
        return times_of_steps(titles, entered_s, finished=code == 0)


def times_of_steps(
    titles: Sequence[str], entered_s: Mapping[int, float], *, finished: bool
) -> list[tuple[str, float | None]]:
    """Return the title of each step and how long it took, in s.

    `entered_s` is number of the step → the time at which it began. The number len(titles) stands
    for the end of the lesson. If the lesson was not finished, the step that was shown last and the
    steps after it were missed. Their time is None.
    """
    reached = max((step for step in entered_s if step < len(titles)), default=0)
    found: list[tuple[str, float | None]] = []
    for step, title in enumerate(titles):
        if step >= reached and not finished:
            found.append((title, None))
            continue
        # A step that began and ended between two measurements has the time 0.
        began_s = min(at for other, at in entered_s.items() if other >= step)
        found.append((title, min(at for other, at in entered_s.items() if other > step) - began_s))
    return found


def titles_of(script: Path) -> list[str]:
    """Return the titles of the steps in a lesson's script."""
    return [step["title"] for step in tomllib.loads(script.read_text(encoding="utf-8"))["step"]]


def saved_step(folder: Path) -> int | None:
    """Return the current step from the only file of the presenter in a folder.

    Return None if there is no such file yet.
    """
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            return int(json.loads(path.read_text(encoding="utf-8"))["step"])
    return None


def lateness_in(report: Path) -> list[float]:
    """Return the lateness values in a report of the dashboard, in s, one for each line."""
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    return [line["late_ms"] / 1000 for line in lines]


def acknowledged(result: Path) -> float:
    """Return the records a second that were acknowledged, from a load's result file.

    Raises RunError.
    """
    try:
        figures = json.loads(result.read_text(encoding="utf-8"))["figures"]
    except (OSError, ValueError) as error:
        raise RunError(f"the load has not reported: {error}") from error
    return float(figures["acked"] / figures["seconds"])


def run_once(tree: Path, squeeze: Squeeze, seconds: float) -> Found:
    """Make one run with its own state folder, and return its figures. Raises RunError."""
    with tempfile.TemporaryDirectory(prefix="kafka-edu-busy-", ignore_cleanup_errors=True) as name:
        return Run(tree, squeeze, Path(name), seconds).found()


def report_of(found: Mapping[str, Found]) -> Report:
    """Return the report of all runs. The targets apply to the run with the name `squeezed`."""
    report = Report(NAME)
    for name, run in found.items():
        report.figure(f"{name}: how", run.squeeze)
        report.figure(f"{name}: share of one core, all processes, %", 100 * run.share)
        report.figure(f"{name}: load average of the whole machine", run.machine_load)
        report.figure(f"{name}: cluster up, s", run.ready_s)
        report.figure(f"{name}: records acknowledged a second, of {RATE}", run.load)
        for how, late_s in (("seen", run.late_s), ("said", run.late_said_s)):
            for share in (0.5, 0.99):
                value = quantile(late_s, share)
                report.figure(f"{name}: lateness {how}, p{share * 100:g}, s", value)
        report.figure(f"{name}: keys", len(run.keys_s))
        for share in (0.5, 0.95):
            report.figure(f"{name}: key p{share * 100:g}, s", quantile(run.keys_s, share))
        report.figure(f"{name}: the slowest key, s", quantile(run.keys_s, 1.0))
        report.figure(f"{name}: q, s", run.quit_s)
        report.figure(f"{name}: the dashboard's memory, MB", run.memory_mb)
        for number, (title, seconds) in enumerate(run.steps, 1):
            report.figure(f"{name}: step {number}, {title}, s", seconds)
    run = found["squeezed"]
    report.target("share of one core, %", 100 * run.share, "<=", 100 * VOID_SHARE)
    late_s = run.late_said_s or run.late_s
    report.target("lateness p99, s", quantile(late_s, 0.99), "<=", LATE_S)
    report.target("key p95, s", quantile(run.keys_s, 0.95), "<=", KEY_S)
    report.target("q, s", run.quit_s, "<=", QUIT_S)
    report.target("the dashboard's memory, MB", run.memory_mb, "<=", MEMORY_MB)
    report.target("steps missed", run.missed, "==", 0)
    return report


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed.

    Return 2 if it cannot run on this machine or the run is void.
    """
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--checkout",
        type=Path,
        default=ROOT,
        metavar="FOLDER",
        help="run the programs of this checkout (default: the checkout of this benchmark)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="how long the dashboard is watched in each run (default 60)",
    )
    parser.add_argument(
        "--squeezed-only", action="store_true", help="leave out the run with all cores"
    )
    args = parser.parse_args(argv)
    tree = args.checkout.resolve()
    if not Path("/proc/self/environ").exists() or not (tree / LESSON).is_file():
        print(f"bench {NAME} needs Linux's /proc, and a checkout with {LESSON}", file=sys.stderr)
        return 2
    found: dict[str, Found] = {}
    try:
        with squeezed() as squeeze:
            found["squeezed"] = run_once(tree, squeeze, args.seconds)
        if not args.squeezed_only:
            found["alone"] = run_once(tree, NO_SQUEEZE, args.seconds)
    except (RunError, OSError) as error:
        print(f"bench {NAME} cannot run: {error}", file=sys.stderr)
        return 2
    report = report_of(found)
    report.show()
    if args.json:
        report.write(args.json)
    if found["squeezed"].share > VOID_SHARE:
        print("the run is void, because it was not squeezed enough", file=sys.stderr)
        return 2
    return 0
