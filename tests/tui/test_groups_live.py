"""The Groups screen on a real cluster answers its question: who caused the rebalance, and for whom
did it wait?

The members are unmodified clients in separate processes. By the screen's keys, a further member
joins, falls silent, comes back and leaves. Then a silent member makes a rebalance wait.
"""

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.tui.live_app import LiveApp, run_live
from tui.guest_consumers import MODULE

pytestmark = pytest.mark.tui

TOPIC, GROUP = "web", "shop"
READERS_SESSION_MS = 25_000
"""How long a reader may be silent. Meanwhile a guest starts and joins, and the screen shows it."""


def stable(text: str, members: int) -> bool:
    """Return whether the list shows the group as stable, with this number of members."""
    return re.search(rf"▶ shop +Stable +gen \d+ +{members} members", text) is not None


def answered(text: str, cause: str) -> bool:
    """Return whether the screen says that the last rebalance had this cause."""
    return re.search(rf"last rebalance, .* ago: {re.escape(cause)}", text) is not None


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    props = {"group.initial.rebalance.delay.ms": "500"}
    with running_cluster("groups", brokers=1, props=props, home=tmp_path / "home") as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        for future in admin.create_topics([NewTopic(TOPIC, 6, 1)]).values():
            future.result()
        yield cluster


@pytest.fixture
def readers(cluster: Cluster) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two consumers of one group: reader-1 and reader-2."""
    processes = [
        subprocess.Popen(
            python_command(
                MODULE,
                cluster.bootstrap_servers,
                GROUP,
                TOPIC,
                f"reader-{i}",
                str(READERS_SESSION_MS),
            ),
            env=python_environment(),
            stdin=subprocess.PIPE,
        )
        for i in (1, 2)
    ]
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def test_the_screen_names_who_caused_each_rebalance_and_who_was_waited_for(
    cluster: Cluster, readers: list[subprocess.Popen[bytes]]
) -> None:
    async def look(screen: LiveApp) -> None:
        await screen.press("7")
        await screen.see(lambda s: stable(s, 2), "a stable group of two")

        await screen.press("j")
        text = await screen.see(
            lambda s: stable(s, 3) and answered(s, "guest-1 joined"), "the third member"
        )
        assert re.search(r"waited .* for reader-[12], the last to join again", text), text
        assert re.search(r"\+ guest-1 .*– +→ web-\d,\d", text), text

        await screen.press("p")
        silent = "guest-1 fell silent: no heartbeat within its session time-out of "
        text = await screen.see(
            lambda s: stable(s, 2) and answered(s, silent), "that the third fell silent"
        )
        assert re.search(r"✕ guest-1 .*web-\d,\d .*removed", text), text

        await screen.press("r")
        back = "guest-1 is back: it joined under a new member id"
        await screen.see(lambda s: stable(s, 3) and answered(s, back), "that it is back")
        await screen.press("x")
        await screen.see(lambda s: stable(s, 2) and answered(s, "guest-1 left"), "that it left")

        readers[0].send_signal(signal.SIGSTOP)
        await screen.press("j")
        text = await screen.shows("rebalances: guest-2 joined", "waits for reader-1 to join")
        assert re.search(r"◌ reader-1", text), text
        text = await screen.see(lambda s: stable(s, 2), "a stable group without the silent one")
        assert re.search(r"waited .* for reader-1, which never came", text), text
        readers[0].send_signal(signal.SIGCONT)
        await screen.shows("reader-1 is back")

    run_live(cluster, look)
