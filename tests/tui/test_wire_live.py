"""The Wire screen in a real terminal on a real cluster: an old client and a broken frame."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.tui.test_live_dashboard import Terminal, dashboard_of
from tests.tui.wire_session import create_topic, send_broken_frames, speak_as_in_0_9

pytestmark = pytest.mark.tui

NAME = "wire"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    for program in ("tmux", "kcat"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    with running_cluster(NAME, brokers=1, home=tmp_path / "home") as cluster:
        create_topic(cluster.bootstrap_servers)
        yield cluster


@pytest.fixture
def terminal(cluster: Cluster, tmp_path: Path) -> Iterator[Terminal]:
    with dashboard_of(NAME, tmp_path, rows=40) as terminal:
        yield terminal


def counted(screen: str) -> str:
    """Return the line that counts the frames, or an empty text if the screen is not drawn yet."""
    return next(iter(screen.partition("frames:")[2].splitlines()), "")


def list_only(terminal: Terminal, client: str) -> None:
    """Press the key of the filter until the list shows only this client's frames."""
    for _ in range(12):
        if f"of client {client}" in terminal.screen():
            return
        before = counted(terminal.wait_for(lambda s: bool(counted(s)), "its frames"))
        terminal.keys("i")
        terminal.wait_for(lambda s, before=before: counted(s) not in ("", before), "another client")
    raise AssertionError(f"no frame of {client} is listed:\n{terminal.screen()}")


def test_what_an_old_client_says_and_which_byte_of_a_broken_frame_is_wrong(
    cluster: Cluster, terminal: Terminal
) -> None:
    terminal.wait_for(lambda s: "▶ broker 0" in s and "▶ live" in s, "the broker")
    terminal.keys("0")
    terminal.wait_for(lambda s: "no frame is captured" in s, "the empty Wire screen")
    terminal.keys("c")
    terminal.wait_for(
        lambda s: "capturing the frames of *, -broker-*" in s or "frames: 0" not in s,
        "that it captures",
    )

    speak_as_in_0_9(cluster.bootstrap_servers)
    terminal.wait_for(lambda s: "old-shop" in s, "frames of the old client")
    list_only(terminal, "old-shop")
    terminal.wait_for(lambda s: "→ b0 Produce v1" in s, "its old version")
    terminal.wait_for(lambda s: "← b0 Produce v1" in s, "the answer in the list")
    terminal.keys("End")
    terminal.wait_for(lambda s: "← Produce v1 response · old-shop" in s, "the answer")
    terminal.keys("w")
    terminal.wait_for(lambda s: "→ Produce v1 request · old-shop" in s, "its request")
    terminal.wait_for(lambda s: "each one explained" in s, "that each byte is explained")

    send_broken_frames(cluster.bootstrap_servers)
    list_only(terminal, "stranger")
    terminal.wait_for(lambda s: "✗ Metadata v9" in s, "the broken frame in the list")
    terminal.keys("End")
    shown = terminal.wait_for(
        lambda s: "✗ first wrong byte: byte 24 (0x0018) is 0x7f" in s, "the first wrong byte"
    )
    assert "0010✗" in shown
    assert "126 bytes are announced, and only 8 are left" in shown

    terminal.keys("c")
    terminal.wait_for(lambda s: "no broker captures frames any more" in s, "the end of the capture")
    terminal.keys("q")
