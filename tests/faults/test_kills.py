"""A minute of kill -9 under two unmodified producers: every acked record is there, once, in order, and the replicas are the same bytes."""

import json
import subprocess
from pathlib import Path

import pytest

from kafka_edu.cli.python_process import python_command, python_environment


@pytest.mark.timeout(600)
def test_five_brokers_killed_the_controller_among_them_and_every_record_accounted_for(tmp_path: Path) -> None:
    figures = tmp_path / "kills.json"
    command = python_command("kafka_edu", "demo", "kills", "--seconds", "60", "--json", str(figures))
    environment = python_environment() | {"KAFKA_EDU_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(figures.read_text())
    assert report["name"] == "kills"
    assert len(report["targets"]) == 7
    assert all(target["holds"] for target in report["targets"])
    assert report["figures"]["acked"] == report["figures"]["sent"] > 30_000
