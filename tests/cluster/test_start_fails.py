"""When a cluster does not get ready, the terminal shows the reason for each broker, not only the
time-out.
"""

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.cluster import ClusterError, is_up, running_cluster, start_cluster
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield sock.getsockname()[1]


def test_a_port_that_is_taken_is_named(taken_port: int, tmp_path: Path) -> None:
    own = {1: {"listeners": f"PLAINTEXT://127.0.0.1:{taken_port}"}}
    with (
        running_cluster("taken", brokers=2, broker_props=own, home=tmp_path, wait=False) as cluster,
        pytest.raises(ClusterError) as failed,
    ):
        cluster.wait_ready()
    (line,) = str(failed.value).splitlines()
    assert line.startswith(
        f"broker-1 ended with code 1: [Errno 98] cannot listen on 127.0.0.1:{taken_port}"
    )


def test_a_zookeeper_that_is_not_there_is_named(tmp_path: Path) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))  # nobody listens, so every connection is refused
        nowhere = f"127.0.0.1:{sock.getsockname()[1]}"
        props = {"zookeeper.connection.timeout.ms": "1000"}
        with (
            running_cluster(
                "dead", brokers=1, props=props, zookeeper=nowhere, home=tmp_path, wait=False
            ) as cluster,
            pytest.raises(ClusterError) as failed,
        ):
            cluster.wait_ready()
    assert (
        f"broker-0 ended with code 1: there is no ZooKeeper at {nowhere} (zookeeper.connect)"
        in str(failed.value)
    )


def test_brokers_that_do_not_understand_each_other_are_told_with_what_they_refuse(
    tmp_path: Path,
) -> None:
    """One broker is configured for 2.0 in all respects, while the controller speaks 2.8."""
    own = {1: {"edu.api.level": "2.0", "inter.broker.protocol.version": "2.0"}}
    with running_cluster(
        "mixed", brokers=2, broker_props=own, home=tmp_path, wait=False
    ) as cluster:
        cluster.stop(1)
        assert cluster.wait_ready() == 0, "the controller is the one that speaks 2.8"
        cluster.start(1, wait=False)

        def refusal() -> str:
            """Return the cluster's error message if it says that broker 1 is registered, otherwise
            "".
            """
            with pytest.raises(ClusterError) as failed:
                cluster.wait_ready(timeout_s=10)
            found = str(failed.value)
            return found if "broker 1: it is registered" in found else ""

        told = wait_for(refusal, "broker 1 is never registered")
    assert told.startswith(
        "not ready within 10 s:\n  broker 0: it is registered; its state is Running"
    )
    assert "UPDATE_METADATA" in told
    assert "is not served, only 0 to" in told
    assert "broker 1: it is registered" in told
    assert "it knows no controller" in told


@pytest.mark.parametrize("where", ["props", "broker_props"])
def test_a_setting_that_is_refused_starts_nothing(where: str, tmp_path: Path) -> None:
    settings = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
    wish = Wish(1, props=settings) if where == "props" else Wish(1, broker_props={0: settings})
    with pytest.raises(ClusterError) as refused:
        start_cluster("refused", wish, tmp_path)
    told = str(refused.value)
    assert told.startswith(
        "--prop authorizer.class.name: "
        if where == "props"
        else "--broker-prop 0:authorizer.class.name: "
    )
    assert "there is no authorizer, so every client may do everything" in told
    assert not is_up(ClusterFolder.of("refused", tmp_path))


def test_server_start_refuses_too_and_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(
        f"zookeeper.connect=127.0.0.1:1\nlog.dirs={tmp_path}/logs\nzookeeper.set.acl=true\nlog.cleaner.thread=2\n"
    )
    done = subprocess.run(
        python_command("kafka_edu", "server-start", str(path)),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=python_environment(),
        check=False,
    )
    assert done.returncode == 1
    assert (
        f"the broker cannot start: {path}, line 3: zookeeper.set.acl=true is refused" in done.stderr
    )
    assert (
        f"{path}, line 4: log.cleaner.thread is not a known key, so it is ignored; did you mean"
        " log.cleaner.threads?" in done.stderr
    )
    assert not (tmp_path / "logs").exists()
