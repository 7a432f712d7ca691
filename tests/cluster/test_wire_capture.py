"""A capture of frames on a real cluster: followed while it grows, and read after a kill -9."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_edu.instruments.wire.capture import decode_captured, read_capture
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.supervisor.action_client import ActionAddress, ActionClient
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
NAME = "captured"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(NAME, brokers=1, home=tmp_path / "home") as cluster:
        yield cluster


def wire(tmp_path: Path, *words: str) -> "subprocess.Popen[str]":
    """Begin `kafka-edu wire …` on the test's cluster."""
    environment = {
        **os.environ,
        "KAFKA_EDU_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "kafka_edu", "wire", *words, "--cluster", NAME]
    return subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def produce(cluster: Cluster, client: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "client.id": client})
    for number in range(count):
        producer.produce("web", f"record {number}")
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


def test_a_capture_is_followed_and_survives_a_kill(cluster: Cluster, tmp_path: Path) -> None:
    switch = wire(tmp_path, "capture", "shop")
    output, _ = switch.communicate(timeout=PATIENCE_S)
    assert "all brokers capture the frames of shop" in output
    (path,) = wait_for(cluster.folder.captures, "the file of frames")

    follower = wire(tmp_path, "show", "--live", "--api", "Produce")
    try:
        produce(cluster, "shop", 20)
        produce(cluster, "other", 20)
        assert follower.stdout is not None
        first = follower.stdout.readline()
    finally:
        follower.send_signal(signal.SIGINT)
        follower.communicate(timeout=PATIENCE_S)
    assert "→ b0  Produce v9" in first
    assert "shop" in first

    os.kill(cluster.pid(0), signal.SIGKILL)
    wait_for(lambda: cluster.pid(0) == 0, "the broker's death")
    frames = read_capture(path)
    assert {frame.client_id for frame in frames} == {"shop"}
    assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
    produces = [f for f in frames if f.api_key == ApiKey.PRODUCE and not f.is_response]
    assert produces
    for frame in frames:
        assert not decode_captured(frame).problems
    values = b"".join(frame.data for frame in produces)
    assert all(f"record {number}".encode() in values for number in range(20))

    with ActionClient(ActionAddress.read(cluster.folder.action_address)) as client:
        client.ask("start", broker=0)
    again = wait_for(lambda: read_capture(path) if path.exists() else [], "the next capture")
    assert again[: len(frames)] == frames, "what the killed broker wrote is kept as FILE.1"
