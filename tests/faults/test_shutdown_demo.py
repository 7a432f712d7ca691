"""`demo shutdown` as a user starts it: SIGTERM costs no record and no recovery, kill -9 costs a session time-out and a recovery, and neither an acked record."""

import json
import subprocess
from pathlib import Path

import pytest

from kafka_edu.cli.python_process import python_command, python_environment


@pytest.mark.timeout(400)
def test_sigterm_beside_kill(tmp_path: Path) -> None:
    figures = tmp_path / "shutdown.json"
    command = python_command("kafka_edu", "demo", "shutdown", "--partitions", "12", "--rate", "600", "--json", str(figures))
    environment = python_environment() | {"KAFKA_EDU_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(figures.read_text())
    assert all(target["holds"] for target in report["targets"])
    found = report["figures"]
    assert found["SIGTERM: leaders moved"] == found["kill -9: leaders moved"] == 4
    assert found["kill -9: ms without a leader, median partition"] > 3000, "the session lasts 6 s"
    assert found["records sent"] > 3000
    assert "A broker goes" in done.stdout
