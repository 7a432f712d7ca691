"""`demo control-plane` as a user starts it: with a listener of its own the controller is heard at once, whatever waits in the broker's queue."""

import json
import subprocess
from pathlib import Path

import pytest

from kafka_edu.cli.python_process import python_command, python_environment


@pytest.mark.timeout(400)
def test_a_backlog_of_produce_before_leader_and_isr_and_stop_replica(tmp_path: Path) -> None:
    figures = tmp_path / "control-plane.json"
    command = python_command("kafka_edu", "demo", "control-plane", "--rounds", "3", "--json", str(figures))
    environment = python_environment() | {"KAFKA_EDU_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(figures.read_text())
    assert [target["name"].partition(":")[0] for target in report["targets"]] == [
        "LeaderAndIsr",
        "a topic's deletion",
        "produce requests that failed otherwise",
    ]
    assert all(target["holds"] for target in report["targets"])
