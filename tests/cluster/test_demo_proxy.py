"""`demo proxy` as a user starts it: the producer that booted on the proxy runs on without it."""

import json
import subprocess
from pathlib import Path

import pytest

from kafka_edu.cli.python_process import python_command, python_environment
from tests.cluster.processes import processes_of

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="these tests look for processes in /proc")]


def test_what_bootstrap_servers_means(tmp_path: Path) -> None:
    file = tmp_path / "proxy.json"
    command = python_command("kafka_edu", "demo", "proxy", "--seconds", "4", "--rate", "500", "--json", str(file))
    done = subprocess.run(command, env=python_environment() | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=False, timeout=230)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    assert report["name"] == "proxy"
    assert [target for target in report["targets"] if not target["holds"]] == []
    targets = {target["name"]: target["value"] for target in report["targets"]}
    figures = report["figures"]
    assert targets["bytes in the proxy's logs"] == 0
    assert figures["bytes in the brokers' logs"] > 3 * 50 * figures["records produced"]  # three replicas; a line of the log is longer than 50 bytes
    assert figures["bytes into the proxy's socket"] < 2000 < figures["bytes into the brokers' sockets"]
    assert not processes_of(str(tmp_path))
