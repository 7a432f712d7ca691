"""The time line and the control of time, in a real terminal on a real cluster, by keys alone.

The controller is killed, and arrows lead from the kill to the new leaders. The view is paused while
the broker comes back. A breakpoint stops the view at the next kill.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.tui import test_live_dashboard
from tests.tui.test_live_dashboard import NAME, Terminal
from tests.waiting import wait_for

pytestmark = pytest.mark.tui

terminal = test_live_dashboard.terminal


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: it is the terminal of this test")
    with running_cluster(NAME, home=tmp_path / "home") as cluster:
        make_topic(cluster.bootstrap_servers, "web", 3, 3)
        yield cluster


def controller_of(screen: str) -> int:
    return int(screen.split("♛ controller broker ")[1].split()[0])


def test_the_arrows_lead_from_a_kill_to_the_new_leaders_and_time_stands_still(
    cluster: Cluster, terminal: Terminal
) -> None:
    screen = terminal.wait_for(
        lambda s: "all is well" in s and "♛ controller broker" in s, "that all is well"
    )
    victim = controller_of(screen)
    terminal.keys(*["Right"] * victim)
    terminal.wait_for(lambda s: f"▶ broker {victim}" in s, "the controller selected")
    terminal.keys("k")
    terminal.wait_for(lambda s: f"kill -9 broker {victim}?" in s, "the question")
    terminal.keys("y")
    terminal.wait_for(lambda s: "left the cluster" in s, "that its session has expired")
    terminal.keys("9", "a")  # on a busy machine a screen has no room for every fact in between
    shown = ("killed by SIGKILL", "└", "♛ is the", "leader of web")
    screen = terminal.wait_for(lambda s: all(text in s for text in shown), "the whole chain")
    lines = screen.splitlines()
    kill = next(i for i, line in enumerate(lines) if "killed by SIGKILL" in line)
    leader = next(i for i, line in enumerate(lines) if "leader of web" in line and i > kill)
    assert "✕" in lines[kill], "the kill has its sign in the supervisor's lane"
    assert "▶●" in lines[leader], "an arrow ends at the new leader"
    assert any("▶✕" in line for line in lines[kill:leader]), "by way of the session's expiry"

    terminal.keys("a", "1", "Space")
    terminal.wait_for(lambda s: "behind" in s, "that the view stands still")
    cluster.start(victim)
    wait_for(lambda: cluster.pid(victim) != 0, "the broker is back")
    terminal.wait_for(
        lambda s: "behind" in s and "✕ killed (SIGKILL)" in s, "the view as it was, behind now"
    )
    terminal.keys("z")
    terminal.wait_for(lambda s: "▶ live" in s and "all is well" in s, "now")

    terminal.keys("b")
    terminal.wait_for(lambda s: "□ a process ends" in s, "the table of breakpoints")
    terminal.keys(*["Down"] * 7, "Space")
    terminal.wait_for(lambda s: "■ a process ends" in s, "the chosen one")
    terminal.keys("Escape")
    other = (victim + 1) % 3
    cluster.kill(other)
    terminal.wait_for(
        lambda s: f"stopped: a process ends · sup: broker {other} killed" in s,
        "which event stopped the view",
    )
    terminal.keys("z")
    terminal.wait_for(lambda s: "left the cluster" in s, "that now went on meanwhile")

    def wound_back(screen: str) -> bool:
        """Press on: what the rings hold comes while the key is held."""
        if "nothing older is stored" in screen:
            return True
        terminal.keys("<")
        return False

    terminal.wait_for(wound_back, "the start of the cluster, out of the processes' rings")
    terminal.keys("9")
    terminal.wait_for(lambda s: "every fact / news only" in s, "the time line on the whole screen")
    terminal.keys("a")

    def stepped_to_the_start(screen: str) -> bool:
        if "broker 0 started as process" in screen and "behind" in screen:
            return True
        terminal.keys(".")
        return False

    terminal.wait_for(stepped_to_the_start, "facts from before it began to look, step by step")
    terminal.keys("q")
