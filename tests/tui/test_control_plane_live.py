"""The Controller and ZooKeeper screens in a real terminal, on a real cluster.

Each fault is caused by keys of the dashboard, and then the screen must show the answer to its
question.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.tui.test_live_dashboard import ROOT, Terminal

pytestmark = pytest.mark.tui

NAME = "controlled"
PARTITIONS = 3


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Cluster]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: it is the terminal of this test")
    # The countdown of a session that dies must be seen, on a busy machine too.
    props = {"zookeeper.session.timeout.ms": "12000"}
    with running_cluster(NAME, home=home, props=props) as cluster:
        make_topic(cluster.bootstrap_servers, "web", PARTITIONS, len(cluster.broker_ids))
        yield cluster


@pytest.fixture
def terminal(cluster: Cluster, home: Path, tmp_path: Path) -> Iterator[Terminal]:
    environment = {
        **os.environ,
        "KAFKA_EDU_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
    }
    command = shlex.join([sys.executable, "-m", "kafka_edu", "dashboard", "--cluster", NAME])
    terminal = Terminal(tmp_path / "tmux", 170, 55, command, environment)
    try:
        terminal.wait_for(lambda s: "all is well" in s, "that all is well")
        yield terminal
    finally:
        terminal.close()


def controller_on(screen: str) -> tuple[int, int]:
    """Return the controller and its epoch, as the screen shows them, or (-1, -1) if it shows
    none.
    """
    found = re.search(r"♛ broker (\d+) is the controller.* epoch (\d+)", screen)
    return (int(found[1]), int(found[2])) if found else (-1, -1)


def acted_on(screen: str) -> int:
    """Return the broker on which the screen's acts would act, or -1 if the screen names none."""
    found = re.search(r"acts on broker (\d+)", screen)
    return int(found[1]) if found else -1


def acts_on_another(broker: int, screen: str) -> bool:
    return acted_on(screen) not in (broker, -1)


def has(screen: str, *patterns: str) -> bool:
    """Return whether each pattern is found on some line."""
    lines = screen.splitlines()
    return all(any(re.search(pattern, line) for line in lines) for pattern in patterns)


def test_the_controller_is_killed_and_the_next_one_says_whom_it_elected_and_why(
    cluster: Cluster, terminal: Terminal
) -> None:
    terminal.keys("5")
    screen = terminal.wait_for(lambda s: controller_on(s)[0] >= 0, "who is the controller")
    victim, epoch = controller_on(screen)
    terminal.wait_for(lambda s: has(s, r"Online +[\d,]+ "), "the states of partitions")
    terminal.wait_for(
        lambda s: has(s, r"^ ?NonExistent +– +.*→ New"), "the machine's table, from the snapshot"
    )
    terminal.keys("k")
    terminal.wait_for(lambda s: f"kill -9 broker {victim}?" in s, "the question")
    terminal.keys("y")
    screen = terminal.wait_for(
        lambda s: controller_on(s)[1] == epoch + 1, "the controller of the next epoch"
    )
    new, _ = controller_on(screen)
    assert new != victim
    assert cluster.pid(victim) == 0
    terminal.wait_for(
        lambda s: has(
            s,
            rf"before: broker {victim} \(epoch {epoch}",
            rf"b{new} +Reelect.*♛ elected, epoch {epoch + 1}",
            r"b\d +Reelect.*follows controller",
        ),
        "both brokers' run for election",
    )
    terminal.wait_for(
        lambda s: has(
            s,
            rf"broker {victim} was taken out of the ISR of \d+ partitions; it led \d",
            r"web-\d  ✓ nobody → broker \d",
            rf"✕ broker {victim}  not alive, .* +it is not alive",
            r"✓ broker \d  alive, in the ISR +← chosen  \d is the first of AR",
        ),
        "the candidates in the order of AR, with reasons",
    )
    terminal.keys("v")
    terminal.wait_for(
        lambda s: has(s, r"web-\d +✓ nobody → broker \d, epoch \d+, OfflinePartition"),
        "the partitions by their last election",
    )
    terminal.keys("v")
    terminal.keys("s")
    terminal.wait_for(
        lambda s: has(s, rf"broker {victim} is up") and "all is well" in s,
        "that the broker is back, as an event of the controller",
    )

    going = next(b for b in cluster.broker_ids if b not in (victim, new))
    while (now := acted_on(terminal.screen())) != going:
        terminal.keys("Right")
        terminal.wait_for(partial(acts_on_another, now), "another broker to act on")
    terminal.keys("x")
    terminal.wait_for(
        lambda s: has(
            s,
            rf"ControlledShutdown {going} .*broker {going} may go · \d leaders? elected",
            rf"web-\d  ✓ broker {going} → broker \d, epoch \d+, ControlledShutdown",
            rf"✕? ?broker {going}  alive, in the ISR, shutting down +its broker is shutting down",
        ),
        "that the controller moved its leaders before it let it go",
    )
    terminal.wait_for(
        lambda s: f"broker {going} has stopped after controlled shutdown" in s, "that it went"
    )
    terminal.keys("s")
    terminal.wait_for(
        lambda s: has(s, rf"BrokerChange .*broker {going} is up") and "all is well" in s,
        "that it is back again",
    )
    terminal.keys("q")


def test_a_paused_brokers_session_counts_down_and_takes_its_znode_along(
    cluster: Cluster, terminal: Terminal
) -> None:
    terminal.keys("6")
    terminal.wait_for(
        lambda s: all(has(s, rf"broker {b}\S* +▕█.*▏") for b in cluster.broker_ids),
        "the countdown of each broker's session",
    )
    terminal.wait_for(
        lambda s: has(s, r"controller +v0 +⚡ +b\d +⊙ 0 1 2 +brokerid: \d"),
        "/controller: whose it is, who watches it, and what it holds",
    )
    controller = int(re.findall(r"brokerid: (\d)", terminal.screen())[0])
    victim = next(b for b in cluster.broker_ids if b != controller)
    for _ in range(victim):
        terminal.keys("Down")
    terminal.wait_for(lambda s: has(s, rf"▶ broker {victim}"), f"broker {victim} selected")
    terminal.keys("p")
    terminal.wait_for(
        lambda s: has(s, rf"broker {victim}.*paused.*dies in [\d.]+ m?s"), "the session that dies"
    )
    terminal.wait_for(lambda s: has(s, rf"broker {victim}.*✕ expired"), "that it expired")
    terminal.wait_for(
        lambda s: has(
            s,
            rf" {victim} +gone [\d.]+ m?s ago with b{victim}'s session",
            rf"/brokers/ids children → b{controller} BrokerChange",
        ),
        "that its znode went with it, that the watch fired, and what followed",
    )
    terminal.keys("r")
    terminal.wait_for(
        lambda s: (
            has(s, rf"▶ broker {victim} +▕█", rf"  {victim} +v0 +⚡ +b{victim}")
            and "all is well" in s
        ),
        "its new session, and its new znode",
    )

    cluster.perform("delete-controller", {})
    terminal.wait_for(
        lambda s: has(s, r"/controller deleted → b\d Reelect", r"/controller created → b\d"),
        "that /controller was deleted and made again, and by what events",
    )
    terminal.keys("q")
