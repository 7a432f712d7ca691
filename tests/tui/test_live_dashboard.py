"""The real dashboard in a real terminal (tmux) on a real cluster.

A broker is killed and started again by keys, and the screen shows it.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.tui

ROOT = Path(__file__).resolve().parents[2]
NAME = "watched"


class Terminal:
    """A tmux server of its own, with one window in which the dashboard runs."""

    def __init__(
        self, socket: Path, columns: int, rows: int, command: str, environment: dict[str, str]
    ) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", os.devnull]
        self._run(
            "new-session", "-d", "-x", str(columns), "-y", str(rows), command, env=environment
        )

    def _run(self, *words: str, env: dict[str, str] | None = None) -> str:
        return subprocess.run(
            [*self._tmux, *words],
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env=env,
        ).stdout

    def keys(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def screen(self) -> str:
        return self._run("capture-pane", "-p")

    def wait_for(self, wanted: Callable[[str], bool], what: str) -> str:
        """Wait until `wanted` accepts the text of the screen, and return the text. If it never
        does, fail and show the screen.
        """
        seen: list[str] = []

        def shows() -> str:
            seen[:] = [self.screen()]
            return seen[0] if wanted(seen[0]) else ""

        return wait_for(shows, lambda: f"the screen never showed {what}; it shows\n{seen[0]}")

    def close(self) -> None:
        subprocess.run(
            [*self._tmux, "kill-server"], check=False, capture_output=True, timeout=PATIENCE_S
        )


@contextmanager
def dashboard_of(
    cluster: str, tmp_path: Path, rows: int, *options: str, then: str = ""
) -> Iterator[Terminal]:
    """Run the dashboard of a cluster whose home is below `tmp_path`, in a terminal. `then` is a
    command of the shell that runs after it.
    """
    environment = {
        **os.environ,
        "KAFKA_EDU_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
    }
    command = shlex.join(
        [sys.executable, "-m", "kafka_edu", "dashboard", "--cluster", cluster, *options]
    )
    terminal = Terminal(tmp_path / "tmux", 120, rows, command + then, environment)
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: it is the terminal of this test")
    with running_cluster(NAME, home=tmp_path / "home") as cluster:
        yield cluster


@pytest.fixture
def terminal(cluster: Cluster, tmp_path: Path) -> Iterator[Terminal]:
    with dashboard_of(NAME, tmp_path, rows=36) as terminal:
        yield terminal


def test_a_broker_is_killed_and_started_again_by_keys(cluster: Cluster, terminal: Terminal) -> None:
    terminal.wait_for(lambda s: "all brokers are up" in s or "all is well" in s, "that all is well")
    shown = ("▶ broker 0", "▶ live", f"cluster {NAME}")
    terminal.wait_for(
        lambda s: all(text in s for text in shown), "the brokers, the first of them selected, live"
    )
    victim = 1

    terminal.keys("Right")
    terminal.wait_for(lambda s: f"▶ broker {victim}" in s, f"broker {victim} selected")
    terminal.keys("k")
    terminal.wait_for(lambda s: f"kill -9 broker {victim}?" in s, "the question")
    terminal.keys("n")
    terminal.wait_for(lambda s: "[y] yes" not in s, "no question any more")
    assert cluster.pid(victim) != 0, "no is no"

    terminal.keys("k")
    terminal.wait_for(lambda s: f"kill -9 broker {victim}?" in s, "the question")
    terminal.keys("y")
    terminal.wait_for(lambda s: "✕ killed (SIGKILL)" in s, "that it was killed")
    assert cluster.pid(victim) == 0
    terminal.wait_for(lambda s: f"broker {victim} killed by SIGKILL" in s, "the fact in the ticker")
    terminal.wait_for(lambda s: "left the cluster" in s, "that its session has expired")
    terminal.wait_for(lambda s: " expired (noth" in s, "what ZooKeeper itself told of it")

    terminal.keys("s")
    terminal.wait_for(lambda s: f"broker {victim} started" in s, "that it was started")
    terminal.wait_for(
        lambda s: ("all brokers are up" in s or "all is well" in s) and "✕ killed" not in s,
        "that all is well again",
    )
    assert cluster.pid(victim) != 0

    terminal.keys("2")
    terminal.wait_for(
        lambda s: "purgatory, broker" in s and "level 1" in s, "the wheels of a live broker"
    )
    terminal.keys("q")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_recording_on_a_full_disk_is_said_once_and_the_dashboard_goes_on(
    cluster: Cluster, tmp_path: Path
) -> None:
    words = "it cannot be written (No space left on device)"
    with dashboard_of(NAME, tmp_path, 36, "--record", "/dev/full", then="; sleep 600") as terminal:
        terminal.wait_for(lambda s: "the recording /dev/full" in s, "that it has ended")
        terminal.keys("2")
        terminal.wait_for(lambda s: "purgatory, broker" in s, "another screen")
        terminal.keys("q")
        said = terminal.wait_for(
            lambda s: words in " ".join(s.split()) and "purgatory" not in s, "one line at the end"
        )
        assert "Traceback" not in said
