"""The supervisor with real brokers: its acts, its events, and that no process is left at the
end.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.action_client import ActionAddress, ActionClient, ActionRefusedError
from kafka_edu.supervisor.cluster import (
    Cluster,
    ClusterError,
    attach,
    is_up,
    running_cluster,
    start_cluster,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.trace_client import TraceClient
from tests.cluster.processes import processes_of, start_all, wait_until_gone, wait_until_none
from tests.waiting import PATIENCE_S, wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="these tests look for processes in /proc"
    ),
]


@pytest.fixture(scope="module")
def shared(zookeeper: str) -> Iterator[Cluster]:
    with running_cluster("shared", zookeeper=zookeeper) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: Cluster) -> Cluster:
    """Return three running brokers, whatever an earlier test did."""
    start_all(shared)
    return shared


def pids(cluster: Cluster) -> list[int]:
    status = cluster.status()
    return [status.pid, *(process.pid for process in status.processes if process.pid)]


def listed_brokers(cluster: Cluster) -> set[int]:
    return set(
        AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        .list_topics(timeout=PATIENCE_S)
        .brokers
    )


def test_ready_means_that_a_client_sees_three_brokers_and_a_controller(cluster: Cluster) -> None:
    metadata = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(
        timeout=PATIENCE_S
    )
    assert set(metadata.brokers) == {0, 1, 2}
    assert metadata.controller_id in {0, 1, 2}
    assert {broker.port for broker in metadata.brokers.values()} == {
        cluster.port(i) for i in (0, 1, 2)
    }


def test_status_tells_of_every_process(cluster: Cluster) -> None:
    status = cluster.status()
    assert [process.process for process in status.processes] == [
        "zookeeper",
        "broker-0",
        "broker-1",
        "broker-2",
    ]
    assert all(process.state == "running" for process in status.processes)
    assert status.ready_ms is not None
    assert status.running_brokers == (0, 1, 2)
    for process in status.processes:
        if process.process == "zookeeper" and status.zookeeper_kind == "apache":
            continue  # a JVM
        assert process.rss_anon is not None
        assert process.rss_anon < 60 * 2**20, f"{process.process} takes more than 60 MB when idle"


def test_a_broker_killed_and_started_again(cluster: Cluster) -> None:
    """The supervisor emits an event for each step, and the act is the cause of its results."""
    with TraceClient(cluster.supervisor_events_address()) as events:
        before = cluster.pid(1)
        cluster.kill(1)
        told: list[Envelope] = []
        events.wait_for(
            lambda envelope: told.append(envelope) or envelope.name == "ActionDone", PATIENCE_S
        )
        names = [
            envelope.name
            for envelope in told
            if envelope.name.startswith(("Action", "ProcessEnded"))
        ]
        assert names == ["ActionAsked", "ProcessEnded", "ActionDone"]
        asked, ended, done = (envelope for envelope in told if envelope.name in names)
        assert ended.event == ("broker-1", Source.of_broker(1), before, 0, "SIGKILL", True, "")
        assert done.cause == asked.seq
        assert done.event[2] is True
    assert cluster.status().broker(1).state == "stopped"
    assert not processes_of(str(cluster.folder.broker_properties(1)))
    with pytest.raises(ClusterError, match="broker-1 is stopped"):
        cluster.kill(1)
    with pytest.raises(ClusterError, match="sends no events"):
        cluster.events_address(1)
    cluster.start(1)
    assert cluster.pid(1) not in (0, before)
    assert listed_brokers(cluster) == {0, 1, 2}
    assert cluster.events_address(1).pid == cluster.pid(1)


def test_a_broker_stopped_says_goodbye(cluster: Cluster) -> None:
    """After SIGTERM the broker's znode is gone as soon as its process is, without waiting for the
    session to expire.
    """
    cluster.stop(2)
    assert cluster.status().broker(2).ended in ("ended with code 0", "killed by SIGTERM")
    zk = KazooClient(cluster.zookeeper_connect)
    zk.start(PATIENCE_S)
    assert sorted(zk.get_children("/brokers/ids")) == ["0", "1"]
    zk.stop()
    zk.close()
    wait_for(lambda: listed_brokers(cluster) == {0, 1}, "clients are told of it still")
    cluster.start(2)
    assert listed_brokers(cluster) == {0, 1, 2}


def test_a_paused_broker_answers_nothing_until_it_is_resumed(cluster: Cluster) -> None:
    cluster.pause(0)
    try:
        assert cluster.status().broker(0).state == "paused"
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{cluster.port(0)}", "log_level": 0})
        with pytest.raises(Exception, match=r"_TRANSPORT|_TIMED_OUT|timed out|transport"):
            admin.list_topics(timeout=0.7)
    finally:
        cluster.resume(0)
    cluster.wait_ready()
    assert 0 in listed_brokers(cluster)


def test_acts_on_a_broker_that_is_none(cluster: Cluster) -> None:
    for broker_id in (3, -1):
        with pytest.raises(
            ClusterError, match=f"there is no broker {broker_id}; there are 0, 1, 2"
        ):
            cluster.kill(broker_id)
    with pytest.raises(ClusterError, match="there is no action 'tickle'"):
        cluster.act("tickle", Source.of_broker(0))
    with pytest.raises(ClusterError, match="running already"):
        cluster.start(0)


def test_wrong_token_changes_nothing(cluster: Cluster) -> None:
    address = ActionAddress.read(cluster.folder.action_address)
    before = cluster.pid(0)
    with (
        ActionClient(address._replace(token="guess")) as stranger,
        pytest.raises(ActionRefusedError, match="wrong token"),
    ):
        stranger.ask("kill", broker=0)
    assert cluster.pid(0) == before


def test_a_second_cluster_beside_it_on_the_zookeeper_of_the_first(cluster: Cluster) -> None:
    """The second cluster has a different name and different ports. On the shared ZooKeeper it has a
    chroot.
    """
    with running_cluster(
        "second", brokers=1, zookeeper=f"{cluster.zookeeper_connect}/second"
    ) as second:
        assert [process.process for process in second.status().processes] == ["broker-0"]
        assert listed_brokers(second) == {0}
        assert listed_brokers(cluster) == {0, 1, 2}
        assert not {second.port(0)} & {cluster.port(i) for i in cluster.broker_ids}


def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = running_cluster(
        "wrong", brokers=2, broker_props={1: {"log.dirs": "/proc/no-such-dir"}}, home=tmp_path
    )
    with pytest.raises(ClusterError, match=r"(?s)broker-1 ended with code 1.*log dir"), broken:
        pytest.fail("it must not get ready")
    assert not processes_of(str(tmp_path))
    assert not ClusterFolder.of("wrong", tmp_path).path.exists()


@pytest.mark.parametrize(
    ("java", "patience_s", "says"),
    [
        ("sleep 60", 1, "ZooKeeper does not answer within 1 s"),
        ("exit 3", 60, "zookeeper ended with code 3"),
    ],
)
@pytest.mark.usefixtures("apache_zookeeper")
def test_a_zookeeper_that_does_not_answer_is_told_and_no_broker_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java: str, patience_s: int, says: str
) -> None:
    program = tmp_path / "jre" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{java}\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jre"))
    with running_cluster(
        "mute", brokers=1, zookeeper="apache", home=tmp_path, wait=False
    ) as cluster:
        with pytest.raises(ClusterError, match=says):
            cluster.wait_ready(timeout_s=patience_s)
        assert cluster.status().running_brokers == ()
        assert cluster.pid(0) == 0
    assert not processes_of(str(tmp_path / "clusters"))


def test_records_survive_down_and_up(tmp_path: Path, zookeeper: str) -> None:
    cluster = start_cluster("kept", Wish(brokers=1, zookeeper=zookeeper), tmp_path)
    cluster.wait_ready()
    bootstrap = cluster.bootstrap_servers
    producer = Producer({"bootstrap.servers": bootstrap})
    for i in range(10):
        producer.produce("t", value=str(i).encode(), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    all_pids = pids(cluster)
    cluster.down()
    wait_until_gone(all_pids)
    assert not is_up(cluster.folder)
    with pytest.raises(ClusterError, match="is not up"):
        attach("kept", tmp_path)

    again = start_cluster("kept", Wish(), tmp_path)
    try:
        again.wait_ready()
        assert again.bootstrap_servers == bootstrap
        consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False}
        )
        consumer.assign([TopicPartition("t", 0, 0)])
        values = [message.value() for message in consumer.consume(10, timeout=PATIENCE_S)]
        consumer.close()
        assert values == [str(i).encode() for i in range(10)]
    finally:
        again.down(delete=True)
    assert not again.folder.path.exists()


def test_a_second_up_of_the_same_name_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="is up already"):
        start_cluster(cluster.name, Wish(), cluster.folder.path.parents[1])


def test_nothing_is_left_of_a_supervisor_that_was_killed(tmp_path: Path, zookeeper: str) -> None:
    cluster = start_cluster("headless", Wish(brokers=2, zookeeper=zookeeper), tmp_path)
    cluster.wait_ready()
    all_pids = pids(cluster)
    os.kill(cluster.status().pid, signal.SIGKILL)
    wait_until_gone(all_pids)
    assert not is_up(cluster.folder)
    cluster.close()
    # It can be started again, although its folder holds stale addresses.
    again = start_cluster("headless", Wish(), tmp_path)
    again.wait_ready()
    again.down(delete=True)


OWNER = """
import sys, time
from pathlib import Path
from kafka_edu.supervisor.cluster import running_cluster
with running_cluster("orphan", brokers=1, home=Path(sys.argv[1]), wait=sys.argv[2] == "ready"):
    print("up", flush=True)
    time.sleep(120)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["ready", "starting"])
def test_nothing_is_left_when_the_owner_ends(
    tmp_path: Path, number: signal.Signals, when: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path), when],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=python_environment(),
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        assert processes_of(str(tmp_path))
        owner.send_signal(number)
    wait_until_none(str(tmp_path))
    assert not ClusterFolder.of("orphan", tmp_path).path.exists()


@pytest.mark.parametrize("after_s", [0.15, 0.4, 0.8, 1.3])
def test_ctrl_c_during_cluster_up_leaves_nothing(tmp_path: Path, after_s: float) -> None:
    """Ctrl-C may come at any moment: while Python, the supervisor or the brokers start, or when the
    cluster is ready.
    """
    environment = python_environment() | {"KAFKA_EDU_HOME": str(tmp_path)}
    command = python_command("kafka_edu", "cluster", "up", "--cluster", "hasty")
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as up:
        try:
            up.wait(after_s)
        except subprocess.TimeoutExpired:
            up.send_signal(signal.SIGINT)
        code = up.wait(120)
    if code == 0:  # it was faster than the finger
        attach("hasty", tmp_path).down()
    wait_until_none(str(tmp_path))


@pytest.mark.parametrize("damage", ["brokers", "description"])
def test_a_fresh_cluster_takes_the_place_of_a_broken_one(tmp_path: Path, damage: str) -> None:
    home = tmp_path / "home"
    environment = {**python_environment(), "KAFKA_EDU_HOME": str(home)}

    def run(*words: str) -> str:
        done = subprocess.run(
            python_command("kafka_edu", "cluster", *words),
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S * 4,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("up", "--cluster", "mine", "--brokers", "2", "--prop", "num.io.threads=1")
    try:
        found = attach("mine", home)
        ports, old = found.bootstrap_servers, pids(found)
        if damage == "brokers":
            found.kill(0)
            found.pause(1)
            found.close()
        else:
            found.close()
            ClusterFolder.of("mine", home).spec.write_text("{", encoding="utf-8")
        (tmp_path / "work.py").write_text("mine")
        assert "cluster mine is fresh" in run("fresh", "--cluster", "mine")
        fresh = attach("mine", home)
        wait_until_gone(old)
        if damage == "brokers":
            assert fresh.bootstrap_servers == ports
            assert fresh.spec.props == {}
        assert len(listed_brokers(fresh)) == len(fresh.broker_ids)
        fresh.close()
        assert (tmp_path / "work.py").read_text() == "mine"
    finally:
        run("down", "--cluster", "mine", "--delete")
