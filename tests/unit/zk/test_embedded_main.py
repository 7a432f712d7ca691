"""The embedded ZooKeeper as a process: when it is ready, its events, only one server for each
folder, and a clean end.
"""

import subprocess
import sys
from pathlib import Path

from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

from kafka_edu.trace.events.zk import SessionOpened, ZnodeCreated
from kafka_edu.trace.trace_client import EventsAddress, TraceClient


def start(folder: Path, *more: str) -> "subprocess.Popen[str]":
    command = [
        sys.executable,
        "-m",
        "kafka_edu.zk.embedded.main",
        "--port",
        "0",
        "--data-dir",
        str(folder),
        *more,
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def port_of(server: "subprocess.Popen[str]") -> int:
    assert server.stdout is not None
    ready, port = server.stdout.readline().split()
    assert ready == "ready"
    return int(port)


def test_a_life_from_ready_to_sigterm(tmp_path: Path) -> None:
    data, address = tmp_path / "daten und mehr", tmp_path / "events"
    server = start(data, "--events-file", str(address))
    port = port_of(server)
    assert address.stat().st_mode & 0o777 == 0o600
    trace = TraceClient(EventsAddress.read(str(address)))
    client = KazooClient(f"127.0.0.1:{port}")
    client.start()
    client.create("/a", b"x", ephemeral=True)
    opened = trace.wait_for(lambda envelope: isinstance(envelope.event, SessionOpened), 60).event
    created = trace.wait_for(lambda envelope: isinstance(envelope.event, ZnodeCreated), 60).event
    assert isinstance(opened, SessionOpened)
    assert opened.session_id == client.client_id[0]
    assert created == ZnodeCreated(
        path="/a", zxid=2, session_id=opened.session_id, ephemeral=True, data_length=1, data="x"
    )
    trace.close()

    second = start(data)
    _, said = second.communicate(timeout=60)
    assert second.returncode == 1
    assert f"{data} is in use by another ZooKeeper (process {server.pid})" in said

    client.stop()
    client.close()
    server.terminate()
    _, said = server.communicate(timeout=60)
    assert (server.returncode, said) == (0, "")
    assert not address.exists()
    assert [path.name for path in sorted(data.iterdir()) if path.name.startswith("snapshot")] == [
        "snapshot.0000000000000003"
    ]


def test_a_folder_is_free_again_when_its_server_was_killed(tmp_path: Path) -> None:
    first = start(tmp_path)
    port_of(first)
    first.kill()
    first.communicate(timeout=60)
    second = start(tmp_path)
    port_of(second)
    third = start(tmp_path)
    _, said = third.communicate(timeout=60)
    assert third.returncode == 1
    assert f"(process {second.pid})" in said
    second.terminate()
    second.communicate(timeout=60)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    first = start(tmp_path / "1")
    second = start(tmp_path / "2", "--port", str(port_of(first)))
    _, said = second.communicate(timeout=60)
    first.terminate()
    first.communicate(timeout=60)
    assert second.returncode == 1
    assert said.startswith("ZooKeeper cannot start: ")
    assert "Traceback" not in said
