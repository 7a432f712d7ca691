"""`cluster status` marks the controller, on terminals with and without Unicode, and in --json."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_edu.cli import cluster_command
from kafka_edu.common.transport import Transport
from kafka_edu.supervisor import readiness
from kafka_edu.supervisor.cluster import ClusterStatus, ProcessStatus
from kafka_edu.supervisor.readiness import Answers
from kafka_edu.trace.event import ZOOKEEPER, Source


def process(broker: int, state: str = "running") -> ProcessStatus:
    source = ZOOKEEPER if broker < 0 else Source.of_broker(broker)
    name = "zookeeper" if source == ZOOKEEPER else f"broker-{broker}"
    return ProcessStatus(
        name,
        source,
        state,
        0 if state == "stopped" else 1000 + broker,
        9092 + broker,
        64 << 20,
        "",
        "",
    )


class FakeCluster:
    """A running cluster with these processes. Its brokers name `controller` as the controller, and
    list all brokers and `guests`.
    """

    def __init__(
        self, processes: Sequence[ProcessStatus], controller: int | None, guests: Sequence[int] = ()
    ) -> None:
        self.processes = tuple(processes)
        self.controller = controller
        brokers = (process.broker for process in processes if process.broker is not None)
        self.listed = {broker: 9092 + broker for broker in (*brokers, *guests)}
        self.asked: list[int] = []

    def status(self) -> ClusterStatus:
        return ClusterStatus(
            "c", 999, "127.0.0.1:9092", "embedded", "127.0.0.1:2181", 800, 12.0, self.processes
        )

    def close(self) -> None: ...

    async def answers_of(self, _: Transport, brokers: Sequence[tuple[str, int]]) -> Answers:
        """Stands in for readiness.answers_of."""
        self.asked = [port for _, port in brokers]
        return Answers(self.controller, self.listed)


def status(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, charset: str = "utf-8"
) -> tuple[list[str], dict[str, object]]:
    """Return the table's lines about processes, and what --json writes."""
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(cluster_command, "is_up", lambda _: True)
    monkeypatch.setattr(cluster_command, "attach", lambda _: cluster)
    monkeypatch.setattr(readiness, "answers_of", cluster.answers_of)
    file = tmp_path / "status.json"
    result = CliRunner(charset=charset).invoke(
        cluster_command.cluster, ["status", "--cluster", "c", "--json", str(file)]
    )
    assert result.exit_code == 0, result.output
    lines = [
        line
        for line in result.output.splitlines()
        if "broker-" in line or "zookeeper" in line.split("ZooKeeper")[0]
    ]
    return lines, json.loads(file.read_text())


@pytest.mark.parametrize(
    ("charset", "mark"), [("utf-8", "broker-1 ♛"), ("ascii", "broker-1 (controller)")]
)
def test_the_controller_alone_is_marked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, charset: str, mark: str
) -> None:
    cluster = FakeCluster([process(-2), process(0), process(1), process(2)], controller=1)
    lines, written = status(cluster, monkeypatch, tmp_path, charset)
    assert len(lines) == 4
    assert [mark in line for line in lines] == ["broker-1" in line for line in lines]
    assert not [
        line for line in lines if "broker-1" not in line and ("♛" in line or "controller" in line)
    ]
    assert "?" not in "".join(lines)
    assert written["controller"] == 1
    assert written["up"] is True


def test_only_brokers_that_run_are_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cluster = FakeCluster(
        [process(-2), process(0, "stopped"), process(1, "paused"), process(2)], controller=1
    )
    lines, written = status(cluster, monkeypatch, tmp_path)
    assert cluster.asked == [9094]
    assert [
        line for line in lines if "broker-1 ♛" in line
    ]  # it is paused, and still the controller while its session lives
    assert written["controller"] == 1


@pytest.mark.parametrize("controller", [None, 0], ids=["nobody answers", "it has stopped"])
def test_nobody_is_marked_without_a_controller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, controller: int | None
) -> None:
    cluster = FakeCluster([process(-2), process(0, "stopped"), process(1)], controller)
    lines, written = status(cluster, monkeypatch, tmp_path)
    assert len(lines) == 3
    assert "♛" not in "".join(lines)
    assert written["controller"] is None


def test_a_guest_has_a_row_and_may_be_the_controller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Apache Kafka's broker 7 has joined the cluster by itself."""
    cluster = FakeCluster([process(-2), process(0), process(1)], controller=7, guests=(7,))
    lines, written = status(cluster, monkeypatch, tmp_path)
    assert [line.split("│")[1:4] for line in lines if "♛" in line] == [
        [" broker-7 ♛ ", " guest   ", " 9099 "]
    ]
    assert written["controller"] == 7
    assert written["guests"] == [7]


def test_a_guest_with_the_id_of_a_stopped_broker_is_known_by_its_port(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stopped = process(0)._replace(state="stopped", pid=0, rss_anon=None)
    cluster = FakeCluster([process(-2), stopped, process(1)], controller=0)
    lines, written = status(cluster, monkeypatch, tmp_path)
    assert not any("♛" in line for line in lines), "ZooKeeper still lists the stopped broker"
    assert written["guests"] == []
    cluster.listed[0] += 1000
    lines, written = status(cluster, monkeypatch, tmp_path)
    assert [line.split("│")[1:4] for line in lines if "♛" in line] == [
        [" broker-0 ♛ ", " guest   ", " 10092 "]
    ]
    assert written["controller"] == 0
    assert written["guests"] == [0]
